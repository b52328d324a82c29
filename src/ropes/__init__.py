"""Joint angles of a robot arm from camera images, learned without labels.

Read angles from images:

    load(run)             an `Estimator` from a run's folder, or a packaged one by name ("panda-2c")
    predict(run, images)  predictions with error bars, one dictionary per pose
    calibrate(run, ...)   fit the map to radians on a few labelled samples

Train and evaluate:

    simulate(setting, out=..., anchors=...)  render a data set; `simulate_dataset` is an older name
    open_dataset(path)                   open a `Dataset` on disk
    fit(data, out, recipe, method=...)   train; `METHODS` lists the methods, `recipe_of(method, preset)` their recipes
    evaluate(run, data, out)             joint angle errors on the test splits, written to results.json

    degrade(images, level)               lay a webcam's faults over images: "webcam" or "harsh"

Describe an arm:

    setting_named(name)   a setting of the ROPES paper, see `SETTINGS`, or of another package; `panda_setting` is an
                          older name
    arm_setting(urdf=...) any other arm

Submodules are imported on first use: `import ropes` loads neither torch nor PyBullet. Bad input raises `UserError`.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropes.data.dataset import Dataset
    from ropes.data.generate import simulate
    from ropes.data.generate import simulate as simulate_dataset
    from ropes.data.layout import open_dataset
    from ropes.errors import UserError
    from ropes.evaluation.joints import evaluate
    from ropes.inference.estimator import Estimator, load
    from ropes.inference.prediction import calibrate, predict
    from ropes.methods.fit import fit
    from ropes.methods.registry import METHODS, recipe_of
    from ropes.simulation.arm import arm_setting
    from ropes.simulation.camera_model import degrade
    from ropes.simulation.settings import SETTINGS, setting_named
    from ropes.simulation.settings import setting_named as panda_setting

__all__ = [
    "METHODS",
    "SETTINGS",
    "Dataset",
    "Estimator",
    "UserError",
    "__version__",
    "arm_setting",
    "calibrate",
    "degrade",
    "evaluate",
    "fit",
    "load",
    "open_dataset",
    "panda_setting",
    "predict",
    "recipe_of",
    "setting_named",
    "simulate",
    "simulate_dataset",
]
__version__ = version("ropes")

#: Public name -> (module, name in the module).
_HOMES = {
    "METHODS": ("ropes.methods.registry", "METHODS"),
    "SETTINGS": ("ropes.simulation.settings", "SETTINGS"),
    "Dataset": ("ropes.data.dataset", "Dataset"),
    "Estimator": ("ropes.inference.estimator", "Estimator"),
    "UserError": ("ropes.errors", "UserError"),
    "arm_setting": ("ropes.simulation.arm", "arm_setting"),
    "calibrate": ("ropes.inference.prediction", "calibrate"),
    "degrade": ("ropes.simulation.camera_model", "degrade"),
    "evaluate": ("ropes.evaluation.joints", "evaluate"),
    "fit": ("ropes.methods.fit", "fit"),
    "load": ("ropes.inference.estimator", "load"),
    "open_dataset": ("ropes.data.layout", "open_dataset"),
    "panda_setting": ("ropes.simulation.settings", "setting_named"),
    "predict": ("ropes.inference.prediction", "predict"),
    "recipe_of": ("ropes.methods.registry", "recipe_of"),
    "setting_named": ("ropes.simulation.settings", "setting_named"),
    "simulate": ("ropes.data.generate", "simulate"),
    "simulate_dataset": ("ropes.data.generate", "simulate"),
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    """The public names, loaded or not, and the module's other attributes."""
    return sorted({*globals(), *__all__})

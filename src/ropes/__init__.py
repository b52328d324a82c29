"""Joint angles of a robot arm from camera images, learned without labels.

Read angles from images:

    load(run)             an `Estimator` from a run's folder, or a packaged one by name ("panda-2c")
    predict(run, images)  predictions with error bars, a dictionary for each pose
    calibrate(run, ...)   fit the map to radians from a few labelled samples

Train and evaluate:

    simulate(setting, out=..., anchors=...)  render a data set; `simulate_dataset` is its former name
    open_dataset(path)                   a `Dataset` on disk
    fit(data, out, recipe, method=...)   train; `recipe_of(method, preset)` is the configuration, `METHODS` the names
    evaluate(run, data, out)             errors of joint angles on the test splits, written to results.json

Describe an arm:

    panda_setting(name)   the Panda of the ROPES paper, `SETTINGS` has the names
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
    from ropes.inference.prediction import calibrate
    from ropes.inference.predictions import predict
    from ropes.methods.fit import fit
    from ropes.methods.registry import METHODS, recipe_of
    from ropes.simulation.arm import arm_setting
    from ropes.simulation.settings import SETTINGS, panda_setting

__all__ = [
    "METHODS",
    "SETTINGS",
    "Dataset",
    "Estimator",
    "UserError",
    "__version__",
    "arm_setting",
    "calibrate",
    "evaluate",
    "fit",
    "load",
    "open_dataset",
    "panda_setting",
    "predict",
    "recipe_of",
    "simulate",
    "simulate_dataset",
]
__version__ = version("ropes")

#: Public name -> module and name there.
_HOMES = {
    "METHODS": ("ropes.methods.registry", "METHODS"),
    "SETTINGS": ("ropes.simulation.settings", "SETTINGS"),
    "Dataset": ("ropes.data.dataset", "Dataset"),
    "Estimator": ("ropes.inference.estimator", "Estimator"),
    "UserError": ("ropes.errors", "UserError"),
    "arm_setting": ("ropes.simulation.arm", "arm_setting"),
    "calibrate": ("ropes.inference.prediction", "calibrate"),
    "evaluate": ("ropes.evaluation.joints", "evaluate"),
    "fit": ("ropes.methods.fit", "fit"),
    "load": ("ropes.inference.estimator", "load"),
    "open_dataset": ("ropes.data.layout", "open_dataset"),
    "panda_setting": ("ropes.simulation.settings", "panda_setting"),
    "predict": ("ropes.inference.predictions", "predict"),
    "recipe_of": ("ropes.methods.registry", "recipe_of"),
    "simulate": ("ropes.data.generate", "simulate"),
    "simulate_dataset": ("ropes.data.generate", "simulate"),
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, known_as = _HOMES[name]
    found = globals()[name] = getattr(import_module(module), known_as)
    return found


def __dir__() -> list[str]:
    """The public names, loaded or not, and what a module has besides."""
    return sorted({*globals(), *__all__})

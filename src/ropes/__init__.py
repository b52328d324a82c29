"""Joint angles of a robot arm from camera images, learned without labels.

Read angles from images:

    load(run)                     `Estimator` of a run's folder, or of a packaged name such as "panda-2c"
    Estimator                     `angles(images)` in radians, `read(images)` with standard deviations
    predict(run, images)          angles, intervals and flags, one dictionary per pose
    calibrate(run, data=...)      fit the map to radians on a few labelled poses
    check(run, recording)         whether logged angles still fit the images, and whether a camera moved

Make data sets, train and evaluate:

    simulate(setting, out=..., anchors=...)   render a data set of an arm; setting by its name, or a `Setting`
    open_dataset(folder)                      `Dataset` in a folder
    Dataset                                   images, policies and joint angles on disk
    fit(data, out, method=..., preset=...)    train a method; returns the run
    evaluate(run, data, out)                  errors of joint angles on the test splits, also in results.json
    degrade(images, level)                    lay a camera's faults over images: "webcam" or "harsh"

Choose a method or an arm:

    METHODS                       names of the methods
    recipe_of(method, preset)     all settings of a method, to change some and give them to `fit`
    SETTINGS                      names of the simulated settings of the ROPES paper
    setting_named(name)           the setting of that name, also of other packages
    arm_setting(urdf=...)         setting of any other arm, from its URDF file

Errors:

    UserError                     wrong input; the message is one line

Images are uint8 arrays (poses, cameras, height, width), files, Pillow images, or lists and dictionaries of these; see
`Estimator.coordinates`.  Angles are in radians, in the order of the run's joints.  Every function that takes a run or a
data set takes its folder as a string or a path, or the object.

`import ropes` loads none of its submodules, nor torch: they are loaded on first use.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropes.data.dataset import Dataset
    from ropes.data.generate import simulate
    from ropes.data.layout import open_dataset
    from ropes.errors import UserError
    from ropes.evaluation.drift.check import check
    from ropes.evaluation.joints import evaluate
    from ropes.inference.estimator import Estimator, load
    from ropes.inference.prediction import calibrate, predict
    from ropes.methods.fit import fit
    from ropes.methods.registry import METHODS, recipe_of
    from ropes.simulation.arm import arm_setting
    from ropes.simulation.camera_model import degrade
    from ropes.simulation.settings import SETTINGS, setting_named

    panda_setting, simulate_dataset = setting_named, simulate

__all__ = [
    "METHODS",
    "SETTINGS",
    "Dataset",
    "Estimator",
    "UserError",
    "__version__",
    "arm_setting",
    "calibrate",
    "check",
    "degrade",
    "evaluate",
    "fit",
    "load",
    "open_dataset",
    "predict",
    "recipe_of",
    "setting_named",
    "simulate",
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
    "check": ("ropes.evaluation.drift.check", "check"),
    "degrade": ("ropes.simulation.camera_model", "degrade"),
    "evaluate": ("ropes.evaluation.joints", "evaluate"),
    "fit": ("ropes.methods.fit", "fit"),
    "load": ("ropes.inference.estimator", "load"),
    "open_dataset": ("ropes.data.layout", "open_dataset"),
    "predict": ("ropes.inference.prediction", "predict"),
    "recipe_of": ("ropes.methods.registry", "recipe_of"),
    "setting_named": ("ropes.simulation.settings", "setting_named"),
    "simulate": ("ropes.data.generate", "simulate"),
}
#: Name in earlier versions -> public name.  They work, but `dir` and the documentation leave them out.
_EARLIER = {"panda_setting": "setting_named", "simulate_dataset": "simulate"}


def __getattr__(name: str) -> Any:
    """Load a public name from its module (PEP 562)."""
    known_as = _EARLIER.get(name, name)
    if known_as not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOMES[known_as]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    """The public names, and the module's attributes with two underscores."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})

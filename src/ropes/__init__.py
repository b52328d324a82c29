"""Joint angles of a robot arm from camera images, learnt without a label.

The names below are loaded when they are first used: `import ropes` imports neither torch nor PyBullet.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ropes.data.dataset import Dataset
    from ropes.data.generate import simulate as simulate_dataset
    from ropes.data.layout import open_dataset
    from ropes.errors import UserError
    from ropes.evaluation.joints import evaluate
    from ropes.inference.estimator import Estimator
    from ropes.inference.prediction import calibrate
    from ropes.inference.predictions import predict
    from ropes.methods.fit import fit
    from ropes.methods.recipes import METHODS, recipe_of
    from ropes.simulate.arm import arm_setting
    from ropes.simulate.settings import SETTINGS, panda_setting

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
    "open_dataset",
    "panda_setting",
    "predict",
    "recipe_of",
    "simulate_dataset",
]
__version__ = version("ropes")

#: Public name -> module and name there; `simulate` itself is a package.
_HOMES = {
    "METHODS": ("ropes.methods.recipes", "METHODS"),
    "SETTINGS": ("ropes.simulate.settings", "SETTINGS"),
    "Dataset": ("ropes.data.dataset", "Dataset"),
    "Estimator": ("ropes.inference.estimator", "Estimator"),
    "UserError": ("ropes.errors", "UserError"),
    "arm_setting": ("ropes.simulate.arm", "arm_setting"),
    "calibrate": ("ropes.inference.prediction", "calibrate"),
    "evaluate": ("ropes.evaluation.joints", "evaluate"),
    "fit": ("ropes.methods.fit", "fit"),
    "open_dataset": ("ropes.data.layout", "open_dataset"),
    "panda_setting": ("ropes.simulate.settings", "panda_setting"),
    "predict": ("ropes.inference.predictions", "predict"),
    "recipe_of": ("ropes.methods.recipes", "recipe_of"),
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

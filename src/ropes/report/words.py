"""Words and numbers of pages, terminals, Markdown tables and model cards.

Joints, methods and conditions have the names of the papers.  Correlations, shares and the paper's numbers have a fixed
number of decimals.  Errors have at least three decimals and two significant digits; a standard deviation has as many
decimals as its mean.  Angles print in degrees.  A number other than zero never prints as zero.
"""

import math
import re
from collections.abc import Callable

import numpy as np

from ropes.common.arrays import Floats
from ropes.evaluation.paper import CALIBRATION_LABELS, SIX_JOINTS, TABLE1
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors
from ropes.experiments.objectives import ROPES_VARIANTS
from ropes.simulation.availability import SO101

#: Smaller numbers are rounding errors of a zero.
_ROUNDING = 1e-12
RENDERERS = {"pybullet": "PyBullet", "mujoco": "MuJoCo"}
#: Ways from coordinates to radians.
UNLABELLED, FITTED, PREDICTED = "without labels", f"with a line fitted on {CALIBRATION_LABELS:,} labels", "as predicted"
#: Place of each line of the paper's Table 1, by setup and occlusion.
TABLE1_ORDER = {(setup, occlusion): place for place, (setup, occlusion, _) in enumerate(TABLE1)}
_SETUPS = {setup: words for setup, occlusion, words in TABLE1 if occlusion == 0}
_SETUPS |= {SIX_JOINTS: "one camera, six joints", SO101: "SO-101"}


def joint_label(joint: str) -> str:
    """The paper's name of a Panda joint ("joint 4"); the URDF name of any other joint."""
    panda = re.fullmatch(r"panda_joint(\d)", joint)
    return f"joint {panda[1]}" if panda else joint


def method_label(method: str) -> str:
    """The objective of a variant of method ropes that Table 1 includes; the name of any other method."""
    return ROPES_VARIANTS.get(method, method)


def capitalised(words: str) -> str:
    """The words with their first letter in upper case; the other letters stay as they are."""
    return words[0].upper() + words[1:]


def labels_used(count: int) -> str:
    """Number of labels of a map to radians, in words."""
    return f"{count:,} label{'s' if count > 1 else ''}" if count else "no label"


def counted(count: int, noun: str) -> str:
    """A count with its noun: "1 cell", "2 cells"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def in_words(setup: str, occlusion: int, split: str = "id") -> str:
    """A condition in the words of Table 1, capitalised; other setups by their names."""
    words = _SETUPS.get(setup, setup) + (f", {occlusion} px occluded" if occlusion else "")
    return capitalised(words + (", shifted poses" if split == "ood" else ""))


def heading_of(setup: str, method: str, occlusion: int = 0) -> str:
    """A condition in distribution, and the method."""
    return f"{in_words(setup, occlusion)} · {method_label(method)}"


def matched_mcc(cell: JointErrors) -> str:
    """The MCC of the best assignment of coordinates to joints where, as printed, it differs; else empty."""
    matched = "" if cell.mcc_matched is None else fixed(cell.mcc_matched)
    return "" if matched == fixed(cell.mcc) else matched


def map_of(cell: JointErrors) -> str:
    """How a cell's coordinates became radians."""
    if cell.label_share is not None:
        return PREDICTED
    return f"with a line fitted on {cell.calibration_labels:,} labels" if cell.calibration_labels else UNLABELLED


def origin(found: Results, *, scene: bool = True) -> str:
    """Scene, preset, device and (where known) wall time of an experiment, as one line below a table."""
    of_scene = f"Scene {found.scene}. " if scene and found.scene is not None else ""
    minutes = "" if found.seconds is None else f", {found.seconds / 60:.0f} minutes"
    return f"{of_scene}Preset {found.preset}, {found.device}{minutes}."


def fixed(value: float | None, digits: int = 3, *, signed: bool = False) -> str:
    """A number with a fixed number of decimals: "0.050", or "<0.001" where it would round to zero; "–" for None.

    Args:
        value: the number.
        digits: decimals.
        signed: print a plus before positive numbers.
    """
    if value is None:
        return "–"
    if abs(value) < _ROUNDING:
        return f"{0.0:.{digits}f}"
    shown = f"{value:{'+' if signed else ''}.{digits}f}"
    if float(shown) != 0:
        return shown
    least = f"{10.0**-digits:.{digits}f}"
    return f"<{'+' if signed else ''}{least}" if value > 0 else f">-{least}"


def error(value: float | None) -> str:
    """An error with at least three decimals and two significant digits: "0.050", "0.00031"; "–" for None."""
    return fixed(value, _decimals(value or 0.0))


def error_and_deviation(mean: float | None, deviation: float | None) -> tuple[str, str]:
    """An error, formatted by `error`, and its standard deviation with the same decimals; None counts as zero."""
    return error(mean), fixed(deviation or 0.0, _decimals(mean or 0.0))


def degrees(angle: float | None) -> str:
    """An angle in radians as degrees with at least one decimal and two significant digits: "8.3", "0.16"; "–" for None.

    Args:
        angle: radians; not negative.
    """
    if angle is None:
        return "–"
    shown = math.degrees(angle)
    return fixed(shown, _decimals(shown, 1))


def rms(mse: float | None) -> str:
    """The root of a mean squared error (rad²) in degrees, formatted by `degrees`; "–" for None."""
    return degrees(None if mse is None else math.sqrt(mse))


def rms_and_deviation(mse: float | None, deviation: float | None) -> tuple[str, str]:
    """The root of an MSE in degrees, formatted by `rms`, and its standard deviation with the same decimals.

    Args:
        mse: rad².
        deviation: standard deviation of the MSE, rad²; that of the root is to first order.  None counts as zero.
    """
    root = math.sqrt(mse or 0.0)
    spread = (deviation or 0.0) / (2 * root) if root else 0.0
    return rms(mse), fixed(math.degrees(spread), _decimals(math.degrees(root), 1))


def median_and_range(values: Floats, text: Callable[[float], str]) -> str:
    """Median (minimum to maximum) of the finite values; the median alone of one value; empty without any."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return ""
    middle, least, greatest = (text(float(value)) for value in (np.median(kept), kept.min(), kept.max()))
    return middle if len(kept) == 1 else f"{middle} ({least} to {greatest})"


def _decimals(value: float, least: int = 3) -> int:
    """Decimals for two significant digits, and at least `least`."""
    if abs(value) < _ROUNDING:
        return least
    exponent = int(f"{value:.1e}".partition("e")[2])  # of the rounded number: 0.00996 has that of 0.010
    return max(least, 1 - exponent)

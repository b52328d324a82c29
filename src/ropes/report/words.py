"""Words of pages and tables: names of joints, methods and conditions, and the origin of the numbers."""

import re

from ropes.evaluation.paper import CALIBRATION_LABELS, TABLE1
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors
from ropes.experiments.variants import ROPES_VARIANTS

#: Ways from coordinates to radians.
UNLABELLED, FITTED, PREDICTED = "without labels", f"with a line fitted on {CALIBRATION_LABELS:,} labels", "as predicted"
#: Place of each line of the paper's Table 1, by setup and occlusion.
TABLE1_ORDER = {(setup, occlusion): place for place, (setup, occlusion, _) in enumerate(TABLE1)}
_SETUPS = {setup: words for setup, occlusion, words in TABLE1 if occlusion == 0}


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


def map_of(cell: JointErrors) -> str:
    """How a cell's coordinates became radians."""
    if cell.label_share is not None:
        return PREDICTED
    return FITTED if cell.calibration_labels else UNLABELLED


def origin(found: Results, *, scene: bool = True) -> str:
    """Scene, preset, device and wall time of an experiment, as one line below a table."""
    of_scene = f"Scene {found.scene}. " if scene and found.scene is not None else ""
    return f"{of_scene}Preset {found.preset}, {found.device}, {found.seconds / 60:.0f} minutes."

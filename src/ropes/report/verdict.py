"""The page's summary: how many cells of the paper's Table 1 are reached, and with how many labels."""

from collections.abc import Sequence

from ropes.evaluation.paper import CALIBRATION_LABELS, TABLE1
from ropes.evaluation.summary import Cell, calibrated_as_the_paper, without_labels
from ropes.report.naming import capitalised, joint_label
from ropes.report.numbers import fixed

#: What took coordinates to radians, as pages and tables call it.
UNLABELLED, FITTED, AS_READ = "without a label", f"after a line on {CALIBRATION_LABELS:,} labels", "as read"
_WORDS = {(setup, occlusion): words for setup, occlusion, words in TABLE1}


def in_words(setup: str, occlusion: int, split: str = "id") -> str:
    """A line of Table 1 in words, capitalised, or one like it; another arm's setup by its own name."""
    words = _WORDS.get((setup, 0), setup) + (f", {occlusion} px occluded" if occlusion else "")
    words += ", shifted poses" if split == "ood" else ""
    return capitalised(words)


def map_of(cell: Cell) -> str:
    """What took a cell's coordinates to radians; "as read" of a method that learnt from labels."""
    if cell.label_share is not None:
        return AS_READ
    return FITTED if cell.calibration_labels else UNLABELLED


def sentence(cells: Sequence[Cell]) -> str:
    """Say what the in-distribution cells show against the paper: without a label, after a line on labels, from labels.

    Args:
        cells: of all conditions; without labels only those of Table 1 with a number of ours count, with labels all that
            the paper has for them.
    """
    measured = [cell for cell in cells if cell.split == "id" and cell.mcc is not None]
    if not measured:
        return "Nothing has been measured in distribution yet."
    free, fitted = without_labels(measured), calibrated_as_the_paper(measured)
    labelled = [cell for cell in fitted if cell.label_share is not None]
    fitted = tuple(cell for cell in fitted if cell.label_share is None)
    said = [_against_ropes(free, UNLABELLED), _against_ropes(fitted, FITTED)]
    said = [*filter(None, said)] or [_lowest(fitted or free or [one for one in measured if one.label_share is None])]
    return " ".join(filter(None, [*said, _with_labels(labelled)]))


def _with_labels(cells: Sequence[Cell]) -> str:
    """Against the paper's RoboPEPP with the same share of the labels; nothing where there is no such cell."""
    compared = [cell.mse_reached for cell in cells if cell.mse_reached is not None]
    if not compared:
        return ""
    count = _many(len(compared), "cell")
    return f"Of {count} with labels, {sum(compared)} reach the MSE of the paper's RoboPEPP on the same share of them."


def _lowest(own: Sequence[Cell]) -> str:
    """The lowest correlation, which no map to radians changes; nothing where there is no cell."""
    if not own:
        return ""
    clear = [cell for cell in own if cell.occlusion == 0] or own
    worst = min(clear, key=lambda cell: cell.mcc or 0.0)
    lowest = f"{fixed(worst.mcc)} ({joint_label(worst.joint)})"
    free = "" if any(cell.labels for cell in own) else " without a single label in training"
    count = _many(len(clear), "cell")
    return f"The lowest correlation of {count} is {lowest}{free}; the paper has no numbers for this setup."


def _against_ropes(own: Sequence[Cell], how: str) -> str:
    """Against the paper's ROPES, with radians read as `how` says; nothing where there is no such cell."""
    compared = [cell for cell in own if (cell.setup, cell.occlusion) in _WORDS and cell.mcc_reached is not None]
    if not compared:
        return ""
    reached = sum(bool(cell.mcc_reached) for cell in compared)
    by_error = [cell for cell in compared if cell.mse_reached is not None]
    below = sum(bool(cell.mse_reached) for cell in by_error)
    total = len(compared)
    if how == FITTED and not any(cell.labels for cell in compared):
        how += ", none of them in training"
    count = _many(total, "cell")
    if not by_error:
        return f"{capitalised(how)}: of {count} of the paper's Table 1, {reached} reach its MCC; errors do not compare."
    which = "" if len(by_error) == total else f" in the {_many(len(by_error), 'cell')} where errors compare"
    if reached == total and below == len(by_error):
        return f"{capitalised(how)}: all {count} compared with the paper's Table 1 reach its MCC and its MSE{which}."
    return f"{capitalised(how)}: of {count} of the paper's Table 1, {reached} reach its MCC and {below} its MSE{which}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

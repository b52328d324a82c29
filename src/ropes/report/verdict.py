"""The page's one sentence: how many cells of the paper's Table 1 are reached, and where it falls short."""

from collections.abc import Sequence

from ropes.paper import TABLE1
from ropes.report.naming import capitalised, joint_label
from ropes.summary import Cell

_WORDS = {(setup, occlusion): words for setup, occlusion, words in TABLE1}


def in_words(setup: str, occlusion: int, split: str = "id") -> str:
    """A line of Table 1 in words, capitalised, or one like it; another arm's setup by its own name."""
    words = _WORDS.get((setup, 0), setup) + (f", {occlusion} px occluded" if occlusion else "")
    words += ", shifted poses" if split == "ood" else ""
    return capitalised(words)


def sentence(cells: Sequence[Cell]) -> str:
    """Say what the in-distribution cells show against the paper.

    Args:
        cells: of all conditions; without labels only those of Table 1 with a number of ours count, with labels all that
            the paper has for them.
    """
    measured = [cell for cell in cells if cell.split == "id" and cell.mcc is not None]
    labelled = [cell for cell in measured if cell.label_share is not None]
    own = [cell for cell in measured if cell.label_share is None]
    if not measured:
        return "Nothing has been measured in distribution yet."
    return " ".join(filter(None, [_without_labels(own) if own else "", _with_labels(labelled)]))


def _with_labels(cells: Sequence[Cell]) -> str:
    """Against the paper's RoboPEPP with the same share of the labels; nothing where there is no such cell."""
    compared = [cell.mse_reached for cell in cells if cell.mse_reached is not None]
    if not compared:
        return ""
    count = _many(len(compared), "cell")
    return f"Of {count} with labels, {sum(compared)} reach the MSE of the paper's RoboPEPP on the same share of them."


def _without_labels(own: Sequence[Cell]) -> str:
    compared = [cell for cell in own if (cell.setup, cell.occlusion) in _WORDS and cell.mcc_reached is not None]
    free = "" if any(cell.labels for cell in own) else " without a single label in training"
    if not compared:
        clear = [cell for cell in own if cell.occlusion == 0] or own
        worst = min(clear, key=lambda cell: cell.mcc or 0.0)
        lowest = f"{worst.mcc:.3f} ({joint_label(worst.joint)})"
        count = _many(len(clear), "cell")
        return f"The lowest correlation of {count} is {lowest}{free}; the paper has no numbers for this setup."
    reached = sum(bool(cell.mcc_reached) for cell in compared)
    below = sum(bool(cell.mse_reached) for cell in compared)
    total = len(compared)
    if reached == below == total:
        return f"All {_many(total, 'cell')} compared with the paper's Table 1 reach its MCC and its MSE{free}."
    count = _many(total, "cell")
    return f"Of {count} of the paper's Table 1, {reached} reach its MCC and {below} its MSE{free}."


def _many(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"

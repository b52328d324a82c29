"""The page's summary: how many cells of the paper's Table 1 are reached, and with how many labels."""

from collections.abc import Sequence

from ropes.evaluation.summary import JointErrors, calibrated_as_the_paper, without_labels
from ropes.report.numbers import fixed
from ropes.report.words import FITTED, TABLE1_ORDER, UNLABELLED, capitalised, counted, joint_label


def sentence(cells: Sequence[JointErrors]) -> str:
    """Compare the in-distribution cells with the paper, by the labels that they use.

    Args:
        cells: of all conditions; methods without labels are compared on Table 1, methods with labels wherever the paper
            has a number.
    """
    measured = [cell for cell in cells if cell.split == "id" and cell.mcc is not None]
    if not measured:
        return "No in-distribution results yet."
    free, fitted = without_labels(measured), calibrated_as_the_paper(measured)
    labelled = [cell for cell in fitted if cell.label_share is not None]
    fitted = tuple(cell for cell in fitted if cell.label_share is None)
    said = [_against_ropes(free, UNLABELLED), _against_ropes(fitted, FITTED)]
    said = [*filter(None, said)] or [_lowest(fitted or free or [one for one in measured if one.label_share is None])]
    return " ".join(filter(None, [*said, _with_labels(labelled)]))


def _with_labels(cells: Sequence[JointErrors]) -> str:
    """Methods with labels against the paper's RoboPEPP on the same share of them; empty without cells to compare."""
    compared = [cell.mse_reached for cell in cells if cell.mse_reached is not None]
    if not compared:
        return ""
    count = counted(len(compared), "cell")
    reached = f"{sum(compared)} reach the MSE of the paper's RoboPEPP on the same share of labels"
    return f"Of {count} with training labels, {reached}."


def _lowest(own: Sequence[JointErrors]) -> str:
    """The lowest correlation, which no map to radians changes; empty without cells."""
    if not own:
        return ""
    clear = [cell for cell in own if cell.occlusion == 0] or own
    worst = min(clear, key=lambda cell: cell.mcc or 0.0)
    lowest = f"{fixed(worst.mcc)} ({joint_label(worst.joint)})"
    free = "" if any(cell.labels for cell in own) else " without training labels"
    count = counted(len(clear), "cell")
    return f"The lowest MCC of {count} is {lowest}{free}; the paper has no numbers for this setup."


def _against_ropes(own: Sequence[JointErrors], how: str) -> str:
    """Methods without labels against the paper's ROPES, by their map to radians; empty without cells to compare."""
    compared = [cell for cell in own if (cell.setup, cell.occlusion) in TABLE1_ORDER and cell.mcc_reached is not None]
    if not compared:
        return ""
    reached = sum(bool(cell.mcc_reached) for cell in compared)
    by_error = [cell for cell in compared if cell.mse_reached is not None]
    below = sum(bool(cell.mse_reached) for cell in by_error)
    total = len(compared)
    if how == FITTED and not any(cell.labels for cell in compared):
        how += ", none of them in training"
    count = counted(total, "cell")
    if not by_error:
        return f"{capitalised(how)}: of {count} of the paper's Table 1, {reached} reach its MCC; MSE does not compare."
    which = "" if len(by_error) == total else f" in the {counted(len(by_error), 'cell')} where MSE compares"
    if reached == total and below == len(by_error):
        return f"{capitalised(how)}: all {count} compared with the paper's Table 1 reach its MCC and its MSE{which}."
    return f"{capitalised(how)}: of {count} of the paper's Table 1, {reached} reach its MCC and {below} its MSE{which}."

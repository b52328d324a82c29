"""Our rows of joint errors beside the paper's: how they differ, as marks and notes of a table, and the verdict."""

from collections.abc import Mapping, Sequence

from ropes.evaluation.paper import ONE_CAMERA, mse_comparable
from ropes.evaluation.summary import JointErrors, calibrated_as_the_paper, without_labels
from ropes.experiments.objectives import OBJECTIVES
from ropes.methods.optimisation import Preset
from ropes.methods.registry import method_of
from ropes.report.words import (
    FITTED,
    TABLE1_ORDER,
    UNLABELLED,
    capitalised,
    counted,
    fixed,
    in_words,
    joint_label,
    method_label,
)

_NOT_IN_PAPER = "not in the paper"
_OBJECTS = "foreign objects, white rectangles among them"
_CLEAN = "trained on clean images"
#: Method, or variant of method ropes, that differs from the paper's under every preset.
_METHODS = {
    "anchored": f"{_NOT_IN_PAPER}; also uses which images belong to the same anchor, and learns from images with "
    f"{_OBJECTS}",
    "ldr": f"{_NOT_IN_PAPER}: one encoder, trained end to end to classify the policies, from images with {_OBJECTS}",
    "ropes@classifier": f"{_NOT_IN_PAPER}: the logits of the density ratios of ropes, instead of AE2; a student as for "
    "ropes",
    "ropes@encoder": f"{_NOT_IN_PAPER}: score differences imposed on AE2's encoder",
    "ropes@logit": f"{_NOT_IN_PAPER}: Eq. 3 with a term for the logits of the density ratios of ropes; {_CLEAN}",
}
#: The paper's methods and objectives → their differences under each preset.
_OF_THE_PAPER: dict[str, dict[Preset, str]] = {
    "jointnet": {
        "compact": "a smaller network than the paper's, trained on fewer images",
        "paper": "the paper's sizes, on grey images, with patches of 16 pixels and a tenth of the anchors held out",
    },
    "ropes": {
        "compact": "smaller networks than the paper's, smoothed density ratios of three classes that learn from codes "
        "with noise, another objective than Eq. 3, and a student: a network that learns to reproduce the coordinates "
        f"from images with {_OBJECTS}",
        "paper": "the paper's sizes and Eq. 3, λ chosen on a tenth of the anchors, and up to 20 passes of the LDRs",
    },
    "ropes@eq3": {
        "compact": "smaller networks than the paper's, density ratios of three classes that learn from codes with "
        "noise, one AE2 for all joints that learns from a sixth of the samples of ropes, one joint's term a step, and "
        f"λ chosen on held-out anchors; {_CLEAN}, as the paper's",
        "paper": "the paper's sizes, with one AE2 for all joints",
    },
}
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def of_method(method: str, preset: str) -> str:
    """How a method differs from the paper's ROPES or RoboPEPP.

    Args:
        method: as in a row, METHOD or METHOD@VARIANT.
        preset: "compact" or "paper".
    """
    variant = method.partition("@")[2]
    if method not in _METHODS and variant in OBJECTIVES:
        sizes = "smaller networks than the paper's; " if preset == "compact" else ""
        return f"{sizes}{_NOT_IN_PAPER} in this form: {OBJECTIVES[variant]}"
    name = method if method in _METHODS or method in _OF_THE_PAPER else method_of(method)
    if name in _OF_THE_PAPER:
        return _OF_THE_PAPER[name]["compact" if preset == "compact" else "paper"]
    return _METHODS.get(name, _NOT_IN_PAPER)


def of_condition(setup: str, split: str) -> str:
    """How the test poses of a setting's split differ from the paper's; empty if they do not."""
    if setup == ONE_CAMERA:
        return "joints 1, 3 and 5 stay at zero; Section 3.2 of the paper may mean that they vary"
    if not mse_comparable(setup, split):
        return "in distribution the test angles vary more or less than the paper's: compare MCC, not squared errors"
    return ""


def beside_the_paper(cell: JointErrors, preset: str) -> str:
    """A sentence on how a cell's method and test poses differ from those of the paper's row beside it; else empty."""
    if cell.paper_mse is None:
        return ""
    notes = "; ".join(filter(None, (of_method(cell.method, preset), of_condition(cell.setup, cell.split))))
    return f"Differences from the paper's row: {notes}." if notes else ""


class Marks:
    """The notes of a table, numbered in the order of their first use.

    Args:
        preset: of the results.
    """

    def __init__(self, preset: str) -> None:
        self.preset = preset
        self.notes: list[str] = []

    def condition(self, setup: str, occlusion: int, split: str = "id", *, published: bool = True) -> str:
        """A condition in words, with its mark beside published rows."""
        return self._marked(in_words(setup, occlusion, split), of_condition(setup, split) if published else "")

    def method(self, method: str, words: str, *, published: bool = True) -> str:
        """The words for a method, with its mark beside published rows."""
        return self._marked(words, of_method(method, self.preset) if published else "")

    def _marked(self, words: str, note: str) -> str:
        if not note:
            return words
        if note not in self.notes:
            self.notes.append(note)
        return f"{words} {str(self.notes.index(note) + 1).translate(_SUPERSCRIPTS)}"

    def markdown(self) -> str:
        """The notes as a list; empty without any."""
        listed = [f"- {str(number).translate(_SUPERSCRIPTS)} {note}." for number, note in enumerate(self.notes, 1)]
        return "\n".join(["Differences from the paper's rows:", "", *listed]) if listed else ""


def verdict(cells: Sequence[JointErrors]) -> str:
    """The page's summary: how many in-distribution cells reach the paper, by the labels that they use.

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
    if compared := [cell.mse_reached for cell in labelled if cell.mse_reached is not None]:
        reached = f"{sum(compared)} reach the MSE of the paper's RoboPEPP on the same share of labels"
        said.append(f"Of {counted(len(compared), 'cell')} with training labels, {reached}.")
    return " ".join(filter(None, said))


def reached_by_method(cells: Sequence[JointErrors]) -> str:
    """A sentence on how many errors of the paper's ROPES each method reaches; empty for a single method.

    Args:
        cells: with lines fitted on labels.
    """
    compared = [cell for cell in cells if cell.label_share is None and cell.mse_reached is not None]
    counts: dict[str, list[bool]] = {}
    for cell in compared:
        counts.setdefault(cell.method, []).append(bool(cell.mse_reached))
    if len(counts) < 2:
        return ""
    in_order = sorted(counts.items(), key=lambda item: (-sum(item[1]), item[0]))
    each = (f"{method_label(method)} {sum(reached)} of {len(reached)}" for method, reached in in_order)
    sides = sorted({cell.occlusion for cell in compared} - {0})
    squares = f" (squares of {', '.join(map(str, sides))} pixels included)" if sides else ""
    return f"Published errors of the paper's ROPES reached {FITTED}{squares}: {'; '.join(each)}. "


def missed(cells: Sequence[JointErrors], method: str) -> str:
    """Sentences on the numbers of the paper's ROPES that a method misses, and by how much; empty without any.

    Args:
        cells: with lines fitted on labels.
        method: as in a row.
    """
    own = [cell for cell in cells if cell.method == method and cell.label_share is None]
    own.sort(key=lambda cell: (TABLE1_ORDER.get((cell.setup, cell.occlusion), len(TABLE1_ORDER)), cell.split))
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for cell in own:
        where = in_words(cell.setup, cell.occlusion, cell.split)
        if cell.mse_reached is False and cell.mse is not None and cell.paper_mse:
            above.setdefault(where, []).append(f"{joint_label(cell.joint)} {cell.mse / cell.paper_mse:.2f}")
        if cell.mcc_reached is False and not mse_comparable(cell.setup, cell.split):
            below.setdefault(where, []).append(f"{joint_label(cell.joint)} {fixed(cell.mcc)} ({fixed(cell.paper_mcc)})")
    name, parts = method_label(method), list[str]()
    if above:
        parts.append(f"Errors that {name} does not reach, as multiples of the paper's: {_listed(above)}. ")
    if below:
        parts.append(f"MCC below the paper's, in brackets, where errors do not compare: {_listed(below)}. ")
    return "".join(parts)


def _listed(joints: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(f"{where}: {', '.join(each)}" for where, each in joints.items())


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

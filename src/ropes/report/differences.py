"""How our rows of joint errors differ from the paper's rows beside them: marks in a table, and notes below it."""

from ropes.evaluation.paper import ONE_CAMERA, mse_comparable
from ropes.evaluation.summary import JointErrors
from ropes.experiments.variants import OBJECTIVES
from ropes.methods.registry import method_of
from ropes.report.words import in_words

_NOT_IN_PAPER = "not in the paper"
#: Method, or variant of method ropes, that differs from the paper's under every preset.
_METHODS = {
    "anchored": f"{_NOT_IN_PAPER}; also uses which images belong to the same anchor",
    "ldr": f"{_NOT_IN_PAPER}: one encoder, trained end to end to classify the policies",
    "ropes@classifier": f"{_NOT_IN_PAPER}: the logits of the density ratios, without AE2",
    "ropes@encoder": f"{_NOT_IN_PAPER}: score differences imposed on AE2's encoder",
    "ropes@logit": f"{_NOT_IN_PAPER}: Eq. 3 with a term for the logits of the density ratios",
}
#: The paper's methods and objectives → their differences under the compact preset.
_COMPACT = {
    "jointnet": "a smaller network than the paper's, trained on fewer images",
    "ropes": "smaller networks than the paper's, and another objective than Eq. 3",
    "ropes@eq3": "smaller networks than the paper's, with one AE2 for all joints and λ = .1",
}
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def of_method(method: str, preset: str) -> str:
    """How a method differs from the paper's ROPES or RoboPEPP; empty for the paper's method in its own sizes.

    Args:
        method: as in a row, METHOD or METHOD@VARIANT.
        preset: "compact" or "paper".
    """
    variant = method.partition("@")[2]
    if method not in _METHODS and variant in OBJECTIVES:
        sizes = "smaller networks than the paper's; " if preset == "compact" else ""
        return f"{sizes}{_NOT_IN_PAPER} in this form: {OBJECTIVES[variant]}"
    name = method if method in _METHODS or method in _COMPACT else method_of(method)
    if name in _COMPACT:
        return _COMPACT[name] if preset == "compact" else ""
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
        return f"{words} {_superscript(self.notes.index(note) + 1)}"

    def markdown(self) -> str:
        """The notes as a list; empty without any."""
        listed = [f"- {_superscript(number)} {note}." for number, note in enumerate(self.notes, 1)]
        return "\n".join(["Differences from the paper's rows:", "", *listed]) if listed else ""


def _superscript(number: int) -> str:
    return str(number).translate(_SUPERSCRIPTS)

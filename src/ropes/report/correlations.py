"""Markdown of the correlations of coordinates with joints: MCC beside Table 1's, and R² where errors do not compare."""

from collections.abc import Mapping, Sequence

from ropes.evaluation.summary import JointErrors
from ropes.report.differences import Marks
from ropes.report.error_entries import Fit, Line, of_paper, published_line
from ropes.report.table import Entry, Table, named_once
from ropes.report.words import fixed, joint_label, matched_mcc, method_label

#: Setup, side of the square, split.
Condition = tuple[str, int, str]
#: Condition → method and minus its number of calibration labels → cells.
Fits = Mapping[Condition, Mapping[tuple[str, int], Fit]]


def mcc_table(conditions: Fits, joints: Sequence[str], marks: Marks) -> list[str]:
    """The MCC of each method in the conditions whose MCC the paper gives, bold where it reaches the paper's.

    The MCC of the best assignment of coordinates to joints stands in brackets where it differs.

    Returns:
        Heading and table; nothing where the paper gives no MCC.
    """
    lines = list[tuple[str, Line]]()
    for condition, fits in conditions.items():
        theirs = of_paper(fits.values(), joints, "paper_mcc")
        for method, at in _most_labelled(fits).items() if any(theirs) else ():
            words = marks.method(method, method_label(method))
            lines.append((marks.condition(*condition), [words, *(_mcc(at.get(joint)) for joint in joints)]))
        lines += [(marks.condition(*condition), line) for line in published_line(["the paper's ROPES"], theirs)]
    columns = ["test data", "method", *map(joint_label, joints)]
    heading = "MCC, in brackets that of the best assignment of coordinates to joints where it differs:"
    return [heading, Table(columns, named_once(lines), texts=range(2)).markdown()] if lines else []


def explained_lines(fits: Mapping[tuple[str, int], Fit], joints: Sequence[str], marks: Marks) -> list[Line]:
    """A line for each method with its R², bold where it reaches the paper's; then the paper's, and the variances.

    R² is after a line on labels; where it is not recorded it is the squared MCC, as is the paper's.  Last the variances
    of the test angles, rad²: ours by the method with the largest MCC.
    """
    squared = [None if bar is None else bar**2 for bar in of_paper(fits.values(), joints, "paper_mcc")]
    most_labelled, lines = _most_labelled(fits), list[Line]()
    for method, at in most_labelled.items():
        cells = [at.get(joint) for joint in joints]
        lines.append([f"{marks.method(method, method_label(method))}: R²", "", *map(_r2, cells, squared)])
    lines += published_line(["the paper's ROPES: R²", ""], squared)
    best = [max((at[joint] for at in most_labelled.values() if joint in at), key=_known_mcc) for joint in joints]
    lines += published_line(["our test angles: variance", ""], [cell.variance for cell in best])
    return lines + published_line(["the paper's: variance", ""], of_paper(fits.values(), joints, "paper_variance"))


def _most_labelled(fits: Mapping[tuple[str, int], Fit]) -> dict[str, Fit]:
    """Method → its cells after a line on the most labels; no map changes their MCC."""
    last = {method: fits[method, fewer] for method, fewer in sorted(fits, reverse=True)}
    return dict(sorted(last.items()))


def _known_mcc(cell: JointErrors) -> float:
    return cell.mcc or 0.0


def _mcc(cell: JointErrors | None) -> Entry:
    if cell is None or cell.mcc is None:
        return Entry("")
    return Entry(fixed(cell.mcc), (), cell.mcc_reached, matched_mcc(cell))


def _r2(cell: JointErrors | None, bar: float | None) -> Entry:
    mcc, r2 = (getattr(cell, name, None) for name in ("mcc", "r2"))
    r2 = mcc**2 if r2 is None and mcc is not None else r2
    return Entry(fixed(r2), (), r2 is not None and bar is not None and round(r2, 3) >= round(bar, 3))

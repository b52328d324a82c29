"""Markdown table of the objectives of method ropes."""

from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

from ropes.evaluation.paper import ANCHORS, mse_comparable
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import CriterionRow
from ropes.evaluation.summary import JointErrors, calibrated_as_the_paper, over_seeds, spreads
from ropes.experiments.objectives import OBJECTIVES
from ropes.report.differences import Marks
from ropes.report.origins import renderings
from ropes.report.table import Table, grouped, paragraphs
from ropes.report.words import TABLE1_ORDER, counted, fixed, joint_label, matched_mcc, origin, rms, rms_and_deviation

_PAPER = "the paper's ROPES"
_CRITERIA: dict[str, Callable[[CriterionRow], float | None]] = {
    "above floor": lambda row: None if row.floor is None else row.contrast - row.floor,
    "own": lambda row: row.own,
    "beside": lambda row: row.beside,
}


def objectives_markdown(found: Results) -> str:
    """What the columns are, a table for each setting in distribution without squares, and the origin.

    Args:
        found: of the experiment "eq3".
    """
    every = calibrated_as_the_paper(over_seeds(found.rows))
    cells = [cell for cell in every if (cell.split, cell.occlusion) == ("id", 0)]
    several = " ±: standard deviation over training seeds." if any(len(cell.seeds) > 1 for cell in cells) else ""
    marks = Marks(found.preset)
    setups = sorted({cell.setup for cell in cells}, key=lambda setup: TABLE1_ORDER.get((setup, 0), len(TABLE1_ORDER)))
    tables = [text for setup in setups for text in _table(found, cells, setup, marks)]
    larger = (
        "The paper has larger networks, images of 128 pixels, density ratios of two classes without dropout, an AE2 "
        f"for each joint and {ANCHORS:,} training anchors."
    )
    columns = (
        "RMS error in degrees with a line fitted on 1,000 labels, and MCC in brackets; after a semicolon the MCC of "
        "the best assignment of coordinates to joints, where it differs. Bold where the squared error in rad² reaches "
        "that of the paper's ROPES, or the MCC where squared errors do not compare. "
        "Means over joints, on held-out anchors: *above floor*, cross-entropy of classifying a joint's "
        "two policies from its coordinate, minus its Bayes floor, nats; *own* and *beside*, E|J_gᵀ Δs_i| at "
        "coordinate i and its maximum over the others. For each joint: *along*, share of Δs_i along the codes that "
        f"the decoder of this row generates: rows compare where reconstruction is alike.{several}"
    )
    about = larger if found.preset == "compact" else "", renderings(found), origin(found)
    return paragraphs(columns, *tables, marks.markdown(), " ".join(filter(None, about)))


def _table(found: Results, cells: Sequence[JointErrors], setup: str, marks: Marks) -> Iterator[str]:
    """Heading and table of one setting, and the squared errors of the objectives of which one reaches the paper's."""
    here = [cell for cell in cells if cell.setup == setup]
    joints = sorted({cell.joint for cell in here})
    lines, squared, most = [], [], max(len(cell.seeds) for cell in here)
    for variant, words in OBJECTIVES.items():
        own = {cell.joint: cell for cell in here if cell.method.endswith(f"@{variant}")}
        rows = [row for row in found.criterion_rows if (row.setup, row.method) == (setup, f"ropes@{variant}")]
        if own:
            criteria = [_criterion(rows, of) for of in _CRITERIA.values()]
            seeds = max(len(cell.seeds) for cell in own.values())
            name = words if seeds == most else f"{words} ({counted(seeds, 'seed')})"
            lines.append([name, *(_both(own[joint]) for joint in joints), *criteria, _along(rows)])
            if any(own[joint].mse_reached for joint in joints):
                squared.append([name, *(_squared(own[joint]) for joint in joints)])
    bars = [next(cell for cell in here if cell.joint == joint) for joint in joints]
    shown = [rms(bar.paper_mse) if mse_comparable(setup, "id") else "" for bar in bars]
    paper = [f"{error} ({fixed(bar.paper_mcc)})".strip() for error, bar in zip(shown, bars, strict=True)]
    lines.append([_PAPER, *paper, *[""] * len(_CRITERIA), ""])
    columns = ["objective", *map(joint_label, joints)]
    yield f"**{marks.condition(setup, 0)}**: {_training(here)}"
    yield Table([*columns, *_CRITERIA, "along"], lines).markdown()
    if squared:
        yield "Squared errors in rad² of the objectives of which at least one reaches the paper's:"
        yield Table(columns, [*squared, [_PAPER, *(fixed(bar.paper_mse) for bar in bars)]]).markdown()


def _training(cells: Sequence[JointErrors]) -> str:
    """Training anchors, a range where objectives differ, and the largest number of training seeds, in words."""
    anchors = sorted({cell.anchors for cell in cells if cell.anchors is not None})
    seeds = max(len(cell.seeds) for cell in cells)
    numbers = " to ".join(f"{count:,}" for count in dict.fromkeys((anchors[0], anchors[-1]))) if anchors else ""
    return ", ".join(filter(None, (numbers and f"{numbers} anchors", counted(seeds, "training seed"))))


def _criterion(rows: Sequence[CriterionRow], of: Callable[[CriterionRow], float | None]) -> str:
    """Mean over joints, averaged over seeds, ± its deviation over seeds; empty without."""
    known = [(row.seed, value) for row in rows if (value := of(row)) is not None]
    means = [fmean(value for _, value in own) for own in grouped(known, lambda pair: pair[0]).values()]
    if not means:
        return ""
    _, deviation = spreads([(mean, None) for mean in means])
    return f"{fmean(means):.3f}" + ("" if deviation is None else f" ± {deviation:.3f}")


def _along(rows: Sequence[CriterionRow]) -> str:
    """The mean tangent share of each joint over seeds, in order; empty without."""
    joints = grouped(sorted(rows, key=lambda row: row.joint), lambda row: row.joint).values()
    known = [[row.tangent for row in own if row.tangent is not None] for own in joints]
    return " ".join(fixed(fmean(values) if values else None, 2) for values in known) if any(known) else ""


def _both(cell: JointErrors) -> str:
    """RMS error, its deviation over seeds, and MCC, also matched; the one that compares is bold if it reaches."""
    error, spread = rms_and_deviation(cell.mse, cell.mse_seeds)
    shown = f"**{error}**" if cell.mse_reached else error
    deviation = "" if cell.mse_seeds is None else f" ± {spread}"
    by_correlation = not mse_comparable(cell.setup, cell.split) and cell.mcc_reached
    beside = f"; {matched}" if (matched := matched_mcc(cell)) else ""
    return f"{shown}{deviation} ({f'**{fixed(cell.mcc)}**' if by_correlation else fixed(cell.mcc)}{beside})"


def _squared(cell: JointErrors) -> str:
    """MSE, bold if it reaches the paper's, and its deviation over seeds."""
    shown = f"**{fixed(cell.mse)}**" if cell.mse_reached else fixed(cell.mse)
    return shown if cell.mse_seeds is None else f"{shown} ± {fixed(cell.mse_seeds)}"

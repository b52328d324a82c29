"""Sections of the page on joint angles, over all methods."""

from collections.abc import Iterable, Iterator, Sequence

from markupsafe import Markup

from ropes.evaluation.paper import mse_comparable
from ropes.evaluation.rows.kinds import PoseRow
from ropes.evaluation.summary import (
    JointErrors,
    calibrated_as_the_paper,
    calibrated_on_most,
    over_seeds,
    pool,
    without_labels,
)
from ropes.methods.registry import method_of
from ropes.report.differences import beside_the_paper
from ropes.report.joint_figures import occlusions
from ropes.report.page import Section, Source, absent, details, explained, plot, tag
from ropes.report.table import Column, Entry, Table, grouped, mcc_entry, mse_entry, rms_entry
from ropes.report.words import (
    TABLE1_ORDER,
    UNLABELLED,
    fixed,
    heading_of,
    in_words,
    joint_label,
    map_of,
    rms,
)

#: Column of the paper's numbers.
_PAPER = Column("paper", paper=True)


def title(source: Source) -> str:
    """Whether the methods were trained with labels, and the name of the experiment."""
    labelled = {cell.label_share is not None for cell in source.cells}
    kinds = "from" if labelled == {True} else "with and without" if len(labelled) == 2 else "without"
    return f"Joint angles {kinds} labels: {source.results.name}"


def against_paper(source: Source) -> Iterator[Section]:
    """The cells of the paper's Table 1, and the other setups in distribution, beside the paper's numbers."""
    free, fitted = without_labels(source.cells), calibrated_on_most(source.cells)
    order = {method: place for place, method in enumerate(dict.fromkeys(cell.method for cell in source.cells))}
    setups = {setup for setup, _ in TABLE1_ORDER}
    shown = [
        cell
        for cell in sorted((*free, *fitted), key=lambda cell: order[cell.method])
        if cell.split == "id"
        and ((cell.setup, cell.occlusion) in TABLE1_ORDER or (cell.setup not in setups and cell.occlusion == 0))
    ]
    blocks = sorted(grouped(shown, lambda cell: (cell.setup, cell.occlusion, cell.method)).values(), key=_place)
    cards = [_card(block, source.results.preset) for block in blocks]
    text = explained(
        "against_paper",
        free=free,
        calibration=_calibration(fitted),
        labelled=any(cell.label_share is not None for cell in fitted),
        several=any(len(cell.seeds) > 1 for cell in (*free, *fitted)),
        baseline=any(cell.all_labels_mse is not None for cell in shown),
    )
    tables = tag("div", *cards, class_="cards") if cards else absent("No in-distribution rows in results.json.")
    yield Section("paper", "Comparison with the paper", [text, tables])


def _place(block: Sequence[JointErrors]) -> tuple[int, str, float]:
    """Order of a block: the lines of Table 1 first; variants of a method by their share of the labels."""
    cell = block[0]
    line = TABLE1_ORDER.get((cell.setup, cell.occlusion), len(TABLE1_ORDER))
    return (line, "", 0.0) if cell.label_share is None else (line, method_of(cell.method), cell.label_share)


def _calibration(cells: Iterable[JointErrors]) -> str:
    """Numbers of labels of the lines to radians."""
    counts = {cell.calibration_labels for cell in cells if cell.label_share is None}
    return " or ".join(f"{count:,}" for count in sorted(counts))


def _card(block: Sequence[JointErrors], preset: str) -> Markup:
    """The table of a condition and method: a line a joint; an MSE for each map to radians, the first in degrees too."""
    first = block[0]
    lines = {
        joint: {map_of(cell): cell for cell in own}
        for joint, own in sorted(grouped(block, lambda cell: cell.joint).items())
    }
    maps = sorted({words for line in lines.values() for words in line}, key=lambda words: (words != UNLABELLED, words))
    baseline = any(cell.all_labels_mse is not None for cell in block)
    measured = any(cell.r2 is not None for cell in block)
    table: list[list[tuple[Column | str, object]]] = []
    for joint, line in lines.items():
        cell = next(line[words] for words in maps if words in line)
        errors = {words: line.get(words) for words in maps}
        table.append(
            [
                ("joint", joint_label(joint)),
                ("RMS, °", rms(cell.mse)),
                (Column("MCC", marked=True), mcc_entry(cell)),
                ("matched", fixed(cell.mcc_matched)),
                (_PAPER, fixed(cell.paper_mcc)),
                *((Column(f"MSE {words}", marked=True), mse_entry(one)) for words, one in errors.items()),
                (_PAPER, fixed(cell.paper_mse)),
                *([(Column("all labels", paper=True), fixed(cell.all_labels_mse))] if baseline else []),
                *((f"R² {words}", fixed(one.r2 if one else None)) for words, one in errors.items() if measured),
            ]
        )
    heading = tag("h3", heading_of(first.setup, first.method, first.occlusion))
    variances = None if mse_comparable(first.setup, "id") else _variances(block)
    differences = next(filter(None, (beside_the_paper(cell, preset) for cell in block)), "")
    below = [tag("p", differences)] if differences else []
    wide = " wide" if len(maps) > 1 else ""
    return tag("div", heading, Table.of(table).html(), *below, variances or "", class_=f"card{wide}")


def _variances(block: Sequence[JointErrors]) -> Markup | None:
    """Variances of the true angles, ours and the paper's; None where a joint lacks either."""
    fitted = sorted((cell for cell in block if cell.variance is not None), key=lambda cell: cell.joint)
    if not fitted or any(cell.paper_variance is None for cell in fitted):
        return None
    ours, theirs = (" ".join(fixed(getattr(cell, name)) for cell in fitted) for name in ("variance", "paper_variance"))
    return explained("variances", ours=ours, theirs=theirs)


def by_labels(source: Source) -> Iterator[Section]:
    """Calibration error by the number of labels."""
    tables = list(label_tables(source.cells, over_seeds(source.results.shift_rows)))
    if not tables:
        return
    shifted = any(table.columns[-1].heading.endswith("not shifted") for _, table in tables)
    cards = [tag("div", tag("h3", heading), table.html(), class_="card wide") for heading, table in tables]
    text = explained("by_labels", shifted=shifted)
    yield Section("labels", "Error by number of calibration labels", [text, tag("div", *cards, class_="cards")])


def label_tables(cells: Iterable[JointErrors], not_shifted: Iterable[JointErrors] = ()) -> Iterator[tuple[str, Table]]:
    """Heading and table of each setup, method and split with several numbers of labels: RMS errors, and MSE beside.

    Args:
        cells: of all conditions; those with white squares are left out.
        not_shifted: of shifted poses, with lines fitted on poses in distribution; they are the last column.
    """
    by_fit, others = (
        grouped((each for each in every if each.occlusion == 0), lambda cell: (cell.setup, cell.method, cell.split))
        for every in (cells, not_shifted)
    )
    for (setup, method, split), own in by_fit.items():
        counts = grouped(sorted(own, key=lambda cell: cell.calibration_labels), lambda cell: cell.calibration_labels)
        if len(counts) < 2:
            continue
        columns = {f"{count:,}": group for count, group in counts.items()}
        if beside := others.get((setup, method, split)):
            columns[f"{beside[0].calibration_labels:,} not shifted"] = beside
        at = {heading: {cell.joint: cell for cell in group} for heading, group in columns.items()}
        joints = sorted({cell.joint for cell in own})
        lines = [[joint_label(joint), *(rms_entry(group.get(joint)) for group in at.values())] for joint in joints]
        yield f"{in_words(setup, 0)} · {method}, {split}", Table(["joint", *columns], lines)


def robustness(source: Source) -> Iterator[Section]:
    """Error against the side of the white square, of each setup and method with several of them."""
    cells = calibrated_as_the_paper(source.cells)
    content: list[Markup] = []
    measured = [cell for cell in cells if cell.mse is not None]
    for key, own in grouped(measured, lambda cell: (cell.setup, cell.method)).items():
        if len({cell.occlusion for cell in own}) > 1:
            heading = heading_of(*key)
            content += [
                tag("h3", heading),
                plot(occlusions(own), f"RMS error against the side of the squares, {heading}"),
            ]
    if not content:
        return
    labelled, erased = any(cell.label_share is not None for cell in cells), any(cell.erased for cell in cells)
    text = explained("robustness", calibration=_calibration(cells), labelled=labelled, erased=erased)
    yield Section("robustness", "Occlusion and distribution shift", [text, *content])


def poses(source: Source) -> Iterator[Section]:
    """Errors of the end effector's pose."""
    if not source.results.pose_rows:
        return
    columns = ["setup", "method", "split", "px", "link in frame", "position, mm", "orientation, °", "ADD, mm", "AUC"]
    lines = [
        [in_words(row.setup, 0), row.method, row.split, str(row.occlusion), f"{row.link} in {row.frame}", *entries]
        for row, entries in pose_entries(source.results.pose_rows)
    ]
    table = Table(columns, lines, texts=(0, 1, 2, 4))
    yield Section("poses", "Pose of the end effector", [explained("poses"), table.html()])


def pose_entries(rows: Iterable[PoseRow]) -> list[tuple[PoseRow, list[Entry]]]:
    """First row of each condition, and its means ± deviations over repeats and seeds.

    They are of position (mm), orientation (degrees), ADD (mm) and its AUC.
    """
    found = []
    for group in grouped(rows, lambda row: row.conditions).values():
        pooled = [pool(figures) for figures in zip(*(row.figures() for row in group), strict=True)]
        printed = [[fixed(value, digits) for value in pair] for pair, digits in zip(pooled, (1, 2, 1, 3), strict=True)]
        found.append((group[0], [Entry(mean, [std]) for mean, std in printed]))
    return found


def all_numbers(source: Source) -> Iterator[Section]:
    """Every cell."""
    measured = any(cell.r2 is not None for cell in source.cells)
    columns = [
        *("setup", "method", "split", "px", "joint", "MCC", _PAPER, "RMS, °", "MSE, rad²", _PAPER),
        *(("R²",) if measured else ()),
        *("training labels", "calibration labels", "seeds"),
    ]
    lines = [
        [
            *(cell.setup, cell.method, cell.split, str(cell.occlusion), joint_label(cell.joint), mcc_entry(cell)),
            *(fixed(cell.paper_mcc), rms(cell.mse), mse_entry(cell), fixed(cell.paper_mse)),
            *((fixed(cell.r2),) if measured else ()),
            *(str(cell.labels), str(cell.calibration_labels), ", ".join(map(str, cell.seeds))),
        ]
        for cell in source.cells
    ]
    summary = f"{len(source.cells)} conditions, {len(source.results.rows)} rows"
    table = Table(columns, lines, texts=(0, 1, 2, 4))
    yield Section("all", "All numbers", [details(summary, table.html(), opened=not source.cells)])

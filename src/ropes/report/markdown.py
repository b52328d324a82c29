"""Markdown tables of errors, RMS in degrees and MSE: a block for each condition, a line for each method.

The compared fits decide the form: methods, labels in training (Table 2), or training data (curves).  Bold errors reach
the paper's counterpart, which stands below ours.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ropes.evaluation.paper import (
    ALL_LABELS,
    CALIBRATION_LABELS,
    LABELLED_IMAGES,
    mse_comparable,
    published,
    supervised_with,
)
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors, calibrated_as_the_paper, least_labelled, over_seeds
from ropes.experiments.objectives import ROPES_VARIANTS
from ropes.methods.registry import method_of
from ropes.report.correlations import Condition, explained_lines, mcc_table
from ropes.report.curves import described
from ropes.report.differences import Marks, missed, reached_by_method
from ropes.report.error_entries import Fit, Line, of_paper, our_entries, published_line
from ropes.report.fit_times import fit_times
from ropes.report.origins import below
from ropes.report.table import Table, grouped, named_once, paragraphs
from ropes.report.words import TABLE1_ORDER, joint_label, method_label

NOT_SHIFTED = (
    "Lines for shifted poses are fitted on shifted poses, and on poses in distribution where the labels are called "
    '"not shifted"; the paper does not say which.'
)
#: Heading of the error of all joints together.
ALL = "all joints"
#: Conditions in words, with the lines of each.
Blocks = Iterator[tuple[str, list[Line]]]


def markdown(found: Results, *, label_free: bool = False) -> str:
    """The tables of an experiment, RMS errors in degrees and then MSE in rad², and the origin of their numbers.

    A third table has the MCC where the paper gives one.  The tables leave out occlusions that Table 1 of the paper
    lacks, except in the form of Table 2; and calibrations on fewer labels than the paper's, except on none.

    Args:
        found: of one experiment.
        label_free: of our methods, include only maps without labels, and in degrees alone.
    """
    every, marks = over_seeds(found.rows), Marks(found.preset)
    joints = sorted({cell.joint for cell in every})
    if any(cell.label_share is not None for cell in every):
        shown = [cell for cell in every if cell.label_share is not None] + list(least_labelled(every))
        times = fit_times(found)
        note = f"Labelled images in training; + {CALIBRATION_LABELS:,} labelled poses of a line to radians. "
        note += "Training time is the mean over training seeds. " if times else ""
        columns = ["test data", "method", "labelled images", *(["training, s"] if times else [])]
        written = _tables(columns, 2, joints, partial(_labelled, shown, joints, marks, times))
        return paragraphs(*written, marks.markdown(), note + below(found, shown, "the paper's counterpart"))
    fitted = calibrated_as_the_paper(every)
    reached = "" if label_free else reached_by_method(fitted) + missed(fitted, "ropes")
    every = tuple(cell for cell in every if cell.occlusion == 0 or (cell.setup, cell.occlusion) in TABLE1_ORDER)
    cells = calibrated_as_the_paper(every)
    not_shifted = () if label_free else over_seeds(found.shift_rows)
    if any(method_of(cell.method) != cell.method and cell.method not in ROPES_VARIANTS for cell in cells):
        cells = (*cells, *(cell for cell in every if cell.calibration_labels == 0))
        if label_free:
            note = (
                f"Our rows are without labels; the paper's ROPES has a line fitted on {CALIBRATION_LABELS:,} labels. "
            )
        else:
            shifted = "" if not_shifted else " (of shifted poses under shift)"
            note = f"With lines fitted on {CALIBRATION_LABELS:,} labels{shifted} unless stated otherwise. "
            note += f"{NOT_SHIFTED} " if not_shifted else ""
        blocks = partial(_variants, cells, joints, not_shifted, marks, label_free)
        written = _tables(["test data", "training data"], 2, joints, blocks, label_free)
        return paragraphs(*written, marks.markdown(), note + below(found, cells, in_degrees=label_free))
    of_ropes = ("ropes", *ROPES_VARIANTS)
    shown = [cell for cell in every if cell in cells or (cell.calibration_labels == 0 and cell.method not in of_ropes)]
    note = f"{NOT_SHIFTED} " if not_shifted else ""
    if any(cell.paper_mse is not None and not mse_comparable(cell.setup, cell.split) for cell in cells):
        note += (
            "Errors with causal joints are never bold. The paper's R² is its squared MCC, that of the best line; "
            "variances are those of MSE / (1 − MCC²). "
        )
    blocks = partial(_methods, shown, joints, not_shifted, marks, label_free)
    written = _tables(["test data", "method", "labels"], 2, joints, blocks, label_free)
    if not label_free:
        written += mcc_table(_fits_of_methods(shown), joints, marks)
    return paragraphs(*written, marks.markdown(), note + reached + below(found, cells, in_degrees=label_free))


def _tables(
    headings: Sequence[str],
    texts: int,
    joints: Sequence[str],
    blocks: Callable[[bool], Blocks],
    degrees_alone: bool = False,
) -> list[str]:
    """The table in degrees, and unless alone that in rad²; each block is named in its first line."""

    def table(in_degrees: bool) -> str:
        lines = named_once((name, line) for name, block in blocks(in_degrees) for line in block)
        columns = [*headings, *map(joint_label, joints), *([ALL] if in_degrees else [])]
        return Table(columns, lines, texts=range(texts)).markdown()

    return [table(True)] if degrees_alone else ["RMS error, °:", table(True), "MSE, rad²:", table(False)]


def _fits(cells: Iterable[JointErrors], key: Callable[[JointErrors], Any]) -> dict[Condition, dict[Any, Fit]]:
    """Condition → key of a fit → its cells by joint."""
    conditions = grouped(cells, lambda cell: (cell.setup, cell.occlusion, cell.split))
    return {
        condition: {fit: {cell.joint: cell for cell in own} for fit, own in grouped(group, key).items()}
        for condition, group in conditions.items()
    }


def _methods(
    cells: Iterable[JointErrors],
    joints: Sequence[str],
    not_shifted: Sequence[JointErrors],
    marks: Marks,
    label_free: bool,
    in_degrees: bool,
) -> Blocks:
    """A line for each method and number of labels, then the paper's ROPES and RoboPEPP.

    `not_shifted` are errors on shifted poses with lines fitted on poses in distribution.
    """
    for condition, fits in _fits_of_methods(cells).items():
        bars, full = (of_paper(fits.values(), joints, name) for name in ("paper_mse", "all_labels_mse"))
        name, lines = marks.condition(*condition, published=any(bars)), list[Line]()
        for (method, fewer), at in sorted(fits.items(), key=lambda item: item[0]):
            if label_free and fewer:
                continue
            words = marks.method(method, method_label(method), published=any(bars))
            labels = f"{next(iter(at.values())).labels - fewer:,}"
            lines.append([words, labels, *our_entries(at, joints, bars, in_degrees)])
            fit = (*condition, method, -fewer)
            if beside := _of_fit(not_shifted, fit):
                lines.append([words, f"{labels} not shifted", *our_entries(beside, joints, bars, in_degrees)])
        lines += published_line(["the paper's ROPES", f"{CALIBRATION_LABELS:,}"], bars, in_degrees)
        if not in_degrees and not mse_comparable(condition[0], condition[2]):
            lines += explained_lines(fits, joints, marks)
        if {method_of(method) for method, _ in fits} != {"ropes"}:
            lines += published_line(["the paper's RoboPEPP", f"{ALL_LABELS:,}"], full, in_degrees)
        yield name, lines


def _fits_of_methods(cells: Iterable[JointErrors]) -> dict[Condition, dict[tuple[str, int], Fit]]:
    """The fits of each condition, in the order of Table 1, by method and minus the number of calibration labels."""
    order = sorted(
        cells, key=lambda cell: (cell.split, TABLE1_ORDER.get((cell.setup, cell.occlusion), len(TABLE1_ORDER)))
    )
    return _fits(order, lambda cell: (cell.method, -cell.calibration_labels))


def _of_fit(cells: Sequence[JointErrors], fit: tuple[str, int, str, str, int]) -> Fit:
    """The cells of a setup, occlusion, split, method and number of calibration labels."""
    return {
        cell.joint: cell
        for cell in cells
        if (cell.setup, cell.occlusion, cell.split, cell.method, cell.calibration_labels) == fit
    }


def _labelled(
    cells: Iterable[JointErrors],
    joints: Sequence[str],
    marks: Marks,
    times: Mapping[tuple[str, str], float],
    in_degrees: bool,
) -> Blocks:
    """A line for each method and number of labelled images in training, then the paper's.

    Methods without labels come first and compare with the paper's ROPES; the others compare with its RoboPEPP.
    `times` are the seconds of each setup's and method's training; without any there is no column.
    """
    untimed = [""] if times else []
    order = sorted(cells, key=lambda cell: (cell.setup, cell.split, cell.occlusion))
    for condition, fits in _fits(order, lambda cell: (cell.labels, method_of(cell.method))).items():
        ropes = [_paper_mse(None, condition, joint) for joint in joints]
        name, lines = marks.condition(*condition, published=any(ropes)), list[Line]()
        for (labels, method), at in sorted(fits.items(), key=lambda item: item[0]):
            bars = of_paper([at], joints, "paper_mse") if labels else ropes
            after = next(iter(at.values())).calibration_labels
            words, count = marks.method(method, method, published=any(ropes)), f"{labels:,}"
            count += f" + {after:,}" if after else ""
            seconds = times.get((condition[0], next(iter(at.values())).method))
            trained = ["–" if seconds is None else f"{seconds:,.0f}"] if times else []
            lines.append([words, count, *trained, *our_entries(at, joints, bars, in_degrees)])
        lines += published_line(["the paper's ROPES", f"0 + {CALIBRATION_LABELS:,}", *untimed], ropes, in_degrees)
        for share, images in LABELLED_IMAGES.items():
            supervised = [_paper_mse(share, condition, joint) for joint in joints]
            lines += published_line(["the paper's RoboPEPP", f"{images:,}", *untimed], supervised, in_degrees)
        yield name, lines


def _paper_mse(share: float | None, condition: Condition, joint: str) -> float | None:
    """MSE of the paper's RoboPEPP with a share of the labels, or of its ROPES for None."""
    setup, pixels, split = condition
    where: dict[str, Any] = {"setup": setup, "joint": joint, "split": split, "occlusion": pixels}
    cell = published(**where) if share is None else supervised_with(share, **where)
    return cell.mse if cell else None


def _variants(
    cells: Iterable[JointErrors],
    joints: Sequence[str],
    not_shifted: Sequence[JointErrors],
    marks: Marks,
    label_free: bool,
    in_degrees: bool,
) -> Blocks:
    """A line for each fit, described by its training data, then the paper's ROPES and RoboPEPP.

    `not_shifted` are errors on shifted poses with lines fitted on poses in distribution.
    """

    def by_size(cell: JointErrors) -> tuple[Any, ...]:
        size = cell.erased or 0.0, -(cell.image_size or 0), cell.anchors or 0
        return cell.setup, cell.split, cell.occlusion, method_of(cell.method), *size, -cell.calibration_labels

    conditions = _fits(sorted(cells, key=by_size), lambda cell: (cell.method, cell.calibration_labels))
    several = len({method_of(method) for fits in conditions.values() for method, _ in fits}) > 1
    for condition, fits in conditions.items():
        bars, full = (of_paper(fits.values(), joints, name) for name in ("paper_mse", "all_labels_mse"))
        name, lines = marks.condition(*condition, published=any(bars)), list[Line]()
        for (method, labels), at in fits.items():
            if label_free and labels:
                continue
            words = described(next(iter(at.values()))) + ("" if labels or label_free else "; without labels")
            words = f"{method_of(method)}: {words}" if several else words
            lines.append([marks.method(method, words, published=any(bars)), *our_entries(at, joints, bars, in_degrees)])
            if beside := _of_fit(not_shifted, (*condition, method, labels)):
                named = marks.method(method, f"{words}; not shifted", published=any(bars))
                lines.append([named, *our_entries(beside, joints, bars, in_degrees)])
        for system, count, errors in (("ROPES", 0, bars), ("RoboPEPP", ALL_LABELS, full)):
            lines += published_line([f"the paper's {system}, {count:,} labels in training"], errors, in_degrees)
        yield name, lines

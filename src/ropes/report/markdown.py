"""Markdown tables of squared errors: a block per condition, a line per method.

What is compared chooses the form: methods, labels in training (Table 2), or what a fit had to learn from (curves).
Bold reaches the paper's counterpart, which stands below ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ropes.evaluation.paper import (
    ALL_LABELS,
    CALIBRATION_LABELS,
    LABELLED_IMAGES,
    TABLE1,
    mse_comparable,
    published,
    supervised_with,
)
from ropes.evaluation.results import Results
from ropes.evaluation.summary import Cell, calibrated_as_the_paper, least_labelled, over_seeds, reaches
from ropes.methods.recipes.variants import BESIDE_ROPES
from ropes.methods.registry import method_of
from ropes.report.curves import described
from ropes.report.markdown_tables import table
from ropes.report.naming import joint_label, method_label
from ropes.report.numbers import error_and_deviation, fixed
from ropes.report.verdict import in_words

_ORDER = {(setup, pixels): place for place, (setup, pixels, _) in enumerate(TABLE1)}
OTHER_ANGLES = "No error is bold where the paper's test angles have other variances: compare MCC there. "
#: Where poses come from (setup), side of the square, split.
Condition = tuple[str, int, str]
#: Entries of a line after the first column, and the lines of a block by its condition.
Line = list[str]
Blocks = Mapping[Condition, Sequence[Line]]


def markdown(found: Results, *, label_free: bool = False) -> str:
    """The table of an experiment, and a line on its origin, ending in a newline.

    Correlations are left to the report.  So are, but for Table 2, occlusions that the paper's Table 1 does not have,
    and calibrations on fewer labels but not none.

    Args:
        found: of one experiment.
        label_free: of our methods only what takes no label at all.
    """
    every = over_seeds(found.rows)
    joints = sorted({cell.joint for cell in every})
    if any(cell.label_share is not None for cell in every):
        shown = [cell for cell in every if cell.label_share is not None] + list(least_labelled(every))
        note = f"Labelled images in training; + {CALIBRATION_LABELS:,}: labelled poses for a line after it. "
        written = _table(["tested on", "read by"], ["labelled images"], joints, _labelled(shown, joints))
        return f"{written}\n\n{note}{_origin(found, shown, 'its counterpart of the paper')}\n"
    every = tuple(cell for cell in every if cell.occlusion == 0 or (cell.setup, cell.occlusion) in _ORDER)
    cells = calibrated_as_the_paper(every)
    if any(method_of(cell.method) != cell.method and cell.method not in BESIDE_ROPES for cell in cells):
        unlabelled = [cell for cell in every if cell.calibration_labels == 0]
        note = (
            f"After a line on {CALIBRATION_LABELS:,} labels, of shifted poses for these, where nothing else is said. "
        )
        written = _table(["tested on", "learnt from"], [], joints, _variants([*cells, *unlabelled], joints))
        return f"{written}\n\n{note}{_origin(found, cells)}\n"
    of_ropes = ("ropes", *BESIDE_ROPES)
    shown = [cell for cell in every if cell in cells or (cell.calibration_labels == 0 and cell.method not in of_ropes)]
    blocks = _methods(shown, joints, over_seeds(found.shift_rows), label_free=label_free)
    written = _table(["tested on", "read by"], ["labels"], joints, blocks)
    return f"{written}\n\n{_origin(found, cells)}\n"


def _table(words: Sequence[str], counts: Sequence[str], joints: Sequence[str], blocks: Blocks) -> str:
    """Blocks below one another, each named in its first line; columns of words to the left, of numbers to the right."""
    lines: list[Line] = []
    for (setup, pixels, split), block in blocks.items():
        name = in_words(setup, pixels, split)
        lines += [[name if line is block[0] else "", *line] for line in block]
    return table(words, [*counts, *(joint_label(joint) for joint in joints)], lines)


def _methods(
    cells: Iterable[Cell], joints: Sequence[str], not_shifted: Sequence[Cell], *, label_free: bool = False
) -> Blocks:
    """A line for each method and number of labels, the paper's two below them.

    Args:
        cells: of any conditions.
        joints: the columns.
        not_shifted: of shifted poses, after lines that were fitted on poses that are not.
        label_free: leave out lines of ours that take labels.
    """
    conditions: dict[Condition, dict[tuple[str, int], dict[str, Cell]]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.split, _ORDER.get((cell.setup, cell.occlusion), len(_ORDER)))):
        systems = conditions.setdefault((cell.setup, cell.occlusion, cell.split), {})
        systems.setdefault((cell.method, -cell.calibration_labels), {})[cell.joint] = cell
    blocks: dict[Condition, list[Line]] = {}
    for condition, systems in conditions.items():
        bars, full = (_of_paper(systems.values(), joints, figure) for figure in ("paper_mse", "all_labels_mse"))
        lines: list[Line] = []
        for (method, fewer), at in sorted(systems.items()):
            if label_free and fewer:
                continue
            labels = f"{next(iter(at.values())).labels - fewer:,}"
            lines.append([method_label(method), labels, *_ours(at, joints, bars)])
            same = *condition, method, -fewer
            if beside := {cell.joint: cell for cell in not_shifted if _fitted_as(cell) == same}:
                lines.append([method_label(method), f"{labels} not shifted", *_ours(beside, joints, bars)])
        lines += _published("the paper's ROPES", f"{CALIBRATION_LABELS:,}", bars)
        if not mse_comparable(condition[0], condition[2]):
            lines += _correlations(systems, joints)
        if {method_of(method) for method, _ in systems} != {"ropes"}:
            lines += _published("the paper's RoboPEPP", f"{ALL_LABELS:,}", full)
        blocks[condition] = lines
    return blocks


def _fitted_as(cell: Cell) -> tuple[object, ...]:
    """The condition of a cell, its method, and on how many labels its line was fitted."""
    return cell.setup, cell.occlusion, cell.split, cell.method, cell.calibration_labels


def _correlations(systems: Mapping[tuple[str, int], Mapping[str, Cell]], joints: Sequence[str]) -> list[Line]:
    """A line for each method with its MCC, bold where it reaches the paper's, and one for the paper's."""
    lines: list[Line] = []
    theirs = _of_paper(systems.values(), joints, "paper_mcc")
    most_labelled = {method: systems[method, fewer] for method, fewer in sorted(systems, reverse=True)}
    for method, at in sorted(most_labelled.items()):
        shown = []
        for joint, bar in zip(joints, theirs, strict=True):
            value = at[joint].mcc if joint in at else None
            reached = value is not None and bar is not None and round(value, 3) >= bar
            shown.append(f"**{fixed(value)}**" if reached else fixed(value))
        lines.append([f"{method_label(method)}: MCC", "", *shown])
    return lines + _published("the paper's ROPES: MCC", "", theirs)


def _labelled(cells: Iterable[Cell], joints: Sequence[str]) -> Blocks:
    """A line for each method and number of labelled images in training, the paper's at the end of each block.

    Methods without labels come first, and stand beside the paper's ROPES; the others beside its RoboPEPP.
    """
    conditions: dict[Condition, dict[tuple[int, str], dict[str, Cell]]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.setup, cell.split, cell.occlusion)):
        fits = conditions.setdefault((cell.setup, cell.occlusion, cell.split), {})
        fits.setdefault((cell.labels, method_of(cell.method)), {})[cell.joint] = cell
    blocks: dict[Condition, list[Line]] = {}
    for condition, fits in conditions.items():
        ropes = [_paper_cell(None, condition, joint) for joint in joints]
        lines = [
            [method, _labels_read(at), *_ours(at, joints, _of_paper([at], joints, "paper_mse") if labels else ropes)]
            for (labels, method), at in sorted(fits.items())
        ]
        lines += _published("the paper's ROPES", f"0 + {CALIBRATION_LABELS:,}", ropes)
        for share, images in LABELLED_IMAGES.items():
            supervised = [_paper_cell(share, condition, joint) for joint in joints]
            lines += _published("the paper's RoboPEPP", f"{images:,}", supervised)
        blocks[condition] = lines
    return blocks


def _labels_read(at: Mapping[str, Cell]) -> str:
    """Labelled images in training, and the labelled poses of a line after it."""
    cell = next(iter(at.values()))
    return f"{cell.labels:,}" + (f" + {cell.calibration_labels:,}" if cell.calibration_labels else "")


def _paper_cell(share: float | None, condition: Condition, joint: str) -> float | None:
    """MSE of the paper's RoboPEPP with a share of the labels, or of its ROPES without."""
    setup, pixels, split = condition
    if share is None:
        cell = published(setup=setup, joint=joint, split=split, occlusion=pixels)
    else:
        cell = supervised_with(share, setup=setup, joint=joint, split=split, occlusion=pixels)
    return cell.mse if cell else None


def _variants(cells: Iterable[Cell], joints: Sequence[str]) -> Blocks:
    """A line for each fit, by what it had to learn from; the paper's two below those of a test."""
    conditions: dict[Condition, dict[tuple[str, int], dict[str, Cell]]] = {}
    for cell in sorted(cells, key=_by_size):
        fits = conditions.setdefault((cell.setup, cell.occlusion, cell.split), {})
        fits.setdefault((cell.method, cell.calibration_labels), {})[cell.joint] = cell
    several = len({method_of(method) for fits in conditions.values() for method, _ in fits}) > 1
    blocks: dict[Condition, list[Line]] = {}
    for condition, fits in conditions.items():
        bars, full = (_of_paper(fits.values(), joints, figure) for figure in ("paper_mse", "all_labels_mse"))
        lines = []
        for (method, labels), at in fits.items():
            words = described(next(iter(at.values()))) + ("" if labels else "; read without a label")
            lines.append([f"{method_of(method)}: {words}" if several else words, *_ours(at, joints, bars)])
        paper = _published("the paper's ROPES", "0", bars) + _published("the paper's RoboPEPP", f"{ALL_LABELS:,}", full)
        blocks[condition] = lines + [
            [f"{system}, {labels} labels in training", *rest] for system, labels, *rest in paper
        ]
    return blocks


def _of_paper(systems: Iterable[Mapping[str, Cell]], joints: Sequence[str], figure: str) -> list[float | None]:
    """A number of the paper's for each joint, from whichever cell has it."""
    found = {joint: getattr(cell, figure) for at in systems for joint, cell in at.items() if getattr(cell, figure)}
    return [found.get(joint) for joint in joints]


def _published(system: str, labels: str, values: Sequence[float | None]) -> list[list[str]]:
    """A line of the paper's numbers; none where the paper has none."""
    shown = ["" if value is None else fixed(value) for value in values]
    return [[system, labels, *shown]] if any(shown) else []


def _by_size(cell: Cell) -> tuple[Any, ...]:
    size = cell.erased or 0.0, -(cell.image_size or 0), cell.anchors or 0
    return cell.setup, cell.split, cell.occlusion, method_of(cell.method), *size, -cell.calibration_labels


def _ours(at: Mapping[str, Cell], joints: Sequence[str], bars: Sequence[float | None]) -> list[str]:
    """Ours ± spread of each joint, bold where it reaches the bar, rounded as that is."""
    found = []
    for joint, bar in zip(joints, bars, strict=True):
        if joint not in at or (value := at[joint].mse) is None:
            found.append("")
            continue
        shown, deviation = error_and_deviation(value, at[joint].mse_draws)
        compared = bar is not None and mse_comparable(at[joint].setup, at[joint].split)
        bold = f"**{shown}**" if compared and bar is not None and reaches(value, bar) else shown
        seeds = at[joint].mse_seeds
        found.append(f"{bold} ± {deviation}" + ("" if seeds is None else f" ± {error_and_deviation(value, seeds)[1]}"))
    return found


def _over_seeds(cells: Sequence[Cell]) -> str:
    """How many training seeds there are, over which the second deviation is where there are several."""
    second = ", with several training seeds then ± over these" if any(len(cell.seeds) > 1 for cell in cells) else ""
    return f" of {_counted(cells)}{second}"


def _counted(cells: Sequence[Cell]) -> str:
    """The number of training seeds, by method where they differ in it."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.method, set()).update(cell.seeds)
    methods: dict[str, list[str]] = {}
    for method, own in sorted(seeds.items(), key=lambda item: (len(item[1]), item[0])):
        methods.setdefault(f"{len(own)} training seed{'s' * (len(own) > 1)}", []).append(method_label(method))
    if len(methods) == 1:
        return next(iter(methods))
    return " or ".join(f"{number} ({', '.join(own)})" for number, own in methods.items())


def _origin(found: Results, cells: Sequence[Cell], bar: str = "the paper's ROPES") -> str:
    scene = "" if found.scene is None else f"Scene {found.scene}. "
    apart = any(cell.label_share is None and not mse_comparable(cell.setup, cell.split) for cell in cells)
    other = OTHER_ANGLES if apart else ""
    return (
        f"MSE in rad², ± over test draws{_over_seeds(cells)}, bold where it reaches {bar}. "
        f"{other}{scene}Preset {found.preset}, {found.device}, {found.seconds / 60:.0f} minutes."
    )

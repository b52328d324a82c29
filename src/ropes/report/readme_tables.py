"""The tables of README and docs are written from the committed results, so that they can never say anything else.

A table stands between `<!-- table:NAME-PRESET -->` and `<!-- /table -->` and comes from NAME-PRESET.json.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ropes import files, results
from ropes.errors import UserError
from ropes.paper import (
    ALL_LABELS,
    CALIBRATION_LABELS,
    LABELLED_IMAGES,
    TABLE1,
    published,
    supervised_with,
)
from ropes.recipes import method_of
from ropes.report.curves import described
from ropes.report.naming import joint_label
from ropes.report.verdict import in_words
from ropes.results import Results
from ropes.summary import Cell, calibrated_as_the_paper, least_labelled, over_seeds, reaches

_OPEN, _CLOSE = re.compile(r"<!-- table:(\S+) -->"), "<!-- /table -->"


def update(page: Path, results_dir: Path, check: bool = False) -> tuple[str, ...]:
    """Write every marked table of `page` anew from `results_dir`/NAME-PRESET.json.

    Args:
        page: Markdown file with the markers.
        results_dir: folder of the committed results.
        check: change nothing; fail where a table differs.

    Returns:
        The names of the tables that were out of date.

    Raises:
        UserError: the file or a results file is missing, it has no marker, a marker is not closed, or (with `check`) a
            table is out of date.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read {page}: {error.strerror}; name the file with the markers") from error
    pieces, at, stale = [], 0, []
    while found := _OPEN.search(text, at):
        end = text.find(_CLOSE, found.end())
        following = _OPEN.search(text, found.end())
        if end < 0 or (following and following.start() < end):
            line = text.count("\n", 0, found.start()) + 1
            raise UserError(f"{page}, line {line}: table:{found[1]} has no {_CLOSE}; close it")
        table = f"\n{markdown(results.read(results_dir / f'{found[1]}.json'))}"
        if text[found.end() : end] != table:
            stale.append(found[1])
        pieces += [text[at : found.end()], table]
        at = end
    if not pieces:
        raise UserError(f"{page} has no table: mark one by <!-- table:NAME-PRESET --> and {_CLOSE}")
    if stale and check:
        names = ", ".join(stale)
        raise UserError(f"{page}: {names} differs from {results_dir}; run `ropes tables` and commit the file")
    if stale:
        files.write_text(page, "".join(pieces) + text[at:])
    return tuple(stale)


def markdown(found: Results) -> str:
    """One Markdown table of squared errors: a block per condition, a line per system, a column per joint.

    Bold reaches the paper's ROPES, which stands below ours, and below it, for what goes beyond ROPES, the paper's
    baseline with all labels.  Correlations are left to the report, and so are occlusions that the paper's Table 1 does
    not have and calibrations on fewer labels but not none.

    Args:
        found: of one experiment.

    Returns:
        The table and a line on its origin, ending in a newline.
    """
    order = {(setup, pixels): place for place, (setup, pixels, _) in enumerate(TABLE1)}
    every = [cell for cell in over_seeds(found.rows) if cell.occlusion == 0 or _line(cell) in order]
    cells = calibrated_as_the_paper(every)
    joints = sorted({cell.joint for cell in cells})
    if any(cell.label_share is not None for cell in cells):
        shown = [cell for cell in every if cell.label_share is not None] + list(least_labelled(every))
        shown = [cell for cell in shown if cell.occlusion == 0]
        note = f"Labelled images in training; + {CALIBRATION_LABELS:,}: labelled poses for a line after it. "
        return f"{_labelled(shown, joints)}\n\n{note}{_origin(found, shown, 'its counterpart of the paper')}\n"
    if any(method_of(cell.method) != cell.method for cell in cells):
        unlabelled = [cell for cell in every if cell.calibration_labels == 0]
        note = f"After a line on {CALIBRATION_LABELS:,} labels where nothing else is said. "
        return f"{_variants([*cells, *unlabelled], joints)}\n\n{note}{_origin(found, cells)}\n"
    conditions: dict[tuple[str, int, str], dict[tuple[str, int], dict[str, Cell]]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.split, order.get(_line(cell), len(order)))):
        conditions.setdefault((cell.setup, cell.occlusion, cell.split), {})
    for cell in every:
        systems = conditions.get((cell.setup, cell.occlusion, cell.split))
        if systems is not None and (cell in cells or (cell.calibration_labels == 0 and cell.method != "ropes")):
            systems.setdefault((cell.method, cell.calibration_labels), {})[cell.joint] = cell
    lines = [
        _row(["tested on", "read by", "labels", *(joint_label(joint) for joint in joints)]),
        _row(["---", "---", "---:", *("---:" for _ in joints)]),
    ]
    for (setup, pixels, split), systems in conditions.items():
        name = in_words(setup, pixels) + (", shifted poses" if split == "ood" else "")
        for entries in _block(systems, joints):
            lines.append(_row([name, *entries]))
            name = ""
    return "\n".join(lines) + f"\n\n{_origin(found, cells)}\n"


def _block(systems: Mapping[tuple[str, int], Mapping[str, Cell]], joints: Sequence[str]) -> list[list[str]]:
    """The lines of one condition: ours, and the paper's two below them."""
    bars, full = (_of_paper(systems.values(), joints, figure) for figure in ("paper_mse", "all_labels_mse"))
    lines = [
        [method, f"{next(iter(at.values())).labels + labels:,}", *_ours(at, joints, bars)]
        for (method, labels), at in sorted(systems.items(), key=lambda system: (system[0][0], -system[0][1]))
    ]
    lines += _published("the paper's ROPES", f"{CALIBRATION_LABELS:,}", bars)
    if {method for method, _ in systems} != {"ropes"}:
        lines += _published("the paper's RoboPEPP", f"{ALL_LABELS:,}", full)
    return lines


def _labelled(cells: Sequence[Cell], joints: Sequence[str]) -> str:
    """A line for each method and number of labelled images in training, the paper's at the end of each block.

    Methods without labels come first, and stand beside the paper's ROPES; the others beside its RoboPEPP.
    """
    lines = [
        _row(["tested on", "read by", "labelled images", *(joint_label(joint) for joint in joints)]),
        _row(["---", "---", "---:", *("---:" for _ in joints)]),
    ]
    blocks: dict[tuple[str, str], dict[tuple[int, str], dict[str, Cell]]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.setup, cell.split)):
        fits = blocks.setdefault((cell.setup, cell.split), {})
        fits.setdefault((cell.labels, method_of(cell.method)), {})[cell.joint] = cell
    for (setup, split), fits in blocks.items():
        name = in_words(setup, 0) + (", shifted poses" if split == "ood" else "")
        ropes = [_paper_cell(None, setup, joint, split) for joint in joints]
        told = [
            [method, _labels_read(at), *_ours(at, joints, _of_paper([at], joints, "paper_mse") if labels else ropes)]
            for (labels, method), at in sorted(fits.items())
        ]
        told += _published("the paper's ROPES", f"0 + {CALIBRATION_LABELS:,}", ropes)
        for share, images in LABELLED_IMAGES.items():
            supervised = [_paper_cell(share, setup, joint, split) for joint in joints]
            told += _published("the paper's RoboPEPP", f"{images:,}", supervised)
        for entries in told:
            lines.append(_row([name, *entries]))
            name = ""
    return "\n".join(lines)


def _labels_read(at: Mapping[str, Cell]) -> str:
    """Labelled images in training, and the labelled poses of a line after it."""
    cell = next(iter(at.values()))
    return f"{cell.labels:,}" + (f" + {cell.calibration_labels:,}" if cell.calibration_labels else "")


def _paper_cell(share: float | None, setup: str, joint: str, split: str) -> float | None:
    """MSE of the paper's RoboPEPP with a share of the labels, or of its ROPES without."""
    if share is None:
        cell = published(setup=setup, joint=joint, split=split)
    else:
        cell = supervised_with(share, setup=setup, joint=joint, split=split, occlusion=0)
    return cell.mse if cell else None


def _variants(cells: Sequence[Cell], joints: Sequence[str]) -> str:
    """A line for each fit and condition, by what the fit had to learn from; the paper's two below those of a test."""
    lines = [
        _row(["tested on", "learnt from", *(joint_label(joint) for joint in joints)]),
        _row(["---", "---", *("---:" for _ in joints)]),
    ]
    methods = {method_of(cell.method) for cell in cells}
    groups: dict[tuple[str, str, int], dict[tuple[str, int], dict[str, Cell]]] = {}
    for cell in sorted(cells, key=_by_size):
        fits = groups.setdefault((cell.setup, cell.split, cell.occlusion), {})
        fits.setdefault((cell.method, cell.calibration_labels), {})[cell.joint] = cell
    for (setup, split, pixels), fits in groups.items():
        name = in_words(setup, pixels) + (", shifted poses" if split == "ood" else "")
        bars, full = (_of_paper(fits.values(), joints, figure) for figure in ("paper_mse", "all_labels_mse"))
        told = []
        for (method, labels), at in fits.items():
            words = described(next(iter(at.values()))) + ("" if labels else "; read without a label")
            told.append([f"{method_of(method)}: {words}" if len(methods) > 1 else words, *_ours(at, joints, bars)])
        paper = _published("the paper's ROPES", "0", bars) + _published("the paper's RoboPEPP", f"{ALL_LABELS:,}", full)
        told += [[f"{system}, {labels} labels in training", *rest] for system, labels, *rest in paper]
        for entries in told:
            lines.append(_row([name, *entries]))
            name = ""
    return "\n".join(lines)


def _of_paper(systems: Iterable[Mapping[str, Cell]], joints: Sequence[str], figure: str) -> list[float | None]:
    """A number of the paper's for each joint, from whichever cell has it."""
    found = {joint: getattr(cell, figure) for at in systems for joint, cell in at.items() if getattr(cell, figure)}
    return [found.get(joint) for joint in joints]


def _published(system: str, labels: str, values: Sequence[float | None]) -> list[list[str]]:
    """A line of the paper's numbers; none where the paper has none."""
    shown = ["" if value is None else f"{value:.3f}" for value in values]
    return [[system, labels, *shown]] if any(shown) else []


def _by_size(cell: Cell) -> tuple[Any, ...]:
    size = cell.erased or 0.0, -(cell.image_size or 0), cell.anchors or 0
    return cell.setup, cell.split, cell.occlusion, method_of(cell.method), *size, -cell.calibration_labels


def _line(cell: Cell) -> tuple[str, int]:
    return cell.setup, cell.occlusion


def _row(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _ours(at: Mapping[str, Cell], joints: Sequence[str], bars: Sequence[float | None]) -> list[str]:
    """Ours ± spread of each joint, bold where it reaches the bar, rounded as that is."""
    found = []
    for joint, bar in zip(joints, bars, strict=True):
        if joint not in at or (value := at[joint].mse) is None:
            found.append("")
            continue
        shown = _shown(value)
        digits = len(shown.partition(".")[2])
        bold = f"**{shown}**" if bar is not None and reaches(value, bar) else shown
        found.append(f"{bold} ± {at[joint].mse_std or 0.0:.{digits}f}")
    return found


def _shown(value: float) -> str:
    """Three decimals, as the paper has; four where three would leave a single digit."""
    return f"{value:.3f}" if value >= 0.0095 else f"{value:.4f}"


def _counted(cells: Sequence[Cell]) -> str:
    """The number of training seeds, by method where they differ in it."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.method, set()).update(cell.seeds)
    methods: dict[str, list[str]] = {}
    for method, own in sorted(seeds.items(), key=lambda item: (len(item[1]), item[0])):
        methods.setdefault(f"{len(own)} training seed{'s' * (len(own) > 1)}", []).append(method)
    if len(methods) == 1:
        return next(iter(methods))
    return " or ".join(f"{number} ({', '.join(own)})" for number, own in methods.items())


def _origin(found: Results, cells: Sequence[Cell], bar: str = "the paper's ROPES") -> str:
    return (
        f"MSE in rad², ± over test draws and {_counted(cells)}, bold where it reaches {bar}. "
        f"Preset {found.preset}, {found.device}, {found.seconds / 60:.0f} minutes."
    )

"""The README's tables are written from the committed results, so that they can never say anything else.

A table stands between `<!-- table:NAME-PRESET -->` and `<!-- /table -->` and comes from NAME-PRESET.json.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ropes import files, results
from ropes.errors import UserError
from ropes.paper import ALL_LABELS, TABLE1
from ropes.recipes import method_of
from ropes.report.curves import described
from ropes.report.naming import joint_label
from ropes.report.verdict import in_words
from ropes.results import Results
from ropes.summary import Cell, calibrated_as_the_paper, over_seeds

_OPEN, _CLOSE = re.compile(r"<!-- table:(\S+) -->"), "<!-- /table -->"


def update(readme: Path, results_dir: Path, check: bool = False) -> tuple[str, ...]:
    """Write every marked table of `readme` anew from `results_dir`/NAME-PRESET.json.

    Args:
        readme: Markdown file with the markers.
        results_dir: folder of the committed results.
        check: change nothing; fail where a table differs.

    Returns:
        The names of the tables that were out of date.

    Raises:
        UserError: the file or a results file is missing, a marker is not closed, or (with `check`) a table is
            out of date.
    """
    try:
        text = readme.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read {readme}: {error.strerror}; name the file with the markers") from error
    pieces, at, stale = [], 0, []
    while found := _OPEN.search(text, at):
        end = text.find(_CLOSE, found.end())
        following = _OPEN.search(text, found.end())
        if end < 0 or (following and following.start() < end):
            line = text.count("\n", 0, found.start()) + 1
            raise UserError(f"{readme}, line {line}: table:{found[1]} has no {_CLOSE}; close it")
        table = f"\n{markdown(results.read(results_dir / f'{found[1]}.json'))}"
        if text[found.end() : end] != table:
            stale.append(found[1])
        pieces += [text[at : found.end()], table]
        at = end
    if stale and check:
        names = ", ".join(stale)
        raise UserError(f"{readme}: {names} differs from {results_dir}; run `ropes tables` and commit the file")
    if stale:
        files.write_text(readme, "".join(pieces) + text[at:])
    return tuple(stale)


def markdown(found: Results) -> str:
    """One Markdown table: a line per condition and figure, a column per joint, the paper's in brackets.

    Bold reaches the paper's number. Occlusions that the paper's Table 1 does not have are left to the report, as are
    calibrations on fewer labels.  ROPES is held against the paper's ROPES alone; what goes beyond it stands beside the
    paper's baseline with all labels too.

    Args:
        found: of one experiment.

    Returns:
        The table and a line on its origin, ending in a newline.
    """
    order = {(setup, pixels): place for place, (setup, pixels, _) in enumerate(TABLE1)}
    every = over_seeds(found.rows)
    cells = [cell for cell in calibrated_as_the_paper(every) if cell.occlusion == 0 or _line(cell) in order]
    joints = sorted({cell.joint for cell in cells})
    if any(method_of(cell.method) != cell.method for cell in cells):
        return f"{_variants(cells, joints)}\n\n{_origin(found, cells)}\n"
    methods = {cell.method for cell in cells}
    conditions: dict[tuple[str, int, str], dict[str, dict[str, Cell]]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.split, order.get(_line(cell), len(order)))):
        groups = conditions.setdefault((cell.setup, cell.occlusion, cell.split), {})
        groups.setdefault(cell.method, {})[cell.joint] = cell
    lines = [
        _row(["", "", *(joint_label(joint) for joint in joints)]),
        _row(["---", "---", *("---:" for _ in joints)]),
    ]
    for (setup, pixels, split), groups in conditions.items():
        name = in_words(setup, pixels) + (", shifted test poses" if split == "ood" else "")
        for method, at in groups.items():
            mcc = [_cell(at.get(joint), "mcc") for joint in joints]
            mse = [_cell(at.get(joint), "mse") for joint in joints]
            if len(methods) > 1:  # many lines: correlations are left to the report
                lines.append(_row([f"{name} ({method})", "MSE, rad²", *mse]))
            else:
                lines += [_row([name, "MCC", *mcc]), _row(["", "MSE, rad²", *mse])]
        if methods == {"ropes"}:
            continue
        for method, mse in _without_labels(every, (setup, pixels, split), joints):
            lines.append(_row([f"{name} ({method}, no label at all)", "MSE, rad²", *mse]))
        if reference := _reference(groups, joints):
            lines.append(_row([f"{name} (RoboPEPP, {ALL_LABELS:,} labels)", "MSE, rad²", *reference]))
    return "\n".join(lines) + f"\n\n{_origin(found, cells)}\n"


def _without_labels(
    cells: Sequence[Cell], condition: tuple[str, int, str], joints: Sequence[str]
) -> list[tuple[str, list[str]]]:
    """By method, the errors of the map to radians that took no label; those of ROPES are left to the report."""
    groups: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        if (cell.setup, cell.occlusion, cell.split) == condition and cell.calibration_labels == 0:
            groups.setdefault(cell.method, {})[cell.joint] = cell
    groups.pop("ropes", None)
    return [(method, [_cell(at.get(joint), "mse") for joint in joints]) for method, at in groups.items()]


def _variants(cells: Sequence[Cell], joints: Sequence[str]) -> str:
    """A line for each fit and condition, by what the fit had to learn from; errors alone."""
    lines = [
        _row(["learnt from", "MSE, rad²", *(joint_label(joint) for joint in joints)]),
        _row(["---", "---", *("---:" for _ in joints)]),
    ]
    groups: dict[tuple[str, str, int], dict[str, Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.method, cell.split, cell.occlusion), {})[cell.joint] = cell
    for (_, split, pixels), at in sorted(groups.items(), key=lambda group: _by_size(next(iter(group[1].values())))):
        tested = ("shifted poses" if split == "ood" else "in distribution") + (
            f", {pixels} px square" if pixels else ""
        )
        mse = [_cell(at.get(joint), "mse") for joint in joints]
        lines.append(_row([described(next(iter(at.values()))), tested, *mse]))
    return "\n".join(lines)


def _by_size(cell: Cell) -> tuple[Any, ...]:
    return cell.setup, cell.erased or 0.0, -(cell.image_size or 0), cell.anchors or 0, cell.occlusion, cell.split


def _reference(groups: Mapping[str, Mapping[str, Cell]], joints: Sequence[str]) -> list[str]:
    """The paper's baseline with all labels, a number a joint; nothing where the paper has none."""
    at = {joint: cell for group in groups.values() for joint, cell in group.items()}
    found = [at[joint].all_labels_mse if joint in at else None for joint in joints]
    return ["" if value is None else f"{value:.3f}" for value in found] if any(found) else []


def _line(cell: Cell) -> tuple[str, int]:
    return cell.setup, cell.occlusion


def _row(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _cell(cell: Cell | None, figure: str) -> str:
    """Ours ± spread (the paper's)."""
    value = None if cell is None else getattr(cell, figure)
    if cell is None or value is None:
        return ""
    ours, theirs = _shown(value), getattr(cell, f"paper_{figure}")
    digits = len(ours.partition(".")[2])
    ours = f"**{ours}**" if getattr(cell, f"{figure}_reached") else ours
    spread = f"{getattr(cell, f'{figure}_std') or 0.0:.{digits}f}"
    return f"{ours} ± {spread}" + ("" if theirs is None else f" ({theirs:.3f})")


def _shown(value: float) -> str:
    """Three decimals, as the paper has; four where three would leave a single digit."""
    return f"{value:.3f}" if value >= 0.0095 else f"{value:.4f}"


def _origin(found: Results, cells: Sequence[Cell]) -> str:
    seeds = len({seed for cell in cells for seed in cell.seeds})
    counted = "1 training seed" if seeds == 1 else f"{seeds} training seeds"
    theirs = "the paper's number" if {cell.method for cell in cells} == {"ropes"} else "the number of the paper's ROPES"
    return (
        f"In brackets {theirs}, bold where ours reaches it; ± over test draws and {counted}. "
        f"Preset {found.preset}, {found.device}, {found.seconds / 60:.0f} minutes."
    )

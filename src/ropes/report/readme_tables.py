"""The README's tables are written from the committed results, so that they can never say anything else.

A table stands between `<!-- table:NAME-PRESET -->` and `<!-- /table -->` and comes from NAME-PRESET.json.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from ropes import files, results
from ropes.errors import UserError
from ropes.paper import TABLE1
from ropes.report.naming import joint_label
from ropes.report.verdict import in_words
from ropes.results import Results
from ropes.summary import Cell, over_seeds

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

    Bold reaches the paper's number. Occlusions that the paper's Table 1 does not have are left to the report.

    Args:
        found: of one experiment.

    Returns:
        The table and a line on its origin, ending in a newline.
    """
    order = {(setup, pixels): place for place, (setup, pixels, _) in enumerate(TABLE1)}
    cells = [cell for cell in over_seeds(found.rows) if cell.occlusion == 0 or _line(cell) in order]
    joints = sorted({cell.joint for cell in cells})
    methods = {cell.method for cell in cells}
    groups: dict[tuple[str, int, str, str], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.split, order.get(_line(cell), len(order)))):
        groups.setdefault((cell.setup, cell.occlusion, cell.split, cell.method), []).append(cell)
    lines = [
        _row(["", "", *(joint_label(joint) for joint in joints)]),
        _row(["---", "---", *("---:" for _ in joints)]),
    ]
    for (setup, pixels, split, method), group in groups.items():
        name = in_words(setup, pixels)
        if pixels and (setup, pixels) not in order:
            name += f", {pixels} px occluded"
        name += ", shifted test poses" if split == "ood" else ""
        name += f" ({method})" if len(methods) > 1 else ""
        at = {cell.joint: cell for cell in group}
        mcc = [_cell(at.get(joint), "mcc") for joint in joints]
        mse = [_cell(at.get(joint), "mse") for joint in joints]
        lines += [_row([name, "MCC", *mcc]), _row(["", "MSE, rad²", *mse])]
    return "\n".join(lines) + f"\n\n{_origin(found, cells)}\n"


def _line(cell: Cell) -> tuple[str, int]:
    return cell.setup, cell.occlusion


def _row(entries: Sequence[str]) -> str:
    return f"| {' | '.join(entries)} |"


def _cell(cell: Cell | None, figure: str) -> str:
    """Ours ± spread (the paper's)."""
    value = None if cell is None else getattr(cell, figure)
    if cell is None or value is None:
        return ""
    ours, theirs = f"{value:.3f}", getattr(cell, f"paper_{figure}")
    ours = f"**{ours}**" if getattr(cell, f"{figure}_reached") else ours
    spread = f"{getattr(cell, f'{figure}_std') or 0.0:.3f}"
    return f"{ours} ± {spread}" + ("" if theirs is None else f" ({theirs:.3f})")


def _origin(found: Results, cells: Sequence[Cell]) -> str:
    seeds = len({seed for cell in cells for seed in cell.seeds})
    counted = "1 training seed" if seeds == 1 else f"{seeds} training seeds"
    return (
        f"In brackets the paper's number, bold where ours reaches it; ± over test draws and {counted}. "
        f"Preset {found.preset}, {found.device}, {found.seconds / 60:.0f} minutes."
    )

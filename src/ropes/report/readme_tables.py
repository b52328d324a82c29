"""Writes the tables of README and docs from the committed results.

A table stands between `<!-- table:NAME-PRESET -->` and `<!-- /table -->` and comes from NAME-PRESET.json; with
`NAME-PRESET+NAME-PRESET` its joint errors come from both files.  `NAME-PRESET/label-free` is the table of joint angles
without our lines that use labels, `NAME-PRESET/labels` says how many labels a supervised method needs for the same
errors, `NAME-PRESET/summary` is a short table of models or actions, and `NAME-PRESET/optional` names the commands to
run where the experiment has no committed results.  `benchmark/TASK` is the table of the benchmark's entries in
`benchmark/`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.report import robot_hours, so101
from ropes.report.actions import action_markdown
from ropes.report.axes import axes_markdown
from ropes.report.benchmark import benchmark_markdown
from ropes.report.cameras_markdown import cameras_markdown
from ropes.report.curves import overtaken_markdown
from ropes.report.fit_times import fit_times_markdown
from ropes.report.markdown import markdown
from ropes.report.objectives_markdown import objectives_markdown
from ropes.report.origins import devices, require_alike
from ropes.report.partial_disentanglement import freed_markdown
from ropes.report.robot_time import robot_time_markdown
from ropes.report.study import study_markdown
from ropes.report.summaries import summary_markdown
from ropes.report.table import wrapped
from ropes.report.trust import coverage_markdown

_OPEN, _CLOSE = re.compile(r"<!-- table:(\S+) -->"), "<!-- /table -->"
#: Form of a table → how it is written.
_FORMS: Mapping[str, Callable[[Results], str]] = {
    "label-free": partial(markdown, label_free=True),
    "labels": overtaken_markdown,
    "robot-time": robot_time_markdown,
    "summary": summary_markdown,
}


def update(page: Path, results_dir: Path, check: bool = False) -> tuple[str, ...]:
    """Update every marked table of `page` from `results_dir`/NAME-PRESET.json.

    Args:
        page: Markdown file with the markers.
        results_dir: folder of the committed results.
        check: change nothing; fail if a table differs.

    Returns:
        The names of the tables that were out of date.

    Raises:
        UserError: the file or a results file is missing, the file has no marker, a marker is not closed, or (with
            `check`) a table is out of date.
    """
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"cannot read {page}: {error.strerror}; name the file with the markers") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{page} is no text ({error}); name the file with the markers") from error
    pieces, at, stale = [], 0, []
    while found := _OPEN.search(text, at):
        end = text.find(_CLOSE, found.end())
        following = _OPEN.search(text, found.end())
        if end < 0 or (following and following.start() < end):
            line = text.count("\n", 0, found.start()) + 1
            raise UserError(f"{page}, line {line}: table:{found[1]} has no {_CLOSE}; close it")
        table = f"\n{_of_marker(results_dir, found[1])}"
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


def _of_marker(results_dir: Path, name: str) -> str:
    """The text behind a marker of that name."""
    file, _, form = name.partition("/")
    if file == "benchmark":
        return wrapped(benchmark_markdown(results_dir / file, form))
    if form not in ("", *_FORMS, "optional"):
        known = ", ".join(_FORMS)
        raise UserError(f"table:{name} has the form {form!r}; leave it out, or give {known} or optional")
    paths = [results_dir / f"{each}.json" for each in file.split("+")]
    if form == "optional" and (missing := [path.stem for path in paths if not path.exists()]):
        command = f"ropes reproduce {missing[0].rpartition('-')[0]} --out FOLDER"
        return f"No results yet. `{command}`, then `ropes tables --run FOLDER`, writes them here.\n"
    found, *others = map(results.read, paths)
    for path, other in zip(paths[1:], others, strict=True):
        require_alike(found, other, (paths[0], path), f"table:{name} cannot have both")
    found = _joined(found, *others)
    return wrapped(_FORMS.get(form, _written)(found))


def _joined(found: Results, *others: Results) -> Results:
    """The first results with the joint errors of all."""
    if not others:
        return found
    rows = (row for each in (found, *others) for row in each.rows)
    return replace(found, device=devices(found, *others), seconds=None, rows=tuple(rows))


def _written(found: Results) -> str:
    """The tables of an experiment: joint angles, then models, then actions; some experiments have their own form."""
    if found.name == "cameras":
        return cameras_markdown(found)
    if found.name == "coverage":
        return coverage_markdown(found)
    if found.name == "eq3":
        return objectives_markdown(found)
    if found.name == "resolution":
        return f"{markdown(found)}\n{fit_times_markdown(found)}"
    if found.name == robot_hours.NAME:
        return robot_hours.robot_hours_markdown(found)
    if found.name == so101.NAME:
        return so101.so101_markdown(found)
    if found.freed_rows:
        return f"{markdown(found)}\n{freed_markdown(found)}"
    of_models = [study_markdown(found)] if found.model_rows else []
    of_actions = [action_markdown(found)] if found.action_rows else []
    of_axes = [axes_markdown(found)] if found.axes_rows else []
    of_joints = [markdown(found)] if found.rows or not (of_models or of_actions) else []
    return "\n".join([*of_joints, *of_axes, *of_models, *of_actions])

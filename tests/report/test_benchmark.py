"""The table of the benchmark's entries: its order, and the paper's figures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.evaluation.benchmark import Predictions, score, task_named
from ropes.evaluation.benchmark.entry import Entry, about_from_dict, write_entry
from ropes.report.benchmark import benchmark_markdown
from ropes.report.readme_tables import update

TASK = task_named("panda-1c-independent")


def put(folder: Path, name: str, errors: tuple[float, ...], **about: Any) -> None:
    given = {"name": name, "track": "no-label", "robot_hours": 4.0, "labels": 0, "link": f"https://e.org/{name}"}
    angles = TASK.angles("test-id")
    level = {"lower": angles - 0.1, "upper": angles + 0.1} if "level" in about else {}
    scores = tuple(score(TASK, {"test-id": Predictions(angles=angles + error, **level)}) for error in errors)
    described = about_from_dict({**given, "seeds": list(range(len(errors))), **about})
    entry = Entry(task=TASK.name, about=described, predictions=("0" * 64,) * len(errors), scores=scores)
    write_entry(folder / f"{name}.json", entry)


def test_entries_are_sorted_by_budget_track_and_error(tmp_path: Path) -> None:
    put(tmp_path, "late", (0.1,), robot_hours=100)
    put(tmp_path, "worse", (0.2,))
    put(tmp_path, "better", (0.05, 0.15), level=0.9, note="250 chains.")
    put(tmp_path, "labelled", (0.01,), track="supervised", labels=20_000)
    put(tmp_path, "early", (0.5,), robot_hours=2)
    lines = benchmark_markdown(tmp_path, TASK.name).splitlines()
    names = [line.split(" | ")[2].partition("]")[0].removeprefix("[") for line in lines[2:8]]
    assert names == ["early", "better", "worse", "labelled", "late", "the paper's ROPES †"]
    budgets = [line.split(" | ")[0].removeprefix("| ") for line in lines[2:8]]
    assert budgets == ["2 h", "4 h", "4 h", "4 h", "open", "open"]
    assert lines[3] == (
        "| 4 h | no-label | [better](https://e.org/better) | 4.0 | 0 | in distribution | 5.7 | 5.7 | 5.7 | 5.7 | "
        "1.000 | 100% of 90% |"
    )
    assert "- better: 250 chains." in lines


def test_level_of_intervals_is_not_rounded(tmp_path: Path) -> None:
    put(tmp_path, "wide", (0.1,), level=0.995)
    assert "of 99.5% |" in benchmark_markdown(tmp_path, TASK.name)


def test_published_errors_are_roots_of_the_papers(tmp_path: Path) -> None:
    put(tmp_path, "mine", (0.1,))
    line = next(line for line in benchmark_markdown(tmp_path, TASK.name).splitlines() if "the paper's ROPES" in line)
    errors = [f"{np.degrees(mse**0.5):.1f}" for mse in (0.053, 0.029, 0.049, (0.053 + 0.029 + 0.049) / 3)]
    assert " | ".join(["1,000", "in distribution", *errors, "0.960", "– |"]) in line


def test_errors_of_the_causal_setting_are_compared_on_shifted_poses_alone(tmp_path: Path) -> None:
    put(tmp_path, "mine", (0.1,))
    lines = [each for each in benchmark_markdown(tmp_path, "panda-2c-causal").splitlines() if "ROPES †" in each]
    assert [line.count("–") for line in lines] == [8, 2]
    assert "RoboPEPP" not in "".join(lines)


def test_page_needs_the_name_of_a_task(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("<!-- table:benchmark -->\n<!-- /table -->\n", encoding="utf-8")
    with pytest.raises(UserError, match="table:benchmark/ names no task; choose one of panda-1c-independent"):
        update(tmp_path / "page.md", tmp_path)

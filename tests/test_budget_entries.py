"""Entries of the benchmark within a budget: the commands, and what they leave."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks import budget_entries, road
from ropes.cli import entry as cli
from ropes.data.layout import open_dataset
from ropes.data.robot_time import robot_seconds
from ropes.errors import UserError
from ropes.evaluation.benchmark import task_named
from ropes.evaluation.benchmark.entry import read_entry
from ropes.evaluation.benchmark.predictions import Predictions, write_predictions
from ropes.report.benchmark import benchmark_markdown
from tests import tiny, tiny_chains

TASK = task_named("panda-1c-independent")
#: 3 anchors and 1 chain, or 7 and 2.
HOURS = (0.01, 0.02)


class Commands:
    """Parses every command; in place of images and networks there are tiny data and means of the angles."""

    def __init__(self) -> None:
        self.given: list[list[str]] = []

    def __call__(self, *words: object) -> str:
        name, *options = map(str, words)
        command: Any = cli.parse(cli.command_kind(name, options), name, options)
        self.given.append([name, *options])
        if name == "simulate" and not command.out.exists():
            if command.chains:
                tiny_chains.write_data(command.out, chains=command.chains, frames=1, tests=4)
            else:
                tiny.write_data(command.out, anchors=command.anchors, tests=4)
        elif name == "predict":
            mean = Predictions(angles=np.tile(TASK.angles("test-id").mean(axis=0), (2000, 1)))
            write_predictions(command.predictions, TASK, {"test-id": mean})
        elif name == "score":
            return road.ropes(*words)
        return ""

    def names(self) -> list[str]:
        """The commands so far, which are then forgotten."""
        names, self.given = [each[0] for each in self.given], []
        return names


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> Commands:
    found = Commands()
    monkeypatch.setattr(budget_entries, "ropes", found)
    return found


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run the benchmark in `tmp_path`."""

    def run(*words: object) -> None:
        given = ["--work", tmp_path / "work", "--out", tmp_path / "entries", "--tasks", TASK.name, "--hours", *words]
        monkeypatch.setattr(sys, "argv", ["budget_entries", *map(str, given)])
        budget_entries.main()

    return run


@pytest.mark.slow
def test_entries_come_from_the_benchmarks_data_and_are_resumed(
    tmp_path: Path, commands: Commands, make: Callable[..., None]
) -> None:
    make(*HOURS, "--recordings", "anchors", "--seeds", 0, 1)
    simulate, *_, fit_cnn, predict, _ = commands.given
    assert " ".join(simulate[1:]).startswith(
        "--setting panda-1c-independent --scene panda-gym --renderer pybullet --test-anchors 2000 --anchors 7 --seed 20"
    )
    data = tmp_path / "work" / "panda-1c-independent-7-anchors"
    assert " ".join(fit_cnn[1:]).startswith(
        f"--method cnn --data {data} --seed 1 --anchors 7 --training.min-samples 150"
    )
    assert predict[2:4] == ["--images", str(data)]
    of_entry = [*["fit", "calibrate", "predict"] * 2, "score"]
    assert commands.names() == ["simulate", *of_entry * 2, *[each for each in of_entry if each != "calibrate"] * 2]
    entry = read_entry(tmp_path / "entries" / "cnn-anchors-0.01h-panda-1c-independent.json")
    assert (entry.about.track, entry.about.labels, entry.about.seeds) == ("supervised", 3 * 5, (0, 1))
    assert entry.about.robot_hours == round(robot_seconds(open_dataset(data), 3) / 3600, 2)
    assert entry.about.budget == 2
    shown = benchmark_markdown(tmp_path / "entries", TASK.name)
    assert "| 2 h | no-label | [anchored, 0.02 h of anchors](anchored.md) | 0.0 | 0 | in distribution |" in shown
    assert "- anchored, 0.02 h of anchors: 7 anchors, preset compact, map to radians" in shown
    (tmp_path / "work" / "panda-1c-independent-7-anchors-cnn-3-seed-1.npz").unlink()
    make(*HOURS, "--recordings", "anchors", "--seeds", 0, 1)
    assert commands.names() == ["simulate", "score", "score", "fit", "predict", "score", "score"]


@pytest.mark.slow
def test_chains_are_entered_too(tmp_path: Path, commands: Commands, make: Callable[..., None]) -> None:
    make(0.02, "--recordings", "chains", "--methods", "anchored", "--seeds", 0)
    assert commands.given[0][9:11] == ["--chains", "2"]
    assert commands.given[1][7:] == [
        *("--anchors", "2", "--training.min-samples", "150000", "--independent"),
        *("--out", str(tmp_path / "work" / "panda-1c-independent-2-chains-anchored-2-seed-0")),
    ]
    entry = read_entry(tmp_path / "entries" / "anchored-chains-0.02h-panda-1c-independent.json")
    assert entry.about.note == "2 chains, preset compact, map to radians from the commanded distributions."


def farther(states: dict[str, NDArray[np.float64]]) -> None:
    """Moves of 20 times the angle."""
    states["train"] *= 20


def test_more_robot_time_than_the_budget_is_refused(tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=40, tests=0)
    entry = budget_entries.Budgeted(task=TASK.name, recording="anchors", method="cnn", hours=0.01)
    long = tiny.write_data(tmp_path / "long", anchors=3, tests=0, change=farther)
    assert robot_seconds(open_dataset(data), 3) < robot_seconds(open_dataset(data))
    with pytest.raises(UserError, match=r"3 anchors of .*long take .* h, more than 0\.01 h"):
        budget_entries.about(entry, long, [], [0])

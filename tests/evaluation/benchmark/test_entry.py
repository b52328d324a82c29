"""Entries: the committed ones are valid and agree with their predictions; wrong ones are refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.common.files import read_json, write_json
from ropes.errors import UserError
from ropes.evaluation.benchmark.entry import read_entries, read_entry
from ropes.evaluation.benchmark.task import TASKS, task_named
from tests.command_line import refusal

ROOT = Path(__file__).parents[3]
ENTRIES, EXAMPLES = ROOT / "results" / "benchmark", ROOT / "examples" / "benchmark"
TASK = task_named("panda-1c-independent")


def about(**changes: Any) -> dict[str, Any]:
    link = "https://example.org/mine"
    fields = {"name": "mine", "track": "no-label", "robot_hours": 4.0, "labels": 0, "seeds": [0], "link": link}
    return {name: value for name, value in {**fields, **changes}.items() if value is not None}


def write_predictions(path: Path, error: float, *, intervals: bool = False) -> Path:
    angles = TASK.angles("test-id") + error
    content: dict[str, Any] = {"joints": TASK.joints, "test-id": angles}
    content |= {"test-id-lower": angles - 0.2, "test-id-upper": angles + 0.2} if intervals else {}
    np.savez(path, **content)
    return path


def words(folder: Path, *files: Path) -> list[str]:
    options = ["--task", TASK.name, "--entry", str(folder / "mine.json"), "--out", str(folder / "out" / "entry.json")]
    return ["score", *map(str, files), *options]


def test_committed_entries_are_valid_and_link_to_pages() -> None:
    entries = read_entries(ENTRIES)
    assert {entry.task for entry in entries} == set(TASKS)
    for entry in entries:
        link = entry.about.link
        assert link.startswith("https://") or (ROOT / "docs" / link.partition("#")[0]).is_file()


@pytest.mark.parametrize("name", TASKS)
def test_committed_example_is_what_the_pages_command_writes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    command = (
        f"score examples/benchmark/prior-mean-{name}.npz --task {name} --entry examples/benchmark/prior-mean.json "
        f"--out {tmp_path / 'entry.json'}"
    )
    page = " ".join((ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8").replace("\\\n", " ").split())
    assert name != "panda-2c-independent" or f"ropes {command.partition(' --out')[0]}" in page
    assert cli.main(command.split()) == 0
    written, committed = (read_entry(path) for path in (tmp_path / "entry.json", ENTRIES / f"prior-mean-{name}.json"))
    assert (written.task, written.about, written.predictions) == (name, committed.about, committed.predictions)
    for split, joints in committed.scores[0].items():
        for joint, figures in joints.items():
            again = written.scores[0][split][joint]
            assert again.rms_degrees == pytest.approx(figures.rms_degrees, rel=1e-9)
            assert (again.mcc, again.coverage) == (0.0, figures.coverage)


def test_entry_has_the_scores_of_every_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "mine.json", about(seeds=[3, 4], level=0.9, note="250 chains."))
    files = [write_predictions(tmp_path / f"{k}.npz", k / 10, intervals=True) for k in (1, 2)]
    assert cli.main(words(tmp_path, *files)) == 0
    assert "entry.json: mine, track no-label, a budget of 4 hours" in " ".join(capsys.readouterr().out.split())
    entry = read_entry(tmp_path / "out" / "entry.json")
    assert (entry.about.seeds, entry.about.note, entry.about.budget) == ((3, 4), "250 chains.", 4)
    errors = [scores["test-id"]["panda_joint2"].rms_degrees for scores in entry.scores]
    assert errors == pytest.approx(np.degrees([0.1, 0.2]))
    content = read_json(tmp_path / "out" / "entry.json")
    assert list(content["scores"][0]["test-id"]) == list(TASK.joints)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (about(track="few-labels"), "track must be one of no-label, 1000-labels, supervised"),
        (about(labels=1), "1 labels are more than the 0 of track no-label"),
        (about(track="1000-labels", labels=1001), "1001 labels are more than the 1000"),
        (about(robot_hours=-1), "robot_hours must lie in 0 to inf"),
        (about(seeds=[]), "seeds must be whole numbers"),
        (about(seeds=[0, 1]), "2 seeds, 1 files of predictions"),
        (about(seeds=0), "seeds must be whole numbers"),
        (about(seeds=[3, 3]), "seeds must differ, got [3, 3]"),
        (about(name="a | b"), "name must have at most 60 characters"),
        (about(link="../secret"), "link must be an address"),
        (about(level=0.9), "intervals of every split, and their level, go together"),
        (about(labels=None), "missing labels"),
        (about(score=1), "unknown score"),
        ([], "an entry is an object with name, track"),
    ],
)
def test_wrong_descriptions_are_refused(
    content: object, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_json(tmp_path / "mine.json", content)
    line = refusal(capsys, *words(tmp_path, write_predictions(tmp_path / "0.npz", 0.1)))
    assert part in line
    assert not (tmp_path / "out").exists()


def test_intervals_need_their_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(tmp_path / "mine.json", about())
    file = write_predictions(tmp_path / "0.npz", 0.1, intervals=True)
    assert "their level, go together" in refusal(capsys, *words(tmp_path, file))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda content: content.update(benchmark="v0"), "no entry of benchmark v1"),
        (lambda content: content.update(task="panda-3c"), "task must be one of"),
        (lambda content: content.update(task="panda-2c-causal"), "scores must be of test-id, test-ood"),
        (lambda content: content.update(predictions_sha256=["0"]), "must be a list of SHA-256"),
        (lambda content: content.update(scores=3), "1 seeds, 1 files of predictions and 0 scores"),
        (lambda content: content["scores"][0]["test-id"].pop("panda_joint2"), "scores of test-id must be of"),
        (lambda content: content["scores"][0]["test-id"]["panda_joint2"].update(mcc=2), "mcc must lie in 0 to 1"),
        (lambda content: content["scores"][0]["test-id"]["panda_joint2"].pop("coverage"), "go together"),
        (lambda content: content.update(robot_hours="4"), "robot_hours must be a finite number"),
    ],
)
def test_changed_entries_are_refused(change: Callable[[Any], object], part: str, tmp_path: Path) -> None:
    content = read_json(ENTRIES / "prior-mean-panda-1c-independent.json")
    change(content)
    write_json(tmp_path / "entry.json", content)
    with pytest.raises(UserError, match=r"entry\.json: .*") as caught:
        read_entry(tmp_path / "entry.json")
    assert part in str(caught.value)


def test_folder_without_entries_or_with_one_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no entries"):
        read_entries(tmp_path)
    for name in ("a", "b"):
        write_json(tmp_path / f"{name}.json", read_json(ENTRIES / "prior-mean-panda-1c-independent.json"))
    with pytest.raises(UserError, match=r"b\.json: prior mean is there twice for panda-1c-independent"):
        read_entries(tmp_path)

"""Interventions held together: the commands of the benchmark, its rows and its table."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks import held_interventions as held
from ropes.common.seeds import generator
from ropes.data.chains import TURNS
from ropes.data.recorder.plan import recording_order
from ropes.data.recorder.protocols import AnchorProtocol
from ropes.data.robot_time import SPEED, seconds_of_path
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.paper import published
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import FitRow
from ropes.report.words import rms
from ropes.simulation.settings import setting_named

JOINTS = ("panda_joint1", "panda_joint2")
ABOUT: dict[str, Any] = {
    "settings": ["panda-2c-causal"],
    "hours": 8.0,
    "graph_anchors": 5000,
    "seeds": [0],
    "device": "d",
    "processor": "p",
    "version": "0",
}


def row(joint: str, split: str, calibration_labels: int) -> Row:
    """As evaluations write it: the paper's figures are beside those with its number of labels alone."""
    return Row.measured(
        setup="panda-2c-causal",
        method="anchored",
        joint=joint,
        split=split,
        occlusion=0,
        seed=0,
        mcc=(0.9, 0.01),
        mse=(0.008 if calibration_labels else 0.01, 0.001),
        calibration_labels=calibration_labels,
        published_too=calibration_labels == 1000,
    )


FIT = FitRow(
    setup="panda-2c-causal",
    method="anchored",
    seed=0,
    weights="0" * 64,
    data_checksum="0" * 64,
    version="0",
    seconds=1234.5,
)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """Commands are noted; evaluations write results, and the graph has one edge too many and one missing."""
    given: list[tuple[object, ...]] = []

    def ropes(*words: object) -> str:
        given.append(words)
        if words[0] == "evaluate":
            rows = [row(joint, split, labels) for joint in JOINTS for split in ("id", "ood") for labels in (0, 1000)]
            about: dict[str, Any] = {"name": "e", "preset": "compact", "device": "d", "version": "0", "seconds": 1.0}
            found = results.Results(**about, rows=tuple(rows), fit_rows=(FIT,))
            results.write(Path(str(words[-1])) / "results.json", found)
        return ""

    content = {
        "edges": [["panda_joint2", "panda_joint1"]],
        "true": [["panda_joint1", "panda_joint2"]],
        "undetermined": [{"parent": "panda_joint1", "child": "panda_joint3", "why": "no answer"}],
    }
    graph = SimpleNamespace(distance=2, to_dict=lambda: content)
    monkeypatch.setattr(held, "ropes", ropes)
    monkeypatch.setattr(held, "causal_graph", lambda run, data: graph)
    return given


def test_both_recordings_take_the_same_hours(tmp_path: Path, commands: list[tuple[object, ...]]) -> None:
    rows: list[dict[str, Any]] = [
        held.measured(tmp_path, "panda-2c-causal", recording, 8.0, 0, tmp_path / "others")
        for recording in ("anchors", "chains")
    ]
    assert [words[0] for words in commands] == ["simulate", "fit", "calibrate", "evaluate"] * 2
    assert commands[0][5:7] == ("--anchors", 1515)
    assert commands[4][5:9] == ("--chains", 563, "--frames-per-move", 2)
    assert [each["count"] for each in rows] == [1515, 563]
    assert [each["fit_seconds"] for each in rows] == [1234, 1234]  # of the fit, also where it is resumed
    for split in ("id", "ood"):
        assert rows[0]["errors"][split]["panda_joint2"]["mse"] == pytest.approx(0.01)
        assert rows[0]["errors"][split]["panda_joint2"]["labelled_mse"] == pytest.approx(0.008)
    assert rows[0]["wrong"] == ["joint 2 → joint 1 too many", "joint 1 → joint 2 missing"]
    told = held.written({"rows": rows, **ABOUT})
    wrong = "2: joint 2 → joint 1 too many, joint 1 → joint 2 missing, 1 undetermined"
    for poses in ("in distribution", "shifted"):
        learnt = f"| `panda-2c-causal`, 563 chains | {poses} |"
        assert f"{learnt} 0 | 5.7 (0.900) | 5.7 (0.900) | {wrong} | 1234 |" in told
        assert f"{learnt} 1,000 | 5.1 | 5.1 |" in told
        assert f"{learnt} ratio of squared errors | 1.25 | 1.25 |" in told
    paper = "| `panda-2c-causal`, the paper's ROPES, 10,000 anchors |"
    assert f"{paper} in distribution | 1,000 | (0.921) | (0.966) |" in told
    bars = [published(setup="panda-2c-causal", joint=joint, split="ood") for joint in JOINTS]
    shifted = [rms(bar and bar.mse) for bar in bars]
    assert f"{paper} shifted | 1,000 | {' | '.join(shifted)} |" in told


def test_errors_are_means_over_seeds(tmp_path: Path, commands: list[tuple[object, ...]]) -> None:
    row = held.measured(tmp_path, "panda-2c-causal", "chains", 8.0, 0, tmp_path / "others")
    other = json.loads(json.dumps(row)) | {"seed": 1, "distance": 0, "wrong": [], "undetermined": 0}
    other["errors"]["id"]["panda_joint1"] |= {"mse": 0.03, "mcc": 0.7}
    told = held.written({"rows": [row, other], **ABOUT, "seeds": [0, 1]})
    assert "563 chains | in distribution | 0 | 8.1 (0.800) | 5.7 (0.900) |" in told  # √.02 rad
    assert "undetermined; 0 | 1234, 1234 |" in told
    assert "means over seeds 0, 1" in told


def test_a_run_whose_graph_is_refused_keeps_its_errors(
    tmp_path: Path,
    commands: list[tuple[object, ...]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def refuse(run: Path, data: Path) -> None:
        raise UserError("a coordinate does not respond")

    monkeypatch.setattr(held, "causal_graph", refuse)
    row = held.measured(tmp_path, "panda-2c-causal", "chains", 8.0, 0, tmp_path / "others")
    assert capsys.readouterr().err == "no graph: a coordinate does not respond\n"
    told = held.written({"rows": [row], **ABOUT})
    assert "563 chains | shifted | 0 | 5.7 (0.900) | 5.7 (0.900) | no graph | 1234 |" in told


def test_all_causal_settings_are_the_default(
    tmp_path: Path, commands: list[tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--work", tmp_path / "work", "--hours", "1", "--fit", "foreign=0", "--out", tmp_path / "out.json"]
    monkeypatch.setattr(sys, "argv", ["held_interventions", *map(str, words)])
    held.main()
    simulated = [each for each in commands if each[0] == "simulate"]
    assert [each[2] for each in simulated] == [setting for setting in held.SETTINGS for _ in range(3)]
    assert len({each[-1] for each in simulated}) == 9
    assert all(each[-4:-2] == ("--foreign", "0") for each in commands if each[0] == "fit")
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    found = [(row["setting"], row["recording"], row["count"]) for row in rows]
    assert found[2:4] == [("panda-2c-chain", "anchors", 196), ("panda-2c-chain", "chains", 70)]


@pytest.mark.slow
@pytest.mark.parametrize("name", held.SETTINGS)
def test_seconds_are_those_of_drawn_poses(name: str) -> None:
    model, count = setting_named(name).splits["train"], 300
    poses = model.sample(generator(0, "train"), count)
    order = recording_order(AnchorProtocol, poses, np.full(len(model.joints), SPEED), range(count))
    path = np.concatenate([poses[anchor, places] for anchor, places in order])
    assert seconds_of_path(path) / count == pytest.approx(held.SECONDS["anchors"][name], rel=0.02)
    chains, _ = model.sample_chains(generator(0, "chains"), count, TURNS)
    seconds = seconds_of_path(chains.reshape(-1, chains.shape[-1])) / count
    assert seconds == pytest.approx(held.SECONDS["chains"][name], rel=0.02)

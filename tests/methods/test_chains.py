"""Method `anchored` on chains of moves: learnt, resumed, calibrated, evaluated, and refused where it cannot work."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ropes.common.files import read_json, write_json
from ropes.data import schema
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.causal_graph import GRAPH_FILE, causal_graph
from ropes.evaluation.inspection.inspect import inspect_data
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.inference.policy_calibration import calibrate_commanded
from ropes.methods.anchored import fit as anchored
from ropes.methods.anchored.chain_poses import Moves, moves_of
from ropes.methods.anchored.chain_stage import ChainStage
from ropes.methods.policies import warn_of_bent_moves
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.run import TRAINING_FILE
from tests import tiny, tiny_chains
from tests.conftest import made_once
from tests.kills import killed

pytestmark = pytest.mark.slow  # the fixtures fit


def recipe(**changes: Any) -> EncoderRecipe:
    small = tiny.encoder_recipe()
    return replace(small, training=replace(small.training, epochs=12, batch=40), **changes)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    return made_once(tmp_path_factory, "chains", lambda out: tiny_chains.write_data(out, chains=120))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Path:
    return made_once(tmp_path_factory, "chains-run", lambda out: anchored.fit(data, out, recipe(), show=False))


def test_anchored_learns_both_joints_from_chains(run: Path, data: Path) -> None:
    dataset = open_dataset(data)
    rows = dataset.frames("test-id").index
    found, angles = Estimator.load(run).coordinates(dataset.read_images(rows)), dataset.states("test-id")
    correlations = [abs(np.corrcoef(found[:, k], angles[:, k])[0, 1]) for k in range(2)]
    assert min(correlations) > 0.95
    curves = read_json(run / TRAINING_FILE)["stages"]["ldr"]
    for joint, contrast in curves.items():
        assert contrast["best"] == pytest.approx(tiny.model().bayes_floor(joint), abs=0.08)


def test_frames_on_the_way_are_read(run: Path, data: Path, tmp_path: Path) -> None:
    """Without them the fit has other weights, and another number of steps."""
    without = tiny_chains.write_data(tmp_path / "d", chains=120, frames=0, tests=4)
    anchored.fit(without, tmp_path / "run", recipe(), show=False)
    steps = [read_json(folder / TRAINING_FILE)["planned_steps"] for folder in (run, tmp_path / "run")]
    assert steps[0] == 2 * steps[1]


def test_policies_of_other_shapes_are_named(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tiny_chains.write_data(tmp_path / "d", chains=40, frames=1, tests=4)
    note = read_json(path / schema.PROVENANCE)
    note["setting"]["splits"]["train"]["interventions"]["wrist"][1]["variance"] *= 2
    write_json(path / schema.PROVENANCE, note)
    anchored.fit(path, tmp_path / "run", replace(recipe(), training=replace(recipe().training, epochs=1)))
    warning = "ropes: warning: the two policies on wrist differ in variance or range"
    assert warning in capsys.readouterr().err
    warn_of_bent_moves(open_dataset(data))
    assert capsys.readouterr().err == ""


def test_a_killed_fit_goes_on_with_the_same_bytes(run: Path, data: Path, tmp_path: Path) -> None:
    with killed(ChainStage, 40):
        anchored.fit(data, tmp_path / "run", recipe(), show=False)
    anchored.fit(data, tmp_path / "run", recipe(), show=False)
    assert tiny.weights(tmp_path / "run") == tiny.weights(run)


def test_images_of_many_moves_are_read_in_parts(data: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_dataset(data)
    posed, moving = (ImageCache(dataset, split, tiny.SIDE, progress=False) for split in ("train", "moves"))
    poses = TrainingImages(posed, dataset.frames("train"), dataset.regimes)
    moves = Moves.of(poses, moves_of(dataset, moving), dataset.joints)
    chosen, frame = np.arange(400), np.arange(400) % 2
    few = [moves.batch(chosen[part], frame[part]) for part in (slice(0, 100), slice(100, 400))]
    read = TrainingImages.pixels
    rows = list[int]()

    def counted(images: TrainingImages, asked: Any) -> Any:
        rows.append(len(asked))
        return read(images, asked)

    monkeypatch.setattr(TrainingImages, "pixels", counted)
    whole = moves.batch(chosen, frame)
    assert sum(rows) == 3 * 400
    assert max(rows) <= 256
    for name in ("images", "policy", "joint", "share", "trusted"):
        assert torch.equal(getattr(whole, name), torch.cat([getattr(each, name) for each in few]))


def test_calibration_and_evaluation(run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied = tmp_path / "run"
    anchored.fit(data, copied, recipe(), show=False)
    calibrated = calibrate_commanded(copied, data)
    assert capsys.readouterr().err == ""
    assert calibrated.errors is not None
    assert calibrated.errors.half_width is not None
    evaluate(copied, data, tmp_path / "e", sizes=tiny.SIZES, occlusions=(0,), show=False)
    dataset = open_dataset(data)
    found = Estimator.load(copied).angles(dataset.read_images(dataset.frames("test-id").index))
    assert np.sqrt(np.mean((found - dataset.states("test-id")) ** 2, axis=0)).max() < 0.25
    graph = next((tmp_path / "e").rglob(GRAPH_FILE))
    assert "holds chains of moves" in read_json(graph)["absent"]


def test_the_first_chains_are_chosen(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anchored.fit(data, tmp_path / "run", recipe(anchors=80), show=False)
    calibrate_commanded(tmp_path / "run", data)
    assert "80 chains are fewer than 100" in capsys.readouterr().err
    steps = read_json(tmp_path / "run" / TRAINING_FILE)["planned_steps"]
    assert steps == pytest.approx(12 * 60 * 10 * 4 / 40, abs=1)  # passes, chains, moves, poses read a move, batch


def test_what_needs_anchors_is_refused(run: Path, data: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds chains of moves, in which no joint can follow another"):
        causal_graph(run, data)
    with pytest.raises(UserError, match="holds chains of moves, in which interventions persist; learn from it with an"):
        anchored.fit(data, tmp_path / "run", tiny.encoder_recipe(anchor_weight=0), method="ldr", show=False)
    assert not (tmp_path / "run").exists()


def test_a_split_of_other_moves_is_refused(tmp_path: Path) -> None:
    path = tiny_chains.write_data(tmp_path / "d", chains=8, frames=1, tests=4)
    info = read_json(path / "meta" / "info.json")
    assert info["splits"]["moves"] == "8:16"
    info["splits"] |= {"moves": "9:16"}
    (path / "meta" / "info.json").write_text(json.dumps(info))
    with pytest.raises(UserError, match="split 'moves' is not that of the moves between the poses of split 'train'"):
        anchored.fit(path, tmp_path / "run", recipe(), show=False)
    assert not (tmp_path / "run").exists()


def test_inspection_compares_each_pose_with_the_one_before_it(data: Path) -> None:
    found = inspect_data(data, show=False)
    assert found.chains
    assert found.anchors == 120
    for report in found.joints:
        assert report.motion is not None
        assert report.motion.paired
        assert min(report.images) > 500  # nearly every pose is under a known policy on each of both joints
    assert not any("anchors lack a regime" in line for line in found.advice)


def test_too_few_chains_are_refused(tmp_path: Path) -> None:
    path = tiny_chains.write_data(tmp_path / "d", chains=1, tests=4)
    with pytest.raises(UserError, match="1 anchor or chain cannot be split in two"):
        anchored.fit(path, tmp_path / "run", recipe(), show=False)
    assert not (tmp_path / "run").exists()


def test_a_chain_that_rests_in_between_is_refused(tmp_path: Path) -> None:
    """Policies would not persist, and no joint would be the one that moves."""
    path = tiny_chains.write_data(tmp_path / "d", chains=4, frames=0, tests=4, rest=3)
    with pytest.raises(UserError, match="a chain must start with an observational pose"):
        anchored.fit(path, tmp_path / "run", recipe(), show=False)
    with pytest.raises(UserError, match="a chain must start with an observational pose"):
        inspect_data(path, show=False)
    assert not (tmp_path / "run").exists()

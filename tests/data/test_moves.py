"""Frames on the way of anchors: drawn, stored, read back and counted; without them data sets are as before."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.common.files import read_json
from ropes.common.seeds import generator
from ropes.data import schema
from ropes.data.chains import MOVES, even_shares
from ropes.data.generate import simulate
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.data.moves import FRAMES, anchor_states, filmed_anchors, filmed_frames
from ropes.data.robot_time import DWELL, robot_seconds, seconds_of_path
from ropes.data.validate import faults
from ropes.simulation.settings import setting_named
from tests import tiny, tiny_anchor_moves, tiny_chains


def test_one_joint_moves_alone_and_evenly() -> None:
    model = tiny.model()
    poses = model.sample(np.random.default_rng(0), 5)
    found = anchor_states(poses, 3).reshape(5, 4, 3, 2)
    for k, regime in enumerate(model.regimes[1:]):
        assert regime.joint is not None
        moves = model.joints.index(regime.joint)
        start, end = poses[:, 0, moves, None], poses[:, 1 + k, moves, None]
        np.testing.assert_allclose(found[:, k, :, moves], start + even_shares(3) * (end - start))
        assert (found[:, k, :, 1 - moves] == poses[:, 0, 1 - moves, None]).all()


def test_a_filmed_data_set_is_valid_and_says_what_it_is(tmp_path: Path) -> None:
    dataset = open_dataset(tiny_anchor_moves.write_data(tmp_path / "d", anchors=3, frames=2))
    assert filmed_anchors(dataset)
    assert filmed_frames(dataset) == 2
    assert not list(faults(dataset))
    assert dataset.frames(MOVES).regime.tolist() == [1, 1, 2, 2, 3, 3, 4, 4] * 3
    assert filmed_frames(copy_without_labels(tmp_path / "d", tmp_path / "copy")) == 2
    assert filmed_frames(open_dataset(tiny.write_data(tmp_path / "anchors", anchors=2, tests=0))) == 0
    chains = open_dataset(tiny_chains.write_data(tmp_path / "chains", chains=3, frames=1, tests=4))
    assert filmed_frames(chains) == 1
    assert not filmed_anchors(chains)


@pytest.mark.parametrize(("frames", "stated"), [(2, 1), (0, 2)])
def test_another_number_of_frames_is_a_fault(frames: int, stated: int, tmp_path: Path) -> None:
    dataset = open_dataset(tiny_anchor_moves.write_data(tmp_path / "d", anchors=2, frames=frames, stated=stated))
    expected = f"meta/ropes.json has {stated} frames on the way of each move, and split 'moves' {frames}"
    assert [fault.what for fault in faults(dataset, progress=False)] == [expected]


def test_robot_time_counts_the_returns(tmp_path: Path) -> None:
    dataset = open_dataset(tiny_anchor_moves.write_data(tmp_path / "d", anchors=3))
    poses = dataset.states("train").reshape(3, 5, 2)
    path = [stop for rest, *others in poses for pose in others for stop in (rest, pose)]
    expected = seconds_of_path(np.array(path), dwell=0) + DWELL * 3 * 5
    assert robot_seconds(dataset) == pytest.approx(expected)
    assert robot_seconds(dataset) > robot_seconds(open_dataset(tiny.write_data(tmp_path / "n", anchors=3, tests=0)))


@pytest.mark.slow
def test_page_has_the_seconds_of_a_filmed_anchor() -> None:
    model, anchors = setting_named("panda-2c-independent").splits["train"], 1000
    poses = model.sample(generator(2026, "train"), anchors)
    rest = np.broadcast_to(poses[:, :1], poses[:, 1:].shape)
    path = np.stack([rest, poses[:, 1:]], axis=2).reshape(-1, poses.shape[-1])
    seconds = seconds_of_path(path, dwell=0) / anchors + DWELL * poses.shape[1]
    page = (Path(__file__).parents[2] / "docs" / "chains.md").read_text(encoding="utf-8")
    told = re.search(r"takes ([\d.]+) s in place of\s+19\.2 s", page)
    assert told is not None
    assert float(told[1]) == pytest.approx(seconds, abs=0.1)


@pytest.mark.pybullet
def test_simulate_films_anchors_and_leaves_others_as_they_were(tmp_path: Path) -> None:
    setting = setting_named("panda-1c-independent")
    common: dict[str, Any] = {"anchors": 2, "test_anchors": 1, "workers": 1, "progress": False}
    filmed = simulate(setting, out=tmp_path / "filmed", frames_per_move=1, **common)
    assert {name: len(filmed.frames(name)) for name in filmed.splits} == {"train": 14, MOVES: 12, "test-id": 1}
    states, between = filmed.states("train").reshape(2, 7, 3), filmed.states(MOVES).reshape(2, 6, 3)
    np.testing.assert_allclose(between, (states[:, 1:] + states[:, :1]) / 2, atol=1e-6)
    plain = simulate(setting, out=tmp_path / "plain", **common)
    simulate(setting, out=tmp_path / "none", frames_per_move=0, **common)
    assert tiny.tree(tmp_path / "none") == tiny.tree(tmp_path / "plain")
    assert FRAMES not in read_json(tmp_path / "plain" / schema.PROVENANCE)
    assert (plain.states("train") == filmed.states("train")).all()

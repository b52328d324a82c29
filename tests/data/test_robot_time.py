"""Robot time by hand, and of data sets."""

from pathlib import Path

import numpy as np
import pytest

from ropes.data.layout import open_dataset
from ropes.data.recorder.plan import recording_order
from ropes.data.recorder.protocols import AnchorProtocol
from ropes.data.recorder.travel import travel_time
from ropes.data.robot_time import DWELL, SPEED, robot_seconds, seconds_of_path
from tests import tiny_chains


def test_moves_take_as_long_as_their_slowest_joint() -> None:
    path = np.array([[0.0, 0.0], [1.0, -0.5], [1.0, -0.5], [1.0, 1.5]])
    # 1 rad and .2 s, no move, 2 rad and .2 s; .5 s in each of four poses
    assert seconds_of_path(path) == pytest.approx(1.2 + 2.2 + 4 * 0.5)
    assert seconds_of_path(path, speed=2.0, dwell=0.0) == pytest.approx(0.7 + 1.2)
    assert seconds_of_path(path[:1]) == DWELL


def test_anchors_are_recorded_in_the_order_of_the_recorder(tiny_data: Path) -> None:
    dataset = open_dataset(tiny_data)
    poses = dataset.states("train").reshape(-1, 5, 2)
    speed = np.full(2, SPEED)
    order = recording_order(AnchorProtocol, poses, speed, range(len(poses)))
    path = np.concatenate([poses[anchor, places] for anchor, places in order])
    assert len(path) == poses.shape[0] * poses.shape[1]
    assert robot_seconds(dataset) == pytest.approx(travel_time(path[:-1], path[1:], speed).sum() + DWELL * len(path))
    assert robot_seconds(dataset) < seconds_of_path(poses.reshape(-1, 2))


def test_chains_are_recorded_as_they_are(tmp_path: Path, cache_home: Path) -> None:
    dataset = open_dataset(tiny_chains.write_data(tmp_path / "chains", chains=4, tests=5))
    poses = dataset.states("train")
    assert len(poses) == 4 * 11
    assert robot_seconds(dataset) == pytest.approx(seconds_of_path(poses))

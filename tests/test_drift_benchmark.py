"""The benchmark of `ropes check`: recordings of the same cameras, moves found after they happened, names of joints."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from benchmarks import drift, drift_cameras
from ropes.evaluation.drift.camera import CameraDrift, Stretch
from tests.estimators import run_of
from tests.models.camera_frames import SIDE, frames


def test_recordings_are_different_ones_of_the_same_cameras() -> None:
    """A camera keeps its lens, dust and cables where its seed is the same; see `CameraModel`."""
    one, other = (drift.faults_of("webcam", 40, number, 7) for number in range(2))
    assert one is not None
    assert other is not None
    assert (one.seed, other.seed) == (7, 7)
    assert one.frames != other.frames
    assert drift.faults_of("clean", 40, 0, 7) is None


def test_joints_have_their_own_headings() -> None:
    joints = ["panda_joint4", "shoulder_pan", "wrist_roll"]
    assert [drift.heading(joint) for joint in joints] == ["J4", "shoulder_pan", "wrist_roll"]


def camera(*first: int) -> CameraDrift:
    stretches = tuple(Stretch(first=each, last=each + 6, pixels=2.0, most=2.0) for each in first)
    return CameraDrift(camera="left", shift=np.zeros(40), stretches=stretches, tolerated=1.0, light=np.zeros(40))


def test_a_stretch_before_the_move_does_not_count_as_the_move() -> None:
    assert not drift_cameras.found_at(camera(3), move=2.0)
    assert drift_cameras.found_at(camera(3, drift_cameras.BEFORE), move=2.0)
    assert drift_cameras.found_at(camera(3), move=0.0)  # a camera that did not move seems to have moved
    assert not drift_cameras.found_at(camera(), move=0.0)


@pytest.mark.slow
def test_moves_and_creeping_mounts_are_found_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift_cameras, "MOVES", (0.0, 2.0))
    monkeypatch.setattr(drift_cameras, "CREEPS", (0.2, 8.0))
    run = replace(run_of(), cameras=("left",), image_size=SIDE)
    recordings = [frames(shake=0.1, noise=1.0, seed=seed).images[:, :1] for seed in (3, 4)]
    rows = drift_cameras.camera_rows(run, recordings)
    jumps = {row["pixels"]: row["found"] for row in rows if "pixels" in row}
    assert jumps == {0.0: 0.0, 2.0: 1.0}
    creeps = {(row["creep"], row["compared_with"]): row for row in rows if "creep" in row}
    for compared in ("a reference", "its beginning"):
        assert creeps[0.2, compared]["found"] == 0
        assert creeps[8.0, compared]["found"] == 1
        assert all(0.5 < each < 4 for each in creeps[8.0, compared]["by_then"])
    of_moves, of_creeps = drift_cameras.camera_tables([{"level": "clean", **row} for row in rows], 60)
    assert "| clean: found within 10 frames | 0% | 100% |" in of_moves
    assert "| clean: found, compared with a reference | 0% | 100%, after " in of_creeps


def test_a_shifted_image_has_moved_by_that_distance() -> None:
    image = torch.zeros(1, 1, 9, 9, dtype=torch.uint8)
    image[0, 0, 4, 4] = 200
    assert drift_cameras.moved(image, np.array([2.0]), angle=0.0)[0, 0, 4, 6] == 200

"""The check counts poses outside the ranges that the run learnt, and measures the errors of an arm."""

from pathlib import Path

import numpy as np
import pytest

import ropes
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.source import Options
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from tests import tiny
from tests.evaluation.drift.recorded import FRAMES, calibrated, poses, seen, write_recording


@pytest.fixture(scope="module")
def estimator() -> Estimator:
    return calibrated()


def test_poses_outside_the_learnt_ranges_do_not_test_their_joint(estimator: Estimator, tmp_path: Path) -> None:
    angles, images = poses(), poses()
    angles[::3, 1], images[::3, 1] = 1.9, 1.2  # readings end where the run has learnt no more
    found = ropes.check(estimator, write_recording(tmp_path / "folded", angles=angles, images=seen(images)))
    assert not found.drifted
    assert list(found.outside.sum(0)) == [0, FRAMES // 3]
    assert np.abs(np.degrees(found.rms)).max() < 5
    assert f"wrist in {FRAMES // 3} of {FRAMES} frames; these frames do not test the joint." in " ".join(found.notes)
    assert [line["outside_learnt_range"] for line in found.lines()[:2]] == [0, pytest.approx(1 / 3, abs=1e-3)]
    angles[:100, 1], images[:100, 1] = 1.9, 1.2
    most = ropes.check(estimator, write_recording(tmp_path / "most", angles=angles, images=seen(images)))
    assert most.drifts[1].drifted
    assert "do not test the joint, except wrist, for which too few others remain." in " ".join(most.notes)


def test_changes_are_dated_among_all_frames_where_some_are_outside(estimator: Estimator, tmp_path: Path) -> None:
    angles, images = poses(), poses()
    angles[:40:2, 1], images[:40:2, 1] = 1.9, 1.2
    late = np.outer(np.arange(FRAMES) >= 80, [0, np.radians(5)])
    found = ropes.check(estimator, write_recording(tmp_path / "late", angles=angles, images=seen(images), change=-late))
    since = found.change_of(found.drifts[1])
    assert since is not None
    assert since.seconds == pytest.approx(8.0, abs=0.5)


def test_errors_of_an_arm_are_measured(estimator: Estimator, tmp_path: Path) -> None:
    found = ropes.check(estimator, write_recording(tmp_path / "fine"))
    errors = found.read - found.logged
    np.testing.assert_allclose(found.rms, np.sqrt((errors**2).mean(0)))
    assert estimator.calibration is not None
    intervals = estimator.calibration.intervals
    assert intervals is not None
    half = intervals.quantile * np.abs(estimator.calibration.slope)
    np.testing.assert_allclose(found.covered, (np.abs(errors) <= half).mean(0))
    elbow, *_, whole = found.lines()
    assert (elbow["rms"], elbow["in_interval"]) == (
        pytest.approx(found.rms[0], abs=1e-6),
        pytest.approx(found.covered[0], abs=1e-4),
    )
    assert whole["interval"] == 0.9


def test_cameras_with_other_names_are_those_of_the_run(estimator: Estimator, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "named")
    for camera, name in zip(tiny.CAMERAS, ("laptop", "phone"), strict=True):
        (recording / camera).rename(recording / name)
    with pytest.raises(
        UserError,
        match=r"right of the run \(it has laptop, phone\); .* give --cameras right=CAMERA left=CAMERA$",
    ):
        ropes.check(estimator, recording)
    cameras = tuple(f"{camera}={name}" for camera, name in zip(tiny.CAMERAS, ("laptop", "phone"), strict=True))
    found = ropes.check(estimator, recording, options=ImportOptions(streams=Options(cameras=cameras)))
    assert not found.drifted
    assert [each.camera for each in found.cameras] == list(tiny.CAMERAS)

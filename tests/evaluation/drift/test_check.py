"""The check of recordings of drawn blobs, and the message of each bad input."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ropes
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.source import Options
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from tests import tiny
from tests.estimators import estimator_of, places
from tests.evaluation.drift.recorded import FRAMES, calibrated, poses, seen, write_recording


@pytest.fixture(scope="module")
def estimator() -> Estimator:
    return calibrated()


def test_nothing_drifts_where_all_is_well(estimator: Estimator, tmp_path: Path) -> None:
    found = ropes.check(estimator, write_recording(tmp_path / "fine"))
    assert not found.drifted
    assert found.joints == tiny.JOINTS
    assert len(found.times) == FRAMES
    assert found.times[-1] == pytest.approx((FRAMES - 1) / 10)
    *things, whole = found.lines()
    assert [line.get("joint", line.get("camera")) for line in things] == [*tiny.JOINTS, *tiny.CAMERAS]
    assert (whole["drifted"], whole["frames"]) == (False, FRAMES)
    assert json.loads(json.dumps(found.lines())) == found.lines()


def test_five_degrees_on_one_joint_since_the_middle(estimator: Estimator, tmp_path: Path) -> None:
    late = np.outer(np.arange(FRAMES) >= FRAMES // 2, [0, np.radians(5)])
    found = ropes.check(estimator, write_recording(tmp_path / "late", change=-late))
    elbow, wrist, *_ = found.lines()
    assert (elbow["drifted"], wrist["drifted"], found.drifted) == (False, True, True)
    assert wrist["since"] == pytest.approx(FRAMES / 20, abs=0.5)
    assert np.degrees(wrist["after"] - wrist["before"]) == pytest.approx(5, abs=0.8)


def test_a_reference_cancels_what_was_there_before(estimator: Estimator, tmp_path: Path) -> None:
    before = write_recording(tmp_path / "before", change=0.2, angles=poses(seed=4))
    after = write_recording(tmp_path / "after", change=0.2)
    assert ropes.check(estimator, after).drifted
    assert not ropes.check(estimator, after, reference=before).drifted
    more = write_recording(tmp_path / "more", change=0.3)
    found = ropes.check(estimator, more, reference=before)
    assert all(each.drifted for each in found.drifts)
    assert found.drifts[0].offset.value == pytest.approx(-0.1, abs=0.02)
    assert found.compared == "before"


def test_a_camera_that_moved_is_dated(estimator: Estimator, tmp_path: Path) -> None:
    images = seen(poses())
    images[80:, 1] = np.roll(images[80:, 1], 3, axis=2)
    found = ropes.check(estimator, write_recording(tmp_path / "moved", images=images))
    right, left = found.cameras
    assert not right.moved
    assert left.moved
    assert found.time_of(left.stretches[0].first) == pytest.approx(8.0, abs=0.3)
    assert not any(each.drifted for each in found.drifts)
    assert found.drifted


def test_degrees_are_read_as_such(estimator: Estimator, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "degrees", unit=180 / np.pi)
    assert not ropes.check(estimator, recording, state="degrees").drifted
    with pytest.raises(UserError, match=r"which is no angle in radians; give --state degrees"):
        ropes.check(estimator, recording)


def test_small_angles_in_degrees_are_told_by_their_variation(estimator: Estimator, tmp_path: Path) -> None:
    small = write_recording(tmp_path / "small", angles=0.1 * poses(), unit=180 / np.pi)
    with pytest.raises(UserError, match=r"vary \d+ times as much as those read from images: give --state degrees"):
        ropes.check(estimator, small)
    with pytest.raises(UserError, match="or in radians where --state degrees is given"):
        ropes.check(estimator, write_recording(tmp_path / "radians"), state="degrees")


def test_clocks_that_disagree_are_told_by_the_motion(estimator: Estimator, tmp_path: Path) -> None:
    steps = np.linspace(0, 12, FRAMES)
    motion = np.stack([np.sin(2 * steps), np.cos(1.3 * steps)], axis=1)
    assert not ropes.check(estimator, write_recording(tmp_path / "same", angles=motion)).drifted
    with pytest.raises(UserError, match=r"the log is 0\.[345]\d s late against the images"):
        ropes.check(estimator, write_recording(tmp_path / "late", angles=motion, late=0.4))


def test_another_arm_is_told_by_its_joints_or_by_its_motion(estimator: Estimator, tmp_path: Path) -> None:
    other = write_recording(tmp_path / "names", names=("shoulder", "wrist"))
    with pytest.raises(UserError, match=r"has no joint elbow, which the run estimates \(it has shoulder, wrist\)"):
        ropes.check(estimator, other)
    unrelated = write_recording(tmp_path / "motion", images=seen(poses(seed=7)))
    with pytest.raises(UserError, match="follow no logged joint"):
        ropes.check(estimator, unrelated)


def test_lerobot_names_of_joints_are_understood(estimator: Estimator, tmp_path: Path) -> None:
    names = tuple(f"{joint}.pos" for joint in tiny.JOINTS)
    assert not ropes.check(estimator, write_recording(tmp_path / "pos", names=names)).drifted


def test_a_recording_without_angles_is_refused(estimator: Estimator, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no logged joint angles in episode 0"):
        ropes.check(estimator, write_recording(tmp_path / "blind", names=()))


def test_a_run_that_is_not_calibrated_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not calibrated, and a check needs radians: run ropes calibrate"):
        ropes.check(estimator_of(places), write_recording(tmp_path / "any"))
    without = calibrated()
    assert without.calibration is not None
    without.calibration = replace(without.calibration, intervals=None)
    with pytest.raises(UserError, match="has no standard deviations to compare with: run ropes calibrate"):
        ropes.check(without, tmp_path / "any")


def test_other_cameras_sizes_and_too_few_frames_are_refused(estimator: Estimator, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "any")
    with pytest.raises(UserError, match=r"has no camera top of the run \(it has"):
        ropes.check(calibrated(cameras=("right", "top")), recording)
    with pytest.raises(UserError, match="images of camera right have 12x16 grey pixels, and the run reads 16x16 grey"):
        ropes.check(estimator, recording, options=ImportOptions(crop={"right": (0, 0, 12, 16)}))
    with pytest.raises(UserError, match="the run has right, left"):
        ropes.check(estimator, recording, options=ImportOptions(rotate={"top": 90}))
    with pytest.raises(UserError, match="has 20 frames with logged angles; a check needs at least 30"):
        ropes.check(estimator, write_recording(tmp_path / "few", angles=poses(20)))
    with pytest.raises(UserError, match="10 frames; a check needs at least 30"):
        ropes.check(estimator, recording, frames=10)
    with pytest.raises(UserError, match="a check needs the logged angles"):
        ropes.check(estimator, recording, state="none")


def test_a_data_set_is_a_recording_too(tiny_data: Path) -> None:
    blobs = calibrated()
    found = ropes.check(blobs, tiny_data, reference=tiny_data, frames=150)
    assert len(found.times) == 150
    assert not any(each.offset.significant for each in found.drifts)


def test_frames_are_chosen_evenly(estimator: Estimator, tmp_path: Path) -> None:
    found = ropes.check(
        estimator, write_recording(tmp_path / "long"), frames=40, options=ImportOptions(streams=Options())
    )
    assert len(found.times) == 40
    assert (found.times[0], found.times[-1]) == (0, pytest.approx((FRAMES - 1) / 10))
    assert found.frames.total == FRAMES

"""The check of recordings of drawn blobs, and the message of each bad input."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import ropes
from ropes.common.arrays import Floats
from ropes.data import schema
from ropes.data.layout import copy_without_labels
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.source import Options, StateUnit
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.report.drift import findings
from tests import tiny
from tests.estimators import estimator_of, places
from tests.evaluation.drift.recorded import (
    FRAMES,
    NOISE,
    calibrated,
    imported,
    poses,
    seen,
    upside_down,
    write_recording,
)


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


@pytest.mark.parametrize(
    "wrong",
    [
        lambda wrist: -wrist,
        lambda wrist: 0 * wrist,
        lambda wrist: wrist / 2,
        lambda wrist: wrist + np.radians(17) * (np.abs(np.arange(FRAMES) - FRAMES // 2) < FRAMES // 6),
    ],
    ids=["mirrored", "dead", "half", "for a third of the time"],
)
def test_joint_that_does_not_follow_its_log_drifted(
    wrong: Callable[[Floats], Floats], estimator: Estimator, tmp_path: Path
) -> None:
    angles = poses()
    change = np.stack([np.zeros(FRAMES), wrong(angles[:, 1]) - angles[:, 1]], axis=1)
    found = ropes.check(estimator, write_recording(tmp_path / "wrong", change=change))
    elbow, wrist, *_ = found.lines()
    assert (elbow["drifted"], wrist["drifted"], wrist["unexplained"]) == (False, True, True)
    assert "wrist does not follow its log: differences vary by" in " ".join(findings(found))


def test_log_that_is_late_by_a_cameras_delay_is_shifted(estimator: Estimator, tmp_path: Path) -> None:
    motion = 1.1 * np.sin(np.outer(np.arange(FRAMES) / 10, [1.3, 0.9]))
    found = ropes.check(estimator, write_recording(tmp_path / "late", angles=motion, late=0.2))
    assert not found.drifted
    assert found.frames.lag == pytest.approx(0.2, abs=0.051)
    assert "s late against the images; it was shifted." in " ".join(found.notes)
    assert ropes.check(estimator, write_recording(tmp_path / "now", angles=motion)).frames.lag == 0


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
    assert found.place_of(left.stretches[0].first).seconds == pytest.approx(8.0, abs=0.3)
    assert not any(each.drifted for each in found.drifts)
    assert found.drifted


def test_degrees_are_read_as_such(estimator: Estimator, tmp_path: Path) -> None:
    recording = write_recording(tmp_path / "degrees", unit=180 / np.pi)
    assert not ropes.check(estimator, recording, state="degrees").drifted
    with pytest.raises(UserError, match=r"which is no likely angle in radians; give --state degrees"):
        ropes.check(estimator, recording)


def test_small_angles_in_degrees_are_told_by_their_variation(estimator: Estimator, tmp_path: Path) -> None:
    small = write_recording(tmp_path / "small", angles=0.1 * poses(), unit=180 / np.pi)
    with pytest.raises(UserError, match=r"vary \d+ times as much as those read from images: give --state degrees"):
        ropes.check(estimator, small, state="radians")
    with pytest.raises(UserError, match="or in radians where --state degrees is given"):
        ropes.check(estimator, write_recording(tmp_path / "radians"), state="degrees")
    hardly = seen(0.06 * poses())
    wide = write_recording(tmp_path / "wide", angles=2 * poses(), images=hardly, unit=180 / np.pi)
    with pytest.raises(UserError, match=r"as those read from images: the images are of another recording$"):
        ropes.check(estimator, wide, state="degrees")


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
    named = write_recording(tmp_path / "pos", names=names)
    assert not ropes.check(estimator, named).drifted
    of_lerobot = calibrated(joints=names)
    assert not ropes.check(of_lerobot, named).drifted
    assert not ropes.check(of_lerobot, write_recording(tmp_path / "bare")).drifted


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


def test_a_turned_and_cropped_import_is_a_recording_and_a_reference(estimator: Estimator, tmp_path: Path) -> None:
    raw, data = imported(tmp_path, poses(), change=0.2)
    own = ropes.check(estimator, data, reference=data)
    assert not own.drifted
    assert own.joints_compared == own.compared == "data"
    assert abs(own.drifts[0].offset.value) < 0.01
    same = ropes.check(estimator, raw, reference=data)  # turned and cropped as in the import
    assert not same.drifted
    np.testing.assert_allclose(same.read, own.read, atol=0.02)
    assert all(each.drifted for each in ropes.check(estimator, data).drifts)
    with pytest.raises(UserError, match="images of camera right have 16x15 grey pixels"):
        ropes.check(estimator, raw)


def test_the_log_of_a_recording_is_not_that_of_its_reference(estimator: Estimator, tmp_path: Path) -> None:
    _, data = imported(tmp_path, poses(seed=4))
    today = write_recording(tmp_path / "today", images=upside_down(poses()), change=0.3)
    log = (today / "log.csv").rename(tmp_path / "elsewhere.csv")
    streams = Options(log=log, joint_columns=tiny.JOINTS)
    found = ropes.check(estimator, today, reference=data, options=ImportOptions(streams=streams))
    assert all(each.drifted for each in found.drifts)
    assert found.drifts[0].offset.value == pytest.approx(-0.3, abs=0.02)
    before = tmp_path / "raw"  # with a log of its own
    turned = ImportOptions(streams=streams, rotate={None: 180}, crop={None: (3, 2, tiny.SIDE, tiny.SIDE)})
    again = ropes.check(estimator, today, reference=before, options=turned)
    for one, other in zip(again.usual, found.usual, strict=True):
        assert one.value == pytest.approx(other.value, abs=0.01)


def test_a_reference_without_angles_has_cameras_alone(estimator: Estimator, tmp_path: Path) -> None:
    _, data = imported(tmp_path, poses(seed=4))
    copy_without_labels(data, tmp_path / "blind")
    today = write_recording(tmp_path / "today", images=upside_down(poses()))
    found = ropes.check(estimator, today, reference=tmp_path / "blind")
    assert (found.compared, found.joints_compared) == ("blind", "the calibration")
    assert "blind has no logged angles; joints are compared with the calibration." in found.notes
    assert found.lines()[-1]["joints_compared_with"] == "the calibration"


def as_lerobot(data: Path, unit: StateUnit) -> Path:
    """A data set of ropes turned into a recording by LeRobot, ten frames a second, of an arm with a gripper."""
    (data / schema.PROVENANCE).unlink()
    info = json.loads((data / schema.INFO).read_text())
    (data / schema.INFO).write_text(json.dumps(info | {"robot_type": "so101_follower", "fps": 10}))
    for path in data.glob("data/**/*.parquet"):
        table = pq.read_table(path)
        degrees = np.degrees(np.stack(table[schema.STATE].to_numpy()))
        joint = degrees[:, 0] / (0.9 if unit == "percent" else 1.0)
        states = np.stack([joint, (degrees[:, 1] + 10) / 1.1], axis=1).astype(np.float32)
        columns = {
            schema.STATE: pa.array(states.tolist(), pa.list_(pa.float32(), 2)),
            "timestamp": pa.array(table["frame_index"].to_numpy() / 10, pa.float32()),
        }
        for name, column in columns.items():
            table = table.set_column(table.column_names.index(name), name, column)
        pq.write_table(table, path)
    return data


@pytest.mark.parametrize("unit", ["degrees", "percent"])
def test_units_of_lerobot_are_those_of_the_import(unit: StateUnit, tmp_path: Path) -> None:
    joints = ("elbow", "gripper")
    angles = poses() * [1, 0.5] + [0, 0.5]
    _, data = imported(tmp_path, angles, joints=joints)
    recording, calibration = as_lerobot(data, unit), None
    if unit == "percent":
        calibration = tmp_path / "mine.json"
        motor = {"drive_mode": 0, "range_min": 1000, "range_max": 1000 + 2047.5}  # a half turn: 90° are 100 percent
        calibration.write_text(json.dumps(dict.fromkeys(joints, motor)))
    options = ImportOptions(streams=Options(calibration=calibration), state=unit)
    found = ropes.check(calibrated(joints=joints), recording, state=unit, options=options)
    assert not found.drifted
    assert np.abs(found.logged - angles).max() < 5 * NOISE
    assert found.frames.shifted is not None
    np.testing.assert_allclose(found.frames.shifted(0.0), found.logged, atol=1e-6)
    np.testing.assert_allclose(found.frames.shifted(0.1)[0], found.logged[1], atol=1e-6)


def test_cameras_that_stopped_are_said(estimator: Estimator, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    stopped = np.repeat(seen(poses())[:1], FRAMES, axis=0)
    for rate in (1.0, 10.0):
        with pytest.raises(UserError, match="angles change and those read from images do not: the cameras stopped"):
            ropes.check(estimator, write_recording(tmp_path / f"{rate:g}", images=stopped, rate=rate))
    assert not [each for each in recwarn if "constant" in str(each.message).lower()]


def test_a_log_that_stopped_is_said(estimator: Estimator, tmp_path: Path) -> None:
    stopped = write_recording(tmp_path / "stopped")
    head, first, *rows = (stopped / "log.csv").read_text().splitlines()
    angles = first.split(",")[2:]
    rows = [",".join([*row.split(",")[:2], *angles]) for row in rows]
    (stopped / "log.csv").write_text("\n".join([head, first, *rows]))
    with pytest.raises(UserError, match="stay the same while those read from images vary: the log stopped, or"):
        ropes.check(estimator, stopped)


def test_images_of_other_poses_are_no_other_clock(estimator: Estimator, tmp_path: Path) -> None:
    nearly = poses() * [0.0, 0.02]  # they vary less than a log between two samples does
    with pytest.raises(UserError, match="follow no logged joint"):
        ropes.check(estimator, write_recording(tmp_path / "still", images=seen(nearly[::-1])))


def test_frames_are_chosen_evenly(estimator: Estimator, tmp_path: Path) -> None:
    found = ropes.check(
        estimator, write_recording(tmp_path / "long"), frames=40, options=ImportOptions(streams=Options())
    )
    assert len(found.times) == 40
    assert (found.times[0], found.times[-1]) == (0, pytest.approx((FRAMES - 1) / 10))
    assert found.frames.total == FRAMES

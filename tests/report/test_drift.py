"""The page and the table of a check: drawn blobs, five degrees on one joint since the middle, a camera that moved."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import ropes
from ropes.common import files
from ropes.data import schema
from ropes.errors import UserError
from ropes.evaluation.drift import Check
from ropes.evaluation.drift.statistics import ReferenceOffset
from ropes.report.drift import error_table, findings, joint_table, page, print_check
from ropes.report.worst_frames import arm_to_draw, worst_frames
from tests.estimators import run_of
from tests.evaluation.drift.recorded import FRAMES, calibrated, poses, seen, write_recording


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Check:
    images = seen(poses())
    images[90:, 1] = np.roll(images[90:, 1], 3, axis=2)
    late = np.outer(np.arange(FRAMES) >= FRAMES // 2, [0, np.radians(5)])
    folder = write_recording(tmp_path_factory.mktemp("page") / "drifted", change=-late, images=images)
    return ropes.check(calibrated(), folder)


def test_findings_name_the_joint_the_camera_and_the_times(found: Check) -> None:
    cameras, joints = findings(found)
    assert re.fullmatch(
        r"Drifted: wrist reads \+[45]\.\d° off since [56]\.\d s \(episode 0, frame [56]\d\), \S+° before\.",
        joints,
    )
    assert re.fullmatch(
        r"Moved: camera left [234]\.\d pixels since (8\.[6-9]|9\.[0-4]) s \(episode 0, frame (8[6-9]|9[0-4])\)\.",
        cameras,
    )


def test_the_table_fits_into_80_columns_with_the_names_of_so101(found: Check) -> None:
    names = ("shoulder_lift", "shoulder_pan")
    elbow, wrist = (
        replace(each, few=True, offset=replace(each.offset, value=-3.1, low=-6.2, high=0.0)) for each in found.drifts
    )
    console = Console(width=80)
    with console.capture() as captured:
        console.print(joint_table(replace(found, joints=names, drifts=(elbow, wrist))).terminal())
        console.print(error_table(replace(found, joints=names, coverage=0.995)).terminal())
    assert "in 99.5% interval" in captured.get()
    assert max(map(len, captured.get().splitlines())) <= 80
    lines = [line for line in captured.get().splitlines() if ", too few" in line]
    assert [line.split()[1] for line in lines] == list(names)
    assert all(re.search(r" (yes|no) ", line) and "-177.6" in line for line in lines)


def test_the_table_is_in_degrees_and_the_notes_follow(found: Check) -> None:
    console = Console(width=80, record=True, file=None, quiet=False)
    with console.capture() as captured:
        print_check(found, console)
    text = captured.get()
    wrist, _ = (line for line in text.splitlines() if re.match(r"\W*wrist\b", line))
    elbow, _ = (line for line in text.splitlines() if re.match(r"\W*elbow\b", line))
    assert " yes " in wrist
    assert " no " in elbow
    assert re.search(r" RMS, ° . in 90% interval . outside range ", text)
    assert re.search(rf"wrist\W+{np.degrees(found.rms[1]):.1f}\W+{found.covered[1]:.0%}\W+0 ", text)
    assert "A camera moved, so differences of the joints may come from the camera." in text
    assert "Camera left: moved by" in text
    assert "Camera right: within" in text


@pytest.mark.slow
def test_the_page_is_self_contained_and_has_a_plot_for_each_joint(found: Check) -> None:
    overlay, drawn = arm_to_draw(found.frames.run)
    worst = worst_frames(found, overlay)
    text = page(found, worst, drawn)
    assert "<h1>Something drifted</h1>" in text
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert "<script" not in text
    assert ">wrist: drifted<" in text
    assert ">elbow<" in text
    assert ">in 90% interval<" in text
    assert ">camera left<" in text
    assert text.count("<figcaption>At ") == len(worst) == 4
    assert drawn == (
        "The arm is not drawn: poses need the arm, and no robot is known for setting 'tiny': give its --urdf FILE."
    )
    assert "The arm is not drawn: poses need the arm" in text
    assert [len(views) for _, views in worst] == [2] * 4
    assert all(view.shape[2] == 3 and max(view.shape) >= 384 for _, views in worst for view in views)


def test_worst_frames_are_of_the_joint_that_drifted(found: Check) -> None:
    rows = found.worst()
    assert len(rows) == 4
    assert list(rows) == sorted(rows)
    size = np.abs(found.read - found.logged)[:, 1]
    assert size[rows].min() > np.median(size)


def test_worst_frames_are_four_also_where_a_camera_moved_more_often(found: Check) -> None:
    right, left = found.cameras
    (stretch,) = left.stretches
    often = tuple(replace(stretch, first=at - 9, last=at) for at in (20, 40, 60, 80, 100))
    assert list(replace(found, cameras=(right, replace(left, stretches=often))).worst()) == [20, 40, 60, 80]


def test_worst_frames_are_tested_ones_beyond_the_usual_difference(found: Check) -> None:
    far = np.zeros(found.read.shape)
    far[[3, 50, 80, 110], 1] = -4.0
    far[20] = -9.0
    assert found.worst()[-1] == FRAMES - 1  # of the camera that moved until the end
    without = replace(
        found,
        cameras=(),
        read=found.logged + far + [0.0, 5.0],
        usual=[ReferenceOffset(value=at, half=0.0) for at in (0.0, 5.0)],
    )
    inside = np.arange(FRAMES) != 20
    assert list(replace(without, flagged=~inside, tested=inside).worst()) == [3, 50, 80, 110]
    assert 20 in without.worst()


def test_a_wrong_file_is_refused_before_the_check(found: Check, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"arm\.urdf"):
        arm_to_draw(found.frames.run, urdf=tmp_path / "arm.urdf")
    with pytest.raises(UserError, match=r"cameras\.json"):
        arm_to_draw(found.frames.run, camera_file=tmp_path / "cameras.json")


def test_the_arm_is_that_of_the_reference(tiny_data: Path, tmp_path: Path) -> None:
    data, joints = tmp_path / "data", ("elbow_flex", "wrist_roll")
    shutil.copytree(tiny_data, data)
    content = files.read_json(data / schema.PROVENANCE)
    setting = content.get("setting", {}) | {"robot": {"urdf": "so101", "joints": joints}}
    files.write_json(data / schema.PROVENANCE, content | {"setting": setting})
    run = run_of(joints=joints)
    overlay, words = arm_to_draw(run, reference=data)
    assert overlay is not None
    assert words.startswith("Orange: the arm at the angles read from the image.")
    assert arm_to_draw(run)[0] is None


def test_too_few_frames_are_in_the_table_the_notes_and_the_lines(found: Check) -> None:
    elbow, wrist = found.drifts
    few = replace(found, drifts=(elbow, replace(wrist, few=True)))
    assert [line["too_few_frames"] for line in few.lines()[:2]] == [elbow.few, True]
    assert any(note.startswith("Too few independent frames of ") and "wrist" in note for note in few.notes)
    assert f"{wrist.effective:.0f}, too few" in page(few, [], "")
    slow = replace(found, joints_compared="before", usual=[replace(each, few=True) for each in found.usual])
    assert "Too few independent frames in before, so intervals are wider." in slow.notes
    assert not [note for note in found.notes if "frames in before" in note]


def test_nothing_drifted_is_said_so(tmp_path: Path) -> None:
    found = ropes.check(calibrated(), write_recording(tmp_path / "fine"))
    before = "No camera moved during the recording; whether one moved before needs --reference."
    assert findings(found) == ["No joint drifted.", before]
    assert findings(replace(found, since_beginning=False)) == ["No joint drifted.", "No camera moved."]
    assert "<h1>Nothing drifted</h1>" in page(found, [], "")
    assert "No frame was drawn." in page(found, [], "")

"""A recording drives the arm through every pose, writes anchor by anchor, stops, and goes on."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from ropes.common import files
from ropes.common.arrays import Images
from ropes.data import schema
from ropes.data.layout import open_dataset
from ropes.data.origin import views_of
from ropes.data.recorder.folder import LOG
from ropes.data.recordings.views import View
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.inference.overlay import known_cameras
from ropes.inference.poses import chosen_arm
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.scene import Scene
from ropes.simulation.silhouette import link_meshes, silhouette
from ropes.simulation.urdf import read_urdf
from ropes.simulation.workers import arm_scene
from tests import tiny
from tests.data.recorder.conftest import CAMERA, JOINTS, MakeOptions
from tests.data.recorder.doubles import ScriptedKind, record
from tests.data.recordings.conftest import require_fit_accepts
from tests.estimators import run_of
from tests.simulation.test_mujoco_scene import needs_egl


@needs_egl
@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("engine", ["mujoco"], indirect=True)
def test_mujoco_checks_steps_and_draws_where_there_is_no_pybullet(make_options: MakeOptions, tmp_path: Path) -> None:
    setting = make_options().setting
    assert setting.renderer == "mujoco"
    lines = record(make_options(), tmp_path / "D")
    assert lines[-1].startswith("recorded 2 anchors in ")
    dataset = open_dataset(tmp_path / "D")
    frames, states = dataset.frames("train"), dataset.states("train")
    [images] = dataset.read_cameras(frames.index)
    with arm_scene(setting, joints=JOINTS) as scene:
        drawn = np.stack([views[0] for views in scene.render_all(states)])
    assert np.abs(images.astype(int) - drawn).mean() < 0.2


@pytest.mark.slow
@pytest.mark.pybullet
def test_simulated_recording_equals_the_rendered_scene(make_options: MakeOptions, tmp_path: Path) -> None:
    lines = record(make_options(), tmp_path / "D")
    headings = ["plan", "robot time", "order of poses", "simulated", lines[-1].partition(":")[0]]
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == headings
    assert lines[-1].startswith("recorded 2 anchors in ")
    found = validate(tmp_path / "D", progress=False)
    assert "in 10 frames" in found
    assert f"cameras side; joints {', '.join(JOINTS)}, with angles" in found
    dataset, setting = open_dataset(tmp_path / "D"), make_options().setting
    require_fit_accepts(dataset, small=True)
    frames = dataset.frames("train")
    states = dataset.states("train")
    [images] = dataset.read_cameras(frames.index)
    with Scene(setting.robot, setting.cameras, 32, joints=JOINTS) as scene:
        drawn = np.stack([views[0] for views in scene.render_all(states)])
    assert np.abs(images.astype(int) - drawn).max() <= 12
    assert np.abs(images.astype(int) - drawn).mean() < 0.2
    # The arm that the data set names lies where its cameras see it.
    run = run_of(cameras=("side",), joints=JOINTS)
    camera, arm = known_cameras(run, dataset)["side"], chosen_arm(run, dataset=dataset)
    shown = link_meshes(read_urdf(Path(setting.robot.urdf)))
    for image, state in zip(images, states, strict=True):
        poses = {link: pose[0] for link, pose in arm.poses(state[None]).items()}
        expected, seen = silhouette(shown, poses, camera), image < 255
        for one, other in ((expected, seen), (seen, expected)):
            assert not (one & ~ndimage.binary_dilation(other, np.ones((3, 3)))).any()
    # Each intervention leaves the other joint where it is.
    for anchor in range(2):
        rows = np.flatnonzero(frames.anchor == anchor)
        for row in rows[1:]:
            moved = np.abs(states[row] - states[rows[0]]) > 0.01
            joint = dataset.regimes[frames.regime[row]].joint
            assert [name for name, one in zip(JOINTS, moved, strict=True) if one] in ([joint], [])
    [first, second] = files.read_json(tmp_path / "D" / LOG)["anchors"]
    assert sorted(first["order"]) == list(range(5))
    assert {first["anchor"], second["anchor"]} == {0, 1}


def regimes_of(out: Path) -> list[tuple[int, int]]:
    frames = open_dataset(out).frames("train")
    return list(zip(frames.anchor.tolist(), frames.regime.tolist(), strict=True))


@pytest.mark.slow
def test_killed_recording_resumes(kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path) -> None:
    out, options = tmp_path / "D", make_options(kind="scripted", anchors=4)

    def die(goals: int) -> None:
        if goals == 12:  # in the middle of the third anchor
            raise KeyboardInterrupt

    kind.fault = die
    with pytest.raises(KeyboardInterrupt):
        record(options, out)
    assert kind.robots[0].stops > 0
    assert kind.cameras[0].closed
    with pytest.raises(UserError, match="unfinished; run the same ropes record command again"):
        open_dataset(out)
    kept = tiny.tree(out / "data")
    assert len(kept) == 2
    kind.fault = lambda goals: None
    lines = record(options, out)
    assert lines[0].startswith("plan: 2 are recorded, 2 are left; 4 anchors of 5 poses")
    assert len(kind.robots[1].goals) == 10
    assert tiny.tree(out / "data").items() >= kept.items()
    assert "in 20 frames" in validate(out, progress=False)
    assert regimes_of(out) == [(anchor, regime) for anchor in range(4) for regime in range(5)]
    log = files.read_json(out / LOG)["anchors"]
    assert sorted(entry["anchor"] for entry in log) == [0, 1, 2, 3]
    # The same poses as without the interruption, in some order of the anchors.
    record(options, tmp_path / "whole")
    one, other = (open_dataset(path).states("train").reshape(4, -1) for path in (out, tmp_path / "whole"))
    assert np.sort(one, axis=0) == pytest.approx(np.sort(other, axis=0), abs=1e-6)


def test_a_power_cut_loses_one_anchor(kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path) -> None:
    out, options = tmp_path / "D", make_options(kind="scripted", anchors=3)
    record(options, out)
    whole = tiny.tree(out)
    # The file of the last anchor is there and its entry in the log is not; a file before it is torn.
    log = files.read_json(out / LOG)
    files.write_json(out / LOG, {"anchors": log["anchors"][:2]})
    (out / schema.data_file(1)).write_bytes((out / schema.data_file(1)).read_bytes()[:300])
    note = files.read_json(out / schema.PROVENANCE)
    files.write_json(out / schema.PROVENANCE, {**note, "complete": False})
    record(options, out)
    assert len(kind.robots[1].goals) == 10
    assert "in 15 frames" in validate(out, progress=False)
    assert tiny.tree(out).keys() == whole.keys()
    # A torn file in the middle costs its own anchor alone; lost metadata cost none.
    whole = tiny.tree(out / "data")
    (out / schema.data_file(1)).write_bytes(b"torn")
    (out / schema.INFO).unlink()
    record(options, out)
    assert len(kind.robots[2].goals) == 5
    assert "in 15 frames" in validate(out, progress=False)
    assert sum(tiny.tree(out / "data")[name] == digest for name, digest in whole.items()) >= 2
    (out / schema.INFO).unlink()
    record(options, out)
    assert len(kind.robots) == 3
    assert "in 15 frames" in validate(out, progress=False)


@pytest.mark.slow
def test_finished_recording_is_unchanged_and_can_be_extended(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out = tmp_path / "D"
    record(make_options(kind="scripted", anchors=2), out)
    before = tiny.tree(out)
    assert record(make_options(kind="scripted", anchors=2), out) == []
    assert tiny.tree(out) == before
    assert len(kind.robots) == 1
    record(make_options(kind="scripted", anchors=3), out)
    assert "in 15 frames" in validate(out, progress=False)
    assert (
        tiny.tree(out).items() >= {name: digest for name, digest in before.items() if name.startswith("data/")}.items()
    )
    with pytest.raises(UserError, match="holds 3 anchors already; give --anchors 3 or more"):
        record(make_options(kind="scripted", anchors=2), out)


def test_an_interrupted_recording_can_end_early(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "D"

    def die(goals: int) -> None:
        if goals == 12:
            raise ConnectionError("gone")

    kind.fault = die
    line = "the robot does not answer: ConnectionError: gone; the arm is stopped; 2 anchors are kept: run the same"
    with pytest.raises(UserError, match=line):
        record(make_options(kind="scripted", anchors=9), out)
    monkeypatch.delattr("ropes.data.recorder.record.CollisionChecker")  # nothing is left to be checked
    record(make_options(kind="scripted", anchors=2), out)
    assert len(kind.robots) == 1
    assert "in 10 frames" in validate(out, progress=False)


def test_folder_with_a_different_recording_is_refused(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out = tmp_path / "D"
    record(make_options(kind="scripted", anchors=1), out)
    (shown,) = views_of(open_dataset(out)).values()
    assert shown["source_size"] == [32, 32]
    before = tiny.tree(out)
    for changes, what in (({"seed": 1}, "seed 0"), ({"state": False}, "state True")):
        with pytest.raises(UserError, match=rf"holds another recording \({what}"):
            record(make_options(kind="scripted", anchors=2, **changes), out)
    kind.change = lambda image, number: image[:24]
    with pytest.raises(UserError, match="other views or image sizes"):
        record(make_options(kind="scripted", anchors=2), out)
    assert tiny.tree(out) == before
    tiny.write_data(tmp_path / "other", anchors=4, tests=0)
    with pytest.raises(UserError, match="holds something else, not a recording"):
        record(make_options(kind="scripted"), tmp_path / "other")


def test_recording_keeps_its_anchors_when_a_camera_is_unplugged(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    def unplugged(image: Images, number: int) -> Images:
        if len(kind.robots[-1].goals) == 8:
            raise OSError("device is gone")
        return image

    kind.change = unplugged
    with pytest.raises(UserError, match="camera cam does not answer: OSError: device is gone; the arm is stopped; 1"):
        record(make_options(kind="scripted"), tmp_path / "D")
    assert kind.robots[0].stops > 0
    assert len(tiny.tree(tmp_path / "D" / "data")) == 1


def test_swapped_cameras_are_refused_on_resume(kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path) -> None:
    out, options = tmp_path / "D", partial(make_options, kind="scripted")
    slope = np.tile(np.linspace(20, 120, 32).astype(np.uint8), (32, 1))
    places: list[Images | None] = [slope, slope.T, slope[:, ::-1]]
    kind.backdrops = dict(zip(("left", "middle", "right"), places, strict=True))
    record(options(anchors=1), out)
    kind.change = lambda image, number: np.minimum(image, 240) + 9  # another day, another light
    record(options(anchors=2), out)
    before, goals = tiny.tree(out), len(kind.robots[-1].goals)
    kind.backdrops = dict(zip(("left", "middle", "right"), (places[2], places[1], places[0]), strict=True))
    line = f"^cameras were exchanged: left shows what right showed, right shows what left showed in {out}; give --cam"
    with pytest.raises(UserError, match=line):
        record(options(anchors=3), out)
    assert (tiny.tree(out), kind.robots[-1].goals, goals) == (before, [], 5)
    # Before one and the same wall nobody can tell; nothing is refused.
    kind.backdrops = {"left": None, "right": None}
    record(options(anchors=1), tmp_path / "alike")
    record(options(anchors=2), tmp_path / "alike")
    assert len(open_dataset(tmp_path / "alike").frames("train")) == 10


def test_camera_parameters_match_the_stored_images(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out, view = tmp_path / "D", View(rotate=90, crop=(4, 0, 20, 32))
    options = partial(make_options, kind="scripted", views={None: view})
    record(options(anchors=1), out)  # as recordings of earlier versions, without parameters
    kind.known = Pinhole.of(replace(CAMERA, name="cam"), 32)
    record(options(anchors=2), out)
    run = run_of(cameras=("cam",))
    known = known_cameras(run, open_dataset(out))["cam"]
    assert (known.height, known.width) == (32, 20)
    point = np.array([[0.3, 0.1, 0.6]])
    [(x, y)], [depth] = kind.known.project(point)
    [pixel], [again] = known.project(point)
    assert pixel == pytest.approx([32 - y - 4, x])
    assert again == pytest.approx(depth)
    kind.known = Pinhole.of(replace(CAMERA, name="cam", yaw=20.0), 32)
    with pytest.raises(UserError, match="other views or image sizes"):
        record(options(anchors=3), out)


def test_a_blurred_anchor_is_recorded_again(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def blurred(image: Images, number: int) -> Images:
        return image // 8 + 100 if len(kind.robots[-1].goals) == 7 else image

    kind.change = blurred
    record(make_options(kind="scripted"), tmp_path / "D")
    assert len(kind.robots[0].goals) == 15
    assert "is blurred; the anchor is recorded again" in capsys.readouterr().err
    assert [entry["faults"] for entry in files.read_json(tmp_path / "D" / LOG)["anchors"]] == [[], []]


def test_plan_option_only_prints_the_plan(kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path) -> None:
    lines = record(make_options(kind="scripted", only_plan=True), tmp_path / "D")
    assert lines[0].startswith("plan: 2 anchors of 5 poses")
    assert kind.robots == []
    assert not (tmp_path / "D").exists()


def test_unknown_robot_kinds_and_options_are_refused(make_options: MakeOptions, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="unknown robot 'simulatd': did you mean simulated"):
        record(make_options(kind="simulatd"), tmp_path / "D")
    options = make_options(robot_options={"camera-dela": "1"})
    with pytest.raises(UserError, match="no option 'camera-dela': did you mean camera-delay"):
        record(options, tmp_path / "D")
    with pytest.raises(UserError, match="camera-delay is '9'; it must be 0 to 1 seconds"):
        record(make_options(robot_options={"camera-delay": "9"}), tmp_path / "D")
    assert not (tmp_path / "D").exists()

"""Folders in DREAM's layout: read, posed by their keypoints, taken over as a data set, or refused in one line."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from ropes.causal.scm import Regime
from ropes.data.dream import holds_dream, read_dream
from ropes.data.import_dream import LABELS, DreamOptions, import_dream
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.data.recordings.views import View
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.simulation.availability import find_urdf
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.rigid import rigid_motions
from tests import dream_files, tiny

COUNT = 120


@pytest.fixture(scope="module")
def azure(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frames of a camera that stands still; never to be changed."""
    folder = tmp_path_factory.mktemp("real") / "panda-3cam_azure"
    dream_files.write(folder, dream_files.angles(COUNT))
    return folder


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """Four frames."""
    folder = tmp_path / "few"
    dream_files.write(folder, dream_files.angles(4))
    return folder


def test_frames_become_two_splits_with_angles(azure: Path, tmp_path: Path) -> None:
    done = import_dream(azure, out=tmp_path / "data", options=DreamOptions(test_share=0.25), progress=False)
    dataset = open_dataset(tmp_path / "data")
    assert {split: len(dataset.frames(split)) for split in dataset.splits} == {"train": 90, "test-id": 30}
    assert dataset.splits == {"train": range(2), "test-id": range(2, 3)}  # of 50, 40 and 30 frames
    assert dataset.regimes == (Regime(),)
    assert dataset.joints == ()
    assert dataset.labelled_joints == dataset.state_names == dream_files.JOINTS
    stored = np.concatenate([dataset.states("train"), dataset.states("test-id")])
    np.testing.assert_allclose(stored, dream_files.angles(COUNT), atol=1e-6)
    with Image.open(azure / "000095.rgb.jpg") as picture:
        np.testing.assert_array_equal(dataset.read_images([95])[0, 0], np.asarray(picture))
    assert "joints no interventions, with angles" in validate(tmp_path / "data", progress=False)
    first, second = str(done).splitlines()
    assert first.startswith("dream: frames of panda: train 90, test-id 30; joints panda_joint1, ")
    assert "camera rgb 128x96, fixed; keypoints 0.0 mm from the arm's links in the mean" in first
    assert second.startswith("ADD of ropes evaluate is given the camera's pose; DREAM, RoboPEPP and HoRoPose estimate")
    before = tiny.tree(tmp_path / "data")
    import_dream(azure, out=tmp_path / "data", options=DreamOptions(test_share=0.25), progress=False)
    assert tiny.tree(tmp_path / "data") == before


def test_camera_of_the_stored_images_sees_keypoints_where_labels_say(azure: Path, tmp_path: Path) -> None:
    view = View(crop=(16, 0, 96, 96), size=48)
    options = DreamOptions(camera="front", view=view, test_share=1.0)
    dataset = import_dream(azure, out=tmp_path / "data", options=options, progress=False).dataset
    assert (dataset.cameras, dataset.image_shapes, list(dataset.splits)) == (("front",), ((48, 48, 3),), ["test-id"])
    assert dataset.provenance is not None
    camera = Pinhole.from_record(dataset.provenance["cameras"][0])
    np.testing.assert_allclose(camera.extrinsics, dream_files.CAMERA, atol=1e-9)
    pixels, _ = camera.project(dream_files.keypoints(dream_files.angles(COUNT))[7])
    frames = read_dream(azure)
    labelled = frames.projections[7][[frames.keypoints.index(name) for name in dream_files.KEYPOINTS]]
    # DREAM's first pixel is centred on (0, 0), and that of data sets on (1/2, 1/2).
    np.testing.assert_allclose(pixels, (labelled + 0.5 - [16, 0]) / 2, atol=1e-6)


@pytest.mark.parametrize(("unit", "prefix"), [(1.0, ""), (0.01, "franka/joints/")])
def test_moving_camera_has_a_pose_in_each_frame(unit: float, prefix: str, tmp_path: Path) -> None:
    turns = Rotation.from_euler("xyz", np.random.default_rng(1).uniform(-0.3, 0.3, (5, 3))).as_matrix()
    cameras = np.broadcast_to(dream_files.CAMERA, (5, 4, 4)).copy()
    cameras[:, :3, :3] = turns @ cameras[:, :3, :3]
    dream_files.write(tmp_path / "orb", dream_files.angles(5), cameras, unit=unit, prefix=prefix)
    done = import_dream(tmp_path / "orb", out=tmp_path / "data", options=DreamOptions(test_share=0), progress=False)
    assert done.moves
    assert done.dataset.provenance is not None
    assert done.dataset.provenance["source"]["metres_per_unit"] == unit
    assert "extrinsics" not in done.dataset.provenance["cameras"][0]
    table = pq.read_table(tmp_path / "data" / LABELS)
    assert table["frame"].to_pylist() == [f"{number:06d}" for number in range(5)]
    np.testing.assert_allclose(np.array(table["extrinsics"].to_pylist()).reshape(5, 4, 4), cameras, atol=1e-9)
    poses = np.array(table["locations"].to_pylist()).reshape(5, 7, 3)
    points = rigid_motions(dream_files.keypoints(dream_files.angles(5))[:, np.argsort(dream_files.KEYPOINTS)], poses)[1]
    assert points.max() < 1e-9


def test_keypoints_are_checked_and_are_no_part_of_a_copy_without_labels(few: Path, tmp_path: Path) -> None:
    dataset = import_dream(few, out=tmp_path / "data", options=DreamOptions(), progress=False).dataset
    stripped = copy_without_labels(dataset.path, tmp_path / "stripped")
    assert not (stripped.path / LABELS).exists()
    validate(stripped.path, progress=False)
    content = (dataset.path / LABELS).read_bytes()
    (dataset.path / LABELS).write_bytes(content[:-9])
    with pytest.raises(UserError, match=r"meta/dream\.parquet: changed since it was written"):
        validate(dataset.path, progress=False)
    import_dream(few, out=tmp_path / "data", options=DreamOptions(), progress=False)
    assert (dataset.path / LABELS).read_bytes() == content


def test_import_again_with_another_urdf_is_refused(few: Path, tmp_path: Path) -> None:
    urdf = shutil.copytree(find_urdf("franka_panda/panda.urdf").parent, tmp_path / "panda") / "panda.urdf"
    options = DreamOptions(urdf=urdf)
    import_dream(few, out=tmp_path / "data", options=options, progress=False)
    urdf.write_text(urdf.read_text().replace("<robot", "<!-- another arm --><robot", 1))
    with pytest.raises(UserError, match="holds something else, a data set with another import"):
        import_dream(few, out=tmp_path / "data", options=options, progress=False)


def test_folder_without_camera_settings_has_no_intrinsics(few: Path, tmp_path: Path) -> None:
    (few / "_camera_settings.json").unlink()
    dataset = import_dream(few, out=tmp_path / "data", options=DreamOptions(), progress=False).dataset
    assert dataset.provenance is not None
    assert set(dataset.provenance["cameras"][0]) == {"name", "view", "source_size"}


def test_other_folders_are_not_recognised(few: Path, tmp_path: Path) -> None:
    assert holds_dream(few)
    assert not holds_dream(few / "000000.json")
    frames = tmp_path / "frames"
    frames.mkdir()
    dream_files.draw(frames / "000000.rgb.jpg", np.zeros((7, 2)))
    assert not holds_dream(frames)  # images alone
    dream_files.write_json(frames / "000001.json", {})
    assert holds_dream(frames)


def changed(folder: Path, change: Callable[[Any], object], name: str = "000002.json") -> None:
    """Change a JSON file."""
    content = json.loads((folder / name).read_text())
    change(content)
    dream_files.write_json(folder / name, content)


def joint(content: Any, number: int = 2) -> dict[str, Any]:
    return content["sim_state"]["joints"][number]  # type: ignore[no-any-return]


def keypoint(content: Any, number: int = 2) -> dict[str, Any]:
    return content["objects"][0]["keypoints"][number]  # type: ignore[no-any-return]


def rename_everywhere(folder: Path, old: str, new: str) -> None:
    for path in folder.glob("0*.json"):
        path.write_text(path.read_text().replace(f'"{old}"', f'"{new}"'))


def stretch(folder: Path) -> None:
    """Move the keypoints of all frames, so that they are those of a wider arm."""
    for path in folder.glob("0*.json"):
        content = json.loads(path.read_text())
        for entry in content["objects"][0]["keypoints"]:
            entry["location"] = [3 * entry["location"][0], *entry["location"][1:]]
        dream_files.write_json(path, content)


def in_degrees(folder: Path) -> None:
    """Write the angles of all frames in degrees."""
    for path in folder.glob("0*.json"):
        content = json.loads(path.read_text())
        for entry in content["sim_state"]["joints"][:7]:
            entry["position"] = np.degrees(entry["position"])
        dream_files.write_json(path, content)


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "no labels": (
        lambda folder: (folder / "000002.json").unlink(),
        "000002.rgb.jpg has no labels: 000002.json is missing; restore it, or remove the image",
    ),
    "no image": (
        lambda folder: (folder / "000002.rgb.jpg").unlink(),
        "000002.json has no image: 000002.rgb.jpg is missing; restore it, or remove the labels",
    ),
    "no JSON": (lambda folder: (folder / "000002.json").write_text('{"objects": ['), "000002.json is not valid JSON"),
    "no object": (lambda folder: changed(folder, lambda c: c["objects"].clear()), "has no objects[0].class; restore"),
    "no class": (lambda folder: changed(folder, lambda c: c["objects"][0].update({"class": 3})), "is 3, not a name"),
    "no joints": (lambda folder: changed(folder, lambda c: c.pop("sim_state")), "has no sim_state.joints; restore"),
    "empty joints": (
        lambda folder: changed(folder, lambda c: c["sim_state"].update(joints=[])),
        "sim_state.joints is no list of objects with a name",
    ),
    "joint twice": (
        lambda folder: changed(folder, lambda c: joint(c).update(name="a/panda_joint1")),
        "000002.json: sim_state.joints has a name twice",
    ),
    "other joint": (
        lambda folder: changed(folder, lambda c: joint(c).update(name="elbow")),
        "000002.json has joints elbow, panda_finger_joint1, panda_joint1, panda_joint2, panda_joint4, ",
    ),
    "unknown joint": (
        lambda folder: rename_everywhere(folder, "panda_joint3", "elbow"),
        "000000.json: joint elbow is not in panda.urdf (it has panda_joint1, ",
    ),
    "no number": (
        lambda folder: changed(folder, lambda c: joint(c).update(position=float("nan"))),
        "000002.json: position of joint panda_joint3 is nan, not a finite number",
    ),
    "two numbers": (
        lambda folder: changed(folder, lambda c: keypoint(c).update(location=[1, 2])),
        "000002.json: location of keypoint panda_link3 is [1, 2], not 3 finite numbers",
    ),
    "unknown keypoint": (
        lambda folder: rename_everywhere(folder, "panda_link4", "elbow"),
        "panda.urdf has no link 'elbow'",
    ),
    "other robot": (lambda folder: rename_everywhere(folder, "panda", "kuka"), "is of a robot 'kuka'; give its arm by"),
    "other arm": (
        stretch,
        "mm from the links of panda.urdf; give the URDF of this arm by --urdf FILE",
    ),
    "degrees": (in_degrees, "/few: panda_joint1 has a median of "),
    "other size": (
        lambda folder: dream_files.draw(folder / "000002.rgb.jpg", np.zeros((7, 2)), (64, 48)),
        "000002.rgb.jpg has 64x48 pixels, and 000000.rgb.jpg 128x96; import images of one size",
    ),
    "no picture": (lambda folder: (folder / "000002.rgb.jpg").write_text("?"), "000002.rgb.jpg is no image that can"),
    "cut picture": (
        lambda folder: (folder / "000002.rgb.jpg").write_bytes((folder / "000002.rgb.jpg").read_bytes()[:900]),
        "000002.rgb.jpg is no image that can be read",
    ),
    "two images": (
        lambda folder: (folder / "000002.rgb.png").write_bytes(b""),
        "000002.rgb.jpg and 000002.rgb.png are of one frame; remove one",
    ),
    "no focal length": (
        lambda folder: changed(
            folder, lambda c: c["camera_settings"][0]["intrinsic_settings"].pop("fx"), "_camera_settings.json"
        ),
        "_camera_settings.json has no camera_settings[0].intrinsic_settings.fx; restore",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_damaged_folder_is_refused_and_leaves_nothing(fault: str, few: Path, tmp_path: Path) -> None:
    damage, line = FAULTS[fault]
    damage(few)
    with pytest.raises(UserError) as error:
        import_dream(few, out=tmp_path / "data", options=DreamOptions(), progress=False)
    assert line in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "data").exists()


def test_options_are_checked(few: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--test-share is 1.5; it must be from 0 to 1"):
        DreamOptions(test_share=1.5)
    with pytest.raises(UserError, match="is inside the folder"):
        import_dream(few, out=few / "data", options=DreamOptions(), progress=False)
    beyond = DreamOptions(view=View(crop=(100, 0, 96, 96)))
    with pytest.raises(UserError, match="is not inside the image of 128x96 pixels"):
        import_dream(few, out=tmp_path / "data", options=beyond, progress=False)
    assert not (tmp_path / "data").exists()

"""Clocks of bags, texts that repeat, and calibrations of cameras."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ropes.data.recordings.calibration import Calibration, intrinsics, stored_camera
from ropes.data.recordings.source import Options
from ropes.data.recordings.views import View
from ropes.errors import UserError
from ropes.simulation.pinhole import Pinhole
from tests.data.recordings import bag_files
from tests.data.recordings.bag_files import Kind, Message
from tests.data.recordings.conftest import ImportOne
from tests.data.recordings.test_bags import NAMES, protocol

MATRIX = np.array([[30.0, 0.0, 11.5], [0.0, 28.0, 9.5], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_policies_use_the_clock_of_the_headers(rate: float, import_one: ImportOne, tmp_path: Path) -> None:
    # The simulation's clock begins at 5 s, and goes at another rate than the clock of the bag.
    messages = [
        each if each.topic == "/policy" else each._replace(stamp=5.0 + rate * (each.time - 100.0))
        for each in protocol()
    ]
    imported = import_one(bag_files.write(tmp_path / "bag", "mcap", messages), dwell=0.1)
    assert "6 poses in 2 anchors" in str(imported)
    assert imported.plan.poses.policies == NAMES * 2


def test_joint_positions_without_time_stamps_use_the_header_clock(import_one: ImportOne, tmp_path: Path) -> None:
    messages = []
    for each in protocol():
        stamp = 5.0 + each.time - 100.0 if each.topic == "/front/image_raw" else 0.0
        messages.append(each if each.topic == "/policy" else each._replace(stamp=stamp))
    dataset = import_one(bag_files.write(tmp_path / "bag", "mcap", messages)).dataset
    assert np.allclose(dataset.states("train")[:, 0], 0.3 * np.arange(6))


def test_joint_messages_with_other_names_are_left_out(import_one: ImportOne, tmp_path: Path) -> None:
    grippers = [bag_files.joints(100.05 + k, {"finger": 0.9}) for k in range(4)]
    messages = sorted([*protocol(), *grippers], key=lambda each: each.time)
    dataset = import_one(bag_files.write(tmp_path / "bag", "mcap", messages)).dataset
    assert np.allclose(dataset.states("train")[:, 0], 0.3 * np.arange(6))
    assert dataset.provenance is not None
    assert dataset.provenance["source"]["ignored_joint_messages"] == 4


def test_of_several_publishers_the_one_with_most_joints_counts_or_the_chosen_one(
    import_one: ImportOne, tmp_path: Path
) -> None:
    frequent = [bag_files.joints(100.05 + k / 10, {"finger": 0.9}) for k in range(50)]
    wheel = bag_files.joints(100.01, {"wheel": 0.0})
    wheel = wheel._replace(fields=wheel.fields | {"position": np.zeros(0)})
    messages = sorted([*protocol(), *frequent, wheel], key=lambda each: each.time)
    path = bag_files.write(tmp_path / "bag", "mcap", messages)
    dataset = import_one(path, streams=Options(joint_columns=("elbow",))).dataset
    assert np.allclose(dataset.states("train")[:, 0], 0.3 * np.arange(6))
    assert dataset.provenance is not None
    assert dataset.provenance["source"]["ignored_joint_messages"] == 51
    with pytest.raises(UserError, match="no message has the positions of knee; it has "):
        import_one(path, "other", streams=Options(joint_columns=("knee",)))


def test_joint_message_without_a_position_for_each_name_is_refused(import_one: ImportOne, tmp_path: Path) -> None:
    short = bag_files.joints(100.05, {"elbow": 0.3, "wrist": 0.1})
    short = short._replace(fields=short.fields | {"position": np.zeros(1)})
    messages = sorted([*protocol(), short], key=lambda each: each.time)
    with pytest.raises(UserError, match="bag, topic /joint_states: 2 joints and 1 positions"):
        import_one(bag_files.write(tmp_path / "bag", "mcap", messages))


def test_camera_with_a_different_clock_is_reported(import_one: ImportOne, tmp_path: Path) -> None:
    pixels = np.full((20, 24), 90, np.uint8)
    shown = [
        bag_files.image(name, k / 10, pixels, "mono8")._replace(stamp=100 + k / 10 + clock)
        for k in range(30)
        for name, clock in (("left", 0.0), ("right", 1000.0))
    ]
    stated = [bag_files.policy(k, name) for k, name in enumerate(("observational", "elbow/1", "elbow/2"))]
    path = bag_files.write(tmp_path / "bag", "mcap", sorted([*shown, *stated], key=lambda message: message.time))
    line = r"time stamps of camera right are 999 s away from those of camera left, at the median: record with one clock"
    with pytest.raises(UserError, match=rf"^no frame is left \(30 left out: .*\); {line}"):
        import_one(path)


def test_repeated_policy_messages_count_once(import_one: ImportOne, tmp_path: Path) -> None:
    messages = []
    for each in protocol():
        if each.topic == "/policy":
            spoken = each
        messages += [each] if each.topic == "/policy" else [each, spoken._replace(time=each.time + 0.001)]
    imported = import_one(bag_files.write(tmp_path / "bag", "mcap", messages), frames="stretch")
    assert "6 poses in 2 anchors" in str(imported)


def test_depth_images_can_be_left_out(import_one: ImportOne, tmp_path: Path) -> None:
    depth = [
        bag_files.image("depth", each.time, np.zeros((20, 48), np.uint8), "16UC1")
        for each in protocol()
        if each.topic == "/front/image_raw"
    ]
    path = bag_files.write(tmp_path / "bag", "mcap", sorted([*protocol(), *depth], key=lambda each: each.time))
    with pytest.raises(UserError, match="convert it first, or leave the camera out by --cameras"):
        import_one(path)


def with_calibration(*infos: Message, **other: Any) -> list[Message]:
    return sorted([*protocol(**other), *infos], key=lambda each: each.time)


@pytest.mark.parametrize("kind", ["ros1", "mcap"])
def test_a_calibration_becomes_intrinsics_of_the_stored_images(
    kind: Kind, import_one: ImportOne, tmp_path: Path
) -> None:
    info = bag_files.camera_info("front", 99.0, (20, 24), MATRIX)
    path = bag_files.write(tmp_path / ("a.bag" if kind == "ros1" else "bag"), kind, with_calibration(info))
    dataset = import_one(path, rotate={None: 90}, crop={None: (2, 1, 16, 20)}).dataset
    assert dataset.provenance is not None
    camera = dataset.provenance["cameras"][0]
    # Pixel (x, y) of the image becomes (19 − y, x); its corner is half a pixel before its middle.
    assert camera["intrinsics"] == [[28.0, 0.0, 20 - 10.0 - 2], [0.0, 30.0, 12.0 - 1], [0.0, 0.0, 1.0]]
    assert (camera["width"], camera["height"]) == (16, 20)
    calibration = dataset.provenance["source"]["calibrations"]["front"]
    assert calibration["matrix"] == MATRIX.tolist()
    assert (calibration["model"], calibration["distortion"][:2]) == ("plumb_bob", [0.1, -0.2])


@pytest.mark.parametrize(
    "infos",
    [
        [bag_files.camera_info("front", 99.0, (20, 24), np.zeros((3, 3)))],  # not calibrated
        [bag_files.camera_info("front", 99.0 + k, (20, 24), MATRIX + k) for k in range(2)],  # the lens zooms
        [bag_files.camera_info("front", 99.0, (20, 24), MATRIX, binning_x=2)],
        [bag_files.camera_info("other", 99.0, (20, 24), MATRIX)],
        [],
    ],
    ids=["none", "changes", "binned", "another camera", "absent"],
)
def test_invalid_calibrations_are_omitted(infos: list[Message], import_one: ImportOne, tmp_path: Path) -> None:
    dataset = import_one(bag_files.write(tmp_path / "bag", "mcap", with_calibration(*infos))).dataset
    assert dataset.provenance is not None
    assert "intrinsics" not in dataset.provenance["cameras"][0]
    assert "calibrations" not in dataset.provenance["source"]


def test_calibration_of_another_image_size_is_kept_only_as_provenance(import_one: ImportOne, tmp_path: Path) -> None:
    info = bag_files.camera_info("front", 99.0, (40, 48), MATRIX)
    dataset = import_one(bag_files.write(tmp_path / "bag", "mcap", with_calibration(info))).dataset
    assert dataset.provenance is not None
    assert "intrinsics" not in dataset.provenance["cameras"][0]
    assert dataset.provenance["source"]["calibrations"]["front"]["width"] == 48


@pytest.mark.parametrize("rotate", [0, 90, 180, 270])
@pytest.mark.parametrize("crop", [None, (3, 2, 12, 14)])
@pytest.mark.parametrize("size", [None, 7])
def test_intrinsics_project_a_point_to_its_stored_pixel(
    rotate: int, crop: tuple[int, int, int, int] | None, size: int | None
) -> None:
    view = View(rotate=rotate, crop=crop, size=size)
    calibration = Calibration(
        width=20, height=18, matrix=tuple(map(tuple, MATRIX.tolist())), model="plumb_bob", distortion=()
    )
    column, row = 10, 8
    image = np.zeros((18, 20), np.uint8)
    image[row, column] = 255
    stored = view.apply(image).astype(float)
    total = stored.sum()
    rows, columns = np.indices(stored.shape) + 0.5
    middle = np.array([(columns * stored).sum() / total, (rows * stored).sum() / total])
    ray = np.linalg.inv(MATRIX) @ [column, row, 1.0]  # the direction that the pixel sees
    for _ in range(rotate // 90):
        ray = np.array([-ray[1], ray[0], 1.0])
    matrix = intrinsics(calibration, view, (18, 20))
    assert matrix is not None
    assert np.abs((matrix @ ray)[:2] - middle).max() < (0.01 if size is None else 0.6)
    # The same pixel, seen by a camera that stands somewhere: the view turns its axes too.
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = Rotation.from_euler("xyz", [0.3, -1.0, 2.0]).as_matrix(), (0.1, 0.2, 2.0)
    corner = MATRIX.copy()
    corner[:2, 2] += 0.5
    own = Pinhole(name="front", intrinsics=corner, extrinsics=pose, height=18, width=20)
    point = pose[:3, :3].T @ (1.7 * np.linalg.inv(corner) @ [column + 0.5, row + 0.5, 1.0] - pose[:3, 3])
    turned = stored_camera(own, view)
    assert (turned.height, turned.width) == stored.shape
    np.testing.assert_allclose(turned.intrinsics, matrix)
    [pixel], [depth] = turned.project(point[None])
    assert np.abs(pixel - middle).max() < (0.01 if size is None else 0.6)
    assert depth == pytest.approx(1.7)

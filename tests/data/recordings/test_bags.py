"""ROS 2 bags in sqlite and MCAP, ROS 1 bags, and files of MCAP's own writer."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from ropes.data.recordings.ros import camera_name
from ropes.data.recordings.source import Options
from ropes.data.validate import validate
from ropes.errors import UserError
from tests.data.recordings import bag_files
from tests.data.recordings.bag_files import Kind, Message
from tests.data.recordings.conftest import FIXTURES, PANDA, ImportOne, damaged, require_fit_accepts

MCAP, SQLITE = FIXTURES / "bag_mcap", FIXTURES / "bag_sqlite"
NAMES = ("observational", "elbow/1", "elbow/2")


def protocol(anchors: int = 2, still: int = 4, rate: float = 10.0, **other: Any) -> list[Message]:
    """Raw images of one camera: each pose is `still` frames of its own level, half a second after the one before."""
    messages, time = [], 100.0
    for pose in range(anchors * len(NAMES)):
        messages.append(bag_files.policy(time, NAMES[pose % len(NAMES)]))
        for _ in range(still):
            time += 1 / rate
            messages.append(bag_files.image("front", time, np.full((20, 24, 3), 9 * pose, np.uint8), "rgb8", **other))
            messages.append(bag_files.joints(time, {"elbow": 0.3 * pose, "wrist": 0.1}))
        time += 0.5
    return messages


@pytest.mark.slow
@pytest.mark.parametrize("source", ["mcap", "sqlite", "mcap file", "sqlite file", "mcap writer"])
def test_bags_of_other_programs_become_data_sets(source: str, import_one: ImportOne, tmp_path: Path) -> None:
    path = {
        "mcap": MCAP,
        "sqlite": SQLITE,
        "mcap file": MCAP / "bag_mcap.mcap",
        "sqlite file": SQLITE / "bag_sqlite.db3",
    }.get(source) or bag_files.rewritten(MCAP, tmp_path / "again.mcap")
    imported = import_one(path, dwell=0.06)
    assert "bag: 52 poses in 4 anchors; cameras left 160x120, right 160x120" in str(imported)
    dataset = imported.dataset
    assert [regime.name for regime in dataset.regimes] == list(PANDA)
    assert "valid" in validate(dataset.path, progress=False)
    require_fit_accepts(dataset)
    assert dataset.provenance is not None
    assert dataset.provenance["source"]["topics"] == {
        "camera left": "/left/image_raw/compressed",
        "camera right": "/right/image_raw/compressed",
        "joint positions": "/joint_states",
        "policies": "/policy",
    }
    with AnyReader([MCAP]) as reader:  # the middle one of three frames a pose
        messages: list[Any] = [
            reader.deserialize(raw, kind.msgtype) for kind, _, raw in reader.messages() if kind.topic == "/joint_states"
        ]
    stored = np.array([message.position for message in messages])
    assert np.allclose(dataset.states("train"), stored[1::3], atol=1e-6)


@pytest.mark.slow
def test_mcap_and_sqlite_bags_give_the_same_data_set(import_one: ImportOne) -> None:
    first, second = (import_one(path, path.name, dwell=0.06).dataset for path in (MCAP, SQLITE))
    assert first.checksum == second.checksum


@pytest.mark.parametrize("kind", ["ros1", "sqlite", "mcap"])
@pytest.mark.parametrize("encoding", ["rgb8", "bgr8", "mono8"])
def test_raw_images_of_each_encoding_are_decoded(
    kind: Kind, encoding: str, import_one: ImportOne, tmp_path: Path
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (18, 21, 3), dtype=np.uint8)
    sent = {"rgb8": pixels, "bgr8": pixels[:, :, ::-1], "mono8": pixels[:, :, 0]}[encoding]
    padded = np.pad(sent.reshape(18, -1), [(0, 0), (0, 5)])  # rows may be longer than the image
    messages = []
    for k, name in enumerate(NAMES):
        row = bag_files.image("front", 1.0 + k, sent, encoding, step=padded.shape[1], data=padded.reshape(-1))
        messages += [bag_files.policy(0.5 + k, name), row]
    path = bag_files.write(tmp_path / ("a.bag" if kind == "ros1" else "bag"), kind, messages)
    dataset = import_one(path, frames="stretch").dataset
    images = dataset.read_images([0, 1, 2])[:, 0]
    assert np.array_equal(images, np.stack([pixels[:, :, 0] if encoding == "mono8" else pixels] * 3))
    assert dataset.state_names is None


@pytest.mark.parametrize("kind", ["ros1", "mcap"])
def test_poses_are_taken_in_the_middle_of_dwells(kind: Kind, import_one: ImportOne, tmp_path: Path) -> None:
    path = bag_files.write(tmp_path / ("a.bag" if kind == "ros1" else "bag"), kind, protocol())
    imported = import_one(path)
    dataset = imported.dataset
    assert "6 poses in 2 anchors" in str(imported)
    assert "5 moves between dwells" in str(imported)
    assert np.array_equal(dataset.read_images(np.arange(6))[:, 0, 0, 0, 0], 9 * np.arange(6))
    assert np.allclose(dataset.states("train")[:, 0], 0.3 * np.arange(6))
    assert dataset.provenance is not None
    assert dataset.provenance["clips"][0] == [0, 0.3, 0.9, "elbow/1"]


def test_streams_are_joined_by_time_stamp_and_unmatched_frames_counted(import_one: ImportOne, tmp_path: Path) -> None:
    messages = protocol()
    late = [
        bag_files.image("top", each.time + 0.015, np.full((16, 16), k, np.uint8), "mono8")
        for k, each in enumerate(message for message in messages if message.topic.startswith("/front"))
        if k != 5
    ]
    path = bag_files.write(tmp_path / "bag", "mcap", sorted([*messages, *late], key=lambda each: each.time))
    with pytest.raises(UserError, match="some cameras are grey and others in colour; give --grey"):
        import_one(path, different_rates=True)
    imported = import_one(path, frames="every", grey=True)
    assert "no frame of camera front" not in str(imported)  # 23 frames of camera top decide, and each has a partner
    dataset = imported.dataset
    assert sum(map(len, imported.plan.grouped.episodes)) == 23
    assert np.array_equal(
        dataset.read_cameras(range(23))[dataset.cameras.index("top")][:, 0, 0], [*range(5), *range(6, 24)]
    )
    with pytest.raises(UserError, match=r"no frame is left \(23 left out: no frame of camera front within 0\.01 s\)"):
        import_one(path, "narrow", frames="every", grey=True, tolerance=0.01)


@pytest.mark.parametrize(
    ("change", "options", "line"),
    [
        ([bag_files.policy(99.0, "elbow/3")], {}, "'elbow/3' is no policy"),
        ([bag_files.policy(99.0, "hip/1")], {}, r"policy 'hip/1' is of no joint of the recording \(elbow, wrist\)"),
        ([bag_files.policy(99.0, "a", topic="/other")], {}, "several topics of std_msgs/msg/String"),
        ([bag_files.joints(99.0, {"a": 1.0}, topic="/o")], {}, "several topics of sensor_msgs/msg/JointState"),
        ([bag_files.joints(99.0, {"a": 1.0}, topic="/o")], {"joint_topic": "/p"}, "has no topic /p of sensor_msgs"),
        ([bag_files.jpeg("front", 99.0, np.zeros((20, 24, 3), np.uint8))], {}, "camera front is on /front/image_raw"),
        ([], {"cameras": ("front=/nowhere",)}, "has no camera '/nowhere'; images are on /front/image_raw"),
        (
            [bag_files.image("front", 100.11, np.zeros((20, 24), np.uint8), "bayer_rggb8")],
            {"frames": "every"},
            "encoding 'bayer_rggb8' is not mono8, 8UC1, rgb8, bgr8, .*; debayer it first",
        ),
        (
            [bag_files.image("front", 200.0, np.zeros((20, 24, 3), np.uint8), "rgb8")._replace(stamp=3.0)],
            {},
            "time stamps of camera front run back, from 4.8",
        ),
        (
            [bag_files.image("side", 100 + k / 3, np.zeros((20, 24, 3), np.uint8), "rgb8") for k in range(20)],
            {},
            r"cameras have different frame rates \(front 10.0, side 3.0 Hz\); record them at one rate",
        ),
    ],
    ids=["policy", "joint", "texts", "states", "no topic", "two topics", "no camera", "bayer", "back", "rates"],
)
def test_invalid_bags_and_options_are_refused(
    change: list[Message], options: dict[str, Any], line: str, import_one: ImportOne, tmp_path: Path
) -> None:
    messages = sorted([*protocol(), *change], key=lambda each: each.time)
    path = bag_files.write(tmp_path / "bag", "sqlite", messages)
    frames = options.pop("frames", None)
    with pytest.raises(UserError, match=line):
        import_one(path, streams=Options(**options), frames=frames)
    assert not (tmp_path / "data").exists()


def test_truncated_bags_are_refused(import_one: ImportOne, tmp_path: Path) -> None:
    kinds: dict[str, Kind] = {"a.bag": "ros1", "b": "mcap", "c": "sqlite"}
    for name, kind in kinds.items():
        path = bag_files.write(tmp_path / name, kind, protocol())
        file = path if path.is_file() else next(each for each in path.iterdir() if each.suffix != ".yaml")
        damaged(file, 0.6)
        with pytest.raises(UserError, match=f"{name} cannot be read as a bag") as refused:
            import_one(path)
        assert "\n" not in str(refused.value)
    without_index = bag_files.write(tmp_path / "d.bag", "ros1", protocol())
    content = bytearray(without_index.read_bytes())
    at = content.index(b"index_pos=") + len(b"index_pos=")
    content[at : at + 8] = bytes(8)  # as a recorder leaves it that was killed
    without_index.write_bytes(content)
    with pytest.raises(UserError, match=r"Bag is not indexed.*rosbag reindex"):
        import_one(without_index)
    assert not (tmp_path / "data").exists()


def test_damaged_images_and_unsupported_bags_are_refused(import_one: ImportOne, tmp_path: Path) -> None:
    cut = [
        each
        if each.kind != "sensor_msgs/msg/Image"
        else bag_files.jpeg("front", each.time, np.zeros((64, 64, 3), np.uint8), 0.5)
        for each in protocol()
    ]
    with pytest.raises(UserError, match="'jpeg' image that is no complete JPEG or PNG"):
        import_one(bag_files.write(tmp_path / "cut", "mcap", cut))
    short = bag_files.write(tmp_path / "short", "mcap", protocol(height=30))
    with pytest.raises(UserError, match="1440 bytes are no image of 24x30 pixels; it is truncated"):
        import_one(short)
    silent = [each for each in protocol() if each.topic != "/policy"]
    with pytest.raises(UserError, match="no policy anywhere"):
        import_one(bag_files.write(tmp_path / "silent", "mcap", silent))
    blind = [each for each in protocol() if not each.topic.startswith("/front")]
    with pytest.raises(UserError, match="has no topic of sensor_msgs/msg/Image or"):
        import_one(bag_files.write(tmp_path / "blind", "mcap", blind))
    folder = tmp_path / "several"
    folder.mkdir()
    for name in ("a.bag", "b.bag"):
        shutil.copyfile(bag_files.write(tmp_path / name, "ros1", protocol()), folder / name)
    with pytest.raises(UserError, match=r"holds several bags without metadata.yaml; import a.bag or another"):
        import_one(folder)
    assert not (tmp_path / "data").exists()
    (folder / "b.bag").unlink()
    assert "6 poses in 2 anchors" in str(import_one(folder))


def test_table_assigns_policies_by_time(import_one: ImportOne, tmp_path: Path) -> None:
    silent = [each for each in protocol() if each.topic != "/policy"]
    path, table = bag_files.write(tmp_path / "bag", "mcap", silent), tmp_path / "policies.csv"
    rows = [f"{0.9 * k - 0.2},{name}" for k, name in enumerate(NAMES * 2)]
    table.write_text("\n".join(["time,policy", *rows]) + "\n")
    assert "6 poses in 2 anchors" in str(import_one(path, policies=table))


def test_table_maps_topic_texts_to_policies(import_one: ImportOne, tmp_path: Path) -> None:
    spoken = {"observational": "home", "elbow/1": "far", "elbow/2": "near"}
    messages = [
        bag_files.policy(each.time, spoken[each.fields["data"]]) if each.topic == "/policy" else each
        for each in protocol()
    ]
    path, table = bag_files.write(tmp_path / "bag", "mcap", messages), tmp_path / "policies.csv"
    table.write_text("\n".join(["task,policy", *(f"{text},{name}" for name, text in spoken.items())]) + "\n")
    assert "6 poses in 2 anchors" in str(import_one(path, policies=table))
    several = [*messages, bag_files.policy(100.0, "hello", topic="/other")]
    path = bag_files.write(tmp_path / "several", "mcap", sorted(several, key=lambda each: each.time))
    with pytest.raises(UserError, match="no policy anywhere"):
        import_one(path, "other", policies=table)
    chosen = Options(policy_topic="/policy")
    assert "6 poses in 2 anchors" in str(import_one(path, "other", policies=table, streams=chosen))


def test_positions_in_degrees_are_refused_or_converted(import_one: ImportOne, tmp_path: Path) -> None:
    messages = [
        each if each.kind != "sensor_msgs/msg/JointState" else bag_files.joints(each.time, {"elbow": 50.0 + k // 12})
        for k, each in enumerate(protocol())
    ]
    path = bag_files.write(tmp_path / "bag", "mcap", messages)
    with pytest.raises(
        UserError, match=r"joint elbow reaches 54\.0, which is no likely angle in radians; give --state degrees"
    ):
        import_one(path, frames="stretch")
    states = import_one(path, frames="stretch", state="degrees").dataset.states("train")
    assert np.allclose(states[0], np.deg2rad(50.0))


@pytest.mark.parametrize(
    ("topic", "name"),
    [
        ("/left/image_raw/compressed", "left"),
        ("/camera/color/image_raw", "camera"),
        ("/wrist_camera/color/image_raw", "wrist_camera"),
        ("/robot/left/image", "robot_left"),
        ("/image_raw", "image_raw"),
    ],
)
def test_camera_name_is_derived_from_the_topic(topic: str, name: str) -> None:
    assert camera_name(topic) == name

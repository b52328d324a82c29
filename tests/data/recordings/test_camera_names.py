"""Names of cameras: those of a recording, and others by NAME=CAMERA."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.common import files
from ropes.data import schema
from ropes.data.recordings.registry import open_recording
from ropes.data.recordings.source import Options
from ropes.errors import UserError
from tests.data.recordings.conftest import FIXTURES


def renamed(folder: Path, *names: str) -> Path:
    """A LeRobot data set with videos, whose two features of images have these names."""
    path = Path(shutil.copytree(FIXTURES / "lerobot-v2.1-video", folder))
    info = files.read_json(path / schema.INFO)
    for camera, name in zip(("left", "right"), names, strict=True):
        info["features"][name] = info["features"].pop(f"{schema.IMAGES}{camera}")
        (path / f"videos/chunk-000/{schema.IMAGES}{camera}").rename(path / f"videos/chunk-000/{name}")
    files.write_json(path / schema.INFO, info)
    return path


def test_every_observed_feature_of_images_is_a_camera(tmp_path: Path) -> None:
    data = renamed(tmp_path / "pusht", "observation.image", "observation.images.right")
    _, recording = open_recording(data, Options())
    assert set(recording.cameras) == {"image", "right"}
    assert recording.record["cameras"] == {"image": "observation.image", "right": "observation.images.right"}
    _, before = open_recording(FIXTURES / "lerobot-v2.1-video", Options())
    ours, theirs = (next(each.images(name, [(0, 3)])) for each, name in ((recording, "image"), (before, "left")))
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    "names", [("observation.image", "observation.images.image"), ("observation.images.image", "observation.image")]
)
def test_features_with_one_name_keep_both_images(names: tuple[str, str], tmp_path: Path) -> None:
    data = renamed(tmp_path / "twice", *names)
    _, recording = open_recording(data, Options())
    assert set(recording.cameras) == {"image", "observation.image"}


def test_cameras_of_lerobot_have_the_given_names() -> None:
    data = FIXTURES / "lerobot-v2.1-video"
    _, recording = open_recording(data, Options(cameras=("side=right", "left")))
    assert recording.cameras == ("side", "left")
    assert set(recording.episodes[0].frames) == {"side", "left"}
    assert recording.record["cameras"] == {"side": "observation.images.right", "left": "observation.images.left"}
    with pytest.raises(UserError, match="has no camera 'top'; it has left, right"):
        _ = open_recording(data, Options(cameras=("side=top",)))[1].cameras


def test_cameras_of_folders_have_the_given_names(tmp_path: Path) -> None:
    for k, camera in enumerate(("laptop", "phone")):
        (tmp_path / camera).mkdir()
        Image.fromarray(np.full((8, 8), 100 * k, np.uint8)).save(tmp_path / camera / "0.png")
    (tmp_path / "log.csv").write_text("frame,policy\n0,observational\n")
    _, recording = open_recording(tmp_path, Options(cameras=("front=phone",)))
    assert recording.cameras == ("front",)
    assert next(recording.images("front", [(0, 0)])).max() == 100


def test_cameras_of_a_bag_are_renamed_by_their_names_or_topics() -> None:
    bag = FIXTURES / "bag_mcap"
    _, plain = open_recording(bag, Options())
    camera = plain.cameras[0]
    topics = plain.record["topics"]
    assert isinstance(topics, dict)
    topic = topics[f"camera {camera}"]
    for given in (camera, topic):
        _, recording = open_recording(bag, Options(cameras=(f"front={given}",)))
        assert recording.cameras == ("front",)
        found = recording.record["topics"]
        assert isinstance(found, dict)
        assert found["camera front"] == topic

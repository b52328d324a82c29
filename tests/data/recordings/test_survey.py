"""What moves, where and when, from the images alone; and imports that are interrupted."""

from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from ropes.data import writer
from ropes.data.recordings import dataset_writer, survey
from ropes.data.recordings.dwells import still_by_images
from ropes.data.recordings.source import FrameId
from ropes.data.recordings.survey import CameraSurvey, block_means
from ropes.data.recordings.videos import VideoRecording
from ropes.data.validate import validate
from ropes.errors import UserError
from tests import tiny
from tests.data.recordings.conftest import ImportOne, require_fit_accepts
from tests.data.recordings.test_videos import (
    MOVE,
    RATE,
    STILL,
    angles,
    commands,
    picture,
    positions,
    seen,
    write_csv,
    write_video,
)

Images = Sequence[np.ndarray]


class Killed(BaseException):
    """Stands for a kill: nothing cleans up after it but what would run anyway."""


def surveyed(images: Images) -> CameraSurvey:
    state = CameraSurvey()
    for image in images:
        state.add(image, sample=True)
    return state


@pytest.fixture
def filmed(tmp_path: Path) -> Path:
    """A noisy video of three anchors, with a log of commands alone."""
    noise = np.random.default_rng(0)
    path = write_video(tmp_path / "front.mp4", [picture(angle, noise) for angle in positions(3)])
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), commands(3))
    return path


@pytest.mark.slow
def test_dwells_are_found_in_the_images(filmed: Path, import_one: ImportOne) -> None:
    imported = import_one(filmed)
    dataset = imported.dataset
    assert "9 poses in 3 anchors" in str(imported)
    require_fit_accepts(dataset, small=True)
    assert np.abs(seen(dataset.read_images(np.arange(9))[:, 0]) - angles(3)).max() <= 1 / 24
    assert np.allclose(dataset.states("train")[:, 0], angles(3))
    assert len(imported.plan.clips) == 8
    for _, begin, end, _ in imported.plan.clips:
        assert abs(end - begin - MOVE) <= 4 / RATE
    middles = [(STILL + MOVE) * k + MOVE + STILL / 2 for k in range(1, 9)]
    assert np.abs(imported.plan.poses.times[1:] - middles).max() <= 3 / RATE
    assert abs(imported.plan.poses.times[0] - (STILL + MOVE) / 2) <= 3 / RATE  # the arm begins in the first pose


def test_static_arm_has_one_dwell_and_flicker_is_not_motion() -> None:
    noise, still = np.random.default_rng(1), np.full((96, 128), 90.0)
    flicker = 10 * np.sin(np.arange(60))
    images = [np.clip(still + level + noise.normal(0, 5, still.shape), 0, 255).astype(np.uint8) for level in flicker]
    state = surveyed(images)
    assert still_by_images([state.motion]).all()
    assert state.moving_box() is None


def test_single_changed_image_is_not_motion_and_every_camera_counts() -> None:
    ground, moved = np.full((64, 64), 90, np.uint8), np.full((64, 64), 90, np.uint8)
    moved[20:40, 20:40] = 200
    steady, jump = [ground] * 12, [ground] * 6 + [moved] * 6
    assert still_by_images([surveyed(jump).motion]).all()  # from one image to the next alone
    moving = [np.roll(moved, 3 * max(0, min(k - 4, 4)), axis=1) for k in range(12)]
    expected = [k < 4 or k > 7 for k in range(11)]
    assert still_by_images([surveyed(moving).motion]).tolist() == expected
    assert still_by_images([surveyed(steady).motion, surveyed(moving).motion]).tolist() == expected


def test_motion_box_covers_all_motion_with_a_margin() -> None:
    noise, images = np.random.default_rng(2), []
    for left in range(100, 260, 10):
        image = np.full((240, 400, 3), 60.0)
        image[50:180, left : left + 30] = 180
        images.append(np.clip(image + noise.normal(0, 3, image.shape), 0, 255).astype(np.uint8))
    box = surveyed(images).moving_box()
    assert box is not None
    left, top, width, height = box
    assert left <= 92
    assert top <= 42
    assert left + width >= 288
    assert top + height >= 188
    assert width * height < 0.5 * 240 * 400
    few = [images[0], np.roll(images[0], 4, axis=1)]
    small = surveyed(few).moving_box()
    assert small is not None
    assert max(small[2:]) >= 128  # no smaller than what methods need


def test_block_means_include_the_image_edge() -> None:
    grey = np.arange(10 * 17, dtype=np.uint8).reshape(10, 17)
    means = block_means(grey)
    assert means.shape == (2, 3)
    assert means[0, 0] == grey[:8, :8].mean()
    assert means[0, 2] == np.float32(grey[:8, 16].mean())


@pytest.mark.slow
def test_camera_is_cropped_to_motion_and_the_preview_shows_it(filmed: Path, import_one: ImportOne) -> None:
    noise = np.random.default_rng(3)
    wide = [np.pad(picture(angle, noise), [(60, 60), (80, 120), (0, 0)], constant_values=40) for angle in positions(2)]
    path = write_video(filmed.with_name("wide.mp4"), wide)
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), commands(2))
    dataset = import_one(path, crop_to_motion=True, rotate={None: 90}).dataset
    assert dataset.provenance is not None
    left, top, width, height = dataset.provenance["cameras"][0]["view"]["crop"]
    assert dataset.image_shapes == ((height, width, 3),)
    # The square moves within columns 84 to 136 and rows 72 to 88 of 264x168 pixels, before the rotation.
    assert left <= 168 - 88
    assert top <= 84
    assert left + width >= 168 - 72
    assert top + height >= 136
    assert width * height < 0.75 * 168 * 264
    with Image.open(dataset.path / "meta/preview-wide.png") as shown:
        assert shown.size == (3 * 168 + 2 * 4, 264)
        pixels = np.asarray(shown)
    assert (pixels[top, left + 5 : left + width - 5] == (255, 64, 32)).all()
    assert "valid" in validate(dataset.path, progress=False)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of all frames that are decoded; the last one is followed by a kill when `stop` of them are."""
    numbers: list[int] = []
    original = VideoRecording.images

    def images(self: VideoRecording, camera: str, frames: Sequence[FrameId]) -> Generator[np.ndarray, None, None]:
        for (_, number), image in zip(frames, original(self, camera, frames), strict=True):
            numbers.append(number)
            yield image

    monkeypatch.setattr(VideoRecording, "images", images)
    return numbers


@pytest.mark.slow
def test_killed_image_survey_resumes(
    filmed: Path, import_one: ImportOne, decoded: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = import_one(filmed, "whole", crop_to_motion=True)
    total = len(decoded)
    original = CameraSurvey.add

    def add(self: CameraSurvey, image: np.ndarray, *, sample: bool) -> None:
        if self.done == 200:
            raise Killed
        original(self, image, sample=sample)

    with monkeypatch.context() as patch:
        patch.setattr(survey, "SAVE_INTERVAL", 0.0)
        patch.setattr(CameraSurvey, "add", add)
        with pytest.raises(Killed):
            import_one(filmed, "killed", crop_to_motion=True)
    decoded.clear()
    again = import_one(filmed, "killed", crop_to_motion=True)
    assert len(decoded) == total - 200
    assert tiny.tree(again.dataset.path) == tiny.tree(whole.dataset.path)


@pytest.mark.slow
def test_killed_import_leaves_complete_files_and_resumes(
    filmed: Path, import_one: ImportOne, decoded: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dataset_writer, "BYTES_PER_SHARD", 3 * 48 * 64 * 3)  # an anchor a file
    whole = import_one(filmed, "whole").dataset
    write: Callable[..., None] = writer.write_shard
    calls = []

    def die_at_third(*arguments: Any) -> None:
        calls.append(arguments)
        if len(calls) == 3:
            raise Killed
        write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(writer, "write_shard", die_at_third)
        with pytest.raises(Killed):
            import_one(filmed, "killed")
    assert len(list((tmp_path / "killed").glob("data/*/*.parquet"))) == 2
    decoded.clear()
    again = import_one(filmed, "killed").dataset
    assert sorted(set(decoded[1:])) == sorted(again_frames(again.path)[6:])
    assert tiny.tree(again.path) == tiny.tree(whole.path)
    assert not list(again.path.rglob("*.part"))
    import_one(filmed, "killed")  # complete: nothing to do
    assert tiny.tree(again.path) == tiny.tree(whole.path)


def again_frames(path: Path) -> list[int]:
    """Frames of the recording that a data set holds, in order."""
    frames: list[int] = pq.read_table(path / dataset_writer.ORIGIN)["frame.front"].to_pylist()
    return frames


@pytest.mark.slow
def test_different_import_into_the_same_folder_is_refused(filmed: Path, import_one: ImportOne) -> None:
    import_one(filmed)
    with pytest.raises(UserError, match="holds something else, a data set with another import"):
        import_one(filmed, frames="stretch")

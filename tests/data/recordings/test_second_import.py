"""The same import again, refused imports, folders of output, and previews."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ropes.common.files import read_json, write_json
from ropes.data import schema
from ropes.data.recordings import look, preview, survey
from ropes.data.recordings.dwells import doubt, rest_level, still_by_images
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.source import FrameId, Recording
from ropes.data.recordings.survey import STATE, CameraSurvey
from ropes.data.recordings.views import View
from ropes.errors import UserError
from tests import tiny
from tests.data.recordings.conftest import ImportOne, damaged
from tests.data.recordings.test_videos import (
    MOVE,
    NAMES,
    RATE,
    angles,
    commands,
    dense_log,
    picture,
    positions,
    seen,
    write_csv,
    write_frames,
)
from tests.data.recordings.test_videos import write_video as write


@pytest.fixture
def filmed(tmp_path: Path) -> Path:
    """A video of three anchors, with a log of commands alone."""
    path = write(tmp_path / "front.mp4", [picture(angle) for angle in positions(3)])
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), commands(3))
    return path


def test_finished_import_does_not_scan_the_images_again(
    filmed: Path, import_one: ImportOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = import_one(filmed, crop_to_motion=True)
    content = tiny.tree(first.dataset.path)

    def add(*_: object, **__: object) -> None:
        raise AssertionError("it looks at the images again")

    monkeypatch.setattr(CameraSurvey, "add", add)
    again = import_one(filmed, crop_to_motion=True)
    assert str(again) == str(first)
    assert tiny.tree(again.dataset.path) == content


def test_import_hashes_its_frames_once(filmed: Path, import_one: ImportOne, monkeypatch: pytest.MonkeyPatch) -> None:
    digest, calls = survey.digest, list[Recording]()

    def counted(recording: Recording, frames: Mapping[str, Sequence[FrameId]], views: Mapping[str, View]) -> str:
        calls.append(recording)
        return digest(recording, frames, views)

    for module in (survey, look):
        monkeypatch.setattr(module, "digest", counted)
    import_one(filmed, crop_to_motion=True)
    assert len(calls) == 1


def test_earlier_import_without_the_size_of_the_camera_images_stays(filmed: Path, import_one: ImportOne) -> None:
    path = import_one(filmed).dataset.path / schema.PROVENANCE
    content = read_json(path)
    assert content["cameras"][0].pop("source_size") == [48, 64]
    write_json(path, content)
    import_one(filmed)
    assert read_json(path) == content


def test_refused_import_leaves_the_finished_data_set_unchanged(
    filmed: Path, import_one: ImportOne, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = import_one(filmed, crop_to_motion=True).dataset
    content = tiny.tree(dataset.path)
    monkeypatch.setattr(CameraSurvey, "add", None)  # it is refused before anything is decoded
    others = ({"rotate": {None: 90}}, {"crop": {None: None}}, {"size": {None: 32}}, {"grey": True}, {"dwell": 0.4})
    for options in others:
        with pytest.raises(UserError, match="holds something else, a data set with another import"):
            import_one(filmed, **({"crop_to_motion": True} | options))
    assert tiny.tree(dataset.path) == content
    assert not (dataset.path / STATE).exists()


def test_output_inside_the_recording_is_refused(import_one: ImportOne, tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    write_frames(folder, angles(1), "left")
    write_csv(folder / "log.csv", ("frame", "policy"), [(k, NAMES[k]) for k in range(3)])
    before = tiny.tree(folder)
    with pytest.raises(UserError, match=r"is inside the recording .*frames; choose a folder outside"):
        import_one(folder, "frames/imported")
    assert tiny.tree(folder) == before


def test_files_of_other_programs_are_not_modified(import_one: ImportOne, tmp_path: Path) -> None:
    folder, out = tmp_path / "frames", tmp_path / "data"
    write_frames(folder, angles(1), "left")
    write_csv(folder / "log.csv", ("frame", "policy"), [(k, NAMES[k]) for k in range(3)])
    damaged(folder / "left" / "0002.png", 0.5)
    out.mkdir()
    (out / "movie.mkv.part").write_text("a download")
    with pytest.raises(UserError, match="holds something else"):
        import_one(folder)
    assert (out / "movie.mkv.part").read_text() == "a download"


def test_camera_with_crop_none_is_not_cropped_to_motion(import_one: ImportOne, tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    for camera in ("left", "right"):
        (folder / camera).mkdir(parents=True)
        for k, angle in enumerate(angles(2)):
            wide = np.pad(picture(angle), [(90, 90), (120, 120), (0, 0)], constant_values=40)
            Image.fromarray(wide).save(folder / camera / f"{k}.png")
    write_csv(folder / "log.csv", ("frame", "policy"), [(k, NAMES[k % 3]) for k in range(6)])
    dataset = import_one(folder, crop={"left": None}, crop_to_motion=True).dataset
    assert dataset.image_shapes[0] == (228, 304, 3)
    assert dataset.image_shapes[1][1] < 200
    assert [path.name for path in dataset.path.glob("meta/*.png")] == ["preview-right.png"]


@pytest.mark.slow
def test_a_preview_shows_what_an_import_keeps(filmed: Path, import_one: ImportOne, tmp_path: Path) -> None:
    wide = [np.pad(picture(angle), [(60, 60), (80, 120), (0, 0)], constant_values=40) for angle in positions(3)]
    path = write(filmed.with_name("wide.mp4"), wide)
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), commands(3))
    options = ImportOptions(rotate={None: 90})
    (line,) = preview.preview_recording(path, folder=tmp_path / "look", options=options)
    dataset = import_one(path, rotate={None: 90}, crop_to_motion=True).dataset
    assert dataset.provenance is not None
    left, top, width, height = dataset.provenance["cameras"][0]["view"]["crop"]
    assert line.startswith(f"camera wide: keeps {width}x{height} of 168x264 pixels at {left},{top}; see ")
    with Image.open(tmp_path / "look" / "preview-wide.png") as shown:
        assert shown.size == (3 * 168 + 2 * 4, 264)
    with pytest.raises(UserError, match="--crop wide=160,0,64,64 is not inside the image of 168x264 pixels"):
        preview.preview_recording(
            path, folder=tmp_path / "no", options=ImportOptions(rotate={None: 90}, crop={None: (160, 0, 64, 64)})
        )
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize("rests", [0.05, 0.15, 0.3, 0.6])
def test_rest_frames_are_found_at_any_share_of_rest(rests: float) -> None:
    rng = np.random.default_rng(0)
    length = 20
    still = np.zeros(400, dtype=bool)
    for begin in np.linspace(10, 380, round(400 * rests / length)).astype(int):
        still[begin : begin + length] = True
    speed = np.abs(np.sin(np.arange(400) / 9)) + 0.2
    motion = np.where(still, rng.gamma(9, 0.2, 400), rng.gamma(9, 0.2, 400) + 60 * speed)
    found = still_by_images([motion.tolist()])
    assert (found != still).mean() < 0.03
    assert doubt("left", motion.tolist()) is None


def test_arm_that_never_rests_is_reported() -> None:
    motion = 40 + 10 * np.sin(np.arange(300) / 9)
    line = doubt("left", motion.tolist())
    assert line is not None
    assert line.startswith("images of camera left differ by 33 grey levels even where the arm seems to stand still")
    assert doubt("left", []) is None
    assert rest_level(np.array([2.0])) == 2.0


def test_frames_of_a_move_are_read_as_the_data_page_shows(
    import_one: ImportOne, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "recordings").mkdir()
    path = write(tmp_path / "recordings" / "left.mp4", [picture(angle) for angle in positions(3)])
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), dense_log(3))
    import_one(path, "data/mine")
    page = (Path(__file__).parents[3] / "docs" / "data.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(page.partition("### Frames of the moves")[2].partition("```python\n")[2].partition("```")[0], names)
    assert names["policy"] == NAMES[1]
    moved = seen(np.array(names["frames"]))
    assert len(moved) >= round(MOVE * RATE)
    assert np.abs(moved[[0, -1]] - angles(3)[:2]).max() <= 1 / 24
    assert np.ptp(moved) > 0.9

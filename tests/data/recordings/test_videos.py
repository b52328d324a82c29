"""Videos written by PyAV and folders of frames, with a log beside them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from av.video.stream import VideoStream
from PIL import Image

from ropes.data.recordings.source import Options
from ropes.data.recordings.videos import Video
from ropes.data.validate import validate
from ropes.errors import UserError
from tests.data.recordings.conftest import ImportOne, damaged, require_fit_accepts

NAMES = ("observational", "elbow/1", "elbow/2")
RATE = 20
#: Seconds of a pose and of the move before it.
STILL, MOVE = 1.0, 0.5
SIZE = (48, 64)


def angles(anchors: int) -> np.ndarray:
    """Angle of the joint in each pose."""
    return 0.25 * (np.arange(anchors * len(NAMES)) * 5 % 7)


def positions(anchors: int) -> np.ndarray:
    """Angle in each frame: moves at constant speed, then a rest."""
    ends, still, move = angles(anchors), round(STILL * RATE), round(MOVE * RATE)
    parts, last = [], 0.0
    for end in ends:
        parts += [np.linspace(last, end, move, endpoint=False), np.full(still, end)]
        last = end
    return np.concatenate(parts)


def picture(angle: float, noise: np.random.Generator | None = None) -> np.ndarray:
    """A bright square whose place is the angle, on a dark ground."""
    image = np.full((*SIZE, 3), 40.0)
    left = 4 + round(24 * angle)
    image[12:28, left : left + 12] = (200, 180, 60)
    if noise is not None:
        image += noise.normal(0, 4, image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def write_video(path: Path, images: Sequence[np.ndarray], codec: str = "libx264", rate: int = RATE) -> Path:
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=rate)
        assert isinstance(stream, VideoStream)
        stream.height, stream.width = images[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
    return path


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    path.write_text("\n".join(",".join(map(str, row)) for row in [header, *rows]) + "\n")
    return path


def dense_log(anchors: int) -> list[tuple[float, str, float]]:
    """Time, policy and angle in every frame."""
    length = round((STILL + MOVE) * RATE)
    return [(k / RATE, NAMES[k // length % len(NAMES)], angle) for k, angle in enumerate(positions(anchors))]


def commands(anchors: int) -> list[tuple[float, str, float]]:
    """Time, policy and commanded angle of each pose."""
    return [((STILL + MOVE) * k, NAMES[k % len(NAMES)], angle) for k, angle in enumerate(angles(anchors))]


def seen(images: np.ndarray) -> np.ndarray:
    """The angle that `picture` drew, from where the square begins."""
    return np.array([(np.flatnonzero(image[20, :, 0] > 120)[0] - 4) / 24 for image in images])


@pytest.fixture
def film(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str = "front.mp4", anchors: int = 3, codec: str = "libx264", rate: int = RATE) -> Path:
        return write_video(tmp_path / name, [picture(angle) for angle in positions(anchors)], codec, rate)

    return write


@pytest.mark.parametrize("codec", ["libx264", "libsvtav1", "mpeg4"])
def test_video_with_a_position_log_is_imported(codec: str, film: Callable[..., Path], import_one: ImportOne) -> None:
    path = film(codec=codec)
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), dense_log(3))
    imported = import_one(path)
    dataset = imported.dataset
    assert str(imported).startswith(
        "videos: 9 poses in 3 anchors; cameras front 64x48; time stamps within 0.02 s; 8 mov"
    )
    assert "valid" in validate(dataset.path, progress=False)
    require_fit_accepts(dataset, small=True)
    assert np.allclose(dataset.states("train")[:, 0], angles(3))
    assert np.abs(seen(dataset.read_images(np.arange(9))[:, 0]) - angles(3)).max() <= 1 / 24
    assert dataset.provenance is not None
    begin, end = dataset.provenance["clips"][0][1:3]
    assert abs(end - begin - MOVE) <= 2 / RATE


def test_video_folder_with_a_later_parquet_log_is_imported(
    film: Callable[..., Path], import_one: ImportOne, tmp_path: Path
) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    for name in ("left.mp4", "right.mkv"):
        film(f"videos/{name}")
    rows = [(time + 70.0, name, angle) for time, name, angle in dense_log(3)]
    columns = dict(zip(("time", "command", "elbow"), map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "log.parquet")
    with pytest.raises(UserError, match=r"no frame is left \(270 left out: no joint position within 0\.02 s\)"):
        import_one(folder, streams=Options(policy_column="command"))
    dataset = import_one(folder, streams=Options(policy_column="command", offset=-70.0)).dataset
    assert dataset.cameras == ("left", "right")
    assert np.allclose(dataset.states("train")[:, 0], angles(3))
    with pytest.raises(UserError, match="has no column 'comand'; it has time, command, elbow"):
        import_one(folder, "other", streams=Options(policy_column="comand"))


def test_distant_frame_is_found_by_seeking(tmp_path: Path) -> None:
    levels = np.arange(900) % 200
    path = write_video(tmp_path / "long.mp4", [np.full((32, 32, 3), level, np.uint8) for level in levels])
    video = Video(path)
    assert np.allclose(video.times, np.arange(900) / RATE)
    wanted = [0, 3, 420, 421, 899]
    assert np.abs([image[0, 0, 0] for image in video.images(wanted)] - levels[wanted]).max() <= 2


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("front.avi", "mpeg4"),
        ("front.webm", "libvpx-vp9"),
        ("front.mov", "libx265"),
        ("front.mkv", "ffv1"),
        ("front.ts", "libx264"),
        ("front.mpg", "mpeg2video"),
    ],
)
def test_other_video_formats_are_read(name: str, codec: str, film: Callable[..., Path], import_one: ImportOne) -> None:
    path = film(name, codec=codec, rate=25)  # MPEG-2 has fixed rates
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), [(0.8 * t, *row) for t, *row in dense_log(3)])
    dataset = import_one(path).dataset
    assert np.abs(seen(dataset.read_images(np.arange(9))[:, 0]) - angles(3)).max() <= 1 / 24
    damaged(path, 0.6)
    if path.suffix not in (".ts", ".mpg"):  # which do not say how long they are
        with pytest.raises(UserError, match="is truncated"):
            import_one(path, "truncated")


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_truncated_videos_are_refused(
    share: float, film: Callable[..., Path], import_one: ImportOne, tmp_path: Path
) -> None:
    path = film()
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), dense_log(3))
    damaged(path, share)
    with pytest.raises(UserError, match=r"front\.mp4 is truncated"):
        import_one(path)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("header", "rows", "line"),
    [
        (("time", "elbow"), [(k / 20, 0.0) for k in range(90)], "no policy anywhere"),
        (("policy", "elbow"), [("observational", 0.0)], "has no column 'time'"),
        (
            ("time", "policy"),
            [(0.0, "observational"), ("soon", "elbow/1")],
            "row 3: time 'soon' is not a finite number",
        ),
        (
            ("time", "policy", "elbow"),
            [(1.0, "elbow/1", 0.0), (0.5, "elbow/2", 0.0)],
            "run back, from 1.000 s to 0.500 s",
        ),
        (
            ("time", "policy"),
            [(0.0, "observational"), (1.0, "elbow/1"), (0.5, "elbow/2")],
            "time stamps of the policies run back, from 1.000 s to 0.500 s",
        ),
        (("time", "policy", "elbow"), [(0.0, "hip/1", 0.0), (0.5, "hip/2", 0.0)], "is of no joint of the recording"),
        (("time", "policy", "elbow"), [(0.0, "elbow/1")], "row 2 has 2 columns, and the header 3"),
    ],
)
def test_invalid_logs_are_refused(
    header: Sequence[str], rows: Sequence[Sequence[object]], line: str, film: Callable[..., Path], import_one: ImportOne
) -> None:
    path = film(anchors=1)
    write_csv(path.with_suffix(".csv"), header, rows)
    with pytest.raises(UserError, match=line):
        import_one(path, frames="stretch")


def test_video_without_a_log_is_refused(film: Callable[..., Path], import_one: ImportOne, tmp_path: Path) -> None:
    path = film(anchors=2)
    with pytest.raises(UserError, match="has no log of time stamps and policies; give it by --log FILE"):
        import_one(path)
    with pytest.raises(UserError, match="is no recording that can be read"):
        import_one(write_csv(tmp_path / "notes.txt", ("a",), [(1,)]))
    with pytest.raises(UserError, match="nowhere does not exist"):
        import_one(tmp_path / "nowhere")


def write_frames(folder: Path, angle_of: np.ndarray, camera: str) -> None:
    (folder / camera).mkdir(parents=True)
    for k, angle in enumerate(angle_of):
        Image.fromarray(picture(angle)).save(folder / camera / f"{k:04d}.png")


def test_folders_of_frames_are_imported(import_one: ImportOne, tmp_path: Path) -> None:
    folder, of_frame = tmp_path / "frames", angles(3)
    for camera in ("left", "right"):
        write_frames(folder, np.append(of_frame, 0), camera)
    rows = [(k, NAMES[k % 3], angle) for k, angle in enumerate(of_frame)]
    log = write_csv(folder / "log.csv", ("frame", "policy", "elbow"), rows)
    imported = import_one(folder)
    dataset = imported.dataset
    assert "frames: 9 poses in 3 anchors; cameras left 64x48, right 64x48" in str(imported)
    assert np.array_equal(dataset.read_images([4])[0, 1], picture(of_frame[4]))
    assert dataset.provenance is not None
    assert dataset.provenance["source"]["images_without_a_row"] == 2
    (folder / "right" / "0003.png").unlink()
    with pytest.raises(UserError, match=r"log\.csv, row 5: frame 3 is missing in .*right; restore it"):
        import_one(folder, "second")
    write_csv(log, ("time", "policy"), [(0.0, "observational")])
    with pytest.raises(UserError, match="a folder of frames needs a log with a column frame"):
        import_one(folder, "third")


def test_frame_rows_need_increasing_times_and_one_file_each(import_one: ImportOne, tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    write_frames(folder, angles(1), "left")
    log = write_csv(folder / "log.csv", ("frame", "time", "policy"), [(k, k // 2, NAMES[k]) for k in range(3)])
    with pytest.raises(UserError, match=r"log\.csv, row 3: its time is not later than the row's before"):
        import_one(folder)
    write_csv(log, ("frame", "policy"), [(k, NAMES[k]) for k in range(3)])
    Image.fromarray(picture(0.0)).save(folder / "left" / "b0001.png")
    with pytest.raises(UserError, match=r"row 3: frame 1 is 0001\.png or b0001\.png; give the name of the file"):
        import_one(folder)
    assert not (tmp_path / "data").exists()


def test_frames_of_different_sizes_are_refused(import_one: ImportOne, tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    write_frames(folder, angles(1), "left")
    write_csv(folder / "log.csv", ("frame", "policy"), [(k, NAMES[k]) for k in range(3)])
    Image.fromarray(picture(0.0)[:, :40]).save(folder / "left" / "0002.png")
    with pytest.raises(UserError, match=r"frame 2 of camera left \(.*left/0002\.png\) is stored as"):
        import_one(folder)
    Image.fromarray(picture(0.0)).resize((128, 96)).save(folder / "left" / "0002.png")
    with pytest.raises(UserError, match=r"frame 2 of camera left \(.*\) is stored as .* from 128x96 pixels"):
        import_one(folder, size={None: 32})
    Image.fromarray(picture(0.0)).convert("L").save(folder / "left" / "0002.png")
    with pytest.raises(UserError, match=r"frame 2 of camera left \(.*\) is grey, and others are RGB; record one"):
        import_one(folder)
    Image.fromarray(picture(0.0)).resize((128, 96)).save(folder / "left" / "0002.png")
    with pytest.raises(UserError, match=r"left: frame 2 \(.*left/0002\.png\) has another size than those"):
        import_one(folder, crop_to_motion=True)
    assert not (tmp_path / "data").exists()


def test_frame_of_another_camera_is_refused(import_one: ImportOne, tmp_path: Path) -> None:
    folder, of_frame = tmp_path / "frames", angles(4)
    for number, camera in enumerate(("left", "right")):
        (folder / camera).mkdir(parents=True)
        room = np.kron(np.random.default_rng(number).uniform(30, 90, (6, 8)), np.ones((8, 8)))[..., None]
        for k, angle in enumerate(of_frame):
            Image.fromarray(np.maximum(picture(angle), room).astype(np.uint8)).save(folder / camera / f"{k:04d}.png")
    write_csv(folder / "log.csv", ("frame", "policy"), [(k, NAMES[k % 3]) for k in range(12)])
    own = (folder / "left" / "0007.png").read_bytes()
    (folder / "left" / "0007.png").write_bytes((folder / "right" / "0007.png").read_bytes())
    for crops in (False, True):
        with pytest.raises(UserError, match=r"frame 7 of camera left .*shows what camera right sees; take it out, or"):
            import_one(folder, crop_to_motion=crops)
        assert not (tmp_path / "data").exists()
    (folder / "left" / "0007.png").write_bytes(own)
    import_one(folder)


def test_damaged_frame_leaves_no_output(import_one: ImportOne, tmp_path: Path) -> None:
    folder, of_frame = tmp_path / "frames", angles(2)
    write_frames(folder, of_frame, "left")
    write_csv(folder / "log.csv", ("frame", "policy"), [(f"{k:04d}.png", NAMES[k % 3]) for k in range(6)])
    damaged(folder / "left" / "0005.png", 0.7)
    with pytest.raises(UserError, match=r"0005\.png is no image that can be read"):
        import_one(folder)
    assert not (tmp_path / "data").exists()

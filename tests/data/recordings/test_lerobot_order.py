"""LeRobot's episodes may lie in another order in the files than in the metadata."""

from pathlib import Path

import av
import numpy as np
import pyarrow.parquet as pq

from ropes.causal.scm import Regime
from ropes.data import schema
from ropes.data.recordings.lerobot import LeRobot
from ropes.data.recordings.source import Options
from ropes.data.writer import write_arrays

EPISODES, CAMERA = 3, "left"
REGIMES = [Regime(), Regime("elbow", 1), Regime("elbow", 2)]
#: (Episode, frame) of all frames.
FRAMES = [(episode, frame) for episode in range(EPISODES) for frame in range(len(REGIMES))]


def level(episode: int, frame: int) -> int:
    return 20 + 60 * episode + 20 * frame


def recorded(root: Path) -> Path:
    """A folder whose data file has its episodes in reversed order; all pixels of a frame have its `level`."""
    levels = np.array([[level(k, frame) for frame in range(len(REGIMES))] for k in range(EPISODES)], np.uint8)
    write_arrays(
        root,
        images={"train": np.broadcast_to(levels[:, :, None, None, None], (*levels.shape, 1, 32, 32))},
        states=None,
        cameras=[CAMERA],
        joints=["elbow"],
        regimes=REGIMES,
    )
    path = root / schema.data_file(0)
    table = pq.read_table(path)
    order = [k * len(REGIMES) + frame for k in reversed(range(EPISODES)) for frame in range(len(REGIMES))]
    pq.write_table(table.take(order), path)
    return root


def levels_of(root: Path) -> list[int]:
    recording = LeRobot().open(root, Options())
    return [round(float(image.mean())) for image in recording.images(CAMERA, FRAMES)]


def test_images_of_episodes_in_another_order_belong_to_their_episodes(tmp_path: Path) -> None:
    assert levels_of(recorded(tmp_path / "source")) == [level(*frame) for frame in FRAMES]


def test_videos_of_episodes_in_another_order_belong_to_their_episodes(tmp_path: Path) -> None:
    root = recorded(tmp_path / "source")
    info, episodes = root / schema.INFO, root / schema.EPISODES_PATH.format(chunk_index=0, file_index=0)
    video, feature = root / "videos" / "left.mkv", schema.IMAGES + CAMERA
    info.write_text(
        info.read_text().replace('"image"', '"video"').replace('"video_path": null', '"video_path": "videos/left.mkv"')
    )
    table = pq.read_table(episodes)
    for name in ("chunk_index", "file_index"):
        table = table.append_column(f"videos/{feature}/{name}", [[0] * EPISODES])
    begins = [float(len(REGIMES) * (EPISODES - 1 - k)) for k in range(EPISODES)]
    pq.write_table(table.append_column(f"videos/{feature}/from_timestamp", [begins]), episodes)
    video.parent.mkdir()
    with av.open(str(video), "w") as container:
        stream = container.add_stream("ffv1", rate=schema.FPS)
        stream.width, stream.height, stream.pix_fmt = 32, 32, "gray"
        for k in reversed(range(EPISODES)):
            for frame in range(len(REGIMES)):
                pixels = np.full((32, 32), level(k, frame), np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="gray")))
        container.mux(stream.encode())
    assert levels_of(root) == [level(*frame) for frame in FRAMES]

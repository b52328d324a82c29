"""Measures the speed and the memory of `ropes import` for a short and a long video, and for two cameras in AV1.

    python -m benchmarks.video_import [--seconds 60] [--out results/video-import.json] [--page]

An H.264 video of 640x480 pixels and 30 frames a second is generated: a bar that turns from pose to pose and stands
still in each, with noise. The same images are written in AV1 as LeRobot writes them, with a key frame every second
frame, and imported as those of two cameras. The log contains commands only. Every image is therefore decoded and
searched for dwells and for motion. Wall-clock time and processor time are shown; other work on the machine lengthens
the former. With --page, the table is written to docs/data.md.
"""

import csv
import multiprocessing
import resource
import shutil
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from benchmarks.figures import described, keep, options, origin, table
from ropes.data.recordings.importer import import_recording
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.videos import import_extra

PAGE = Path(__file__).parents[1] / "docs" / "data.md"
WIDTH, HEIGHT, RATE = 640, 480, 30
#: Frames of a pose: those of the move to it, and of the rest after it.
MOVE, STILL = 15, 45
NAMES = ("observational", "elbow/1", "elbow/2")
#: How many times as long the long video is.
LONGER = 8
#: Encoders and their options; LeRobot's for AV1.
H264, AV1 = ("libx264", {"preset": "veryfast"}), ("libsvtav1", {"g": "2", "crf": "30", "preset": "12"})


def image(angle: float, ground: NDArray[np.uint8], noise: NDArray[np.int16]) -> NDArray[np.uint8]:
    """A bar at an angle before a ground, with noise."""
    picture = Image.fromarray(ground)
    middle = np.array([WIDTH / 2, HEIGHT * 0.8])
    tip = middle + 240 * np.array([np.sin(angle), -np.cos(angle)])
    ImageDraw.Draw(picture).line([*middle, *tip], fill=(220, 220, 210), width=36)
    return np.clip(np.asarray(picture, dtype=np.int16) + noise, 0, 255).astype(np.uint8)


def write_video(path: Path, seconds: int, encoder: tuple[str, Mapping[str, str]] = H264) -> None:
    """Write the video, and the log of commands beside it."""
    av, rng = import_extra("av"), np.random.default_rng(0)
    ground = np.broadcast_to(np.linspace(40, 120, WIDTH)[:, None], (HEIGHT, WIDTH, 3)).astype(np.uint8)
    noises = rng.normal(0, 4, (8, HEIGHT, WIDTH, 3)).astype(np.int16)
    poses = max(1, round(seconds * RATE / (MOVE + STILL) / len(NAMES))) * len(NAMES)
    angles = rng.uniform(-1.2, 1.2, poses)
    with av.open(str(path), "w") as container:
        stream = container.add_stream(encoder[0], rate=RATE, options=dict(encoder[1]))
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        last = 0.0
        for number, angle in enumerate(angles):
            for k in range(MOVE + STILL):
                drawn = image(last + (angle - last) * min(1.0, k / MOVE), ground, noises[(number + k) % len(noises)])
                container.mux(stream.encode(av.VideoFrame.from_ndarray(drawn, format="rgb24")))
            last = float(angle)
        container.mux(stream.encode())
    _write_log(path, angles)


def write_repeated(path: Path, times: int, out: Path) -> None:
    """Write a video that repeats another one, without decoding it, and the log beside it."""
    av = import_extra("av")
    with av.open(str(out), "w") as target:
        stream, begin = None, 0
        for _ in range(times):
            with av.open(str(path)) as source:
                stream = stream or target.add_stream_from_template(source.streams.video[0])
                for packet in source.demux(source.streams.video[0]):
                    if packet.dts is not None:
                        packet.pts, packet.dts = packet.pts + begin, packet.dts + begin
                        packet.stream = stream
                        target.mux(packet)
                begin += int(source.streams.video[0].duration)
    with path.with_suffix(".csv").open(encoding="utf-8") as table:
        angles = [float(row["elbow"]) for row in csv.DictReader(table)]
    _write_log(out, angles * times)


def write_cameras(path: Path, seconds: int) -> None:
    """Write a folder of two videos in AV1 with the log beside them."""
    path.mkdir()
    write_video(path / "left.mp4", seconds, AV1)
    shutil.copy(path / "left.mp4", path / "right.mp4")
    (path / "left.csv").rename(path / "log.csv")


def _write_log(path: Path, angles: Iterable[float]) -> None:
    """Write the table of commands beside a video."""
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as table:
        writer = csv.writer(table)
        writer.writerow(("time", "policy", "elbow"))
        writer.writerows(
            ((MOVE + STILL) * k / RATE, NAMES[k % len(NAMES)], float(angle)) for k, angle in enumerate(angles)
        )


def measured(path: Path, out: Path) -> dict[str, Any]:
    """Import in this process: seconds of the clock and of the processor, peak of resident memory in MB."""
    clock, processor = time.monotonic(), time.process_time()
    imported = import_recording(path, out=out, options=ImportOptions(), progress=False)
    return {
        "codec": "AV1, two cameras" if path.is_dir() else "H.264",
        "clock_seconds": time.monotonic() - clock,
        "processor_seconds": time.process_time() - processor,
        "video_seconds": sum(map(len, imported.plan.grouped.episodes)) * (MOVE + STILL) / RATE,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def written(found: Mapping[str, Any]) -> str:
    """The table of the page, and what it is of."""
    lines = [
        [
            f"{row['video_seconds']:.0f} s, {row['codec']}",
            f"{row['clock_seconds']:.1f} s",
            f"{row['video_seconds'] / row['clock_seconds']:.1f}",
            f"{row['video_seconds'] / row['processor_seconds']:.1f}",
            f"{row['memory_mb']:.0f} MB",
        ]
        for row in found["rows"]
    ]
    heads = ["video", "import", "times real time", "the same on one core", "peak memory"]
    return f"{table(heads, lines)}\n{origin(found)}, {found['seconds']} s.\n"


def main() -> None:
    """Make the videos, import them, and print the table."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="length of the short video")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/data.md")
    arguments, began = parser.parse_args(), time.monotonic()
    with (
        tempfile.TemporaryDirectory() as folder,
        multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool,
    ):
        short, long = Path(folder, "short.mp4"), Path(folder, "long.mp4")
        write_video(short, arguments.seconds)
        write_repeated(short, LONGER, long)
        write_cameras(cameras := Path(folder, "cameras"), arguments.seconds)
        sources = short, long, cameras
        rows = [pool.apply(measured, (path, Path(folder, "data", path.stem))) for path in sources]
    found = {"rows": rows, **described(began)}
    keep(found, "video-import", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()

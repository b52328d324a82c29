"""Measures the speed and the memory of `ropes watch` on two streams, and the effect of the Kalman filter.

    python -m benchmarks.live [RUN] [--seconds 600] [--fps 30] [--browser] [--out results/live.json] [--page]

RUN is a packaged estimator of the Panda with two cameras, panda-2c by default. An arm on a smooth trajectory is drawn
to two videos of 640x480 pixels, which `ropes watch` plays at their speed, cropped to squares. The images are rendered
at the setting's size and enlarged: a larger rendering has other edges, and the estimator flags it as out of
distribution. Latency is the time from the arrival of a frame to its angles. Memory is the resident set after a tenth of
the time and at the end. --browser also serves the page of `ropes watch`, which is drawn while a browser shows it.

The filter is measured on the same trajectory without dropped frames: the error over all joints for single images and
after the filter, for several densities of its acceleration. With --page, the tables are written to docs/live.md.
"""

import os
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from benchmarks.figures import described, filled, options, origin, table
from ropes.common.arrays import Floats
from ropes.common.files import write_json, write_text
from ropes.data.pictures import enlarge
from ropes.data.recordings.views import Box
from ropes.inference.estimator import Estimator
from ropes.inference.live.frames import Fit
from ropes.inference.live.kalman import DENSITY, Kalman
from ropes.inference.live.page import Page
from ropes.inference.live.sources import VideoFile
from ropes.inference.live.watch import Watch, limit_threads
from ropes.inference.poses import chosen_arm
from ropes.inference.predictor import Predictor
from ropes.models.registry import find_run
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Setting, setting_named

PAGE = Path(__file__).parents[1] / "docs" / "live.md"
WIDTH, HEIGHT = 640, 480
#: Seconds of the trajectory; the videos are played in a loop.
TRAJECTORY = 10.0
DENSITIES = (0.1, 0.3, 1.0, 3.0, 10.0)


def trajectory(setting: Setting, frames: int, fps: float, seed: int = 3) -> Floats:
    """Angles (frames, d) on a smooth closed path within the middle of each joint's range, radians."""
    rng, model = np.random.default_rng(seed), setting.splits["train"]
    poses = model.sample_observational(rng, 4000)
    low, high = np.quantile(poses, 0.1, axis=0), np.quantile(poses, 0.9, axis=0)
    time_ = np.arange(frames) / fps
    waves = np.zeros((frames, poses.shape[1]))
    for harmonic, weight in ((1, 1.0), (2, 0.5), (3, 0.25)):
        phase = rng.uniform(0, 2 * np.pi, poses.shape[1])
        waves += weight * np.sin(2 * np.pi * harmonic * time_[:, None] / TRAJECTORY + phase)
    waves /= np.abs(waves).max(axis=0)
    return (low + high) / 2 + waves * (high - low) / 2


def film(setting: Setting, angles: Floats, fps: int, folder: Path) -> dict[str, Path]:
    """Draw the poses from each camera to videos of 640x480 pixels, the enlarged image in the middle; camera → file."""
    joints = setting.splits["train"].joints
    paths = {camera.name: folder / f"{camera.name}.mp4" for camera in setting.cameras}
    containers = {name: av.open(str(path), "w") for name, path in paths.items()}
    streams = {}
    for name, container in containers.items():
        streams[name] = container.add_stream("h264", rate=fps, options={"crf": "16", "preset": "veryfast", "g": "30"})
        streams[name].width, streams[name].height, streams[name].pix_fmt = WIDTH, HEIGHT, "yuv420p"
        streams[name].time_base = Fraction(1, fps)
    with Scene(setting.robot, setting.cameras, setting.image_size, joints=joints, scene="panda-gym") as scene:
        for images in scene.render_all(angles):
            for name, image in zip(paths, images, strict=True):
                picture = np.full((HEIGHT, WIDTH, 3), 127, np.uint8)
                left, top, side, _ = box(setting)
                picture[top : top + side, left : left + side] = enlarge(image, side)[..., None]
                containers[name].mux(streams[name].encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
    for name, container in containers.items():
        container.mux(streams[name].encode())
        container.close()
    return paths


def box(setting: Setting) -> Box:
    """Where the image is in a frame: left, top, width and height."""
    side = HEIGHT // setting.image_size * setting.image_size
    return (WIDTH - side) // 2, (HEIGHT - side) // 2, side, side


def speed(
    estimator: Estimator, setting: Setting, paths: dict[str, Path], seconds: float, browser: bool
) -> dict[str, float]:
    """Pairs a second, latency and memory of `ropes watch`."""
    sources = [VideoFile(camera=name, path=path, loop=True) for name, path in paths.items()]
    watch = Watch(estimator, sources, Fit(estimator.run, crop={None: box(setting)}), kalman=Kalman())
    shown = Page(estimator, chosen_arm(estimator.run), "127.0.0.1", 8080) if browser else None
    limit_threads(len(sources))
    latencies, began, first_memory, end, estimate = list[float](), 0.0, 0.0, 0.0, None
    processor = 0.0
    for estimate in watch.estimates():
        now = time.monotonic()
        if not began:
            began, processor = now, time.process_time()
        latencies.append(estimate.latency)
        if shown is not None:
            shown.send(estimate)
        if not first_memory and now - began > seconds / 10:
            first_memory = resident_mib()
        if (end := now - began) > seconds:
            break
    if shown is not None:
        shown.close()
    assert estimate is not None
    return {
        "pairs_per_second": (len(latencies) - 1) / end,
        "processor_ms_per_pair": 1e3 * (time.process_time() - processor) / len(latencies),
        "latency_ms_median": 1e3 * float(np.median(latencies)),
        "latency_ms_95": 1e3 * float(np.percentile(latencies, 95)),
        "memory_mib_after_a_tenth": first_memory,
        "memory_mib_at_the_end": resident_mib(),
        "dropped": estimate.dropped,
        "load": os.getloadavg()[0],
    }


def resident_mib() -> float:
    """The resident set of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def filtered_errors(estimator: Estimator, setting: Setting, fps: float) -> list[dict[str, float | None]]:
    """Mean squared error over all joints, rad², and relative jitter, without the filter and with each density."""
    frames = int(TRAJECTORY * fps)
    angles = trajectory(setting, frames, fps)
    joints = setting.splits["train"].joints
    with Scene(setting.robot, setting.cameras, setting.image_size, joints=joints, scene="panda-gym") as scene:
        images = np.stack(list(scene.render_all(angles)))
    truth = angles[:, [joints.index(joint) for joint in estimator.run.joints]]
    predictions = Predictor(estimator)(images)
    single, std = (np.array([list(each[key].values()) for each in predictions]) for key in ("joints", "std"))

    def jitter(estimates: Floats) -> float:
        return float(np.diff(estimates, n=2, axis=0).std())

    rows: list[dict[str, float | None]] = []
    for density in (None, *DENSITIES):
        found = single
        if density is not None:
            kalman = Kalman(density)
            states = [kalman(k / fps, *pose) for k, pose in enumerate(zip(single, std, strict=True))]
            found = np.array([state.angles for state in states])
        error = float(((found - truth) ** 2).mean())
        rows.append({"density": density, "mse": error, "jitter": jitter(found) / jitter(single)})
    return rows


def filter_table(rows: list[dict[str, Any]]) -> str:
    """The table of the filter's densities."""
    lines = []
    for row in rows:
        words = "none" if row["density"] is None else f"`--acceleration {row['density']:g}`"
        default = ", the default" if row["density"] == DENSITY else ""
        lines.append([words + default, f"{np.degrees(np.sqrt(row['mse'])):.2f}", f"{row['jitter']:.2f}"])
    return table(["filter", "RMS error, °", "jitter"], lines)


def speed_table(found: dict[str, Any]) -> str:
    """The table of speed and memory, and what it is of."""
    lines = [
        ["pairs a second", f"{found['pairs_per_second']:.1f}"],
        ["dropped frames", f"{found['dropped']}"],
        ["latency, median", f"{found['latency_ms_median']:.0f} ms"],
        ["latency, 95th percentile", f"{found['latency_ms_95']:.0f} ms"],
        ["processor time of a pair", f"{found['processor_ms_per_pair']:.0f} ms"],
        [f"memory after {found['watched'] / 10:.0f} s", f"{found['memory_mib_after_a_tenth']:.0f} MiB"],
        [f"memory after {found['watched']:.0f} s", f"{found['memory_mib_at_the_end']:.0f} MiB"],
    ]
    return f"{table(['measured', 'value'], lines)}\n{origin(found)}, {found['seconds']} s.\n"


def main() -> None:
    """Film, watch, filter."""
    parser = options(__doc__)
    parser.add_argument("run", nargs="?", default="panda-2c")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--browser", action="store_true")
    parser.add_argument("--page", action="store_true", help="also write the tables of docs/live.md")
    arguments, began = parser.parse_args(), time.monotonic()
    estimator = Estimator.load(find_run(arguments.run))
    setting = setting_named(estimator.run.setting)
    found: dict[str, Any] = {"filter": filtered_errors(estimator, setting, arguments.fps)}
    with tempfile.TemporaryDirectory() as folder:
        angles = trajectory(setting, int(TRAJECTORY * arguments.fps), arguments.fps)
        paths = film(setting, angles, arguments.fps, Path(folder))
        found |= speed(estimator, setting, paths, arguments.seconds, arguments.browser)
    found |= {"watched": arguments.seconds, **described(began)}
    tables = {"live-filter": filter_table(found["filter"]), "live": speed_table(found)}
    print("\n".join(tables.values()))
    if arguments.out:
        write_json(arguments.out, found)
    if arguments.page:
        write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), tables.get))


if __name__ == "__main__":
    main()

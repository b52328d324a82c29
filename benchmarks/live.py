"""Measures the speed and the memory of `ropes watch` on two streams, and the effect of the Kalman filter.

    python -m benchmarks.live [RUN] [--seconds 600] [--fps 30] [--recorded] [--browser] [--out FILE] [--page]

RUN is a packaged estimator of the Panda with two cameras, panda-2c by default. An arm on a smooth trajectory is drawn
to two videos of 640x480 pixels, which `ropes watch` plays at their speed, cropped to squares. The images are rendered
at the setting's size and enlarged: a larger rendering has other edges, and the estimator flags it as out of
distribution. Latency is the time from the arrival of a frame to its angles. Memory is the resident set after a tenth of
the time and at the end.

--recorded measures a second run, fitted on images with the faults of a webcam, on videos with these faults. It
registers each frame to the background and removes passers-by. Its training is short: its speed does not depend on its
accuracy. --browser measures RUN again with the page of `ropes watch`, which headless Chromium shows on the same
machine and draws in software.

The filter is measured on the same trajectory without dropped frames: the error over all joints for single images and
after the filter, for several densities of its acceleration. With --page, the tables are written to docs/live.md.
"""

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import described, filled, options, origin, table
from benchmarks.live_page import Tab, browsed
from benchmarks.live_videos import TRAJECTORY, box, film, rendered, trajectory
from benchmarks.road import ropes
from ropes.common.arrays import Floats, Images
from ropes.common.files import write_json, write_text
from ropes.inference.estimator import Estimator
from ropes.inference.live.frames import Fit
from ropes.inference.live.kalman import DENSITY, Kalman
from ropes.inference.live.page import Page
from ropes.inference.live.sources import VideoFile
from ropes.inference.live.watch import Watch, limit_threads
from ropes.inference.poses import chosen_arm
from ropes.inference.predictor import Predictor
from ropes.models.registry import find_run
from ropes.simulation.camera_model import degrade
from ropes.simulation.settings import Setting, setting_named

PAGE = Path(__file__).parents[1] / "docs" / "live.md"
DENSITIES = (0.1, 0.3, 1.0, 3.0, 10.0)
#: Anchors of the recording of --recorded, enough for registration and cleaner, and options of its short training.  A
#: third of the anchors is held out: the uncertainty is learnt from these.
RECORDED_ANCHORS = 60
SHORT = (
    "--val-fraction=0.35",
    *(f"--{stage}.{option}=1" for stage in ("training", "student") for option in ("epochs", "min-samples")),
)


@dataclass(frozen=True)
class Watched:
    """What is watched: an estimator, and a video of each camera.

    Attributes:
        name: of the column.
        estimator: of the images.
        paths: camera → video.
        browser: whether a browser shows the page.
    """

    name: str
    estimator: Estimator
    paths: dict[str, Path]
    browser: bool = False


def recorded(setting: Setting, poses: Images, fps: int, folder: Path) -> Watched:
    """A run on images with the faults of a webcam, and videos with such faults."""
    data, run = folder / "data", folder / "run"
    words = ("--setting", setting.name, "--scene", "panda-gym", "--camera", "webcam", "--anchors", RECORDED_ANCHORS)
    ropes("simulate", *words, "--test-anchors", 10, "--out", data)
    ropes("fit", "--data", data, "--independent", "--out", run, *SHORT)
    ropes("calibrate", run, "--data", data, "--commanded")
    estimator = Estimator.load(run)
    assert estimator.networks[1] is not None  # it registers
    cameras = enumerate(setting.cameras)
    faulty = [degrade(poses[:, k], "webcam", camera=camera.name, recording="watched") for k, camera in cameras]
    return Watched("run on webcam images", estimator, film(setting, np.stack(faulty, axis=1), fps, folder / "faulty"))


@contextmanager
def shown(page: Page) -> Iterator[None]:
    """Show a page in headless Chromium."""
    ended, opened = threading.Event(), threading.Event()

    async def look(tab: Tab) -> str:
        while not ended.is_set():
            text = await tab.text()
            if text:
                opened.set()
            await asyncio.sleep(1.0)
        return text

    browser = threading.Thread(target=browsed, args=(page.address, look))
    browser.start()
    try:
        if not opened.wait(timeout=300):
            raise RuntimeError("Chromium does not show the page")
        yield
    finally:
        ended.set()
        browser.join()


def speed(watched: Watched, setting: Setting, seconds: float) -> dict[str, float]:
    """Pairs a second, latency and memory of `ropes watch`."""
    if not watched.browser:
        return _speed(watched, setting, seconds, None)
    page = Page(watched.estimator, chosen_arm(watched.estimator.run), "127.0.0.1", 0)
    try:
        with shown(page):
            return _speed(watched, setting, seconds, page)
    finally:
        page.close()


def _speed(watched: Watched, setting: Setting, seconds: float, page: Page | None) -> dict[str, float]:
    estimator = watched.estimator
    sources = [VideoFile(camera=name, path=path, loop=True) for name, path in watched.paths.items()]
    watch = Watch(estimator, sources, Fit(estimator.run, crop={None: box(setting)}), kalman=Kalman())
    limit_threads(len(sources))
    latencies, began, first_memory, end, estimate = list[float](), 0.0, 0.0, 0.0, None
    processor = 0.0
    for estimate in watch.estimates():
        now = time.monotonic()
        if not began:
            began, processor = now, time.process_time()
        latencies.append(estimate.latency)
        if page is not None:
            page.send(estimate)
        if not first_memory and now - began > seconds / 10:
            first_memory = resident_mib()
        if (end := now - began) > seconds:
            break
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


def filtered_errors(
    estimator: Estimator, setting: Setting, angles: Floats, poses: Images, fps: float
) -> list[dict[str, float | None]]:
    """Mean squared error over all joints, rad², and relative jitter, without the filter and with each density.

    Args:
        estimator: of the images.
        setting: of the angles.
        angles: of the poses, (n, d) in the setting's order, radians.
        poses: their images, (n, V, S, S).
        fps: poses a second.
    """
    joints = setting.splits["train"].joints
    truth = angles[:, [joints.index(joint) for joint in estimator.run.joints]]
    predictions = Predictor(estimator)(poses)
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
    """The table of speed and memory, a column for each thing watched, and what it is of."""
    columns: Sequence[dict[str, Any]] = found["speed"]
    measures = {
        "pairs a second": ("pairs_per_second", ".1f", ""),
        "dropped frames": ("dropped", "d", ""),
        "latency, median": ("latency_ms_median", ".0f", " ms"),
        "latency, 95th percentile": ("latency_ms_95", ".0f", " ms"),
        "processor time of a pair": ("processor_ms_per_pair", ".0f", " ms"),
        f"memory after {found['watched'] / 10:.0f} s": ("memory_mib_after_a_tenth", ".0f", " MiB"),
        f"memory after {found['watched']:.0f} s": ("memory_mib_at_the_end", ".0f", " MiB"),
    }
    lines = [
        [words, *(f"{column[key]:{form}}{unit}" for column in columns)] for words, (key, form, unit) in measures.items()
    ]
    heads = ["measured", *(column["watched"] for column in columns)]
    return f"{table(heads, lines)}\n{origin(found)}, {found['seconds']} s.\n"


def main() -> None:
    """Film, watch, filter."""
    parser = options(__doc__)
    parser.add_argument("run", nargs="?", default="panda-2c")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--recorded", action="store_true", help="also measure a run on images of a webcam")
    parser.add_argument("--browser", action="store_true", help="also measure RUN with its page in Chromium")
    parser.add_argument("--page", action="store_true", help="also write the tables of docs/live.md")
    arguments, began = parser.parse_args(), time.monotonic()
    estimator = Estimator.load(find_run(arguments.run))
    setting = setting_named(estimator.run.setting)
    angles = trajectory(setting, int(TRAJECTORY * arguments.fps), arguments.fps)
    poses = rendered(setting, angles)
    found: dict[str, Any] = {"filter": filtered_errors(estimator, setting, angles, poses, arguments.fps)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = film(setting, poses, arguments.fps, folder / "clean")
        watched = [Watched(arguments.run, estimator, paths)]
        if arguments.recorded:
            watched.append(recorded(setting, poses, arguments.fps, folder))
        if arguments.browser:
            watched.append(Watched(f"{arguments.run}, page in a browser", estimator, paths, browser=True))
        found["speed"] = [{"watched": each.name, **speed(each, setting, arguments.seconds)} for each in watched]
    found |= {"watched": arguments.seconds, **described(began)}
    tables = {"live-filter": filter_table(found["filter"]), "live": speed_table(found)}
    print("\n".join(tables.values()))
    if arguments.out:
        write_json(arguments.out, found)
    if arguments.page:
        write_text(PAGE, filled(PAGE.read_text(encoding="utf-8"), tables.get))


if __name__ == "__main__":
    main()

"""Folders of frames with a log, and an estimator that reads them by a formula."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage

from ropes.common.arrays import Floats, Images
from ropes.data.recordings.importer import import_recording
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.source import StateUnit
from ropes.inference.calibration import Calibration, fit_calibration
from ropes.inference.estimator import Estimator
from ropes.methods.uncertainty.conformal import Intervals
from tests import tiny
from tests.estimators import FormulaReader, places, run_of

FRAMES = 120
#: Level below which pixels are background, and standard deviation of the log, radians.
_BACKGROUND, NOISE = 110, 0.03
Angles = Floats


def background() -> Images:
    """A textured wall, (2, side, side)."""
    wall = ndimage.gaussian_filter(np.random.default_rng(1).uniform(0, 1, (2, tiny.SIDE, tiny.SIDE)), (0, 0.8, 0.8))
    return np.round(100 * (wall - wall.min()) / np.ptp(wall)).astype(np.uint8)


def seen(angles: Angles) -> Images:
    """Blobs before the wall, (n, 2, side, side)."""
    blobs = tiny.draw(angles)
    return np.where(blobs > _BACKGROUND, blobs, background())


def read_before_wall(images: Images) -> Angles:
    return places(np.where(images > _BACKGROUND, images, 0).astype(np.uint8))


def poses(frames: int = FRAMES, seed: int = 0) -> Angles:
    return np.random.default_rng(seed).uniform(-1.2, 1.2, (frames, 2))


def calibrated(**changes: Any) -> Estimator:
    """An estimator of a calibrated run; `changes` are fields of its run."""
    angles = poses(300, seed=9)
    coordinates = read_before_wall(seen(angles))
    line: Calibration = fit_calibration(coordinates, angles, tiny.JOINTS)
    std = (line.angles(coordinates) - angles).std(0) / np.abs(line.slope)
    std = np.hypot(std, NOISE / np.abs(line.slope))
    intervals = Intervals(0.9, std, 1.645 * std, "labels", 300, by_image=False)
    calibration = Calibration(line.slope, line.intercept, 300, intervals=intervals, ranges=line.ranges)
    return Estimator(run_of(**changes), FormulaReader(read_before_wall), calibration)


def write_recording(
    path: Path,
    *,
    angles: Angles | None = None,
    change: Angles | float = 0.0,
    unit: float = 1.0,
    late: float = 0.0,
    rate: float = 10.0,
    names: tuple[str, ...] = tiny.JOINTS,
    images: Images | None = None,
) -> Path:
    """A folder of frames of each camera, and a log of the angles plus `change`, in radians times `unit`.

    With `late`, the log has the angles of so many seconds before; frames come at `rate` a second.
    """
    angles = poses() if angles is None else angles
    times = np.arange(len(angles)) / rate
    images = seen(angles) if images is None else images
    for k, camera in enumerate(tiny.CAMERAS):
        (path / camera).mkdir(parents=True)
        for number, image in enumerate(images[:, k]):
            Image.fromarray(image).save(path / camera / f"{number:04d}.png")
    logged = np.stack([np.interp(times - late, times, column) for column in angles.T], axis=1)
    logged = unit * (logged + change + NOISE * np.random.default_rng(3).normal(size=angles.shape))
    rows = [",".join(["frame", "time", *names])] if names else ["frame,time"]
    for number, time in enumerate(times):
        values = [f"{value:.6f}" for value in logged[number, : len(names)]]
        rows.append(",".join([str(number), f"{time:.3f}", *values]))
    (path / "log.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def upside_down(angles: Angles) -> Images:
    """Images of a camera that hangs upside down and sees more than the arm, (n, 2, h, w)."""
    return np.rot90(np.pad(seen(angles), ((0, 0), (0, 0), (2, 4), (3, 5))), 2, axes=(2, 3))


def imported(
    folder: Path,
    angles: Angles,
    change: float = 0.0,
    joints: tuple[str, ...] = tiny.JOINTS,
    unit: float = 1.0,
    state: StateUnit | None = None,
) -> tuple[Path, Path]:
    """A recording of such cameras, and its import, turned and cropped."""
    images = upside_down(angles)
    raw = write_recording(folder / "raw", angles=angles, images=images, change=change, names=joints, unit=unit)
    policies = folder / "policies.csv"
    regimes = ["observational", *(f"{joint}/{policy}" for joint in joints for policy in (1, 2))]
    rows = [f"{k},{regimes[k % len(regimes)]}" for k in range(len(angles))]
    policies.write_text("\n".join(["frame,policy", *rows]))
    crop = (3, 2, tiny.SIDE, tiny.SIDE)
    options = ImportOptions(policies=policies, frames="every", rotate={None: 180}, crop={None: crop}, state=state)
    import_recording(raw, out=folder / "data", options=options)
    return raw, folder / "data"

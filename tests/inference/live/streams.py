"""Sources and an estimator for tests of live estimation."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import av
import numpy as np

from ropes.common.arrays import Images
from ropes.errors import UserError
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.inference.live.frames import Capture
from tests import tiny
from tests.estimators import blobs

T = TypeVar("T")
SLOPE, INTERCEPT = np.array([-3 / 7, 6.0]), np.array([-1.5, -13.5])


def calibrated() -> Estimator:
    """The estimator of the blobs, with the line that makes its coordinates the angles."""
    estimator = blobs()
    estimator.calibration = Calibration(SLOPE, INTERCEPT, 9)
    return estimator


@dataclass(kw_only=True)
class Played:
    """Captures at given times after the start, then an end."""

    cameras: tuple[str, ...]
    captures_: Sequence[tuple[float, dict[str, Images]]]
    steady: bool = True
    skipped: int = 0

    def captures(self, start: float) -> Iterator[Capture]:
        for seconds, images in self.captures_:
            time.sleep(max(0.0, start + seconds - time.monotonic()))
            yield Capture(start + seconds, images)
        raise UserError(f"{self.cameras[0]} has ended")


def until_error(iterator: Iterable[T]) -> tuple[list[T], str]:
    """What an iterator gives, and the message of the `UserError` that ends it."""
    found: list[T] = []
    try:
        found += iterator
    except UserError as error:
        return found, str(error)
    raise AssertionError("it ended without an error")


def write_video(path: Path, levels: Sequence[int], *, fps: int = 20, side: int = 32) -> Path:
    """A lossless video of uniform grey frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("ffv1", rate=fps)
        stream.width, stream.height, stream.pix_fmt = side, side, "bgr0"
        for level in levels:
            frame = av.VideoFrame.from_ndarray(np.full((side, side, 3), level, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def poses(count: int) -> np.ndarray:
    """Angles (count, 2) of blobs that are well inside the images."""
    return np.random.default_rng(0).uniform(-0.8, 0.8, (count, len(tiny.JOINTS)))

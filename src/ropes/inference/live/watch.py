"""The loop of `ropes watch`: the newest images of all cameras → angles, as fast as the estimator is, without lag.

A thread for each source decodes and shrinks images.  Two threads estimate the newest ones; all older ones are dropped.
"""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from ropes.common.arrays import Floats, Images
from ropes.data.views import joined
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.inference.live.frames import Board, Fit, Frame
from ropes.inference.live.in_order import InOrder
from ropes.inference.live.kalman import Filtered, Kalman
from ropes.inference.live.sources import Source
from ropes.inference.predictor import Predictor

#: Seconds before the first frame of a recording, and of the frame rate's window.
_LEAD, _WINDOW = 0.2, 2.0
#: Seconds without an image of a steady source, or without images of all cameras that belong together, until an error.
IMAGE_TIMEOUT = 10.0
#: Number of estimates of the latency's percentile.
_LATENCIES = 300
#: Seconds for which a decoding thread keeps an estimating one waiting; Python's default is 0.005.
_SWITCH_INTERVAL = 0.001
#: Poses that are estimated at the same time: where one takes longer than the next one needs to come, both proceed.
_POSES_AT_ONCE = 2
#: Threads of the network at most.
_MOST_THREADS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """The estimate of one pose.

    Attributes:
        time: arrival of the oldest of its images, seconds since 1970.
        images: camera → the image that the network read.
        prediction: as `ropes predict` prints it, see `ropes.inference.predictor.Predictor`.
        angles: (d,) radians.
        filtered: state of the filter, predicted alone if the pose is out of distribution; None without a filter, and
            out of distribution where the filter has no measurement of the last second.
        truth: (d,) true angles, radians; None where they are unknown.
        latency: seconds from the arrival of the oldest image to the angles.
        latency_95: 95th percentile of the last 300 latencies, seconds.
        rate: estimates a second, over the last two seconds, or since the last estimate before this one.
        dropped: frames so far that no estimate used.
    """

    time: float
    images: Mapping[str, Images]
    prediction: Mapping[str, Any]
    angles: Floats
    filtered: Filtered | None
    truth: Floats | None
    latency: float
    latency_95: float
    rate: float
    dropped: int

    @property
    def nanoseconds(self) -> int:
        """`time` in whole microseconds, as nanoseconds."""
        return round(self.time * 1e6) * 1000

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of one line: the prediction, beside time, filter, truth, latency and rate."""
        joints = tuple(self.prediction["joints"])
        line: dict[str, Any] = {"time": round(self.time, 6), **self.prediction}
        if self.filtered is not None:
            names = {"joints": self.filtered.angles, "velocities": self.filtered.velocities, "std": self.filtered.std}
            line["filtered"] = {name: _named(joints, values) for name, values in names.items()}
        if self.truth is not None:
            line["truth"] = _named(joints, self.truth)
        milliseconds = {"latency_ms": self.latency, "latency_95_ms": self.latency_95}
        line |= {name: round(1e3 * seconds, 2) for name, seconds in milliseconds.items()}
        return line | {"rate_hz": round(self.rate, 2), "dropped": self.dropped}


class Sink(Protocol):
    """Where estimates go."""

    def send(self, estimate: Estimate) -> None:
        """Take an estimate; must not wait."""
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class Watch:
    """Estimates from live sources.

    Args:
        estimator: calibrated.
        sources: of all cameras of the run, each of one or several.
        fit: from a source's images to those that the run reads.
        tolerance: largest difference of the cameras' time stamps in one pose, seconds.
        kalman: filter over time; None for none.
        truth: time of `time.monotonic` → true angles (d,) of the arm then, radians, or None; for sources without.

    Raises:
        UserError: the run is not calibrated, or the filter needs standard deviations that the run does not have.
    """

    def __init__(
        self,
        estimator: Estimator,
        sources: Sequence[Source],
        fit: Fit,
        *,
        tolerance: float = 0.025,
        kalman: Kalman | None = None,
        truth: Callable[[float], Floats | None] | None = None,
    ) -> None:
        if estimator.calibration is None:
            raise UserError("the run is not calibrated: run `ropes calibrate` first")
        if kalman is not None and estimator.intervals is None:
            raise UserError("the filter needs standard deviations, which this run does not have; leave --filter out")
        self._estimator, self._sources, self._fit, self._kalman = estimator, sources, fit, kalman
        self._tolerance, self._truth = tolerance, truth
        self._predictor = Predictor(estimator)
        self._board = Board(estimator.run.cameras, tolerance)
        self._stopped = threading.Event()

    def estimates(self, seconds: float | None = None) -> Iterator[Estimate]:
        """Estimates until the sources end or the caller stops; threads of sources run meanwhile.

        Args:
            seconds: end after so many seconds, also where no image comes; None for no end.

        Raises:
            UserError: a source has ended or failed, or images never fit together.
        """
        self._warm_up()
        start = time.monotonic() + _LEAD
        for source in self._sources:
            threading.Thread(target=self._feed, args=(source, start), daemon=True).start()
        speed, last = _Speed(), start
        predictions = InOrder(self._board.take, self._predict, self._board.drop, threads=_POSES_AT_ONCE)
        try:
            with _switch_interval(_SWITCH_INTERVAL):
                while seconds is None or time.monotonic() - start < seconds:
                    if (found := predictions.next(timeout=0.2)) is None:
                        self._check_silence(last, start)
                        continue
                    last = time.monotonic()
                    yield self._estimate(*found, speed)
        finally:
            self._stopped.set()
            predictions.close()

    def _warm_up(self) -> None:
        """The first calls of a network are slow."""
        grey = joined([np.full((1, *shape), 128, np.uint8) for shape in self._estimator.run.shapes])
        for _ in range(2):
            self._predictor(grey)

    def _feed(self, source: Source, start: float) -> None:
        """Put the images of a source on the board until it ends."""
        try:
            for capture in source.captures(start):
                frames = {
                    camera: Frame(capture.stamp, self._fit(camera, image), capture.truth)
                    for camera, image in capture.images.items()
                }
                self._board.put(frames, source.skipped)
                if self._stopped.is_set():
                    return
        except Exception as error:  # raised again by the loop, in the main thread
            self._board.fail(error)

    def _predict(self, found: Mapping[str, Frame]) -> dict[str, Any]:
        (prediction,) = self._predictor(joined([frame.image[None] for frame in found.values()]))
        return prediction

    def _estimate(self, found: Mapping[str, Frame], prediction: Mapping[str, Any], speed: "_Speed") -> Estimate:
        stamp = min(frame.stamp for frame in found.values())
        angles = np.array(list(prediction["joints"].values()))
        filtered = None
        if self._kalman is not None and prediction.get("out_of_distribution", False):
            filtered = self._kalman.predicted(stamp)
        elif self._kalman is not None:
            filtered = self._kalman(stamp, angles, np.array(list(prediction["std"].values())))
        now = time.monotonic()
        speed.add(now, now - stamp)
        truth = next((frame.truth for frame in found.values() if frame.truth is not None), None)
        if truth is None and self._truth is not None:
            truth = self._truth(stamp)
        return Estimate(
            time=time.time() - (now - stamp),
            images={camera: frame.image for camera, frame in found.items()},
            prediction=prediction,
            angles=angles,
            filtered=filtered,
            truth=truth,
            latency=now - stamp,
            latency_95=speed.latency_95,
            rate=speed.rate,
            dropped=self._board.dropped,
        )

    def _check_silence(self, last: float, start: float) -> None:
        """Check that steady sources still give images, and that images fit together.

        Raises:
            UserError: they do not.
        """
        now = time.monotonic()
        if now - max(last, start) < IMAGE_TIMEOUT:
            return
        ages = self._board.ages()
        steady = [camera for source in self._sources if source.steady for camera in source.cameras]
        if silent := [camera for camera in steady if ages[camera] > IMAGE_TIMEOUT]:
            raise UserError(f"camera {silent[0]} gave no image for {IMAGE_TIMEOUT:.0f} s; is it unplugged?")
        if all(age < IMAGE_TIMEOUT for age in ages.values()):
            raise UserError(
                f"the images of {' and '.join(ages)} are never within {self._tolerance:g} s of each other; "
                "give a larger --tolerance"
            )


def limit_threads(sources: int) -> None:
    """Leave a core for each source beside one pose, which does not become faster with more than four threads."""
    torch.set_num_threads(max(1, min(_MOST_THREADS, (os.cpu_count() or 1) - sources)))


@contextmanager
def _switch_interval(seconds: float) -> Iterator[None]:
    """Set the interval after which Python runs another thread that waits."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(seconds)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class _Speed:
    """Latency and frame rate of the last estimates."""

    def __init__(self) -> None:
        self._latencies, self._times = deque[float](maxlen=_LATENCIES), deque[float]()

    def add(self, now: float, latency: float) -> None:
        self._latencies.append(latency)
        self._times.append(now)
        while len(self._times) > 2 and self._times[0] < now - _WINDOW:
            self._times.popleft()

    @property
    def latency_95(self) -> float:
        return float(np.percentile(self._latencies, 95))

    @property
    def rate(self) -> float:
        spanned = self._times[-1] - self._times[0]
        return (len(self._times) - 1) / spanned if spanned > 0 else 0.0


def _named(joints: Sequence[str], values: Floats) -> dict[str, float]:
    return {joint: round(float(value), 6) for joint, value in zip(joints, values, strict=True)}

"""From sources to estimates: the newest pair, the filter, the truth, and every way to end."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.inference.live.frames import Capture, Fit
from ropes.inference.live.kalman import Kalman
from ropes.inference.live.sources import Folders, Recorded, Source
from ropes.inference.live.watch import Watch
from tests import tiny
from tests.estimators import blobs
from tests.inference.live.streams import Played, calibrated, poses, until_error


def watch(*sources: Source, tolerance: float = 0.025) -> Watch:
    estimator = calibrated()
    return Watch(estimator, sources, Fit(estimator.run), tolerance=tolerance)


def streams(angles: np.ndarray, *, gap: float = 0.02, late: float = 0.0) -> list[Source]:
    """A source for each camera, that shows a pose every `gap` seconds; the second one is late."""
    images = tiny.draw(angles)
    return [
        Played(
            cameras=(camera,),
            captures_=[(k * gap + late * view, {camera: pose[view]}) for k, pose in enumerate(images)],
        )
        for view, camera in enumerate(tiny.CAMERAS)
    ]


@pytest.mark.slow
def test_sources_without_truth_have_that_of_the_arm() -> None:
    estimator, asked = calibrated(), list[float]()

    def truth(stamp: float) -> np.ndarray | None:
        asked.append(stamp)
        return np.array([0.5, 1.0]) if len(asked) > 1 else None

    sources = streams(poses(10))
    found, _ = until_error(Watch(estimator, sources, Fit(estimator.run), truth=truth).estimates())
    assert found[0].truth is None
    assert len(found) == len(asked) > 1
    assert found[-1].to_dict()["truth"] == dict(zip(tiny.JOINTS, (0.5, 1.0), strict=True))
    taken = [time.time() - time.monotonic() + stamp for stamp in asked]
    assert taken == pytest.approx([each.time for each in found], abs=0.05)


@pytest.mark.slow
def test_estimates_have_angles_latency_and_rate() -> None:
    angles = poses(30)
    found, end = until_error(watch(*streams(angles)).estimates())
    assert end.endswith("has ended")
    assert found
    for estimate in found:
        assert np.abs(angles - estimate.angles).max(axis=1).min() < 0.05
        assert 0 <= estimate.latency < 60
        assert abs(estimate.time - time.time()) < 60
    used = 1 + int(np.abs(angles - found[-1].angles).max(axis=1).argmin())  # a stream may end before its last pair
    assert found[-1].dropped == used - len(found)
    line = found[-1].to_dict()
    assert line["joints"] == pytest.approx(dict(zip(tiny.JOINTS, found[-1].angles, strict=True)), abs=1e-5)
    assert {"time", "latency_ms", "latency_95_ms", "rate_hz", "dropped"} <= line.keys()
    assert not {"truth", "filtered"} & line.keys()


@pytest.mark.slow
def test_a_slow_reader_gets_the_newest_pose() -> None:
    angles = poses(40)
    estimates = watch(*streams(angles, gap=0.01)).estimates()
    next(estimates)
    time.sleep(0.8)
    newest = next(estimates)
    assert np.abs(angles[-1] - newest.angles).max() < 0.05
    assert newest.dropped >= 20


def test_estimates_include_the_truth_of_a_data_set(tiny_data: Path) -> None:
    estimator = calibrated()
    source = Recorded(run=estimator.run, dataset=open_dataset(tiny_data), rate=100.0)
    estimate = next(Watch(estimator, [source], Fit(estimator.run)).estimates())
    assert estimate.truth is not None
    np.testing.assert_allclose(estimate.angles, estimate.truth, atol=0.6)
    assert list(estimate.to_dict()["truth"]) == list(tiny.JOINTS)


@dataclass(kw_only=True)
class Silent:
    """A camera that gives no image."""

    cameras: tuple[str, ...]
    steady: bool = True
    skipped: int = 0

    def captures(self, start: float) -> Iterator[Capture]:
        time.sleep(600)
        yield Capture(start, {})


@pytest.mark.slow
def test_silent_and_unsynchronised_cameras_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ropes.inference.live.watch.IMAGE_TIMEOUT", 0.5)
    first, _ = streams(poses(200))
    with pytest.raises(UserError, match="camera left gave no image for 0 s; is it unplugged"):
        next(watch(first, Silent(cameras=("left",))).estimates())
    with pytest.raises(UserError, match=r"right and left are never within 0.001 s of each other; give a larger"):
        next(watch(*streams(poses(400), late=0.01), tolerance=0.001).estimates())


def test_watch_stops_in_time_without_images_and_joins_its_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.inference.live.sources.HEARTBEAT", 0.05)
    before = set(threading.enumerate())
    assert list(watch(Folders(folders=dict.fromkeys(tiny.CAMERAS, tmp_path))).estimates(seconds=0.1)) == []
    end = time.monotonic() + 20
    while set(threading.enumerate()) - before and time.monotonic() < end:
        time.sleep(0.01)
    assert not set(threading.enumerate()) - before


def test_wrong_image_size_ends_the_watch_with_the_reason() -> None:
    large = Played(cameras=tiny.CAMERAS, captures_=[(0.0, dict.fromkeys(tiny.CAMERAS, np.zeros((30, 40), np.uint8)))])
    with pytest.raises(UserError, match="the run reads 16x16: give --crop right="):
        next(watch(large).estimates())


def test_watch_requires_calibration_and_the_filter_standard_deviations() -> None:
    with pytest.raises(UserError, match="the run is not calibrated: run `ropes calibrate` first"):
        Watch(blobs(), [], Fit(blobs().run))
    with pytest.raises(UserError, match="the filter needs standard deviations"):
        Watch(calibrated(), [], Fit(blobs().run), kalman=Kalman())


@pytest.mark.slow
def test_filter_uses_the_standard_deviations_of_the_estimator(tiny_run: Path, tiny_data: Path) -> None:
    from ropes.inference.calibration import Calibration

    estimator = Estimator.load(tiny_run)
    estimator.calibration = Calibration(np.ones(2), np.zeros(2), 9)
    if estimator.intervals is None:
        pytest.skip("the tiny run has no intervals")
    source = Recorded(run=estimator.run, dataset=open_dataset(tiny_data), rate=50.0)
    watched = Watch(estimator, [source], Fit(estimator.run), kalman=Kalman(1e-6))
    estimates = (each for each in watched.estimates() if not each.prediction["out_of_distribution"])
    first, *_, last = islice(estimates, 6)
    assert first.filtered is not None
    assert last.filtered is not None
    std = np.array(list(first.prediction["std"].values()))
    np.testing.assert_allclose(first.filtered.std, std, rtol=1e-4)
    assert (last.filtered.std < std.max()).all()
    assert list(last.to_dict()["filtered"]) == ["joints", "velocities", "std"]


def test_poses_out_of_distribution_do_not_correct_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    class Predictions:
        """At rest at 0, except for poses that are flagged: the first one, and two later, at 1 rad."""

        def __init__(self, _: Estimator) -> None:
            self.calls = -2  # to warm up

        def __call__(self, _: object) -> list[dict[str, Any]]:
            flagged = self.calls in (0, 4, 5)
            self.calls += 1
            angles = dict.fromkeys(tiny.JOINTS, float(flagged))
            return [{"joints": angles, "std": dict.fromkeys(tiny.JOINTS, 0.02), "out_of_distribution": flagged}]

    monkeypatch.setattr("ropes.inference.live.watch.Predictor", Predictions)
    monkeypatch.setattr(Estimator, "intervals", "known")
    estimator = calibrated()
    image = tiny.draw(poses(1))[0, 0]
    source = Played(cameras=tiny.CAMERAS, captures_=[(0.05 * k, dict.fromkeys(tiny.CAMERAS, image)) for k in range(99)])
    watched = Watch(estimator, [source], Fit(estimator.run), kalman=Kalman())
    first, *others = islice(watched.estimates(), 8)
    assert first.filtered is None  # nothing to predict from
    for estimate in others:
        assert estimate.filtered is not None
        np.testing.assert_allclose([estimate.filtered.angles, estimate.filtered.velocities], 0, atol=1e-9)
    assert [estimate.angles[0] for estimate in others] == [0, 0, 0, 1, 1, 0, 0]

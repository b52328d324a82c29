"""Posterior means of readings under the priors of policies."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from benchmarks import posterior_means as benchmark
from ropes.common.arrays import Floats
from ropes.common.seeds import generator
from ropes.inference.estimator import Estimator
from ropes.methods.uncertainty.model import Reading
from ropes.simulation.settings import setting_named

SETTING = setting_named("panda-2c-independent")
MODEL = SETTING.splits["train"]


def noise(image: Floats) -> Floats:
    """Standard deviation of the reading of an image, whose first pixel says whether it is hidden."""
    return np.where(image[:, :1] > 0, 1.0, 0.05)


def reading(images: Floats) -> Reading:
    """Images are the angles, and before them whether they are hidden."""
    deviation = np.broadcast_to(noise(images), images[:, 1:].shape)
    rng = generator(0, "reading", str(len(images)), str(images.sum()))
    return Reading(images[:, 1:] + deviation * rng.normal(size=deviation.shape), deviation, None)


def test_priors_have_the_moments_of_sampled_poses() -> None:
    found = benchmark.priors(MODEL, MODEL.joints[:2])
    poses = MODEL.sample(generator(0, "test"), 50_000)
    both = poses[:, 1:3, 0]  # both policies on the first joint
    assert found["policies"].mean[0] == pytest.approx(both.mean(), abs=0.01)
    assert found["policies"].variance[0] == pytest.approx(both.var(), abs=0.01)
    assert found["observational"].mean == pytest.approx(poses[:, 0, :2].mean(0), abs=0.01)
    assert found["observational"].variance == pytest.approx(poses[:, 0, :2].var(0), abs=0.01)


def test_the_posterior_mean_has_the_least_error_under_its_prior() -> None:
    rng, prior = generator(0, "test"), benchmark.Prior(np.array([0.5]), np.array([0.3]))
    angles = 0.5 + np.sqrt(0.3) * rng.normal(size=(20_000, 1))
    readings = angles + np.sqrt(0.6) * rng.normal(size=angles.shape)
    errors = [
        np.square(benchmark.posterior_mean(readings, np.array([variance]), prior) - angles).mean()
        for variance in (0.0, 0.3, 0.6, 1.2)
    ]
    assert np.argmin(errors) == 2
    assert errors[2] == pytest.approx(0.3 * 0.6 / 0.9, rel=0.05)


def test_hidden_poses_gain_where_the_prior_is_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    def hide(images: Floats, square: int, *_: object) -> Floats:
        return np.column_stack([np.full(len(images), square), images])

    monkeypatch.setattr(benchmark, "rendered", lambda setting, angles: angles)
    monkeypatch.setattr(benchmark, "occluded", hide)
    estimator = SimpleNamespace(
        run=SimpleNamespace(joints=MODEL.joints), read=reading, calibration=SimpleNamespace(angles=lambda c: c)
    )
    rows: list[dict[str, Any]] = benchmark.measured(cast(Estimator, estimator), SETTING, 4_000)
    at = {(row["split"], row["square"], row["prior"]): row["mse"]["panda_joint1"] for row in rows}
    assert len(at) == 2 * len(benchmark.SQUARES) * 4
    assert at["id", 0, "none"] == pytest.approx(0.0025, rel=0.1)
    assert at["id", 0, "observational, one τ"] <= at["id", 0, "none"]
    assert at["id", 64, "none"] == pytest.approx(1, rel=0.1)
    variance = benchmark.priors(MODEL, ("panda_joint1",))["observational"].variance[0]
    assert at["id", 64, "observational, one τ"] == pytest.approx(variance / (1 + variance), rel=0.1)
    assert at["id", 64, "policies, one τ"] == pytest.approx(at["id", 64, "policies, τ of each image"], rel=1e-6)
    about = {"run": "r", "setting": SETTING.name, "count": 4_000, "device": "d", "processor": "p", "version": "0"}
    told = benchmark.written({**about, "rows": rows, "seconds": 1}).splitlines()
    hidden = [line for line in told if "64 px" in line]
    assert hidden[0].startswith("| Two cameras, independent joints, 64 px occluded | none | 58.8 ")
    assert any("| observational, one τ | **" in line for line in told)


def test_a_run_without_deviations_is_refused() -> None:
    estimator = SimpleNamespace(
        read=lambda images: Reading(images, None, None), calibration=SimpleNamespace(angles=lambda c: c)
    )
    with pytest.raises(SystemExit, match="no standard deviations"):
        benchmark.estimates(cast(Estimator, estimator), np.zeros((1, 6)), {})

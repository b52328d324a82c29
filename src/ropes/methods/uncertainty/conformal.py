"""Conformal intervals in radians from standard deviations in units of the coordinate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ropes.common.arrays import Floats
from ropes.methods.uncertainty.model import UncertaintyModel
from ropes.metrics.intervals import conformal_quantile, leave_one_out_residuals

LEVEL = 0.9
Source = Literal["anchors", "labels"]


@dataclass(frozen=True)
class Intervals:
    """Factors from σ to a standard deviation and to a conformal interval: angle ± quantile · σ · |slope|.

    Attributes:
        level: nominal coverage.
        scale: (d,), factor from σ to a standard deviation.
        quantile: (d,), factor from σ to half an interval: the conformal quantile of the scores, see also `widened`.
        source: of the scores: "anchors" (without labels) or "labels".
        samples: number of scores, of the joint with the fewest.
        by_image: whether σ depends on the image; otherwise it is 1.
    """

    level: float
    scale: Floats
    quantile: Floats
    source: Source
    samples: int
    by_image: bool = True

    @property
    def ratio(self) -> Floats:
        """A standard deviation as a share of half an interval, (d,); 0 for an interval of no width."""
        return np.divide(self.scale, self.quantile, where=self.quantile > 0, out=np.zeros(len(self.scale)))

    def around(
        self, coordinates: Floats, deviation: Floats | None, to_shown: Callable[[Floats], Floats]
    ) -> tuple[Floats, Floats]:
        """Lower and upper ends of the intervals, (n, d) each, in the unit of the output.

        Args:
            coordinates: (n, d).
            deviation: (n, d), σ of the coordinates; ignored unless `by_image`.
            to_shown: from coordinates (n, d) to the unit of the output, monotonic in each coordinate.
        """
        sigma = deviation if self.by_image else np.ones_like(coordinates)
        assert sigma is not None  # Estimator.intervals checks it
        half = self.quantile * sigma
        low, high = np.sort([to_shown(coordinates - half), to_shown(coordinates + half)], axis=0)
        return low, high

    def widened(self, factor: Floats) -> "Intervals":
        """The same intervals, wider by a factor for each joint, (d,)."""
        return replace(self, scale=factor * self.scale, quantile=factor * self.quantile)

    def to_dict(self, joints: Sequence[str]) -> dict[str, Any]:
        """For JSON."""
        by_joint = {
            joint: {"scale": float(self.scale[k]), "quantile": float(self.quantile[k])}
            for k, joint in enumerate(joints)
        }
        about = {"level": self.level, "source": self.source, "samples": self.samples, "by_image": self.by_image}
        return {**about, "joints": by_joint}

    @classmethod
    def from_dict(cls, content: dict[str, Any], joints: Sequence[str]) -> "Intervals":
        """The inverse of `to_dict`.

        Raises:
            KeyError, TypeError, ValueError: the content is not an output of `to_dict`.
        """
        lines = [content["joints"][joint] for joint in joints]
        scale, quantile = (np.array([float(line[key]) for line in lines]) for key in ("scale", "quantile"))
        if content["source"] not in ("anchors", "labels") or not (np.isfinite(quantile) & (quantile >= 0)).all():
            raise ValueError("intervals of unknown source, or not finite")
        samples, by_image = int(content["samples"]), bool(content["by_image"])
        return cls(float(content["level"]), scale, quantile, content["source"], samples, by_image)


def intervals_from_held_out(
    model: UncertaintyModel, level: float = LEVEL, source: Source = "anchors"
) -> Intervals | None:
    """Intervals from the scores of a run's held-out anchors; None where there are none, or too few.

    Args:
        model: of the run.
        level: in (0, 1).
        source: "anchors" for a method without labels, "labels" for a supervised one.
    """
    return None if model.scores is None else _intervals(model.scores, level, source, by_image=True)


def intervals_from_labels(
    coordinates: Floats, deviation: Floats | None, angles: Floats, slope: Floats, level: float = LEVEL
) -> Intervals | None:
    """Intervals from the leave-one-out residuals of a line fitted on labelled samples.

    Args:
        coordinates: (n, d).
        deviation: (n, d), σ of the coordinates; None for σ = 1.
        angles: (n, d), radians.
        slope: (d,), radians per unit of the coordinate.
        level: in (0, 1).

    Returns:
        None with too few samples for the level.
    """
    try:
        residuals = leave_one_out_residuals(coordinates, angles)
    except ValueError:
        return None
    unit = np.abs(slope) * (np.ones_like(coordinates) if deviation is None else deviation)
    return _intervals(np.abs(residuals) / unit, level, "labels", by_image=deviation is not None)


def _intervals(scores: Floats, level: float, source: Source, *, by_image: bool) -> Intervals | None:
    quantile = conformal_quantile(scores, level)
    if not np.isfinite(quantile).all():
        return None
    fewest = int(np.isfinite(scores).sum(axis=0).min())
    scale = np.sqrt(np.nanmean(np.square(scores, dtype=np.float64), axis=0))
    return Intervals(level, scale, quantile, source, fewest, by_image)

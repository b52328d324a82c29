"""Conformal intervals in radians from standard deviations in units of the coordinate."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ropes.methods.uncertainty.model import Trust
from ropes.metrics.intervals import conformal_quantile, left_out_residuals

LEVEL = 0.9
Array = NDArray[np.float64]
Source = Literal["anchors", "labels"]


@dataclass(frozen=True)
class Intervals:
    """How far the truth is from an estimate, in units of σ: angle ± quantile · σ · |slope|.

    Attributes:
        level: share of the truths that the intervals are meant to hold.
        scale: (d,), what σ is multiplied by to be a standard deviation.
        quantile: (d,), what it is multiplied by to be half an interval.
        source: "anchors" (no label) or "labels".
        samples: errors that both rest on, of the joint that has fewest.
        by_image: whether σ is each image's own; it is 1 for all of them where the run knew none.
    """

    level: float
    scale: Array
    quantile: Array
    source: Source
    samples: int
    by_image: bool = True

    def around(
        self, coordinates: Array, deviation: Array | None, to_shown: Callable[[Array], Array]
    ) -> tuple[Array, Array]:
        """Ends of the intervals, (n, d) each, in the unit of what is shown.

        Args:
            coordinates: (n, d).
            deviation: (n, d), σ of the coordinates; does not count unless `by_image`.
            to_shown: from coordinates (n, d) to what is shown, rising or falling in each.
        """
        sigma = deviation if self.by_image else np.ones_like(coordinates)
        assert sigma is not None  # Estimator.intervals gives none such without
        half = self.quantile * sigma
        low, high = np.sort([to_shown(coordinates - half), to_shown(coordinates + half)], axis=0)
        return low, high

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
        """The reverse of `to_dict`.

        Raises:
            KeyError, TypeError, ValueError: it is not what `to_dict` gave.
        """
        lines = [content["joints"][joint] for joint in joints]
        scale, quantile = (np.array([float(line[key]) for line in lines]) for key in ("scale", "quantile"))
        if content["source"] not in ("anchors", "labels") or not (np.isfinite(quantile) & (quantile >= 0)).all():
            raise ValueError("intervals of no known source, or without a bound")
        samples, by_image = int(content["samples"]), bool(content["by_image"])
        return cls(float(content["level"]), scale, quantile, content["source"], samples, by_image)


def intervals_from_held_out(trust: Trust, level: float = LEVEL, source: Source = "anchors") -> Intervals | None:
    """Intervals from what a run knew of its errors when its fit ended; None where that was nothing, or too little.

    Args:
        trust: of the run.
        level: in (0, 1).
        source: "anchors" for a method that reads no label, "labels" for one that does.
    """
    if trust.scores is None:
        return None
    return _intervals(trust.scores, level, source, by_image=True)


def intervals_from_labels(
    coordinates: Array, deviation: Array | None, angles: Array, slope: Array, level: float = LEVEL
) -> Intervals | None:
    """Intervals from what labelled samples are off by, each from the line fitted without it.

    Args:
        coordinates: (n, d).
        deviation: (n, d), σ of the coordinates; None for one σ for all images, 1 by convention.
        angles: (n, d), radians.
        slope: (d,), radians per unit of the coordinate.
        level: in (0, 1).

    Returns:
        None with too few samples for the level.
    """
    try:
        residuals = left_out_residuals(coordinates, angles)
    except ValueError:
        return None
    unit = np.abs(slope) * (np.ones_like(coordinates) if deviation is None else deviation)
    return _intervals(np.abs(residuals) / unit, level, "labels", by_image=deviation is not None)


def _intervals(scores: Array, level: float, source: Source, *, by_image: bool) -> Intervals | None:
    quantile = conformal_quantile(scores, level)
    if not np.isfinite(quantile).all():
        return None
    fewest = int(np.isfinite(scores).sum(axis=0).min())
    return Intervals(level, np.sqrt(np.nanmean(scores**2, axis=0)), quantile, source, fewest, by_image)

"""A Kalman filter of joint angles over time, with the estimator's own standard deviations as measurement noise.

State of each joint: x = (angle, velocity).  Between measurements the acceleration is white noise of density q:

    x ← F x,  F = [[1, Δ], [0, 1]],    P ← F P Fᵀ + q [[Δ³/3, Δ²/2], [Δ²/2, Δ]],

and a measurement z with standard deviation σ corrects it:

    K = P Hᵀ / (H P Hᵀ + σ²),  H = (1, 0),    x ← x + K (z − H x),  P ← (1 − K H) P.

Bar-Shalom, Li, Kirubarajan (2001), Estimation with Applications to Tracking and Navigation, Section 6.2.
"""

from dataclasses import dataclass

import numpy as np

from ropes.common.arrays import Floats

#: Spectral density of the acceleration, rad²/s³.
DENSITY = 3.0
#: Standard deviation of the velocity before the first measurement, rad/s.
_FIRST_VELOCITY = 1.0
#: After a gap of this many seconds the filter begins again.
_GAP = 1.0


@dataclass(frozen=True, eq=False)
class Filtered:
    """Filtered state: angles (d,) in radians, velocities (d,) in rad/s, standard deviations (d,) of the angles."""

    angles: Floats
    velocities: Floats
    std: Floats


class Kalman:
    """Filters one pose after the other.

    Args:
        density: q, spectral density of the acceleration, rad²/s³.  An arm that changes its velocity by v within t
            seconds has about v² / t.
    """

    def __init__(self, density: float = DENSITY) -> None:
        self._density = density
        self._time: float | None = None
        self._state, self._covariance = np.zeros((0, 2)), np.zeros((0, 2, 2))

    def __call__(self, time: float, angles: Floats, std: Floats) -> Filtered:
        """Add a measurement.

        Args:
            time: of the images, seconds; measurements that are not newer than the last one are left out.
            angles: (d,) radians.
            std: (d,) their standard deviations.
        """
        if self._time is None or time - self._time > _GAP or len(angles) != len(self._state):
            self._state = np.stack([angles, np.zeros_like(angles)], axis=1)
            self._covariance = np.zeros((len(angles), 2, 2))
            self._covariance[:, 0, 0], self._covariance[:, 1, 1] = std**2, _FIRST_VELOCITY**2
            self._time = time
        elif time > self._time:
            self._state, self._covariance = self._after(time - self._time)
            self._correct(angles, std)
            self._time = time
        return _filtered(self._state, self._covariance)

    def predicted(self, time: float) -> Filtered | None:
        """The state at a time, from the measurements so far; None without any in the last second.

        Args:
            time: seconds; before the last measurement, the state at that measurement.
        """
        if self._time is None or time - self._time > _GAP:
            return None
        return _filtered(*self._after(max(0.0, time - self._time)))

    def _after(self, step: float) -> tuple[Floats, Floats]:
        """State and covariance some seconds after the last measurement."""
        motion = np.array([[1.0, step], [0.0, 1.0]])
        noise = np.array([[step**3 / 3, step**2 / 2], [step**2 / 2, step]])
        return self._state @ motion.T, motion @ self._covariance @ motion.T + self._density * noise

    def _correct(self, angles: Floats, std: Floats) -> None:
        gain = self._covariance[:, :, 0] / (self._covariance[:, 0, 0] + std**2)[:, None]
        self._state = self._state + gain * (angles - self._state[:, 0])[:, None]
        self._covariance = self._covariance - gain[:, :, None] * self._covariance[:, None, 0, :]


def _filtered(state: Floats, covariance: Floats) -> Filtered:
    return Filtered(state[:, 0].copy(), state[:, 1].copy(), np.sqrt(covariance[:, 0, 0]))

"""Checks that the commanded distributions are consistent with the coordinates. Uses no labels.

A coordinate determines the angle up to a monotone map.  Scaling, shifting or mirroring a joint's distributions
therefore leaves the images consistent.  Three properties can be checked: where the observational mean lies between the
two policies, the width of the policies relative to their distance, and their overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from ropes.common.arrays import Bools, Floats
from ropes.common.units import in_both_units
from ropes.errors import UserError
from ropes.inference.policy_distributions import Commanded
from ropes.metrics.intervals import auroc

#: Tolerance of the observational mean, as a share of the distance between the two policies' means.
_MEAN_TOLERANCE = 0.25
#: Tolerance of the observational mean in standard errors, added to the above.
_STANDARD_ERRORS = 3.0
#: Fewest poses under both policies together for a check of widths, and for a bend.
FEWEST_FOR_WIDTHS = 400
#: Smallest width of the angles, as a multiple of the commanded width; noise only widens them.
_MIN_WIDTH = 0.6
#: Largest width of the angles, as a multiple of the commanded width, before errors are added.
_MAX_WIDTH = 1.4
#: Factor on known errors, for errors that are common to an anchor and do not show within it.
_ERROR_FACTOR = 2.0
#: Largest width where errors are unknown; those of an inaccurate joint double the width.
_MAX_WIDTH_UNKNOWN = 3.0
#: Smallest share of pairs; fewer may be a few misread poses.
_MIN_SHARE = 3e-4
_QUANTILES = 1000


@dataclass(frozen=True)
class Angles:
    """Angles of one joint, by the line that maps both policies to their commanded means, radians.

    Attributes:
        first, second: under policy 1 and policy 2, (n,).
        observational: without intervention, (m,); None where the observational distribution is unknown.
        error: standard deviation of the errors, from held-out anchors; None where unknown.
        unused: which poses under policy 1 and policy 2 the fit did not use, bool (2, n); None for all.
    """

    first: Floats
    second: Floats
    observational: Floats | None
    error: float | None
    unused: Bools | None = None

    def without_used(self) -> tuple[Floats, Floats]:
        """Angles under policy 1 and policy 2 in poses that the fit did not use."""
        if self.unused is None:
            return self.first, self.second
        return self.first[self.unused[0]], self.second[self.unused[1]]


def require_consistency(source: str, joint: str, commanded: Commanded, angles: Angles) -> None:
    """Check that a joint's commanded distributions are consistent with the angles read from images.

    The mean of the observational angles may differ from the commanded one by a quarter of the distance between the
    policies, plus 3 standard errors.  From 200 poses under each policy on that the fit did not use, their angles must
    be at least 0.6 times as wide as commanded, and the policies may overlap no more than distributions of

        √(1.4² + (2 e / w)²)

    times the commanded width w, for a known error e; 3 times where e is unknown.  Overlap is measured by ranks, because
    a bend of the coordinate near its ends widens the angles without an error.  A fit on few anchors memorises the
    policies of its poses: in these the angles of each policy are narrower.

    Args:
        source: file or data set of the commanded distributions, for the message.
        joint: name of the joint.
        commanded: commanded distributions of the joint.
        angles: angles of the joint.

    Raises:
        UserError: a contradiction.
    """
    contradiction = f"{source}: the commanded distributions contradict the images: joint {joint} "
    if angles.observational is not None and commanded.observational_mean is not None:
        mean, distance = float(angles.observational.mean()), abs(commanded.means[0] - commanded.means[1])
        standard_error = _standard_error(angles.observational, angles, commanded.means)
        if abs(mean - commanded.observational_mean) > _MEAN_TOLERANCE * distance + _STANDARD_ERRORS * standard_error:
            raise UserError(
                f"{contradiction}has mean {in_both_units(mean)} without intervention where "
                f"{in_both_units(commanded.observational_mean)} was commanded"
            )
    first, second = angles.without_used()
    if 2 * min(len(first), len(second)) < FEWEST_FOR_WIDTHS:
        return
    width = float(np.sqrt((first.var() + second.var()) / 2))
    if width < _MIN_WIDTH * commanded.width:
        raise UserError(
            f"{contradiction}has standard deviation {in_both_units(width)} under each policy where "
            f"{in_both_units(commanded.width)} was commanded "
            "(or the coordinate is wrong at the ends of the range: fit longer)"
        )
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    expected = _ordered_share(*(policy.quantile(shares) for policy in commanded.policies))
    share = _ordered_share(first, second)
    factor, reason = _MAX_WIDTH_UNKNOWN, "(or the coordinate is mostly noise: fit longer)"
    if angles.error is not None:
        factor = float(np.hypot(_MAX_WIDTH, _ERROR_FACTOR * angles.error / commanded.width))
        reason = "(or the coordinate is noisier than estimated)"
    if ndtri(expected) > factor * ndtri(share):
        raise UserError(
            f"{contradiction}has {1 - share:.1%} of the pairs of its policies' poses in the wrong order where "
            f"{1 - expected:.1%} was commanded {reason}"
        )


def _ordered_share(first: Floats, second: Floats) -> float:
    """Share of the pairs, one of each policy, in the order of the means; Φ(d' / √2) for two normals."""
    share = auroc(second, first) if first.mean() > second.mean() else auroc(first, second)
    return float(np.clip(share, 0.5 + _MIN_SHARE, 1 - _MIN_SHARE))


def _standard_error(observational: Floats, angles: Angles, means: Sequence[float]) -> float:
    """Standard error of the observational mean: from its own poses, and from those that the line is fitted on.

    With the mean at t between the first policy's mean (0) and the second's (1), errors of these two enter by the
    factors 1 − t and t.
    """
    t = (observational.mean() - means[0]) / (means[1] - means[0])
    parts = ((1.0, observational), (1 - t, angles.first), (t, angles.second))
    return float(np.sqrt(sum(weight**2 * values.var() / len(values) for weight, values in parts)))

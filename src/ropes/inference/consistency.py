"""Checks that the commanded distributions are consistent with the coordinates. Uses no labels.

A coordinate has no unit, no sign, and may be bent.  Whatever a joint's distributions are multiplied by, moved by or
mirrored at, the images are the same.  What is left to see is where the observational mean lies between the two
policies, how wide the policies are for their distance, and how much they overlap.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ropes.errors import UserError
from ropes.inference.policy_distributions import Commanded
from ropes.metrics.intervals import auroc

#: Farther off than this share of the distance between the two policies' means, an observational mean contradicts.
_OFF_CENTRE = 0.25
#: Standard errors that a mean may be off by chance.
_CHANCE = 3.0
#: Poses under both policies together below which a width is not judged, and a line is all that they tell.
FEWEST_FOR_WIDTHS = 400
#: Narrower than this share of what was commanded, angles contradict: noise makes them wider.
_TOO_NARROW = 0.6
#: Wider than this multiple of what was commanded, once known errors are taken into account, they contradict as well.
_TOO_WIDE = 1.4
#: Errors that leave no trace within anchors count too: known ones are doubled.
_UNSEEN = 2.0
#: The same where nothing is known of the errors: a weak joint's make angles twice as wide.
_TOO_WIDE_UNKNOWN = 3.0
#: Smallest share of pairs that counts: what is rarer may be a few misread poses.
_RARE = 3e-4
_QUANTILES = 1000
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Angles:
    """Angles of one joint after the line that gives both policies their commanded means, radians.

    Attributes:
        first, second: under policy 1 and policy 2, (n,).
        usual: without intervention, (m,); None where its distribution is not told.
        error: standard deviation of their errors as held-out anchors know it; None where they do not.
    """

    first: Array
    second: Array
    usual: Array | None
    error: float | None


def require_agreement(where: str, joint: str, told: Commanded, angles: Angles) -> None:
    """Check that the images do not contradict what is told of a joint.

    The observational mean must come out as told, up to a quarter of the distance between the policies and what chance
    adds to it.  From 400 poses on the angles must be .6 times as wide as told at least, and the policies must overlap
    no more than if they were

        √(1.4² + (2 e / w)²)

    times as wide as told, w being the width that is told and e the known error; 3 times where no error is known.  How
    far they overlap is judged by ranks, since a bend of the coordinate's ends makes angles wider without any error.

    Args:
        where: what tells it, for the message.
        joint: its name.
        told: of it.
        angles: of it.

    Raises:
        UserError: a contradiction.
    """
    contradiction = f"{where}: the commanded distributions contradict the images: joint {joint} "
    if angles.usual is not None and told.usual is not None:
        apart = abs(told.means[0] - told.means[1])
        seen = float(angles.usual.mean())
        if abs(seen - told.usual) > _OFF_CENTRE * apart + _CHANCE * _standard_error(angles.usual, angles, told.means):
            raise UserError(
                f"{contradiction}reads {seen:.2f} rad on average without intervention where {told.usual:.2f} was "
                "commanded"
            )
    if len(angles.first) + len(angles.second) < FEWEST_FOR_WIDTHS:
        return
    width, commanded = float(np.sqrt((angles.first.var() + angles.second.var()) / 2)), told.width
    if width < _TOO_NARROW * commanded:
        raise UserError(
            f"{contradiction}spreads by {width:.2f} rad under each of its policies where {commanded:.2f} was commanded "
            "(or the coordinate has not learnt its ends: fit longer)"
        )
    shares = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    expected = _in_order(told.policies[0].quantile(shares), told.policies[1].quantile(shares))
    found = _in_order(angles.first, angles.second)
    most, because = _TOO_WIDE_UNKNOWN, "(or it is mostly noise: fit longer)"
    if angles.error is not None:
        most, because = float(np.hypot(_TOO_WIDE, _UNSEEN * angles.error / commanded)), "(or it is noisier than known)"
    if ndtri(expected) > most * ndtri(found):
        raise UserError(
            f"{contradiction}reads {1 - found:.1%} of the pairs of its policies' poses in the wrong order where "
            f"{1 - expected:.1%} was commanded {because}"
        )


def _in_order(first: Array, second: Array) -> float:
    """Share of the pairs, one of each policy, that are in the order of the means; for two normals Φ(d' / √2)."""
    share = auroc(second, first) if first.mean() > second.mean() else auroc(first, second)
    return float(np.clip(share, 0.5 + _RARE, 1 - _RARE))


def _standard_error(usual: Array, angles: Angles, means: Sequence[float]) -> float:
    """Of the observational mean, through its own poses and through those that the line was fitted on.

    At the share t of the way from the first policy's mean to the second's, an error of these two moves the line by
    1 − t and t of it.
    """
    t = (usual.mean() - means[0]) / (means[1] - means[0])
    parts = ((1.0, usual), (1 - t, angles.first), (t, angles.second))
    return float(np.sqrt(sum(weight**2 * values.var() / len(values) for weight, values in parts)))

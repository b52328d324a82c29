"""Robot time of a recording: moves at one speed and a dwell in each pose.

A robot records an anchor's poses in the order of `ropes.data.recorder.plan`, which makes moves short: most of them lead
from one intervention straight to another, and two joints move at once.  To film one joint on its way the robot has to
return to the observational pose after each intervention.  The poses of a chain, and of any other recording, have an
order of their own.
"""

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats
from ropes.data.dataset import Dataset
from ropes.data.moves import filmed_anchors
from ropes.data.recorder.plan import recording_order
from ropes.data.recorder.protocols import AnchorProtocol
from ropes.data.recorder.travel import travel_time

#: Speed of every joint in rad/s, and seconds in each pose.
SPEED, DWELL = 1.0, 0.5
#: Anchors whose order is computed; further ones count as their mean.
_MEASURED = 1_000


def seconds_of_path(poses: Floats, *, speed: float = SPEED, dwell: float = DWELL) -> float:
    """Seconds of robot time of poses in the order of recording.

    Args:
        poses: (n, joints) radians.
        speed: largest speed of every joint, rad/s.
        dwell: seconds in each pose.
    """
    return float(travel_time(poses[:-1], poses[1:], np.full(poses.shape[-1], speed)).sum() + dwell * len(poses))


def robot_seconds(dataset: Dataset, first: int | None = None) -> float:
    """Seconds of robot time of the training poses of a data set.

    Frames on the way of the moves of chains cost nothing.  Those of anchors cost the returns to the observational pose.
    Of more than 1,000 anchors the first 1,000 are measured, and the others count as their mean.

    Args:
        dataset: with joint angles.
        first: count the first anchors or chains only; None for all.

    Raises:
        UserError: no training split, or no joint angles.
    """
    frames, regimes = dataset.frames("train"), dataset.regimes
    counted = np.isin(frames.anchor, np.unique(frames.anchor)[:first])
    poses, regime = dataset.states("train")[counted], frames.regime[counted]
    anchors, left = divmod(len(regime), len(regimes))
    if left or not np.array_equal(regime, np.tile(np.arange(len(regimes)), anchors)):
        return seconds_of_path(poses)
    measured = min(anchors, _MEASURED)
    of_anchor = poses.reshape(anchors, len(regimes), -1)[:measured]
    if filmed_anchors(dataset):
        there_and_back = _returning(of_anchor, regimes.index(Regime()))
        dwells = DWELL * measured * len(regimes)
        return (seconds_of_path(there_and_back, dwell=0) + dwells) * anchors / measured
    order = recording_order(AnchorProtocol, of_anchor, np.full(poses.shape[-1], SPEED), range(measured))
    path = np.concatenate([of_anchor[anchor, places] for anchor, places in order])
    return seconds_of_path(path) * anchors / measured


def _returning(poses: Floats, observational: int) -> Floats:
    """The path from the observational pose of an anchor to each other one and back, except from the last one.

    Args:
        poses: (anchors, regimes, joints).
        observational: index of that regime.

    Returns:
        (stops, joints).
    """
    others = np.delete(poses, observational, axis=1)
    rest = np.broadcast_to(poses[:, observational, None], others.shape)
    return np.stack([rest, others], axis=2).reshape(-1, poses.shape[-1])

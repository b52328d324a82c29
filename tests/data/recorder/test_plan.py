"""A plan is the same for the same seed, covers every anchor once, and is refused where the way is not free."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.data.recorder.limits import JointLimits, Limits
from ropes.data.recorder.plan import BLOCK, draw_plan, require_free
from ropes.data.recorder.summary import describe, duration, travel_seconds
from ropes.errors import UserError
from ropes.simulation.collisions import Collision
from tests import tiny
from tests.data.recorder.conftest import WORKSPACE

LIMITS = Limits(dict.fromkeys(tiny.JOINTS, JointLimits(-1.5, 1.5, 1.0)), WORKSPACE)
MODEL = tiny.model()


def wall(position: NDArray[np.float64], at: float) -> Collision | None:
    """The elbow must not go beyond an angle."""
    rows = np.flatnonzero(position[:, 0] > at).tolist()
    return Collision(rows[0], "elbow touches the wall") if rows else None


def test_each_intervention_moves_its_joint_alone() -> None:
    plan = draw_plan(MODEL, 4, 3, LIMITS)
    assert plan.poses.shape == (4, 5, 2)
    for regime, poses in zip(plan.regimes[1:], plan.poses.swapaxes(0, 1)[1:], strict=True):
        moved = (poses != plan.poses[:, 0]).any(axis=0)
        assert moved.tolist() == [joint == regime.joint for joint in plan.joints]


def test_a_longer_plan_begins_with_the_shorter_one() -> None:
    short, long, other = draw_plan(MODEL, 3, 3, LIMITS), draw_plan(MODEL, 7, 3, LIMITS), draw_plan(MODEL, 3, 4, LIMITS)
    assert np.array_equal(short.poses, long.poses[:3])
    assert not np.isclose(short.poses, other.poses).any()


def test_a_route_has_every_pose_once_block_by_block() -> None:
    plan = draw_plan(MODEL, 2 * BLOCK + 3, 0, LIMITS)
    route = plan.route(range(2 * BLOCK + 3))
    anchors = [stops[0].anchor for stops in route]
    assert sorted(anchors[:BLOCK]) == list(range(BLOCK))
    assert sorted(anchors) == list(range(2 * BLOCK + 3))
    assert anchors != sorted(anchors)
    for stops in route:
        assert sorted(stop.regime for stop in stops) == list(range(5))
        assert {stop.anchor for stop in stops} == {stops[0].anchor}
        assert all(np.array_equal(stop.pose, plan.poses[stop.anchor, stop.regime]) for stop in stops)
    assert [stops[0].anchor for stops in plan.route([7, 2])] == [2, 7]


def test_the_order_saves_time() -> None:
    plan = draw_plan(MODEL, 10, 0, LIMITS)
    moving, returning = travel_seconds(plan, plan.route(range(10)))
    assert len(plan.returning(range(10))) == 10 * 8
    assert moving < 0.65 * returning
    lines = list(describe(plan, plan.route(range(4, 10)), 0.3, 99, {frozenset(("a", "b"))}, 4))
    assert lines[0].startswith("plan: 4 are recorded, 6 are left; 10 anchors of 5 poses, joints elbow, wrist")
    assert any("saves" in line for line in lines)
    assert lines[-1].endswith("a and b")


def test_a_plan_that_collides_names_the_pose() -> None:
    plan = draw_plan(MODEL, 2, 0, LIMITS)
    stop = max((stop for stops in plan.route([0, 1]) for stop in stops), key=lambda stop: stop.pose[0])
    with pytest.raises(UserError, match=f"elbow touches the wall in pose {stop.regime} of anchor {stop.anchor}"):
        require_free(plan.route([0, 1]), partial(wall, at=stop.pose[0] - 1e-6), show=False)


def test_a_move_is_checked_between_its_poses() -> None:
    plan = draw_plan(MODEL, 1, 0, LIMITS)
    [stops] = plan.route([0])
    start, first = np.array([stops[0].pose[0], -9.0]), stops[0].pose[1]

    def check(positions: NDArray[np.float64]) -> Collision | None:
        rows = np.flatnonzero((positions[:, 1] > -5) & (positions[:, 1] < first - 1e-6)).tolist()
        return Collision(rows[0], "it touches") if rows else None

    with pytest.raises(UserError, match=f"on the way to pose {stops[0].regime} of anchor 0"):
        require_free([stops[:1]], check, start=start, show=False)
    assert require_free([stops[:1]], check, show=False) == 1


def test_anchors_that_collide_are_drawn_again() -> None:
    free = draw_plan(MODEL, 9, 0, LIMITS)
    highest = sorted(free.poses[..., 0].max(axis=1))[-3]
    plan = draw_plan(MODEL, 9, 0, LIMITS, partial(wall, at=highest + 1e-9), show=False)
    assert plan.redrawn == 2
    assert plan.poses[..., 0].max() <= highest + 1e-9
    same = (plan.poses == free.poses).all(axis=(1, 2))
    assert same.sum() == 7
    with pytest.raises(UserError, match=r"anchor 0: elbow touches the wall in 50 draws; give narrower --ranges"):
        draw_plan(MODEL, 1, 0, LIMITS, partial(wall, at=-2), show=False)


def test_durations_are_short_texts() -> None:
    assert [duration(seconds) for seconds in (9.6, 600, 9000)] == ["10 s", "10 min", "2.5 h"]
    assert duration(draw_plan(MODEL, 1, 0, LIMITS).travel(np.zeros((3, 2)))) == "0 s"

"""A plan is the same for the same seed, covers every anchor once, and is refused where the way is not free."""

from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.data.recorder.limits import JointLimits, Limits
from ropes.data.recorder.plan import BLOCK, draw_anchor, draw_plan
from ropes.data.recorder.route import Route, describe, duration, free_route, require_free_start, travel_seconds
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


def test_each_intervention_moves_only_its_joint() -> None:
    plan = draw_plan(MODEL, 4, 3, LIMITS)
    assert plan.poses.shape == (4, 5, 2)
    for regime, poses in zip(plan.regimes[1:], plan.poses.swapaxes(0, 1)[1:], strict=True):
        moved = (poses != plan.poses[:, 0]).any(axis=0)
        assert moved.tolist() == [joint == regime.joint for joint in plan.joints]


def test_a_longer_plan_begins_with_the_shorter_one() -> None:
    short, long, other = draw_plan(MODEL, 3, 3, LIMITS), draw_plan(MODEL, 7, 3, LIMITS), draw_plan(MODEL, 3, 4, LIMITS)
    assert np.array_equal(short.poses, long.poses[:3])
    assert not np.isclose(short.poses, other.poses).any()


def test_route_visits_every_pose_once_block_by_block() -> None:
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


def test_pose_order_shortens_the_recording() -> None:
    plan = draw_plan(MODEL, 10, 0, LIMITS)
    moving, returning = travel_seconds(plan, plan.route(range(10)))
    assert len(plan.returning(range(10))) == 10 * 8
    assert moving < 0.65 * returning
    lines = list(describe(Route(plan, plan.route(range(4, 10)), 99), 0.3, {frozenset(("a", "b"))}, 4, ["c", "d"]))
    assert lines[0].startswith("plan: 4 are recorded, 6 are left; 10 anchors of 5 poses, joints elbow, wrist")
    assert any("saves" in line for line in lines)
    assert lines[-1].endswith("a and b")
    assert lines[-2] == "not checked, as the URDF gives them no collision shape: c, d"


def test_colliding_plan_error_names_the_pose() -> None:
    plan = draw_plan(MODEL, 2, 0, LIMITS)
    stop = max((stop for stops in plan.route([0, 1]) for stop in stops), key=lambda stop: stop.pose[0])
    with pytest.raises(UserError, match=f"elbow touches the wall in pose {stop.regime} of anchor {stop.anchor}"):
        free_route(plan, [0, 1], partial(wall, at=stop.pose[0] - 1e-6), show=False)


def test_moves_are_checked_between_poses_and_between_anchors() -> None:
    plan, seen = draw_plan(MODEL, 12, 0, LIMITS), list[NDArray[np.float64]]()

    def check(positions: NDArray[np.float64]) -> Collision | None:
        seen.append(positions)
        return None

    found = free_route(plan, range(12), check, show=False)
    assert [[stop.regime for stop in stops] for stops in found.stops] == [
        [stop.regime for stop in stops] for stops in plan.route(range(12))
    ]
    way = np.concatenate(seen)
    assert found.positions == len(way)
    assert np.abs(np.diff(way, axis=0)).max() <= 0.05 + 1e-9
    assert {tuple(pose) for pose in plan.poses.reshape(-1, 2).round(9)} <= {tuple(pose) for pose in way.round(9)}


def test_collision_on_the_way_names_the_target_pose() -> None:
    plan = draw_plan(MODEL, 1, 0, LIMITS)
    [stops] = plan.route([0])
    middle = (stops[2].pose + stops[3].pose) / 2

    def check(positions: NDArray[np.float64]) -> Collision | None:
        rows = np.flatnonzero(np.abs(positions - middle).max(axis=1) < 0.04).tolist()
        return Collision(rows[0], "it touches") if rows else None

    with pytest.raises(UserError, match=f"it touches on the way to pose {stops[3].regime} of anchor 0"):
        free_route(plan, [0], check, show=False)
    with pytest.raises(UserError, match="from where the arm stands to the first pose is not free: it touches; move"):
        require_free_start(stops[3].pose, stops[2], check)
    require_free_start(stops[0].pose, stops[0], check)


def test_colliding_anchors_are_redrawn() -> None:
    free, redraw = draw_plan(MODEL, 9, 0, LIMITS), partial(draw_anchor, MODEL, 0)
    highest = sorted(free.poses[..., 0].max(axis=1))[-3]
    found = free_route(free, range(9), partial(wall, at=highest + 1e-9), redraw=redraw, show=False)
    plan = found.plan
    assert plan.redrawn == 2
    assert plan.poses[..., 0].max() <= highest + 1e-9
    assert (plan.poses == free.poses).all(axis=(1, 2)).sum() == 7
    for stops in found.stops:
        assert all(np.array_equal(stop.pose, plan.poses[stop.anchor, stop.regime]) for stop in stops)
    with pytest.raises(UserError, match=r"anchor 0: elbow touches the wall in 50 draws; give narrower --ranges"):
        free_route(draw_plan(MODEL, 1, 0, LIMITS), [0], partial(wall, at=-2), redraw=redraw, show=False)


def test_durations_are_formatted_briefly() -> None:
    assert [duration(seconds) for seconds in (9.6, 600, 9000)] == ["10 s", "10 min", "2.5 h"]
    assert duration(draw_plan(MODEL, 1, 0, LIMITS).travel(np.zeros((3, 2)))) == "0 s"

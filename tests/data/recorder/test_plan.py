"""A plan is the same for the same seed, covers every anchor once, and is refused where the way is not free."""

import itertools
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.data.chains import TURNS
from ropes.data.recorder.limits import JointLimits, Limits
from ropes.data.recorder.plan import Plan, draw_plan, middle_of
from ropes.data.recorder.protocols import AnchorProtocol, ChainProtocol
from ropes.data.recorder.route import Route, describe, duration, free_route, from_start, travel_seconds
from ropes.data.recorder.travel import samples
from ropes.errors import UserError
from ropes.simulation.collisions import Collision
from tests import tiny
from tests.data.recorder.conftest import WORKSPACE

LIMITS = Limits(dict.fromkeys(tiny.JOINTS, JointLimits(-1.5, 1.5, 1.0)), WORKSPACE)
MODEL = tiny.model()
BLOCK = AnchorProtocol.block


def chains_of(chains: int, seed: int) -> Plan:
    return draw_plan(ChainProtocol(MODEL), chains, seed, LIMITS.speeds(tiny.JOINTS))


def plan_of(anchors: int, seed: int) -> Plan:
    return draw_plan(AnchorProtocol(MODEL), anchors, seed, LIMITS.speeds(tiny.JOINTS))


def wall(position: NDArray[np.float64], at: float) -> Collision | None:
    """The elbow must not go beyond an angle."""
    rows = np.flatnonzero(position[:, 0] > at).tolist()
    return Collision(rows[0], "elbow touches the wall") if rows else None


def test_each_intervention_moves_only_its_joint() -> None:
    plan = plan_of(4, 3)
    assert plan.poses.shape == (4, 5, 2)
    for regime, poses in zip(MODEL.regimes[1:], plan.poses.swapaxes(0, 1)[1:], strict=True):
        moved = (poses != plan.poses[:, 0]).any(axis=0)
        assert moved.tolist() == [joint == regime.joint for joint in plan.joints]


def test_a_longer_plan_begins_with_the_shorter_one() -> None:
    short, long, other = plan_of(3, 3), plan_of(7, 3), plan_of(3, 4)
    assert np.array_equal(short.poses, long.poses[:3])
    assert not np.isclose(short.poses, other.poses).any()


def test_route_visits_every_pose_once_block_by_block() -> None:
    plan = plan_of(2 * BLOCK + 3, 0)
    route = plan.route(range(2 * BLOCK + 3))
    anchors = [stops[0].episode for stops in route]
    assert sorted(anchors[:BLOCK]) == list(range(BLOCK))
    assert sorted(anchors) == list(range(2 * BLOCK + 3))
    assert anchors != sorted(anchors)
    for stops in route:
        assert sorted(stop.regime for stop in stops) == list(range(5))
        assert {stop.episode for stop in stops} == {stops[0].episode}
        assert all(np.array_equal(stop.pose, plan.poses[stop.episode, stop.regime]) for stop in stops)
    assert [stops[0].episode for stops in plan.route([7, 2])] == [2, 7]


def test_pose_order_shortens_the_recording() -> None:
    plan = plan_of(10, 0)
    moving, returning = travel_seconds(plan, plan.route(range(10)))
    back = plan.protocol.returning(plan.poses)
    assert back is not None
    assert returning == plan.travel(back)
    assert len(back) == 10 * 8
    assert moving < 0.65 * returning
    lines = list(describe(Route(plan, plan.route(range(4, 10)), 99), 0.3, {frozenset(("a", "b"))}, 4, ["c", "d"]))
    assert lines[0].startswith("plan: 4 are recorded, 6 are left; 10 anchors of 5 poses, joints elbow, wrist")
    moving, returning = travel_seconds(plan, plan.route(range(4, 10)))
    assert returning is not None
    order = f"moves take {duration(moving)} in this order, {duration(returning)} if the arm goes back to"
    assert any(order in line for line in lines)
    assert lines[-1].endswith("a and b")
    assert lines[-2] == "not checked, as the URDF gives them no collision shape: c, d"


def test_colliding_plan_error_names_the_pose() -> None:
    plan = plan_of(2, 0)
    stop = max((stop for stops in plan.route([0, 1]) for stop in stops), key=lambda stop: stop.pose[0])
    what = rf"elbow touches the wall in elbow/1 \(elbow at [\d.]+°\) of anchor {stop.episode}"
    with pytest.raises(UserError, match=what):
        free_route(plan, [0, 1], partial(wall, at=stop.pose[0] - 1e-6), show=False)


def test_moves_are_checked_between_poses_and_between_anchors() -> None:
    plan, seen = plan_of(12, 0), list[NDArray[np.float64]]()

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
    plan = plan_of(1, 0)
    [stops] = plan.route([0])
    one, other = stops[2].pose, stops[3].pose
    axis = int(np.abs(other - one).argmax())

    def check(positions: NDArray[np.float64]) -> Collision | None:  # a wall that every way has to pass
        rows = np.flatnonzero(np.abs(positions[:, axis] - (one + other)[axis] / 2) < 0.04).tolist()
        return Collision(rows[0], "it touches") if rows else None

    with pytest.raises(
        UserError,
        match=r"it touches on the way to \w+/[12] \(\w+ at -?[\d.]+°\) of anchor 0; give narrower ranges \(",
    ):
        free_route(plan, [0], check, show=False)
    middle = middle_of(MODEL)
    with pytest.raises(UserError, match="from where the arm stands to the first pose is not free: it touches; bring"):
        from_start(stops[3].pose, [stops[2:]], middle, check)
    for start in (None, stops[0].pose):
        assert from_start(start, [stops], middle, check) == [stops]


def sphere(position: NDArray[np.float64], at: NDArray[np.float64], radius: float = 0.12) -> Collision | None:
    rows = np.flatnonzero(np.linalg.norm(position - at, axis=1) < radius).tolist()
    return Collision(rows[0], "it touches") if rows else None


def test_moves_that_are_not_free_go_by_another_pose() -> None:
    plan = plan_of(6, 0)
    way = [stop.pose for stops in plan.route(range(6)) for stop in stops]
    middles = [(one + other) / 2 for one, other in itertools.pairwise(way) if np.linalg.norm(one - other) > 0.6]
    blocked = next(at for at in middles if np.linalg.norm(plan.poses - at, axis=2).min() > 0.2)
    found = free_route(plan, range(6), partial(sphere, at=blocked), show=False)
    stops = [stop for each in found.stops for stop in each]
    detours = [stop for stop in stops if stop.via]
    assert 0 < len(detours) < 4
    positions, _ = samples(np.array([pose for stop in stops for pose in stop.way]))
    assert sphere(positions, blocked) is None
    assert found.plan.redrawn == 0
    assert {(stop.episode, stop.place) for stop in stops} == {(k, j) for k in range(6) for j in range(5)}
    assert travel_seconds(plan, found.stops)[0] > travel_seconds(plan, plan.route(range(6)))[0]
    lines = list(describe(found, 0.3, [], 0))
    assert f"{len(detours)} moves go by another pose, because the straight way is not free" in lines


def test_first_move_makes_a_detour_where_the_straight_way_is_not_free() -> None:
    [stops] = plan_of(1, 0).route([0])
    start = np.array([-1.4, 1.4])
    check = partial(sphere, at=(start + stops[0].pose) / 2)
    [[first, *others]] = from_start(start, [stops], middle_of(MODEL), check)
    assert len(first.via) == 1
    assert check(samples(np.array([start, *first.way]))[0]) is None
    assert (first.pose is stops[0].pose, others) == (True, stops[1:])


def test_a_plan_that_is_free_stays_free_when_it_goes_on() -> None:
    """Whatever is left of it, and though its anchors then come in another order."""
    resumed = 0
    for seed in range(12):
        plan = plan_of(12, seed)
        rng = np.random.default_rng(seed)
        check = partial(sphere, at=rng.uniform(-0.6, 0.6, 2))
        if check(plan.poses.reshape(-1, 2)) is not None:
            continue
        order = [stops[0].episode for stops in free_route(plan, range(12), check, show=False).stops]
        for done in range(1, 12):
            free_route(plan, set(range(12)) - set(order[:done]), check, show=False)
            resumed += 1
    assert resumed > 10


def test_colliding_anchors_are_redrawn() -> None:
    free = plan_of(9, 0)
    highest = sorted(free.poses[..., 0].max(axis=1))[-3]
    found = free_route(free, range(9), partial(wall, at=highest + 1e-9), redraw=True, show=False)
    plan = found.plan
    assert plan.redrawn == 2
    assert plan.poses[..., 0].max() <= highest + 1e-9
    assert (plan.poses == free.poses).all(axis=(1, 2)).sum() == 7
    for stops in found.stops:
        assert all(np.array_equal(stop.pose, plan.poses[stop.episode, stop.regime]) for stop in stops)
    with pytest.raises(UserError, match=r"anchor 0: elbow touches the wall in 50 draws; give narrower ranges"):
        free_route(plan_of(1, 0), [0], partial(wall, at=-2), redraw=True, show=False)


def test_durations_are_formatted_briefly() -> None:
    assert [duration(seconds) for seconds in (9.6, 600, 9000)] == ["10 s", "10 min", "2.5 h"]
    assert duration(plan_of(1, 0).travel(np.zeros((3, 2)))) == "0 s"


def test_each_move_of_a_chain_changes_the_joint_whose_turn_it_is() -> None:
    plan, wrist = chains_of(30, 3), [regime.joint == "wrist" for regime in MODEL.regimes]
    assert plan.poses.shape == (30, 1 + 2 * TURNS, 2)
    assert (plan.regimes[:, 0] == 0).all()
    moved = plan.poses[:, 1:] != plan.poses[:, :-1]
    assert (moved == np.array([[True, False], [False, True]] * TURNS)).all()
    assert (np.array(wrist)[plan.regimes[:, 1:]] == moved[..., 1]).all()
    for number in range(1, 5):  # the angles are those of the policy
        regime = MODEL.regimes[number]
        assert regime.joint is not None
        angles = plan.poses[plan.regimes == number][:, tiny.JOINTS.index(regime.joint)]
        mean, variance = MODEL.interventions[regime.joint][regime.policy - 1].moments()
        assert angles.mean() == pytest.approx(mean, abs=5 * (variance / len(angles)) ** 0.5)
    assert np.array_equal(chains_of(7, 3).poses, plan.poses[:7])
    assert not np.isclose(chains_of(7, 4).poses, plan.poses[:7]).any()


def test_chains_follow_in_the_order_of_the_draw() -> None:
    plan = chains_of(12, 0)
    route = plan.route([7, 2, 11])
    assert [[stop.episode for stop in stops] for stops in route] == [[k] * 11 for k in (2, 7, 11)]
    assert [stop.place for stop in route[0]] == list(range(11))
    assert [stop.regime for stop in route[0]] == plan.regimes[2].tolist()
    lines = list(describe(Route(plan, route, 99), 0.3, [], 9))
    assert lines[0] == "plan: 9 are recorded, 3 are left; 12 chains of 11 poses, joints elbow, wrist"
    assert not any("goes back" in line for line in lines)
    moving = plan.travel(np.concatenate([plan.poses[k] for k in (2, 7, 11)]))
    found, returning = travel_seconds(plan, route)
    assert found == pytest.approx(moving)
    assert returning is None
    assert f"robot time: about {duration(moving + 33 * 0.6)}, {duration(moving)} of it moves" in lines


def test_chains_that_collide_are_refused_or_redrawn() -> None:
    free = chains_of(9, 0)
    highest = sorted(free.poses[..., 0].max(axis=1))[-3]
    check = partial(wall, at=highest + 1e-9)
    with pytest.raises(UserError, match=r"wall (in|on the way to) \w.* of chain \d; .* to draw such chains again"):
        free_route(free, range(9), check, show=False)
    plan = free_route(free, range(9), check, redraw=True, show=False).plan
    same = (plan.poses == free.poses).all(axis=(1, 2))
    assert plan.redrawn == 2 == 9 - same.sum()
    assert plan.poses[..., 0].max() <= highest
    assert (plan.regimes == free.regimes).all(axis=1)[same].all()
    for chain in np.flatnonzero(~same).tolist():
        draws = [plan.protocol.draw(0, chain, attempt) for attempt in range(1, 50)]
        assert any(np.array_equal(poses, plan.poses[chain]) for poses, _ in draws)
        assert not (plan.regimes[chain] == free.regimes[chain]).all()

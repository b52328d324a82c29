"""Moves take as long as their slowest joint, and the order of poses keeps them short."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from ropes.data.recorder.travel import RAMP, beside, knots, progress_at, samples, shortest_order, travel_time
from tests import tiny

SPEED = np.array([1.0, 0.5])


def test_slowest_joint_sets_the_travel_time() -> None:
    start, goals = np.zeros(2), np.array([[1.0, 0.2], [0.2, -1.0], [0.0, 0.0]])
    assert travel_time(start, goals, SPEED).tolist() == pytest.approx([1 + RAMP, 2 + RAMP, 0])


@pytest.mark.parametrize("distance", [0.01, 0.1, 0.2, 0.5, 3.0])
def test_move_starts_and_ends_at_rest_within_the_speed_limit(distance: float) -> None:
    total = float(travel_time(np.zeros(1), np.array([distance]), np.ones(1)))
    times = np.linspace(0, total, 301)
    places = distance * np.array([progress_at(t, total) for t in times])
    speeds = np.diff(places) / np.diff(times)
    assert (places[0], places[-1]) == (0, pytest.approx(distance))
    assert speeds.min() >= 0
    assert speeds.max() <= 1 + 1e-6
    assert max(speeds[0], speeds[-1]) < 0.2
    assert (progress_at(-1, total), progress_at(total + 1, total)) == (0, 1)


def test_positions_along_a_move_are_close_together() -> None:
    path = np.array([[0.0, 0.0], [0.3, -0.11], [0.3, -0.11], [-0.5, 0.0]])
    positions, numbers = samples(path, step=0.05)
    assert np.abs(np.diff(positions, axis=0)).max() <= 0.05 + 1e-12
    for number, pose in enumerate(path):
        assert np.allclose(positions[np.flatnonzero(numbers == number)[-1]], pose)


def test_late_arm_is_on_the_line_and_a_joint_alone_is_beside_it() -> None:
    start, goal = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    for share in (0.0, 0.3, 1.0):
        assert beside(start, goal, start + share * (goal - start)) == pytest.approx(np.zeros(2))
    assert beside(start, goal, np.array([1.0, 1.0])) == pytest.approx(np.array([0.5, 0.5]))
    assert beside(start, goal, np.array([1.2, -0.2])) == pytest.approx(np.array([0.2, -0.2]))  # beyond the goal
    assert beside(start, start, np.array([0.1, 1.0])) == pytest.approx(np.array([0.1, 0.0]))


def test_pose_order_is_nearly_the_shortest() -> None:
    model, rng = tiny.model(), np.random.default_rng(0)
    ratios, lengths = [], []
    for poses in model.sample(rng, 30):
        between = travel_time(poses[:, None], poses[None], SPEED)
        first = travel_time(np.ones(2), poses, SPEED)

        def length(order: tuple[int, ...], between: np.ndarray = between, first: np.ndarray = first) -> float:
            return float(first[order[0]] + sum(between[a, b] for a, b in pairwise(order)))

        order = tuple(shortest_order(poses, np.ones(2), SPEED))
        assert sorted(order) == list(range(5))
        ratios.append(length(order) / min(map(length, permutations(range(5)))))
        lengths.append((length(order), length((0, 1, 2, 3, 4))))
    assert np.mean(ratios) < 1.01
    assert max(ratios) < 1.15
    found, drawn = np.array(lengths).mean(axis=0)
    assert found < 0.8 * drawn


def test_pose_order_begins_near_the_arm() -> None:
    poses = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0]])
    assert shortest_order(poses, np.array([3.1, 0.0]), np.ones(2)) == [3, 2, 1, 0]
    assert shortest_order(poses, np.array([-1.0, 0.0]), np.ones(2)) == [0, 1, 2, 3]


@pytest.mark.parametrize("total", [0.1, 0.4, 0.45, 3.0])
def test_spline_through_the_knots_equals_the_move(total: float) -> None:
    times, shares, rates = np.array([(0.0, 0.0, 0.0), *knots(total)]).T
    spline, seconds = CubicHermiteSpline(times, shares, rates), np.linspace(0, total, 200)
    assert spline(seconds) == pytest.approx([progress_at(each, total) for each in seconds], abs=1e-9)
    assert spline(seconds, 1).max() <= 1 / (total - min(RAMP, total / 2)) + 1e-9

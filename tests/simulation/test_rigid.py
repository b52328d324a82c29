"""Rigid motions between point sets."""

import numpy as np
from scipy.spatial.transform import Rotation

from ropes.simulation.rigid import rigid_motions


def test_motions_are_found_exactly() -> None:
    rng = np.random.default_rng(0)
    points, shifts = rng.normal(size=(20, 7, 3)), rng.normal(size=(20, 3))
    turns = Rotation.random(20, rng=1).as_matrix()
    moved = points @ turns.swapaxes(1, 2) + shifts[:, None]
    motions, distances = rigid_motions(points, moved)
    np.testing.assert_allclose(motions[:, :3, :3], turns, atol=1e-12)
    np.testing.assert_allclose(motions[:, :3, 3], shifts, atol=1e-12)
    np.testing.assert_array_equal(motions[:, 3], np.tile([0, 0, 0, 1], (20, 1)))
    assert distances.shape == (20, 7)
    assert distances.max() < 1e-12


def test_mirror_image_is_not_matched_by_a_reflection() -> None:
    points = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]]])
    motions, distances = rigid_motions(points, points * np.array([1, 1, -1]))
    np.testing.assert_allclose(np.linalg.det(motions[:, :3, :3]), 1)
    assert distances.max() > 0.5


def test_rest_is_the_least_that_a_rotation_leaves() -> None:
    rng = np.random.default_rng(2)
    points = rng.normal(size=(1, 7, 3))
    targets = points + rng.normal(0, 0.1, points.shape)
    motion, distances = rigid_motions(points, targets)
    least = (distances**2).sum()
    for turn in Rotation.from_rotvec(0.02 * rng.normal(size=(50, 3))).as_matrix():
        other = points @ (turn @ motion[0, :3, :3]).T + motion[0, :3, 3]
        assert ((other - targets) ** 2).sum() > least - 1e-12

"""Blurred silhouettes from surface points agree with drawn ones; changes against the median are solved by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from ropes.inference.hand_eye.candidate import Candidate
from ropes.inference.hand_eye.surface_points import blurred, changes, coverage, posed_points
from ropes.simulation.kinematics import link_poses
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.silhouette import link_meshes, silhouette
from ropes.simulation.urdf import read_urdf
from tests import box_arm


def candidate(camera: Pinhole) -> Candidate:
    """The candidate that is this camera."""
    middle = np.array([0.0, 0.1, 0.3])
    seen = camera.extrinsics[:3, :3] @ middle + camera.extrinsics[:3, 3]
    focal = camera.intrinsics[[0, 1], [0, 1]] / camera.width
    return Candidate(
        rotation=camera.extrinsics[:3, :3],
        middle=middle,
        at=seen[:2] / seen[2] * focal,
        depth=float(seen[2]),
        focal=focal,
        principal=camera.intrinsics[:2, 2] / camera.width,
        size=(camera.height / camera.width, 1.0),
    )


def test_candidate_is_the_camera_and_moves_as_its_parameters_say() -> None:
    camera = box_arm.CAMERAS["side"]
    same = candidate(camera)
    back = same.pinhole("side", camera.height, camera.width)
    np.testing.assert_allclose(back.extrinsics, camera.extrinsics, atol=1e-12)
    np.testing.assert_allclose(back.intrinsics, camera.intrinsics, atol=1e-12)
    moved = same.moved([0.0, 0.0, 0.3, 0.1, -0.05, np.log(2), np.log(1.5)])
    pixels, depth = moved.pinhole("side", camera.height, camera.width).project(same.middle[None])
    at = same.at + np.array([0.1, -0.05])
    np.testing.assert_allclose(pixels[0], camera.width * (at + same.principal), atol=1e-9)
    np.testing.assert_allclose(depth, 2 * 1.5 * same.depth)  # grows with the focal length
    np.testing.assert_allclose(moved.focal, 1.5 * same.focal)
    np.testing.assert_allclose(moved.rotation[2], same.rotation[2], atol=1e-12)  # a turn about the line of sight


def test_coverage_is_the_blurred_silhouette(tmp_path: Path) -> None:
    arm, camera = read_urdf(box_arm.write_urdf(tmp_path)), box_arm.CAMERAS["front"]
    angles = np.array([[0.3, 0.4, -0.8], [-1.0, -0.5, 1.0]])
    meshes, poses = link_meshes(arm), link_poses(arm, box_arm.JOINTS, angles, {})
    posed = posed_points(meshes, poses, 20_000, np.random.default_rng(0))
    fine = camera.resized(4 * camera.height, 4 * camera.width)
    drawn = np.stack([silhouette(meshes, {link: p[k] for link, p in poses.items()}, fine) for k in range(2)])
    averaged = drawn.reshape(2, camera.height, 4, camera.width, 4).mean(axis=(2, 4))
    expected = blurred(averaged, 1.5)
    found = coverage(posed, candidate(camera), camera.width, 1.5)
    assert found.shape == expected.shape
    assert np.abs(found - expected).sum() < 0.12 * expected.sum()
    every = coverage(posed.of(slice(1, 2), 4), candidate(camera), camera.width, 1.5)
    assert np.abs(every - expected[1:]).sum() < 0.2 * expected[1].sum()


def test_arm_behind_the_camera_covers_nothing(tmp_path: Path) -> None:
    arm = read_urdf(box_arm.write_urdf(tmp_path))
    poses = link_poses(arm, box_arm.JOINTS, np.zeros((1, 3)), {})
    posed = posed_points(link_meshes(arm), poses, 500, np.random.default_rng(0))
    view = candidate(box_arm.CAMERAS["front"])
    assert coverage(posed, view, 32, 1.0).any()
    assert not coverage(posed, replace(view, depth=-view.depth), 32, 1.0).any()


def test_changes_against_the_median() -> None:
    never, always, once = [0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 1, 0, 0]
    rarely_free = [1, 1, 1, 0, 1]
    pixels = np.array([never, always, once, rarely_free], dtype=float).T[:, None, :]
    change, weight = changes(pixels)
    np.testing.assert_array_equal(change[:, 0], np.array([never, never, once, [0, 0, 0, 1, 0]], dtype=float).T)
    np.testing.assert_array_equal(weight[:, 0, :2], np.array([[1, 0]] * 5, dtype=float))
    np.testing.assert_array_equal(weight[:, 0, 2], 1)
    np.testing.assert_array_equal(weight[:, 0, 3], [0, 0, 0, 1, 0])

"""Finds cameras that keep the whole arm in view for every pose.

For a fixed viewing direction, "point p is in the image" is linear in p and in the camera's position c:

    n · p ≤ n · c   for n in {±r − t f, ±u − t f},

with r, u, f the camera's right, up and forward directions and t the tangent of half the field of view.  So the four
maxima of n · p over all poses and all points of the arm determine the possible positions, and the nearest one follows
in closed form.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from ropes.causal.scm import CausalModel
from ropes.common.arrays import Floats
from ropes.simulation.availability import locate
from ropes.simulation.cameras import axes, eye, frustum
from ropes.simulation.kinematics import outline, visible_points
from ropes.simulation.mesh import simplified_urdf
from ropes.simulation.settings import Camera, Robot
from ropes.simulation.urdf import Urdf, read_urdf

Ranges = Mapping[str, tuple[float, float]]
MARGIN = 0.97
_SAMPLES, _AT_A_BOUND = 3000, 0.3
#: Angles at which the effect of a joint on another is bounded.
_EFFECT_VALUES = 1001
_STARTS, _ROUNDS, _TRIES = 6, 40, 16
_BLOCK = 128


def drawable_ranges(models: Iterable[CausalModel]) -> dict[str, tuple[float, float]]:
    """The interval of each joint in radians, over all regimes of all models.

    Intervals are propagated along the weights and include every joint's interventions.
    """
    ranges: dict[str, tuple[float, float]] = {}
    for model in models:
        own: dict[str, tuple[float, float]] = {}
        for joint in model.order:
            low = high = 0.0
            for source in (model.observational, model.noise):
                if joint in source:
                    low, high = low + source[joint].low, high + source[joint].high
            for (parent, child), weight in model.weights.items():
                if child == joint:
                    values = weight * model.effect(parent, child, np.linspace(*own[parent], _EFFECT_VALUES))
                    low, high = low + float(values.min()), high + float(values.max())
            policies = model.interventions.get(joint, ())
            own[joint] = min([low, *(tn.low for tn in policies)]), max([high, *(tn.high for tn in policies)])
        for joint in model.joints:
            bounds = own[joint], ranges.get(joint, own[joint])
            ranges[joint] = min(low for low, _ in bounds), max(high for _, high in bounds)
    return ranges


def largest(robot: Robot, ranges: Ranges, measure: Callable[[Floats], Floats]) -> Floats:
    """The maxima of some measures of the arm over all poses within `ranges`.

    Random search: random poses with many joints at a bound of their range, then shrinking random steps from the best.

    Args:
        robot: the arm; joints not in `ranges` are at their neutral values.
        ranges: joint → (low, high) in radians.
        measure: from the arm's points (n, points, 3), metres, to (n, k).

    Returns:
        (k,)
    """
    urdf, hulls = _convex_hulls(simplified_urdf(locate(robot.urdf)))
    low, high = np.array([ranges[joint] for joint in ranges]).T
    rng = np.random.default_rng(0)

    def measures(poses: Floats) -> Floats:
        blocks = np.array_split(poses, len(poses) // _BLOCK + 1)
        points = (visible_points(urdf, hulls, tuple(ranges), block, robot.neutral) for block in blocks)
        return np.concatenate([measure(block) for block in points])

    samples = rng.uniform(low, high, (_SAMPLES, len(low)))
    at_a_bound = rng.random(samples.shape) < _AT_A_BOUND
    samples = np.where(at_a_bound, np.where(rng.random(samples.shape) < 0.5, low, high), samples)
    sample_values = measures(samples)
    best = sample_values.max(axis=0)
    for k in range(len(best)):
        poses = samples[np.argsort(-sample_values[:, k])[:_STARTS]]
        for step in np.geomspace(0.3, 0.003, _ROUNDS):
            tries = poses[:, None] + step * rng.normal(size=(len(poses), _TRIES, len(low)))
            tries = np.concatenate([poses[:, None], np.clip(tries, low, high)], axis=1)
            values = measures(tries.reshape(-1, len(low)))[:, k].reshape(len(poses), -1)
            poses = tries[np.arange(len(poses)), values.argmax(axis=1)]
            best[k] = max(best[k], values.max())
    return best


@lru_cache(maxsize=4)
def _convex_hulls(path: Path) -> tuple[Urdf, dict[str, Floats]]:
    # A path in the mesh cache determines the contents.
    urdf = read_urdf(path)
    return urdf, outline(urdf)


def nearest_view(robot: Robot, ranges: Ranges, *, name: str, yaw: float, pitch: float) -> Camera:
    """The camera nearest to the arm that shows all of it in every pose, for a given viewing direction.

    Its field of view is 60°, and the arm reaches at most `MARGIN` of the image's half side.

    Args:
        robot: see `largest`.
        ranges: see `largest`.
        name: the camera's name.
        yaw: degrees.
        pitch: degrees.

    Returns:
        A camera whose target is the point of its optical axis nearest to the base's vertical axis; where that is
        behind the camera, because the arm is far from its base, the target is amid the arm.
    """
    camera = Camera(name=name, target=(0.0, 0.0, 0.0), distance=1.0, yaw=yaw, pitch=pitch, roll=0.0, fov=60.0)
    right, up, forward = axes(camera)
    tangent = MARGIN * np.tan(np.radians(camera.fov) / 2)
    sides = np.array([right, -right, up, -up])
    normals = sides - tangent * forward
    rightmost, leftmost, top, bottom = largest(robot, ranges, lambda points: (points @ normals.T).max(axis=1))
    across, upwards = (rightmost - leftmost) / 2, (top - bottom) / 2
    along = -max(rightmost + leftmost, top + bottom) / (2 * tangent)
    position = across * right + upwards * up + along * forward
    level = np.hypot(forward[0], forward[1])
    distance = float(-(position[:2] @ forward[:2]) / level**2) if level > 1e-9 else float(-along)
    if distance <= 0:
        nearest, farthest = largest(
            robot, ranges, lambda points: (points @ np.array([-forward, forward]).T).max(axis=1)
        )
        distance = float((farthest - nearest) / 2 - along)
    x, y, z = (round(float(value), 3) for value in position + round(distance, 3) * forward)
    return replace(camera, target=(x, y, z), distance=round(distance, 3))


def max_image_distance(robot: Robot, ranges: Ranges, camera: Camera) -> float:
    """The largest distance of the arm from the image's centre in any pose: 1 is the border, more is out of view.

    Infinite if a part of the arm can be behind the camera.
    """
    position, directions = eye(camera), axes(camera)
    left, right, bottom, top = frustum(camera)

    def place(points: Floats) -> Floats:
        across, upwards, along = np.moveaxis((points - position) @ directions.T, -1, 0)
        depth = np.maximum(along, 1e-9)
        places = (
            (2 * across / depth - left - right) / (right - left),
            (2 * upwards / depth - bottom - top) / (top - bottom),
        )
        sideways = np.maximum(*map(np.abs, places))
        return np.where(along > 0, sideways, np.inf).max(axis=1, keepdims=True)

    return float(largest(robot, ranges, place)[0])

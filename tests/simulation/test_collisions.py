"""A folded arm touches itself, a low one the table, and a stretched one leaves its workspace."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.simulation.arm import arm_robot
from ropes.simulation.collisions import CollisionChecker, Workspace
from ropes.simulation.settings import Robot
from ropes.simulation.urdf import read_urdf
from tests.data.recorder.conftest import ARM, JOINTS

pytestmark = pytest.mark.usefixtures("engine")

WORKSPACE = Workspace((-0.9, -0.3, -0.1), (0.9, 0.3, 1.2), 0.0)


@pytest.fixture
def robot(tmp_path: Path) -> Robot:
    path = tmp_path / "small.urdf"
    path.write_text(ARM)
    return arm_robot(path, read_urdf(path))


@pytest.fixture
def checker(engine: str, robot: Robot) -> Iterator[CollisionChecker]:
    with CollisionChecker(robot, JOINTS, np.zeros(2), WORKSPACE) as made:
        yield made


@pytest.mark.parametrize(
    ("pose", "what"),
    [
        ((0.0, 0.0), None),
        ((0.5, -1.0), None),
        ((0.0, 3.0), "lower touches upper"),
        ((1.5, 1.2), "lower touches the table"),
        ((1.4, 0.0), None),
    ],
)
def test_contacts_are_found(checker: CollisionChecker, pose: tuple[float, float], what: str | None) -> None:
    found = checker.first(np.array([pose]))
    assert (found and found.what) == what


def test_first_colliding_pose_is_reported(checker: CollisionChecker) -> None:
    free, folded = [0.0, 0.5], [0.0, 3.0]
    found = checker.first(np.array([free, free, folded, free, folded]))
    assert found is not None
    assert found.pose == 2
    assert checker.first(np.array([free, free])) is None


def test_the_workspace_bounds_every_moving_link(robot: Robot) -> None:
    narrow = replace(WORKSPACE, high=(0.4, 0.3, 1.2))
    with CollisionChecker(robot, JOINTS, np.zeros(2), narrow) as checker:
        found = checker.first(np.array([[1.0, 0.0]]))
        way = checker.first(np.array([[0.0, 0.0], [0.3, 0.0], [1.0, 0.0], [0.0, 3.0]]))
    assert found is not None
    # The end of the lower link is at .59 sin(1), plus the half width of the box, .025 cos(1).
    assert (found.pose, found.what) == (0, "lower leaves the workspace by 0.110 m (above x = 0.4)")
    assert way is not None
    assert (way.pose, way.between) == (2, True)
    low = replace(WORKSPACE, high=(0.9, 0.3, 0.6))
    with CollisionChecker(robot, JOINTS, np.zeros(2), low) as checker:
        first = checker.first(np.array([[0.0, 0.0]]))
    assert first is not None
    assert "above z = 0.6" in first.what


def test_positions_between_poses_are_checked_where_a_link_moves_far(robot: Robot) -> None:
    ends = np.array([[-0.2, 0.0], [0.2, 0.0]])  # the arm's end is highest between them
    with CollisionChecker(robot, JOINTS, np.zeros(2), replace(WORKSPACE, high=(0.9, 0.3, 0.808))) as checker:
        assert [checker.first(end[None]) for end in ends] == [None, None]
        found = checker.first(ends)
        assert found is not None
        assert (found.pose, found.between) == (1, True)
        assert found.what.startswith("lower leaves the workspace by 0.0")
        assert checker.first(ends[[0, 0]]) is None


def test_table_height_can_be_raised(robot: Robot) -> None:
    with CollisionChecker(robot, JOINTS, np.zeros(2), replace(WORKSPACE, table=0.25)) as checker:
        found = checker.first(np.array([[1.5, 0.0]]))
    assert found is not None
    assert "the table" in found.what


@pytest.mark.parametrize(("gap", "free"), [(0.002, False), (0.009, False), (0.011, True)])
def test_one_centimetre_clearance_is_required(robot: Robot, gap: float, free: bool) -> None:
    # The upper arm and the lower one lie flat, their axes at .22, half as thick as .05.
    with CollisionChecker(
        robot, JOINTS, np.zeros(2), replace(WORKSPACE, low=(-0.9, -0.3, -1), table=0.195 - gap)
    ) as checker:
        found = checker.first(np.array([[np.pi / 2, 0.0]]))
    assert (found is None) == free


def test_links_without_a_collision_shape_are_reported(robot: Robot, tmp_path: Path) -> None:
    parts = ARM.split("<collision>")  # of the base, the upper link, the one in the middle, and the lower one
    shapes = [part.partition("</collision>") for part in parts[1:]]
    path = tmp_path / "hollow.urdf"
    path.write_text(parts[0] + "".join("<collision>" + part for part in parts[1:3]) + shapes[2][2] + shapes[3][2])
    with CollisionChecker(arm_robot(path, read_urdf(path)), JOINTS, np.zeros(2), WORKSPACE) as checker:
        assert checker.unchecked == ["middle", "lower"]
        assert checker.first(np.array([[0.0, 3.0]])) is None
    with CollisionChecker(robot, JOINTS, np.zeros(2), WORKSPACE) as checker:
        assert checker.unchecked == []
    path.write_text(parts[0] + "<collision>" + parts[1] + "".join(shape[2] for shape in shapes[1:]))
    with pytest.raises(UserError, match=r"hollow.urdf has no collision shape of a moving link that can be read; add"):
        CollisionChecker(arm_robot(path, read_urdf(path)), JOINTS, np.zeros(2), WORKSPACE)


def test_links_that_touch_at_mid_range_are_ignored(robot: Robot) -> None:
    with CollisionChecker(robot, JOINTS, np.array([0.0, 3.0]), WORKSPACE) as checker:
        assert checker.ignored == {frozenset(("upper", "lower"))}
        assert checker.first(np.array([[0.0, 3.0]])) is None


def test_unknown_joint_is_refused(robot: Robot) -> None:
    with pytest.raises(UserError, match="no movable joint 'elbo': did you mean elbow"):
        CollisionChecker(robot, ("elbo",), np.zeros(1), WORKSPACE)

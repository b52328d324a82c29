"""MuJoCo's physics takes odd URDF files, or says in one line what is wrong with them."""

import sys
from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.simulation.arm import arm_robot
from ropes.simulation.arm_dynamics import MovingArm
from ropes.simulation.collisions import CollisionChecker, Workspace
from ropes.simulation.urdf import read_urdf
from tests.data.recorder.conftest import ARM, JOINTS

BOX = '<collision><origin xyz="0 0 .14"/><geometry><box size=".05 .05 .2"/></geometry></collision>'
MESH = '<collision><origin xyz="0 0 .14"/><geometry><mesh filename="{}"/></geometry></collision>'
SQUARE = "v 0 0 0\nv .1 0 0\nv .1 .1 0\nv 0 .1 0\nf 1 2 3\nf 1 3 4\n"
WORKSPACE = Workspace((-2, -2, -2), (2, 2, 2), 0.0)


@pytest.fixture(autouse=True)
def without_pybullet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pybullet", None)


def try_arm(text: str, folder: Path) -> list[str]:
    """Check a folded and a free pose, and step the arm; gives the links that are not checked."""
    path = folder / "small.urdf"
    path.write_text(text)
    robot = arm_robot(path, read_urdf(path))
    with CollisionChecker(robot, JOINTS, np.zeros(2), WORKSPACE) as checker:
        assert checker.first(np.zeros((1, 2))) is None
        unchecked = checker.unchecked
    with MovingArm(robot, JOINTS, np.array([0.1, 0.2])) as arm:
        arm.advance(0.1)
        assert arm.positions == pytest.approx([0.1, 0.2], abs=1e-3)
    return unchecked


@pytest.mark.parametrize("content", [SQUARE, "v 0 0 0\nv .1 0 0\nv .1 .1 0\nf 1 2 3\n"])
def test_flat_meshes_have_a_thickness(content: str, tmp_path: Path) -> None:
    (tmp_path / "flat.obj").write_text(content)
    assert try_arm(ARM.replace(BOX, MESH.format("flat.obj")), tmp_path) == []


def test_links_with_an_unreadable_mesh_count_as_unchecked(tmp_path: Path) -> None:
    (tmp_path / "torn.obj").write_text("v 0 0\nf 1 2 9\n")
    assert try_arm(ARM.replace(BOX, BOX + MESH.format("torn.obj")), tmp_path) == ["lower"]


def test_inertia_of_no_body_is_replaced(tmp_path: Path) -> None:
    assert try_arm(ARM.replace('ixx=".004"', 'ixx="-.01"').replace('mass value=".4"', "mass"), tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        (BOX, BOX.replace(".05 .05 .2", "0 .1 .1"), r"MuJoCo cannot use .*small\.urdf: .*size 0 must be positive"),
        ('effort="80"', 'effort="x"', r"small\.urdf is not a complete URDF file: effort of <limit>: could not convert"),
        ('mass value=".4"', 'mass value="heavy"', r"small\.urdf is not a complete URDF file: value of <mass>"),
    ],
)
def test_faults_are_named_in_one_line(old: str, new: str, line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=line):
        try_arm(ARM.replace(old, new), tmp_path)

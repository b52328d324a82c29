"""A small arm with two joints, seen by one camera, that takes a moment to record."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropes.data.recorder import registry
from ropes.data.recorder.limits import JointLimits, Limits
from ropes.data.recorder.record import RecordOptions
from ropes.data.recorder.stillness import Settling
from ropes.simulation.arm import arm_model, arm_robot
from ropes.simulation.collisions import Workspace
from ropes.simulation.settings import Camera, Setting
from ropes.simulation.urdf import read_urdf
from tests.data.recorder.doubles import ScriptedKind

JOINTS = ("shoulder", "elbow")
_LINK = """<link name="{name}">
  <inertial><origin xyz="{middle}"/><mass value=".4"/>
    <inertia ixx=".004" iyy=".004" izz=".004" ixy="0" ixz="0" iyz="0"/></inertial>
  <visual><origin xyz="{middle}"/><geometry><box size="{size}"/></geometry>
    <material name="{name}"><color rgba="{colour} 1"/></material></visual>
  <collision><origin xyz="{middle}"/><geometry><box size="{size}"/></geometry></collision></link>"""
_JOINT = """<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>
  <origin xyz="0 0 {height}"/><axis xyz="0 1 0"/>
  <limit lower="{low}" upper="{high}" effort="80" velocity="3"/></joint>"""
ARM = "\n".join(
    [
        '<robot name="small">',
        _LINK.format(name="base", middle="0 0 .1", size=".1 .1 .2", colour=".2 .2 .2"),
        _LINK.format(name="upper", middle="0 0 .15", size=".05 .05 .26", colour=".8 .1 .1"),
        _LINK.format(name="middle", middle="0 0 .03", size=".04 .04 .02", colour=".1 .8 .1"),
        _LINK.format(name="lower", middle="0 0 .14", size=".05 .05 .2", colour=".1 .1 .8"),
        _JOINT.format(name="shoulder", parent="base", child="upper", height=".22", low="-1.6", high="1.6"),
        _JOINT.format(name="elbow", parent="upper", child="middle", height=".3", low="-3.1", high="3.1"),
        _JOINT.format(name="fixed", parent="middle", child="lower", height=".05", low="0", high="0").replace(
            "revolute", "fixed"
        ),
        "</robot>",
    ]
)
CAMERA = Camera(name="side", target=(0.0, 0.0, 0.45), distance=1.8, yaw=0.0, pitch=0.0, roll=0.0, fov=60.0)
WORKSPACE = Workspace((-0.9, -0.3, -0.1), (0.9, 0.3, 1.2), 0.0)
MakeOptions = Callable[..., RecordOptions]


@pytest.fixture
def urdf(tmp_path: Path, cache_home: Path) -> Path:
    path = tmp_path / "small.urdf"
    path.write_text(ARM)
    return path


@pytest.fixture
def limits() -> Limits:
    return Limits(dict.fromkeys(JOINTS, JointLimits(-1.2, 1.2, 2.0)), WORKSPACE)


@pytest.fixture
def setting(urdf: Path) -> Setting:
    arm = read_urdf(urdf)
    model = arm_model(arm, JOINTS, ((-0.8, 0.8), (-1.2, 1.2)))
    return Setting(name="small", robot=arm_robot(urdf, arm), cameras=(CAMERA,), splits={"train": model}, image_size=32)


@pytest.fixture
def make_options(setting: Setting, limits: Limits) -> MakeOptions:
    def make(**changes: Any) -> RecordOptions:
        given: dict[str, Any] = {
            "kind": "simulated",
            "setting": setting,
            "limits": limits,
            "settling": Settling(settle=0.15),
        }
        if "chains" not in changes:
            given["anchors"] = 2
        return RecordOptions(**(given | changes))

    return make


@pytest.fixture
def kind(monkeypatch: pytest.MonkeyPatch) -> ScriptedKind:
    made = ScriptedKind()
    monkeypatch.setattr(registry, "load_plugins", lambda group, fault: ({"scripted": made}, {}))
    return made

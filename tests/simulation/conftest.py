"""A small arm of plain shapes, written anew for each test, and the mesh cache of this run of the tests."""

from pathlib import Path

import pytest

from ropes.simulation.settings import Camera, Robot

SMALL_ARM = """<robot name="small">
  <link name="base"><visual><geometry><box size=".1 .1 .1"/></geometry>
    <material name="red"><color rgba="1 0 0 1"/></material></visual></link>
  <link name="upper"><visual><origin xyz="0 0 .25"/>
    <geometry><box size=".05 .05 .5"/></geometry></visual></link>
  <link name="lower"><visual><origin xyz=".2 0 0" rpy="0 1.5707963 0"/>
    <geometry><cylinder radius=".03" length=".4"/></geometry></visual></link>
  <link name="tip"><collision><geometry><sphere radius=".04"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 .05"/>
    <axis xyz="0 1 0"/><limit lower="-1.5" upper="1.5" effort="1" velocity="1"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 .5" rpy=".1 .2 .3"/><axis xyz="0 0 2"/></joint>
  <joint name="slide" type="prismatic"><parent link="lower"/><child link="tip"/><origin xyz=".4 0 0"/>
    <axis xyz="1 0 0"/><limit lower="0" upper=".1" effort="1" velocity="1"/></joint>
</robot>"""

#: The small arm with a gripper: both fingers follow the slide, the second one by way of the first.
GRIPPER = """
  <link name="left"><visual><geometry><box size=".02 .02 .1"/></geometry></visual>
    <collision><geometry><box size=".02 .02 .1"/></geometry></collision></link>
  <link name="right"><visual><geometry><box size=".02 .02 .1"/></geometry></visual>
    <collision><geometry><box size=".02 .02 .1"/></geometry></collision></link>
  <joint name="right_finger" type="prismatic"><parent link="tip"/><child link="right"/><origin xyz="0 -.1 0"/>
    <axis xyz="0 1 0"/><limit lower="-.1" upper="0" effort="1" velocity="1"/>
    <mimic joint="left_finger" multiplier="-1"/></joint>
  <joint name="left_finger" type="prismatic"><parent link="tip"/><child link="left"/><origin xyz="0 .1 0"/>
    <axis xyz="0 1 0"/><limit lower="0" upper=".11" effort="1" velocity="1"/>
    <mimic joint="slide" multiplier="2" offset=".01"/></joint>
</robot>"""
GRIPPER_ARM = SMALL_ARM.replace("\n</robot>", GRIPPER)


@pytest.fixture(scope="session", autouse=True)
def _own_cache(cache_home: Path) -> None:
    """No test reads or fills the user's cache."""


@pytest.fixture
def small_urdf(tmp_path: Path) -> Path:
    path = tmp_path / "small.urdf"
    path.write_text(SMALL_ARM)
    return path


@pytest.fixture
def gripper_urdf(tmp_path: Path) -> Path:
    path = tmp_path / "gripper.urdf"
    path.write_text(GRIPPER_ARM)
    return path


@pytest.fixture
def small_robot(small_urdf: Path) -> Robot:
    return Robot(urdf=str(small_urdf), joints=("shoulder", "elbow", "slide"), neutral={"elbow": 0.3})


@pytest.fixture
def side_camera() -> Camera:
    return Camera(name="side", target=(0.1, 0.0, 0.3), distance=2.0, yaw=20.0, pitch=-10.0, roll=0.0, fov=60.0)

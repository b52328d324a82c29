import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from ropes.errors import UserError
from ropes.simulation.arm import arm_model
from ropes.simulation.availability import locate
from ropes.simulation.bullet import import_pybullet
from ropes.simulation.joints import rotation
from ropes.simulation.urdf import find_mesh, kinematics_of, read_urdf
from tests.simulation.conftest import SMALL_ARM


def test_urdf_tree_limits_and_shapes_are_read(small_urdf: Path) -> None:
    arm = read_urdf(small_urdf)
    assert arm.base == "base"
    assert list(arm.moving) == ["shoulder", "elbow", "slide"]
    shoulder, elbow, slide = arm.moving.values()
    assert (shoulder.low, shoulder.high) == (-1.5, 1.5)
    assert (elbow.low, elbow.high) == (-np.inf, np.inf)
    assert (slide.low, slide.high) == (0, 0.1)
    np.testing.assert_allclose(elbow.axis, [0, 0, 1])
    assert [visual.link for visual in arm.visuals] == ["base", "upper", "lower", "tip"]
    np.testing.assert_allclose(arm.visuals[2].corners.max(axis=0), [0.03, 0.03, 0.2])


def test_rotation_about_z_is_the_textbook_matrix() -> None:
    quarter = rotation(np.array([0.0, 0.0, 1.0]), np.array([np.pi / 2]))[0]
    np.testing.assert_allclose(quarter, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)


def test_range_of_a_joint_without_limits_that_is_in_degrees_is_refused(small_urdf: Path) -> None:
    arm = read_urdf(small_urdf)
    assert arm_model(arm, ["elbow", "slide"], [(-6.2, 6.2), (0, 0.1)]).joints == ("elbow", "slide")
    line = r"the range \[-90, 90\] of joint elbow is above a full turn; give radians, not degrees"
    with pytest.raises(UserError, match=line):
        arm_model(arm, ["elbow"], [(-90, 90)])
    with pytest.raises(UserError, match=r"outside its limits .*; give radians, not degrees"):
        arm_model(arm, ["shoulder"], [(-90, 90)])
    with pytest.raises(UserError, match=r"outside its limits .*; give a range within them"):
        arm_model(arm, ["slide"], [(0, 90)])


def test_an_unknown_joint_is_refused_with_a_suggestion(small_urdf: Path) -> None:
    arm = read_urdf(small_urdf)
    with pytest.raises(UserError, match=r"small.urdf has no movable joint 'sholder': did you mean shoulder\?"):
        arm.joint("sholder")
    with pytest.raises(UserError, match="movable joints are shoulder, elbow, slide"):
        arm.joint("qqq")


def test_missing_urdf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no URDF file at .*nowhere\.urdf"):
        locate(str(tmp_path / "nowhere.urdf"))
    assert locate("franka_panda/panda.urdf").is_file()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not xml", "is not a URDF file"),
        ("<sdf/>", "its root is <sdf>, not <robot>"),
        ("<robot><link name='a'/><link name='b'/></robot>", "one base link, this file has 2"),
        ("<robot><link name='a'><visual/></link></robot>", "is not a complete URDF file.*no geometry"),
        ("<robot><link name='a'/><joint name='j' type='fixed'/></robot>", "is not a complete URDF file"),
        ("<robot><link/></robot>", "is not a complete URDF file: name is missing"),
        ("<?xml version='1.0' encoding='unheard-of'?><robot/>", "is not a URDF file: unknown encoding"),
        (
            "<robot><link name='a'/><link name='b'/><joint name='j' type='revolute'><parent link='a'/>"
            "<child link='b'/><axis xyz='0 1'/></joint></robot>",
            "is not a complete URDF file: '0 1' has 2 numbers, not 3",
        ),
        (
            "<robot><link name='a'><visual><geometry><sphere radius='1'/></geometry>"
            "<material><color rgba='1 0 0'/></material></visual></link></robot>",
            "is not a complete URDF file: '1 0 0' has 3 numbers, not 4",
        ),
        (
            "<robot><link name='a'><visual><geometry><mesh filename='package://x/y.stl'/></geometry></visual>"
            "</link></robot>",
            "names the mesh package://x/y.stl, which is nowhere near it",
        ),
        ("<robot><link name='a'/><joint name='j'/></robot>", "is not a complete URDF file: type is missing$"),
        (
            "<robot><link name='a'><visual><geometry><sphere radius='wide'/></geometry></visual></link></robot>",
            "is not a complete URDF file: could not convert string to float: 'wide'$",
        ),
        (
            "<robot xmlns:x='http://www.ros.org/wiki/xacro'><x:include filename='links.xacro'/></robot>",
            "arm.urdf is a xacro file, from which a URDF is made; run xacro arm.urdf > made.urdf",
        ),
        (
            "<robot><link name='a'><visual><geometry><sphere radius='${r}'/></geometry></visual></link></robot>",
            "is a xacro file",
        ),
        (
            "<robot><link name='a'/><link name='b'/><link name='c'/>"
            "<joint name='j' type='fixed'><parent link='b'/><child link='c'/></joint>"
            "<joint name='k' type='fixed'><parent link='c'/><child link='b'/></joint></robot>",
            "its joints form no tree",
        ),
        (
            "<robot><link name='a'/><link name='b'/><link name='c'/>"
            "<joint name='i' type='fixed'><parent link='a'/><child link='b'/></joint>"
            "<joint name='j' type='fixed'><parent link='b'/><child link='c'/></joint>"
            "<joint name='k' type='fixed'><parent link='c'/><child link='b'/></joint></robot>",
            "its joints form no tree",
        ),
    ],
)
def test_a_damaged_urdf_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "arm.urdf"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_urdf(path)


def test_package_uri_of_a_mesh_is_resolved(tmp_path: Path) -> None:
    urdf = tmp_path / "robots" / "arm.urdf"
    mesh = tmp_path / "meshes" / "link.stl"
    mesh.parent.mkdir()
    mesh.touch()
    assert find_mesh(urdf, "package://some_description/meshes/link.stl") == mesh
    assert find_mesh(urdf, str(mesh)) == mesh


def test_kinematics_only_urdf_keeps_the_tree_and_names_no_file(tmp_path: Path) -> None:
    (tmp_path / "mesh.stl").touch()
    text = SMALL_ARM.replace('<sphere radius=".04"/>', f'<mesh filename="{tmp_path}/mesh.stl"/>')
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(text.replace("</robot>", f"<gazebo><plugin filename='{tmp_path}/a.so'/></gazebo></robot>"))
    bare = tmp_path / "bare.urdf"
    bare.write_text(kinematics_of(urdf))
    assert str(tmp_path) not in bare.read_text()
    (tmp_path / "mesh.stl").unlink()
    found, whole = read_urdf(bare), read_urdf(write(tmp_path / "whole.urdf"))
    assert (found.name, found.base, found.links, found.visuals) == ("small", "base", whole.links, ())
    for one, other in zip(found.joints, whole.joints, strict=True):
        assert (one.name, one.kind, one.parent, one.child, one.low, one.high) == (
            other.name,
            other.kind,
            other.parent,
            other.child,
            other.low,
            other.high,
        )
        np.testing.assert_array_equal(one.origin, other.origin)
        np.testing.assert_array_equal(one.axis, other.axis)


def test_colours_are_those_of_the_shape_before_those_of_a_name(tmp_path: Path) -> None:
    """CAD exporters write materials without a name, and materials of one name with several colours."""
    shape = "<visual><geometry><sphere radius='1'/></geometry>{}</visual>"
    given = ["<material name=''>{}</material>", "<material>{}</material>", "<material name='a'>{}</material>"]
    colours = ["1 0 0 1", "0 1 0 1", "0 0 1 1", "0 1 1 1"]
    materials = [
        text.format(f"<color rgba='{colour}'/>") for text, colour in zip([*given, given[-1]], colours, strict=True)
    ]
    shapes = "".join(shape.format(material) for material in [*materials, "<material name='b'/>", ""])
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        f"<robot><link name='base'>{shapes}</link><material name='b'><color rgba='.5 .5 .5 1'/></material></robot>"
    )
    found = [None if visual.colour is None else visual.colour.tolist() for visual in read_urdf(urdf).visuals]
    assert found == [[1, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0.5, 0.5, 0.5, 1], None]


def write(path: Path) -> Path:
    path.write_text(SMALL_ARM)
    return path


@pytest.mark.parametrize(
    ("machine", "hint"), [("x86_64", "pip install pybullet"), ("arm64", "for arm64 it is built from source")]
)
def test_missing_pybullet_is_reported_in_one_line(machine: str, hint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setitem(sys.modules, "pybullet", None)
    with pytest.raises(UserError) as refused:
        import_pybullet()
    assert hint in str(refused.value)
    assert ("C++ compiler" in str(refused.value)) == (machine == "arm64" or sys.version_info >= (3, 12))


@pytest.mark.parametrize(("text", "scale"), [("0.001", [0.001] * 3), ("1 2 3", [1, 2, 3]), ("", [1, 1, 1])])
def test_a_single_scale_of_a_mesh_is_that_of_all_axes(tmp_path: Path, text: str, scale: list[float]) -> None:
    (tmp_path / "a.stl").touch()
    mesh = f"<mesh filename='a.stl' scale='{text}'/>"
    (tmp_path / "a.urdf").write_text(
        f"<robot><link name='a'><visual><geometry>{mesh}</geometry></visual></link></robot>"
    )
    np.testing.assert_array_equal(read_urdf(tmp_path / "a.urdf").visuals[0].scale, scale)

from pathlib import Path

import numpy as np
import pytest

from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.simulation.framing import drawable_ranges, largest, max_image_distance, nearest_view
from ropes.simulation.settings import GRAPH_SETTINGS, PANDA, Camera, Robot, setting_named


def _uniformish(low: float, high: float) -> TruncatedNormal:
    return TruncatedNormal(mean=0.0, variance=1.0, low=low, high=high)


def test_drawable_ranges_follow_the_causal_weights() -> None:
    model = CausalModel(
        joints=("b", "a"),
        observational={"a": _uniformish(-1, 2)},
        noise={"b": _uniformish(0, 1)},
        weights={("a", "b"): -2.0},
        interventions={"a": (_uniformish(-3, 0), _uniformish(0, 1))},
    )
    assert drawable_ranges([model]) == {"a": (-3.0, 2.0), "b": (-4.0, 7.0)}
    wider = CausalModel(joints=("a",), observational={"a": _uniformish(-9, 0)}, interventions={})
    assert drawable_ranges([model, wider])["a"] == (-9.0, 2.0)


def test_drawable_ranges_follow_bent_effects() -> None:
    pair = ("a", "b")
    observational = {"a": _uniformish(-1, 4), "b": _uniformish(0, 1)}
    ranges = drawable_ranges(
        [
            CausalModel(
                joints=pair, observational=observational, interventions={}, weights={pair: 2}, effects={pair: "sin"}
            )
        ]
    )
    # The sine is greatest within the interval and least at its end.
    assert ranges["b"] == pytest.approx((2 * np.sin(-1), 3), abs=1e-4)


@pytest.mark.parametrize("name", GRAPH_SETTINGS)
def test_joints_with_other_causes_keep_to_the_intervals_of_the_paper(name: str) -> None:
    reached, allowed = (drawable_ranges(setting_named(n).splits.values()) for n in (name, "panda-2c-independent"))
    for joint, (low, high) in reached.items():
        assert allowed[joint][0] - 0.1 <= low < high <= allowed[joint][1] + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", PANDA)
def test_the_whole_panda_is_in_view_of_every_camera_in_every_pose(name: str) -> None:
    setting = setting_named(name)
    ranges = drawable_ranges(setting.splits.values())
    for camera in setting.cameras:
        place = max_image_distance(setting.robot, ranges, camera)
        # Not cut off, and not smaller than need be.
        assert 0.93 < place < 0.99


def test_reach_search_finds_the_known_maximum(small_urdf: Path) -> None:
    """The shoulder swings the upper arm's far edge, .5 up and .025 to the side, about (0, 0, .05)."""
    text = small_urdf.read_text()
    links = text[: text.index('  <link name="lower"')]
    shoulder = text[text.index('  <joint name="shoulder"') : text.index('  <joint name="elbow"')]
    small_urdf.write_text(f"{links}{shoulder}</robot>")
    robot = Robot(urdf=str(small_urdf), joints=("shoulder",))
    reach = largest(robot, {"shoulder": (-1.5, 1.5)}, lambda points: points.max(axis=1))
    forward = 0.5 * np.sin(1.5) + 0.025 * np.cos(1.5)
    np.testing.assert_allclose(reach, [forward, 0.05, 0.05 + np.hypot(0.5, 0.025)], atol=1e-4)


def test_nearest_view_just_contains_the_arm(small_robot: Robot) -> None:
    ranges = {"shoulder": (-1.5, 1.5), "elbow": (-3.0, 3.0), "slide": (0.0, 0.1)}
    camera = nearest_view(small_robot, ranges, name="cam45", yaw=45.0, pitch=-30.0)
    assert (camera.name, camera.yaw, camera.pitch, camera.fov) == ("cam45", 45.0, -30.0, 60.0)
    assert max_image_distance(small_robot, ranges, camera) == pytest.approx(0.97, abs=0.005)


def test_an_arm_far_from_its_base_has_a_nearest_view(small_urdf: Path) -> None:
    mount = (
        """<joint name="mount" type="fixed"><parent link="world"/><child link="base"/><origin xyz="-6 6 0"/></joint>"""
    )
    small_urdf.write_text(small_urdf.read_text().replace("</robot>", f'<link name="world"/>{mount}</robot>'))
    robot, ranges = Robot(urdf=str(small_urdf), joints=("shoulder",)), {"shoulder": (-0.5, 0.5)}
    camera = nearest_view(robot, ranges, name="cam45", yaw=45.0, pitch=-30.0)
    assert max_image_distance(robot, ranges, camera) == pytest.approx(0.97, abs=0.005)
    assert np.linalg.norm(np.array(camera.target) - [-6, 6, 0.3]) < 0.5


def test_arm_behind_the_camera_has_infinite_image_distance(small_robot: Robot) -> None:
    camera = Camera(name="c", target=(5.0, 0.0, 0.0), distance=1.0, yaw=-90.0, pitch=0.0, roll=0.0, fov=60.0)
    assert max_image_distance(small_robot, {"shoulder": (0.0, 0.1)}, camera) == np.inf

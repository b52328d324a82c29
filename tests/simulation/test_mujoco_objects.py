"""MuJoCo draws finger and cube, and objects of actions, where PyBullet does."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from PIL import Image

from ropes.common.arrays import Images
from ropes.data.dataset import Dataset
from ropes.data.generate import simulate
from ropes.data.generate_actions import simulate_pairs
from ropes.data.generate_finger import simulate_finger
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.simulation import off_screen
from ropes.simulation.action_scene import ActionScene
from ropes.simulation.actions import ACTIONS, Action, PairsSetting
from ropes.simulation.arm import arm_setting
from ropes.simulation.finger import FingerScene
from ropes.simulation.finger_setting import FACTORS, HUE, NAMES, FingerSetting, factor_values
from ropes.simulation.mujoco_actions import MujocoActionScene
from ropes.simulation.mujoco_finger import MujocoFingerScene
from ropes.simulation.off_screen import OffScreen
from ropes.simulation.parts import Part, box, cylinder, sphere
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.settings import Camera

CAMERA = Camera(name="c", target=(0.0, 0.0, 0.0), distance=3.0, yaw=30.0, pitch=-20.0, roll=0.0, fov=40.0)


def egl() -> bool:
    try:
        return bool(off_screen.graphics())
    except UserError:
        return False


pytestmark = pytest.mark.skipif(not egl(), reason="EGL is missing: apt install libegl1 libgl1-mesa-dri")


def reddish(image: Images) -> NDArray[np.bool_]:
    red, green, blue = np.moveaxis(image.astype(int), -1, 0)
    return np.asarray(red > 2 * np.maximum(green, blue) + 20)


@pytest.mark.parametrize(
    ("part", "half"),
    [
        (box((0.2, 0.2, 0.5), (0.3, 0.1, 0.2), (1, 0, 0)), (0.2, 0.2, 0.5)),
        (cylinder(0.1, 0.4, (-0.3, 0.1, 0.2), (1, 0, 0)), (0.1, 0.1, 0.4)),
        (sphere(0.3, (0.1, -0.2, 0.1), (1, 0, 0)), (0.3, 0.3, 0.3)),
    ],
)
def test_part_is_drawn_at_its_size_and_position(part: Part, half: tuple[float, float, float]) -> None:
    mujoco = off_screen.import_mujoco()
    with OffScreen(mujoco.MjSpec(), [CAMERA], 128) as screen:
        screen.update()
        screen.add_part(part)
        rows, columns = np.nonzero(reddish(screen.photograph(0)))
        screen.update()
        assert not reddish(screen.photograph(0)).any()
    signs = np.stack(np.meshgrid(*[[-1, 1]] * 3), axis=-1).reshape(-1, 3)
    if part.shape == "sphere":
        signs = np.concatenate([np.eye(3), -np.eye(3)])
    corners = Pinhole.of(CAMERA, 128).project(np.array(part.place) + signs * half)[0]
    for found, column in ((columns, 0), (rows, 1)):
        expected = np.array([corners[:, column].min(), corners[:, column].max() - 1])
        assert np.abs(np.array([found.min(), found.max()]) - expected).max() < 4


@pytest.mark.slow
@pytest.mark.pybullet
def test_the_cube_is_where_pybullet_draws_it() -> None:
    setting = FingerSetting(image_size=64)
    numbers = np.array([[factor.count // 2 for factor in FACTORS]] * 4)
    numbers[:, NAMES.index("cube_x")] = numbers[:, NAMES.index("cube_y")] = [3, 10, 20, 26]
    numbers[:, HUE] = 0
    states = np.column_stack([factor_values(numbers), [0, 1, 0, 1]])
    with MujocoFingerScene(setting, 0) as ours, FingerScene(setting) as theirs:
        drawn, expected = (np.concatenate(list(scene.render_all(states))) for scene in (ours, theirs))
        assert (np.concatenate(list(ours.render_all(states[::-1])))[::-1] == drawn).all()
    assert drawn.shape == expected.shape == (4, 64, 64, 3)
    for one, other in zip(drawn, expected, strict=True):
        centres = [np.array(np.nonzero(reddish(image))).mean(axis=1) for image in (one, other)]
        assert np.abs(centres[0] - centres[1]).max() < 1.5


@pytest.mark.pybullet
def test_action_is_visible_and_a_pair_depends_only_on_its_index() -> None:
    setting = PairsSetting(image_size=64)
    number = ACTIONS.index(Action("open", "drawer"))
    frames = np.array([[k, after, number] for k in range(3) for after in (0, 1)])
    with MujocoActionScene(setting, 7) as ours, ActionScene(setting, 7) as theirs:
        drawn, expected = (np.concatenate(list(scene.render_all(frames))).astype(int) for scene in (ours, theirs))
        assert (np.concatenate(list(ours.render_all(frames[::-1])))[::-1] == drawn).all()
    for k in (0, 2, 4):
        changed, reference = (np.abs(images[k + 1] - images[k]).max(-1) > 40 for images in (drawn, expected))
        assert reference.sum() > 40
        assert (changed & reference).sum() > 0.6 * reference.sum()


@pytest.mark.slow
def test_every_kind_of_data_set_is_rendered_and_records_its_renderer(small_urdf: Path, tmp_path: Path) -> None:
    few: dict[str, Any] = {"seed": 3, "workers": 1, "progress": False}
    finger, pairs = FingerSetting(image_size=32, renderer="mujoco"), PairsSetting(image_size=32, renderer="mujoco")
    arm = arm_setting(
        str(small_urdf), ["shoulder"], [(-1, 1)], image_size=32, scene="room", camera_level="webcam", colour=True
    )
    made = [
        simulate(arm, out=tmp_path / "arm", anchors=2, test_anchors=2, **few),
        simulate_finger(finger, out=tmp_path / "finger", samples=4, test_samples=2, **few),
        simulate_pairs(pairs, out=tmp_path / "pairs", samples=170, test_samples=20, **few),
    ]
    for dataset in made:
        validate(dataset.path)
        assert shape_of(dataset) == (32, 32, 3)
        assert dataset.provenance is not None
        assert dataset.provenance["renderer"]["graphics"] == off_screen.graphics()
    before = (tmp_path / "finger" / "meta" / "ropes.json").read_bytes()
    simulate_finger(finger, out=tmp_path / "finger", samples=4, test_samples=2, **few)
    assert (tmp_path / "finger" / "meta" / "ropes.json").read_bytes() == before
    with pytest.raises(UserError, match="another setting"):
        simulate_finger(FingerSetting(image_size=32), out=tmp_path / "finger", samples=4, test_samples=2, **few)


def shape_of(dataset: Dataset) -> tuple[int, ...]:
    """The shape of the first image."""
    table = pq.read_table(next((dataset.path / "data").rglob("*.parquet")))
    name = next(name for name in table.column_names if name.startswith("observation.images."))
    return np.asarray(Image.open(io.BytesIO(table[name][0].as_py()["bytes"]))).shape

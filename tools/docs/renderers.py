"""Draws docs/images/renderers.png: the same states by PyBullet above, by MuJoCo below.

python tools/docs/renderers.py
"""

from pathlib import Path

import numpy as np
from PIL import Image

from ropes.common.arrays import Images
from ropes.simulation.action_scene import ActionScene
from ropes.simulation.actions import ACTIONS, Action, PairsSetting
from ropes.simulation.arm import arm_setting
from ropes.simulation.finger import FingerScene
from ropes.simulation.finger_setting import FACTORS, HUE, FingerSetting, factor_values
from ropes.simulation.mujoco_actions import MujocoActionScene
from ropes.simulation.mujoco_finger import MujocoFingerScene
from ropes.simulation.mujoco_scene import MujocoScene
from ropes.simulation.scene import Scene
from ropes.simulation.settings import Setting, setting_named

OUT = Path(__file__).parents[2] / "docs" / "images" / "renderers.png"
SIDE = 160


def arm(setting: Setting, seed: int) -> tuple[Images, Images]:
    """One pose of an arm from its cameras by both renderers, (cameras, SIDE, SIDE, 3) each."""
    model = setting.splits["train"]
    poses = model.sample_observational(np.random.default_rng(2), 1)
    given = setting.robot, setting.cameras, SIDE
    with Scene(*given, joints=model.joints, scene="panda-gym", colour=True) as scene:
        theirs = next(scene.render_all(poses))
    with MujocoScene(*given, joints=model.joints, colour=True, seed=seed) as scene_in_a_room:
        return theirs, next(scene_in_a_room.render_all(poses))


def finger() -> tuple[Images, Images]:
    """One state of finger and cube by both renderers, (1, SIDE, SIDE, 3) each."""
    setting, numbers = FingerSetting(image_size=SIDE), np.array([[factor.count // 2 for factor in FACTORS]])
    numbers[0, HUE] = 0
    states = np.column_stack([factor_values(numbers), [0]])
    with FingerScene(setting) as theirs, MujocoFingerScene(setting, 0) as ours:
        return next(theirs.render_all(states)), next(ours.render_all(states))


def thing() -> tuple[Images, Images]:
    """An object of an action by both renderers, (1, SIDE, SIDE, 3) each."""
    setting = PairsSetting(image_size=SIDE)
    frame = [[3, 1, ACTIONS.index(Action("open", "drawer"))]]
    with ActionScene(setting, 0) as theirs, MujocoActionScene(setting, 0) as ours:
        return next(theirs.render_all(frame)), next(ours.render_all(frame))


def main() -> None:
    """Write the picture."""
    kuka = arm_setting("kuka_iiwa/model.urdf", ["lbr_iiwa_joint_2", "lbr_iiwa_joint_4"], [(-1, 1), (-1.5, 1.5)])
    drawn = [arm(setting_named("panda-2c-independent"), 0), arm(kuka, 2), finger(), thing()]
    rows = [np.concatenate([image for pair in drawn for image in pair[row]], axis=1) for row in (0, 1)]
    Image.fromarray(np.concatenate(rows)).save(OUT, optimize=True)


if __name__ == "__main__":
    main()

"""Images and masks of one pose of a scene."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.simulation.scene import ArmScene


def drawn(scene: ArmScene, pose: Mapping[str, float] | ArrayLike) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Images and masks of the arm, of angles by joint name (the others neutral) or in the order of the scene."""
    if isinstance(pose, Mapping):
        pose = [pose.get(joint, scene.robot.neutral.get(joint, 0.0)) for joint in scene.joints]
    return next(scene.render_with_arms(np.asarray(pose)[None]))

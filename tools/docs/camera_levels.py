"""Draws docs/images/camera-levels.png: one row for each level of the camera model.

python tools/docs/camera_levels.py
"""

from pathlib import Path

import numpy as np
from PIL import Image

from ropes.simulation.camera_levels import LEVELS
from ropes.simulation.camera_model import CameraModel
from ropes.simulation.scene import Scene
from ropes.simulation.settings import setting_named

OUT = Path(__file__).parents[2] / "docs" / "images" / "camera-levels.png"
FRAMES, SHOWN, SIDE = 400, 8, 128


def main() -> None:
    """Write the picture."""
    setting = setting_named("panda-2c-independent")
    model = setting.splits["train"]
    poses = model.sample_observational(np.random.default_rng(0), SHOWN)
    with Scene(setting.robot, setting.cameras[:1], SIDE, joints=model.joints, scene="panda-gym") as scene:
        frames = [(images[0], arms[0]) for images, arms in scene.render_with_arms(poses)]
    rows = []
    for level in LEVELS:
        camera = CameraModel(level, (SIDE, SIDE), FRAMES, seed=3, camera="cam45")
        places = np.linspace(0, FRAMES - 1, SHOWN).astype(int).tolist()
        seen = [camera(image, frame, arm) for (image, arm), frame in zip(frames, places, strict=True)]
        rows.append(np.concatenate(seen, axis=1))
    Image.fromarray(np.concatenate(rows)).save(OUT, optimize=True)


if __name__ == "__main__":
    main()

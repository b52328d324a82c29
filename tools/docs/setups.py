"""Draws docs/images/setups.png: the images of a good set-up and of five bad ones.

python tools/docs/setups.py
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from ropes.common.arrays import Bools, Images
from ropes.data.recorder.arm import ArmOptions, arm_to_record
from ropes.simulation.camera_levels import LEVELS, CameraLevel
from ropes.simulation.camera_model import GAMMA, CameraModel
from ropes.simulation.mujoco_scene import MujocoScene
from ropes.simulation.occluders import OccluderLevel
from ropes.simulation.settings import Camera

OUT = Path(__file__).parents[2] / "docs" / "images" / "setups.png"
SIDE, BAR, GAP, COLUMNS, FRAMES = 208, 26, 6, 3, 60
#: Angles of the six joints, radians.
POSE = (0.9, 0.1, 0.0, -1.1, 0.0, 1.6)
#: Seeds of the room and of the faults.
ROOM, FAULTS = 2, 4
#: Of the overexposed image: times the right exposure.
EXPOSURE = 6.0
#: A webcam whose mount and light keep still, with nobody behind the arm.
STEADY = replace(
    LEVELS["webcam"],
    exposure_drift=0.0,
    exposure_jump=0.0,
    white_balance=0.0,
    vibration=0.0,
    creep=0.0,
    turn=0.0,
    occluders=OccluderLevel(),
)
#: Somebody behind the arm in most of the frames; a mount that turns and sinks.
BUSY = replace(STEADY, occluders=OccluderLevel(behind=0.9))
CREEPING = replace(STEADY, creep=0.07, turn=3.0)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One picture.

    Attributes:
        title: below it.
        good: whether to set a camera up like this.
        camera: what sees the arm.
        level: of the camera's faults.
        change: of the clean image, before the camera.
        frame: of the recording.
        last: lay the last frame over the first one.
    """

    title: str
    good: bool = False
    camera: Camera
    level: CameraLevel = STEADY
    change: Callable[[Images], Images] = lambda image: image
    frame: int = 0
    last: bool = False


def overexposed(image: Images) -> Images:
    """The image with too long an exposure."""
    light = EXPOSURE * (image / 255) ** GAMMA
    return np.round(255 * np.clip(light, 0, 1) ** (1 / GAMMA)).astype(np.uint8)


def panels(good: Camera) -> Sequence[Panel]:
    """All pictures, row by row; `good` shows the whole arm in every pose."""
    x, y, z = good.target
    aside = replace(good, target=(x - 0.2, y - 0.2, z - 0.5))
    return (
        Panel(title="good: the whole arm, near", good=True, camera=good),
        Panel(title="too far", camera=replace(good, distance=1.9 * good.distance)),
        Panel(title="cut off", camera=aside),
        Panel(title="overexposed", camera=good, change=overexposed),
        Panel(title="somebody moves behind", camera=good, level=BUSY, frame=FRAMES // 2),
        Panel(title="the mount creeps: first + last", camera=good, level=CREEPING, last=True),
    )


def drawn(panel: Panel, image: Images, arm: Bools) -> Image.Image:
    """One picture with its title."""
    camera = CameraModel(panel.level, image.shape, FRAMES, seed=FAULTS, camera="left")
    seen = camera(panel.change(image), panel.frame, arm)
    if panel.last:
        seen = ((seen.astype(np.uint16) + camera(image, FRAMES - 1, arm)) // 2).astype(np.uint8)
    picture = Image.new("RGB", (SIDE, SIDE + BAR), "#2e7d4f" if panel.good else "#b3392c")
    picture.paste(Image.fromarray(seen), (0, 0))
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(13)
    draw.text((SIDE / 2, SIDE + BAR / 2), panel.title, fill="white", font=font, anchor="mm")
    return picture


def main() -> None:
    """Write the picture."""
    setting, _ = arm_to_record(ArmOptions(urdf=None, simulated=True))
    good = setting.cameras[0]
    shown = panels(good)
    rows = -(-len(shown) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (SIDE + GAP) - GAP, rows * (SIDE + BAR + GAP) - GAP), "white")
    for number, panel in enumerate(shown):
        # The room is in proportion to the mean distance of the cameras; the second camera keeps it as it is.
        other = replace(good, distance=2 * good.distance - panel.camera.distance)
        given = setting.robot, [panel.camera, other], SIDE
        with MujocoScene(*given, joints=setting.splits["train"].joints, colour=True, seed=ROOM) as scene:
            images, arms = next(scene.render_with_arms([POSE]))
        row, column = divmod(number, COLUMNS)
        sheet.paste(drawn(panel, images[0], arms[0]), (column * (SIDE + GAP), row * (SIDE + BAR + GAP)))
    sheet.quantize(256, dither=Image.Dither.NONE).save(OUT, optimize=True)
    print(f"{OUT}: {OUT.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()

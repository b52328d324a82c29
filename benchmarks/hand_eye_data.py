"""What `benchmarks.hand_eye` gives to `ropes cameras`: images of a known camera, with true angles or wrong ones."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ropes.common import files
from ropes.common.arrays import Floats, evenly
from ropes.common.seeds import generator
from ropes.data import schema, writer
from ropes.data.dataset import Dataset
from ropes.data.generate import simulate
from ropes.simulation.backgrounds import RendererName, SceneName
from ropes.simulation.camera_levels import LevelName
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.settings import Camera, setting_named

SETTING, CAMERA = "panda-2c-independent", "camera"
#: Images that are rendered for each seed, from the least number of anchors, and their side, pixels.
IMAGES, SIDE = 300, 128
#: Ranges of a camera's field of view, yaw, pitch and roll, degrees, and half the range of its target, metres.
FOV, YAW, PITCH, ROLL, OFF = (40.0, 65.0), (-180.0, 180.0), (-50.0, 0.0), (-10.0, 10.0), 0.1
#: Middle of the arm's poses, and half the height and width of the picture there, metres.
MIDDLE, SHOWN = (0.0, 0.1, 0.45), 1.1


@dataclass(frozen=True, kw_only=True)
class Condition:
    """Images and angles that `ropes cameras` gets.

    Attributes:
        level: of the camera's faults.
        renderer: pybullet with panda-gym's table, or mujoco with a furnished room.
        images: how many.
        error: standard deviation of the angles' errors, drawn for each joint of each image, degrees.
        offset: standard deviation of the angles' constant offsets, drawn for each joint, degrees.
        intrinsics: whether the data set stores them.
        others: whether the angles are those of other images.
    """

    level: LevelName = "webcam"
    renderer: RendererName = "pybullet"
    images: int = IMAGES
    error: float = 0.0
    offset: float = 0.0
    intrinsics: bool = True
    others: bool = False

    @property
    def words(self) -> str:
        """The first column of the table."""
        room = ", furnished room" if self.renderer == "mujoco" else ""
        errors = [f"errors of {self.error:g}°"] * bool(self.error) + [f"offsets of {self.offset:g}°"] * bool(
            self.offset
        )
        angles = "angles of other images" if self.others else " and ".join(errors) or "true angles"
        focal = "" if self.intrinsics else "; focal length unknown"
        return f"{self.level}{room}; {self.images} images; {angles}{focal}"


CONDITIONS = (
    Condition(level="clean"),
    Condition(),
    Condition(level="harsh"),
    Condition(error=2.0),
    Condition(error=4.0),
    Condition(offset=4.0),
    Condition(images=100),
    Condition(images=30),
    Condition(intrinsics=False),
    Condition(intrinsics=False, error=4.0),
    Condition(renderer="mujoco"),
    Condition(others=True),
)


def camera_of(seed: int) -> Camera:
    """A camera at a random place around the arm."""
    rng = generator(seed, "hand-eye camera")
    fov, yaw, pitch, roll = (float(rng.uniform(*bounds)) for bounds in (FOV, YAW, PITCH, ROLL))
    x, y, z = (np.array(MIDDLE) + rng.uniform(-OFF, OFF, size=3)).tolist()
    distance = SHOWN / float(np.tan(np.radians(fov) / 2))
    return Camera(name=CAMERA, target=(x, y, z), distance=distance, yaw=yaw, pitch=pitch, roll=roll, fov=fov)


def true_camera(condition: Condition, seed: int) -> Pinhole:
    """The camera that the images show.

    PyBullet's renderer looks at corners of pixels of images of twice the side, so its images lie a quarter of a pixel
    right of and above those of the setting's camera.
    """
    camera = Pinhole.of(camera_of(seed), SIDE)
    off = {"pybullet": np.array([0.25, -0.25]), "mujoco": np.zeros(2)}[condition.renderer]
    intrinsics = camera.intrinsics.copy()
    intrinsics[:2, 2] += off
    return replace(camera, intrinsics=intrinsics)


def simulated(work: Path, condition: Condition, seed: int, images: int) -> Dataset:
    """The images of a seed at a level, with true angles; those that are there are not rendered again."""
    known: dict[str, Any] = {"requested_renderer": condition.renderer, "camera_level": condition.level}
    scenes: dict[RendererName, SceneName] = {"pybullet": "panda-gym", "mujoco": "room"}
    setting = replace(setting_named(SETTING), scene=scenes[condition.renderer], cameras=(camera_of(seed),), **known)
    anchors = -(-images // len(setting.splits["train"].regimes))
    out = work / f"{condition.renderer}-{condition.level}-{seed}"
    return simulate(setting, out=out, anchors=anchors, test_anchors=0, seed=seed, workers=1, progress=False)


def angles_of(condition: Condition, true: Floats, seed: int) -> Floats:
    """The angles (n, d) that the command gets for images at the true ones, radians."""
    rng, (count, joints) = generator(seed, "hand-eye angles"), true.shape
    if condition.others:
        return true[rng.permutation(count)]
    errors = condition.error * rng.normal(size=(count, joints)) + condition.offset * rng.normal(size=joints)
    return np.asarray(true + np.radians(errors))


def write_data(path: Path, source: Dataset, condition: Condition, seed: int) -> None:
    """The data set of a condition: some images of a simulated one, with the condition's angles."""
    frames = source.frames("train").index
    rows = evenly(len(frames), condition.images)
    (images,) = source.read_cameras(frames[rows])
    angles = angles_of(condition, source.states("train")[rows], seed)
    writer.write_arrays(
        path,
        images={"train": {CAMERA: images[:, None]}},
        states={"train": angles[:, None]},
        cameras=(CAMERA,),
        joints=source.joints,
        regimes=source.regimes,
    )
    kept = ("name", "intrinsics", "width", "height") if condition.intrinsics else ("name",)
    camera = {name: value for name, value in true_camera(condition, seed).to_record().items() if name in kept}
    robot = (source.provenance or {})["setting"]["robot"]
    note = files.read_json(path / schema.PROVENANCE)
    files.write_json(path / schema.PROVENANCE, {**note, "cameras": [camera], "robot": robot})

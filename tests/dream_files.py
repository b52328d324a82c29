"""Small folders in the layout of DREAM: a Panda drawn as lines between its keypoints."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from ropes.simulation.availability import locate
from ropes.simulation.kinematics import link_poses
from ropes.simulation.urdf import read_urdf

KEYPOINTS = tuple(f"panda_{part}" for part in ("link0", "link2", "link3", "link4", "link6", "link7", "hand"))
JOINTS = tuple(f"panda_joint{number}" for number in range(1, 8))
WIDTH, HEIGHT, FOCAL = 128, 96, 110.0
#: Pose of the Panda's base in the frame of a camera 1.6 m before it, metres.
CAMERA = np.array([[0.0, 1.0, 0.0, 0.1], [0.0, 0.0, -1.0, 0.4], [-1.0, 0.0, 0.0, 1.6], [0.0, 0.0, 0.0, 1.0]])


def angles(count: int, seed: int = 0) -> NDArray[np.float64]:
    """(count, 7) radians, a walk within the middle of the joints' ranges."""
    steps = np.random.default_rng(seed).normal(0, 0.3, (count, 7))
    return np.asarray(np.array([0, 0, 0, -1.8, 0, 1.8, 0]) + np.sin(np.cumsum(steps, axis=0)))


def keypoints(angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 7) radians → (n, 7, 3) metres in the frame of the base."""
    poses = link_poses(read_urdf(locate("franka_panda/panda.urdf")), JOINTS, angle, {})
    return np.stack([poses[name][:, :3, 3] for name in KEYPOINTS], axis=1)


def write(
    folder: Path,
    angle: NDArray[np.float64],
    cameras: NDArray[np.float64] | None = None,
    *,
    unit: float = 1.0,
    prefix: str = "",
) -> None:
    """Write a folder.

    Args:
        folder: to make.
        angle: (n, 7) radians.
        cameras: (n, 4, 4) pose of the base in the camera's frame; the same `CAMERA` for all frames if None.
        unit: metres of one unit of length.
        prefix: path before the joints' names.
    """
    folder.mkdir(parents=True)
    poses = np.broadcast_to(CAMERA, (len(angle), 4, 4)) if cameras is None else cameras
    seen = keypoints(angle) @ poses[:, :3, :3].swapaxes(1, 2) + poses[:, None, :3, 3]
    pixels = FOCAL * seen[:, :, :2] / seen[:, :, 2:] + np.array([WIDTH / 2, HEIGHT / 2])
    for number, (values, points, places) in enumerate(zip(angle, seen / unit, pixels, strict=True)):
        draw(folder / f"{number:06d}.rgb.jpg", places)
        write_json(folder / f"{number:06d}.json", labels(values, points, places, prefix))
    size = {"width": WIDTH, "height": HEIGHT}
    intrinsic = {"fx": FOCAL, "fy": FOCAL, "cx": WIDTH / 2, "cy": HEIGHT / 2, "s": 0, "hfov": 60, "resolution": size}
    settings = {"id": "", "name": "", "intrinsic_settings": intrinsic, "captured_image_size": size}
    write_json(folder / "_camera_settings.json", {"camera_settings": [settings]})


def labels(
    values: NDArray[np.float64], points: NDArray[np.float64], places: NDArray[np.float64], prefix: str = ""
) -> dict[str, Any]:
    """The labels of a frame, with the keys of DREAM's photographs."""
    found = [
        {"name": name, "location": point.tolist(), "projected_location": place.tolist()}
        for name, point, place in zip(KEYPOINTS, points, places, strict=True)
    ]
    robot = {"class": "panda", "visibility": 1, "location": found[0]["location"], "keypoints": found}
    joints = [{"name": f"{prefix}{name}", "position": value} for name, value in zip(JOINTS, values, strict=True)]
    joints.append({"name": f"{prefix}panda_finger_joint1", "position": 0.02})
    return {"objects": [robot], "sim_state": {"joints": joints}}


def draw(path: Path, places: NDArray[np.float64], size: tuple[int, int] = (WIDTH, HEIGHT)) -> None:
    """Draw an arm as lines through pixels (k, 2), on a wall that is lighter to the right."""
    wall = np.tile(np.linspace(120, 200, size[0]), (size[1], 1))
    picture = Image.fromarray(np.dstack([wall, wall, wall]).astype(np.uint8))
    lines = ImageDraw.Draw(picture)
    colours = ("red", "green", "blue", "black", "orange", "white")
    for k, colour in enumerate(colours):
        lines.line([tuple(places[k]), tuple(places[k + 1])], fill=colour, width=5)
    picture.save(path, quality=95)


def write_json(path: Path, content: object) -> None:
    """Write with tabs, as DREAM's files are."""
    path.write_text(json.dumps(content, indent="\t"), encoding="utf-8")

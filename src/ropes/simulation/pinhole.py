"""Pinhole cameras with known parameters, of simulated settings and of calibrated real cameras."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ropes.common.arrays import Floats
from ropes.common.files import read_json
from ropes.errors import UserError
from ropes.simulation.cameras import extrinsics, intrinsics
from ropes.simulation.settings import Camera

#: Largest difference of a rotation matrix times its transpose from the unit matrix.
_TURNED = 1e-3
_FIELDS = ("name", "intrinsics", "extrinsics", "width", "height")


@dataclass(frozen=True, kw_only=True, eq=False)
class Pinhole:
    """A camera without lens distortion.

    Attributes:
        name: of the camera.
        intrinsics: (3, 3) K in pixels; pixel (0, 0) is centred on (½, ½).
        extrinsics: (4, 4) pose of the arm's base frame in the camera's frame (x right, y down, z forward), metres.
        height: of the images, pixels.
        width: of the images, pixels.
    """

    name: str
    intrinsics: Floats
    extrinsics: Floats
    height: int
    width: int

    @classmethod
    def of(cls, camera: Camera, image_size: int) -> "Pinhole":
        """The camera of a setting, with square images of side `image_size`; the arm's base is the world's origin."""
        k, pose = intrinsics(camera, image_size), extrinsics(camera)
        return cls(name=camera.name, intrinsics=k, extrinsics=pose, height=image_size, width=image_size)

    @classmethod
    def from_record(cls, content: Mapping[str, Any]) -> "Pinhole":
        """A camera from a record of `meta/ropes.json`.

        Raises:
            KeyError, TypeError, ValueError: a field is missing or has another form.
        """
        name, intrinsics, extrinsics, width, height = (content[field] for field in _FIELDS)
        k, pose = np.array(intrinsics, dtype=np.float64), np.array(extrinsics, dtype=np.float64)
        if k.shape != (3, 3) or pose.shape != (4, 4) or not (np.isfinite(k).all() and np.isfinite(pose).all()):
            raise ValueError(f"camera {name}: intrinsics must be 3 by 3 and extrinsics 4 by 4 finite numbers")
        if int(width) < 1 or int(height) < 1:
            raise ValueError(f"camera {name}: width and height must be 1 or more")
        return cls(name=str(name), intrinsics=k, extrinsics=pose, height=int(height), width=int(width))

    def to_record(self) -> dict[str, Any]:
        """The record of `from_record`, as JSON can hold it."""
        matrices = {"intrinsics": self.intrinsics.tolist(), "extrinsics": self.extrinsics.tolist()}
        return {"name": self.name, **matrices, "width": self.width, "height": self.height}

    def to_camera(self) -> Camera:
        """The camera of a setting that renders this camera's images.

        Raises:
            ValueError: the images are no squares, the axes of pixels are not at right angles, or the extrinsics are no
                rotation and shift.
        """
        k, turn = self.intrinsics, self.extrinsics[:3, :3]
        if self.width != self.height:
            raise ValueError(
                f"its images have {self.width}×{self.height} pixels, and squares are rendered; crop the photographs "
                "to squares (ropes import --crop) and give the file of the new data set"
            )
        if not (k[0, 0] > 0 and k[1, 1] > 0) or np.abs([k[0, 1], k[1, 0], *k[2, :2], k[2, 2] - 1]).max() > 1e-6:
            raise ValueError("its intrinsics are not [[fx, 0, cx], [0, fy, cy], [0, 0, 1]]")
        if np.abs(turn @ turn.T - np.eye(3)).max() > _TURNED or np.linalg.det(turn) < 0:
            raise ValueError("its extrinsics are not a rotation and a shift")
        right, down, forward = turn
        yaw, pitch, roll = _angles(np.stack([right, forward, -down], axis=1))
        place = self.place
        # The depth of the arm's base; only the size of MuJoCo's room depends on it.
        distance = float(self.extrinsics[2, 3]) if self.extrinsics[2, 3] > 0 else float(np.linalg.norm(place)) or 1.0
        x, y, z = (place + distance * forward).tolist()
        return Camera(
            name=self.name,
            target=(x, y, z),
            distance=distance,
            yaw=yaw,
            pitch=pitch,
            roll=roll,
            fov=float(np.degrees(2 * np.arctan(self.height / 2 / k[1, 1]))),
            centre=(float(k[0, 2] / self.width - 0.5), float(k[1, 2] / self.height - 0.5)),
            stretch=float(k[0, 0] / k[1, 1]),
        )

    @property
    def place(self) -> Floats:
        """Where the camera is in the base frame, (3,) metres."""
        return np.asarray(-self.extrinsics[:3, :3].T @ self.extrinsics[:3, 3])

    def resized(self, height: int, width: int) -> "Pinhole":
        """The same camera with images of another size."""
        scale = np.diag([width / self.width, height / self.height, 1.0])
        return replace(self, intrinsics=scale @ self.intrinsics, height=height, width=width)

    def project(self, points: Floats) -> tuple[Floats, Floats]:
        """Points (n, 3) of the base frame → pixels (n, 2), x right and y down, and depths (n,) in metres.

        Pixels of points behind the camera have no meaning.
        """
        seen = points @ self.extrinsics[:3, :3].T + self.extrinsics[:3, 3]
        depth = seen[:, 2]
        pixels = (seen @ self.intrinsics.T)[:, :2] / np.where(np.abs(depth) < 1e-9, 1e-9, depth)[:, None]
        return pixels, depth


def read_pinholes(path: Path) -> dict[str, Pinhole]:
    """Cameras by name from a JSON file `{"cameras": [...]}`, as `meta/ropes.json` of a simulated data set.

    Raises:
        UserError: the file is missing or no JSON, or a camera lacks a field.
    """
    content = read_json(path)
    try:
        found = [Pinhole.from_record(record) for record in content["cameras"]]
    except (KeyError, TypeError, ValueError) as error:
        form = f'{{"cameras": [{{{", ".join(_FIELDS)}}}]}}'
        raise UserError(f"{path} does not describe cameras ({error}); its form is {form}") from error
    return {camera.name: camera for camera in found}


def read_cameras(path: Path) -> tuple[tuple[Camera, ...], int]:
    """The cameras of such a file as cameras of a setting, and the side of their images, pixels.

    Raises:
        UserError: see `read_pinholes`; or there is no camera, two have one name or images of different sizes, or a
            camera cannot be rendered, see `Pinhole.to_camera`.
    """
    found = read_pinholes(path)
    if not found:
        raise UserError(f"{path} has no cameras")
    cameras = []
    for camera in found.values():
        try:
            cameras.append(camera.to_camera())
        except ValueError as error:
            raise UserError(f"{path}: camera {camera.name}: {error}") from error
    sides = {camera.name: camera.width for camera in found.values()}
    if len(set(sides.values())) > 1:
        sizes = ", ".join(f"{name} {side}×{side}" for name, side in sides.items())
        raise UserError(
            f"{path}: cameras have images of different sizes ({sizes}); give --image-size to all in the import"
        )
    return tuple(cameras), next(iter(sides.values()))


def _angles(turn: Floats) -> tuple[float, float, float]:
    """Yaw, pitch and roll in degrees of a rotation (3, 3), see `ropes.simulation.cameras.axes`."""
    level = float(np.hypot(turn[0, 0], turn[1, 0]))
    roll = np.arctan2(-turn[2, 0], level)
    if level > 1e-9:
        yaw, pitch = np.arctan2(turn[1, 0], turn[0, 0]), np.arctan2(turn[2, 1], turn[2, 2])
    else:  # rolled by 90 degrees, yaw and pitch turn about one axis
        yaw, pitch = np.arctan2(-turn[0, 1], turn[1, 1]), 0.0
    return float(np.degrees(yaw)), float(np.degrees(pitch)), float(np.degrees(roll))

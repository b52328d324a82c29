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

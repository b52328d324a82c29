"""The parameters of a camera while it is fitted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.transform import Rotation

from ropes.common.arrays import Floats
from ropes.simulation.pinhole import Pinhole

#: Steps of the finite differences of each parameter, see `Candidate.moved`.
STEPS: Floats = np.array([0.01, 0.01, 0.01, 0.004, 0.004, 0.01, 0.05])
#: Largest change of each parameter in one step of a fit.
LARGEST: Floats = np.array([0.3, 0.3, 0.3, 0.2, 0.2, 0.3, 0.3])
#: Smallest and largest focal length, in units of the image's longer side: fields of view of 127 and 11 degrees.
SHORTEST, LONGEST = 0.25, 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidate:
    """A pinhole camera that sees a point near the middle of the arm.  Lengths in images are shares of the longer side.

    Attributes:
        rotation: (3, 3) from the base frame to the camera's (x right, y down, z forward).
        middle: (3,) the point, in the base frame, metres.
        at: (2,) where the image shows it, from the principal point.
        depth: of the point, metres.
        focal: (2,) focal lengths across and down.
        principal: (2,) the principal point, from the image's top left corner.
        size: height and width of the image, of which one is 1.
    """

    rotation: Floats
    middle: Floats
    at: Floats
    depth: float
    focal: Floats
    principal: Floats
    size: tuple[float, float]

    @property
    def translation(self) -> Floats:
        """Origin of the base frame in the camera's frame, (3,) metres."""
        seen = self.depth * np.append(self.at / self.focal, 1.0)
        return np.asarray(seen - self.rotation @ self.middle)

    @property
    def eye(self) -> Floats:
        """The camera in the base frame, (3,) metres."""
        return np.asarray(-self.rotation.T @ self.translation)

    def moved(self, step: Sequence[float] | Floats) -> "Candidate":
        """A view that differs by a rotation vector (3), by `at` (2), and by the logarithms of depth and focal length.

        The depth grows with the focal length, so that the size of the middle of the arm in the image stays.  Without
        the last number the focal length stays.
        """
        focal = self.focal * np.exp(step[6]) if len(step) > 6 else self.focal
        focal = focal * np.clip(float(focal.max()), SHORTEST, LONGEST) / float(focal.max())
        return replace(
            self,
            rotation=Rotation.from_rotvec(step[:3]).as_matrix() @ self.rotation,
            at=self.at + np.asarray(step[3:5]),
            depth=float(self.depth * np.exp(step[5]) * focal.max() / self.focal.max()),
            focal=focal,
        )

    def pinhole(self, name: str, height: int, width: int) -> Pinhole:
        """The camera with images of this height and width, pixels."""
        across, down = width / self.size[1], height / self.size[0]
        k = np.array([
            [across * self.focal[0], 0.0, across * self.principal[0]],
            [0.0, down * self.focal[1], down * self.principal[1]],
            [0.0, 0.0, 1.0],
        ])  # fmt: skip
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.rotation, self.translation
        return Pinhole(name=name, intrinsics=k, extrinsics=pose, height=height, width=width)

"""Calibrations of cameras: read from a recording, and adapted to the images that are stored."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ropes.common.arrays import Floats
from ropes.data.recordings.views import View
from ropes.simulation.pinhole import Pinhole

#: From ROS, where the first pixel is centred on (0, 0), to data sets, where it is centred on (½, ½).
_TO_CORNER = np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
#: A rotation of the camera's axes by 90 degrees clockwise: (x, y) becomes (−y, x).
_TURN = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a sensor_msgs/CameraInfo says of a camera.

    Attributes:
        width, height: of the calibrated images, pixels.
        matrix: the pinhole matrix K, or that of rectified images, as rows of (3, 3); pixel (0, 0) is centred on (0, 0).
        model: name of the distortion's model.
        distortion: its coefficients; none for rectified images.
    """

    width: int
    height: int
    matrix: tuple[tuple[float, ...], ...]
    model: str
    distortion: tuple[float, ...]

    def to_dict(self) -> dict[str, object]:
        """A JSON-able description."""
        return {
            "width": self.width,
            "height": self.height,
            "matrix": [list(row) for row in self.matrix],
            "model": self.model,
            "distortion": list(self.distortion),
        }


def read_calibration(messages: Iterable[object], *, rectified: bool) -> Calibration | None:
    """The calibration that all messages of a topic agree on; None where they differ or say nothing.

    Args:
        messages: of type sensor_msgs/CameraInfo, of ROS 1 or 2.
        rectified: the images are rectified, so that the projection matrix P holds.
    """
    found = {_calibration(message, rectified) for message in messages}
    return found.pop() if len(found) == 1 else None


def _calibration(message: object, rectified: bool) -> Calibration | None:
    values = np.asarray(_field(message, "p" if rectified else "k"), dtype=np.float64).reshape(3, -1)[:, :3]
    binned = max(int(getattr(message, "binning_x", 0)), int(getattr(message, "binning_y", 0))) > 1
    if binned or not np.isfinite(values).all() or not (values[0, 0] > 0 and values[1, 1] > 0):
        return None
    distortion = () if rectified else tuple(np.asarray(_field(message, "d"), dtype=np.float64).tolist())
    return Calibration(
        width=int(getattr(message, "width", 0)),
        height=int(getattr(message, "height", 0)),
        matrix=tuple(tuple(row) for row in values.tolist()),
        model="" if rectified else str(getattr(message, "distortion_model", "")),
        distortion=distortion,
    )


def _field(message: object, name: str) -> object:
    """A field by its name in ROS 2, which is in capitals in ROS 1."""
    value: object = getattr(message, name if hasattr(message, name) else name.upper())
    return value


def intrinsics(calibration: Calibration, view: View, size: tuple[int, int]) -> Floats | None:
    """The pinhole matrix (3, 3) of a stored image, in pixels; pixel (0, 0) is centred on (½, ½).

    Distortion is left out.

    Args:
        calibration: of the camera.
        view: what happens to its images.
        size: height and width of an image of the recording, pixels.

    Returns:
        None where the calibration is of images of another size.
    """
    if (calibration.height, calibration.width) != size:
        return None
    return _of_stored(_TO_CORNER @ np.array(calibration.matrix), view, size)[0]


def stored_camera(camera: Pinhole, view: View) -> Pinhole:
    """The camera of the stored images: turned, cropped and resized as a view does its images."""
    matrix, (height, width) = _of_stored(camera.intrinsics, view, (camera.height, camera.width))
    turn = np.eye(4)
    turn[:3, :3] = np.linalg.matrix_power(_TURN, view.rotate // 90)
    pose = turn @ camera.extrinsics
    return Pinhole(name=camera.name, intrinsics=matrix, extrinsics=pose, height=height, width=width)


def _of_stored(matrix: Floats, view: View, size: tuple[int, int]) -> tuple[Floats, tuple[int, int]]:
    """The pinhole matrix, height and width of stored images, from those of the camera's own images.

    A rotation by 90 degrees clockwise takes (x, y) to (height − y, x).
    """
    height, width = size
    for _ in range(view.rotate // 90):
        moved = np.array([[0.0, -1.0, height], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        matrix, height, width = moved @ matrix @ _TURN.T, width, height
    if view.crop is not None:
        left, top, width, height = view.crop
        matrix = np.array([[1.0, 0.0, -left], [0.0, 1.0, -top], [0.0, 0.0, 1.0]]) @ matrix
    down, across = view.stored_size(height, width)
    scaled: Floats = np.diag([across / width, down / height, 1.0]) @ matrix
    return scaled, (down, across)

"""An arm as real cameras record it: rendered by PyBullet, then degraded by the camera model."""

from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.simulation.camera_model import CameraModel
from ropes.simulation.scene import Scene


class CameraScene:
    """A context manager that renders frames of recordings.

    A state is a pose followed by two numbers: the index of its recording, and the index of its frame in the recording.
    A frame therefore has the same bytes in whatever order, and in however many processes, frames are rendered.

    Args:
        start: creates the scene.
        level: name of a camera level, see `ropes.simulation.camera_levels.LEVELS`.
        recordings: name and number of frames of each recording.
        seed: of the camera model.

    Raises:
        UserError: see `ropes.simulation.scene.Scene`, or no such level.
    """

    def __init__(
        self, start: Callable[[], Scene], level: str, recordings: Sequence[tuple[str, int]], seed: int
    ) -> None:
        self._scene = start()
        shape, cameras = (self._scene.image_size,) * 2, self._scene.cameras
        self._models = [
            [
                CameraModel(level, shape, max(frames, 1), seed=seed, camera=camera.name, recording=name)
                for camera in cameras
            ]
            for name, frames in recordings
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._scene.close()

    def render_all(self, states: ArrayLike) -> Iterator[NDArray[np.uint8]]:
        """Render states (n, joints + 2) in turn: for each the images of all cameras, uint8 (cameras, S, S).

        Raises:
            UserError: see `ropes.simulation.scene.check_poses`.
        """
        values = np.asarray(states, dtype=np.float64)
        rendered = self._scene.render_with_arms(values[:, :-2])
        for (recording, frame), (images, arms) in zip(values[:, -2:].astype(int).tolist(), rendered, strict=True):
            views = zip(self._models[recording], images, arms, strict=True)
            yield np.stack([model(image, frame, arm) for model, image, arm in views])

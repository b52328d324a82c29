"""An arm as real cameras record it: rendered, then degraded by the camera model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.simulation.camera_model import CameraModel
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.scene import ArmScene


@dataclass(frozen=True)
class Recordings:
    """Faults of real cameras: their level, name and number of frames of each recording, and the seed."""

    level: str
    frames: tuple[tuple[str, int], ...]
    seed: int


class CameraScene(ClosesAtExit):
    """A context manager that renders frames of recordings.

    A state is a pose followed by two numbers: the index of its recording, and the index of its frame in the recording.
    A frame therefore has the same bytes in whatever order, and in however many processes, frames are rendered.

    Args:
        start: creates the scene.
        recordings: the cameras' faults and the lengths of the recordings.

    Raises:
        UserError: see `ropes.simulation.scene.Scene`, or no such level.
    """

    def __init__(self, start: Callable[[], ArmScene], recordings: Recordings) -> None:
        self._scene = start()
        shape = (self._scene.image_size,) * 2 + ((3,) if self._scene.colour else ())
        model = partial(CameraModel, recordings.level, shape, seed=recordings.seed)
        self._models = [
            [model(max(frames, 1), camera=each.name, recording=name) for each in self._scene.cameras]
            for name, frames in recordings.frames
        ]

    def close(self) -> None:
        """Close the scene; a second call does nothing."""
        self._scene.close()

    def render_all(self, states: ArrayLike) -> Iterator[NDArray[np.uint8]]:
        """Render states (n, joints + 2) in turn: for each the images of all cameras, uint8 (cameras, S, S[, 3]).

        Raises:
            UserError: see `ropes.simulation.scene.check_poses`.
        """
        values = np.asarray(states, dtype=np.float64)
        rendered = self._scene.render_with_arms(values[:, :-2])
        for (recording, frame), (images, arms) in zip(values[:, -2:].astype(int).tolist(), rendered, strict=True):
            views = zip(self._models[recording], images, arms, strict=True)
            yield np.stack([model(image, frame, arm) for model, image, arm in views])

"""How a camera's mount creeps during a recording: evenly, along a line, and about the line of sight."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ropes.common.arrays import Floats
from ropes.simulation.camera_levels import CameraLevel


@dataclass(frozen=True, eq=False)
class Creep:
    """Shift of the mount down and to the right, shares of the image's height, and its rotation, radians.

    Attributes:
        start: at the first frame, (3,).
        way: from the first frame to the last one, (3,).
        frames: length of the recording.
    """

    start: Floats
    way: Floats
    frames: int

    @classmethod
    def draw(cls, level: CameraLevel, frames: int, rng: np.random.Generator, start: Floats | None = None) -> Self:
        """Draw the way; `start` is where the mount was before the first frame, 0 for None."""
        way = [*(level.creep * rng.normal(size=2)), math.radians(level.turn) * rng.normal()]
        return cls(np.zeros(3) if start is None else start, np.array(way), frames)

    @property
    def end(self) -> Floats:
        """At the last frame, (3,)."""
        return self.start + self.way

    def at_frames(self) -> Floats:
        """At each frame, (frames, 3)."""
        return self.start + self.way * np.linspace(0, 1, self.frames)[:, None]

    def part(self, first: int, frames: int) -> "Creep":
        """The creep of `frames` frames of the recording, from frame `first` on."""
        a_frame = self.way / max(1, self.frames - 1)
        return Creep(self.start + first * a_frame, (frames - 1) * a_frame, frames)

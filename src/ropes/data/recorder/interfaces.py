"""The interfaces of a robot, a camera and a clock.

A *kind* of robot makes a `Robot`.  Other packages add kinds by the entry point `ropes.robots`, see
`ropes.data.recorder.registry`.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping

from ropes.common.arrays import Floats, Images
from ropes.simulation.pinhole import Pinhole


class Clock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since some fixed time."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class Robot(ABC):
    """An arm that moves on command.

    Angles are in radians (metres of a prismatic joint), in the order of `joints`.  A method raises any exception where
    the robot does not answer.

    Attributes:
        joints: names of the joints that are commanded.
        clock: the time in which the robot moves.
        watching: whether `move_to` returns when the arm arrives, and checks on the way that it follows.
    """

    joints: tuple[str, ...]
    clock: Clock = Clock()
    watching: bool = False

    @abstractmethod
    def positions(self) -> Floats | None:
        """Angles that the encoders read now, (joints,); None if the robot has no encoders."""

    @abstractmethod
    def move_to(self, positions: Floats, speed: Floats) -> None:
        """Move on a straight line in joint space; return at once or when the arm arrives.

        Args:
            positions: the goal, (joints,).
            speed: largest speed of each joint, (joints,) rad/s or m/s.
        """

    @abstractmethod
    def stop(self) -> None:
        """Stop the arm where it is; called after every fault and interrupt, also when the arm stands still."""

    def others(self) -> Mapping[str, float]:
        """Where the joints stand that are not commanded, by name, radians; none unless a kind knows."""
        return {}

    def cameras(self) -> Mapping[str, "Camera"]:
        """The robot's own cameras by name; none unless a kind has some."""
        return {}

    def close(self) -> None:
        """Disconnect; called once, after `stop`."""
        return


class Camera(ABC):
    """A camera that gives one image after the other.

    Attributes:
        interruptions: how often the device was opened again; its exposure may differ from before.
    """

    interruptions: int = 0

    @abstractmethod
    def frame(self) -> Images:
        """Wait for the next frame and return it, uint8 (H, W) or in RGB (H, W, 3), always of the same shape.

        Raises:
            Exception: the camera does not answer.
        """

    def skip(self, clock: Clock) -> None:
        """Wait for the next frame and drop it; `clock` is the robot's."""
        self.frame()

    def pinhole(self) -> Pinhole | None:
        """Parameters of the camera whose images `frame` gives, in the arm's base frame; None unless they are known."""
        return None

    def close(self) -> None:
        """Release the camera."""
        return

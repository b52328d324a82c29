"""Waits until the arm stands still, and takes one frame of each camera.

The arm stands still if its encoders say so, and if two successive frames of each camera are equal up to the camera's
noise.  The noise is measured before the first move, and again in each pose.
"""

import itertools
import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats, Images
from ropes.data.recorder.interfaces import Camera, Robot
from ropes.data.recorder.travel import OFF, travel_time
from ropes.data.recorder.watching import MoveWatch
from ropes.data.recordings.dwells import CHANGE
from ropes.data.recordings.survey import as_grey, block_means, motion
from ropes.errors import UserError

T = TypeVar("T")
#: Seconds between two looks at the encoders; largest change between them of a joint that stands still, radians.
_POLL, _STILL = 0.05, 0.003
#: Looks in a row that must show no change.
_LOOKS = 3
#: Seconds that a move may take beyond its time, and share of its time.
_LATE, _SLOWER = 5.0, 1.0
#: Seconds for which frames may change after the arm stands still.
_PATIENCE = 5.0
#: Frames by which the noise is measured at first, and pairs of frames that count later on.
_NOISE_FRAMES, _RECENT = 16, 100
#: Quantile of the motion between them that is noise: in other frames somebody may pass.
_QUIET = 0.25
#: Seconds of a move above which a robot that returns when the arm arrives is told apart.
_SEEN = 0.5


@dataclass(frozen=True, kw_only=True)
class Settling:
    """How to decide that the arm stands still.

    Attributes:
        tolerance: largest distance of a joint from its goal, radians.
        settle: seconds for which frames are dropped after the arm stands still: the delay of the cameras, or more.
    """

    tolerance: float = 0.05
    settle: float = 0.3

    @property
    def off(self) -> float:
        """Largest distance of a joint from the straight line of a move, radians."""
        return max(OFF, self.tolerance)


class Noise:
    """How still frames of a camera differ.

    Args:
        motions: between successive frames of a still arm, see `survey.motion`.
        pixel: standard deviation of a pixel, grey levels.
    """

    def __init__(self, motions: Iterable[float], pixel: float) -> None:
        self._motions, self.pixel = deque(motions, maxlen=_RECENT), pixel

    def add(self, motion: float) -> None:
        """Count the two most similar successive frames of a pose."""
        self._motions.append(motion)

    @property
    def moved(self) -> float:
        """Motion above which the arm moves."""
        return 2 * float(np.quantile(self._motions, _QUIET)) + CHANGE


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What was taken in one pose.

    Attributes:
        frames: of each camera.
        positions: what the encoders read, (joints,) radians; None without encoders.
        still: whether successive frames were equal; otherwise somebody moves in the picture.
        seconds: from the command to the last frame.
    """

    frames: dict[str, Images]
    positions: Floats | None
    still: bool
    seconds: float


def asked(what: str, answer: Callable[[], T]) -> T:
    """Ask a robot or a camera.

    Raises:
        UserError: it does not answer, or its code fails.
    """
    try:
        return answer()
    except UserError:
        raise
    except Exception as error:  # drivers raise whatever they like
        failed = "does not answer" if isinstance(error, OSError) else "failed"  # timeouts are OSErrors
        detail = " ".join(str(error).split()) or "no message"
        raise UserError(f"{what} {failed}: {type(error).__name__}: {detail}") from error


def grey(image: Images) -> NDArray[np.float32]:
    """Means of blocks of the grey image, see `survey.block_means`."""
    return block_means(as_grey(image))


def measure_noise(name: str, camera: Camera) -> Noise:
    """Compare frames while the arm stands still.

    Raises:
        UserError: the camera does not answer, or the size of its images changes.
    """
    frames = [take(name, camera, None)]
    frames += [take(name, camera, frames[0].shape) for _ in range(_NOISE_FRAMES - 1)]
    pairs = list(itertools.pairwise(frames))
    differences = [np.abs(one.astype(np.int16) - other) for one, other in pairs]
    return Noise(
        motions=[motion(grey(one), grey(other)) for one, other in pairs],
        pixel=float(np.quantile([difference.mean() for difference in differences], _QUIET) * np.sqrt(np.pi) / 2),
    )


def take(name: str, camera: Camera, shape: tuple[int, ...] | None) -> Images:
    """The next frame of a camera.

    Raises:
        UserError: the camera does not answer, or gives another shape or type.
    """
    image = asked(f"camera {name}", camera.frame)
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim not in (2, 3):
        raise UserError(f"camera {name} gives no image of uint8 (height, width) or (height, width, 3)")
    if image.ndim == 3 and image.shape[2] != 3:
        raise UserError(f"camera {name} gives images of {image.shape[2]} channels; give grey or RGB ones")
    if shape is not None and image.shape != shape:
        raise UserError(f"camera {name} gives images of {image.shape}, and gave {shape} before; was it unplugged?")
    return image


class Poser:
    """Brings an arm to poses and takes frames.

    Args:
        robot: the arm.
        cameras: by name.
        noise: of each camera.
        shapes: of the images of each camera.
        speed: largest speed of each joint, (joints,) rad/s.
        ranges: lowest and highest angles, (joints,) each.
        settling: how to decide that the arm stands still.
    """

    def __init__(
        self,
        robot: Robot,
        cameras: Mapping[str, Camera],
        noise: Mapping[str, Noise],
        shapes: Mapping[str, tuple[int, ...]],
        speed: Floats,
        ranges: tuple[Floats, Floats],
        settling: Settling,
    ) -> None:
        self._robot, self._cameras, self._noise, self._shapes = robot, cameras, noise, shapes
        self._speed, self._ranges, self._settling = speed, ranges, settling
        self._here: Floats | None = None
        self._told = False

    def take(self, goal: Floats, via: Sequence[Floats] = ()) -> Taken:
        """Move to a pose (joints,) in radians, wait until the arm stands still, and take the frames.

        Args:
            goal: the pose.
            via: poses on the way.

        Raises:
            UserError: the robot or a camera does not answer, or the arm does not arrive.
        """
        clock, began = self._robot.clock, self._robot.clock.now()
        for pose in (*via, goal):
            self.move(pose)
        frames, still = self._still_frames()
        positions = read_positions(self._robot)
        return Taken(frames=frames, positions=positions, still=still, seconds=clock.now() - began)

    def move(self, goal: Floats) -> None:
        """Move to a pose (joints,) in radians, wait until the arm is there, and take no frame.

        Raises:
            UserError: the robot does not answer, or the arm does not arrive.
        """
        robot, clock, began = self._robot, self._robot.clock, self._robot.clock.now()
        before = read_positions(robot)
        here = self._here if before is None else before
        if here is None:  # the farthest place within the ranges
            low, high = self._ranges
            here = np.where(goal - low > high - goal, low, high)
        expected = float(travel_time(here, goal, self._speed))
        commanded = clock.now()
        asked("the robot", lambda: robot.move_to(goal, self._speed))
        self._here = goal
        if before is None:  # without encoders, time and frames alone tell
            clock.sleep(max(0.0, began + expected - clock.now()))
            return
        self._tell_blocking(clock.now() - commanded, expected)
        off, names = self._settling.off, robot.joints
        watch = MoveWatch(names, self._ranges, self._speed, off, start=here, goal=goal, began=commanded)
        # A robot may return when the arm arrives: only then the time for the looks begins.
        deadline, looks = clock.now() + expected * (1 + _SLOWER) + _LATE, 0
        while looks < _LOOKS:
            clock.sleep(_POLL)
            called = clock.now()
            now = read_positions(robot)
            assert now is not None
            watch.check(now, called, clock.now())
            near = bool((np.abs(now - goal) <= self._settling.tolerance).all())
            looks = looks + 1 if near and float(np.abs(now - before).max()) <= _STILL else 0
            before = now
            if clock.now() > deadline:
                if near:  # the encoders are noisy; the frames tell whether it stands still
                    return
                raise self._late(here, now, goal)

    def _tell_blocking(self, seconds: float, expected: float) -> None:
        """Print once that nobody watches the arm on its way, where the robot returns when the arm arrives."""
        if not self._robot.watching and not self._told and expected > _SEEN and seconds > expected / 2:
            self._told = True
            line = "move_to of the robot returns when the arm arrives: nothing checks its limits on the way"
            print(f"{line}; see docs/recording.md#kinds-of-robots", file=sys.stderr, flush=True)

    def _late(self, start: Floats, now: Floats, goal: Floats) -> UserError:
        joint = int(np.abs(now - goal).argmax())
        place = f"joint {self._robot.joints[joint]} is at {now[joint]:.3f}, not at {goal[joint]:.3f}"
        if float(np.abs(now - start).max()) <= _STILL:
            enabled = "is the arm enabled, and does its controller take goals of these joints alone?"
            return UserError(f"the robot does not move: {place}; {enabled}")
        return UserError(f"the robot does not arrive: {place}; free the arm, or give a larger --tolerance")

    def _still_frames(self) -> tuple[dict[str, Images], bool]:
        """One frame of each camera, and whether each equals the one before it."""
        clock = self._robot.clock
        settled = clock.now() + self._settling.settle
        while clock.now() < settled:  # in turn, so that as many frames of each camera are dropped
            for name, camera in self._cameras.items():
                asked(f"camera {name}", partial(camera.skip, clock))
        before, deadline = self._frames(), clock.now() + _PATIENCE
        least = dict.fromkeys(before, np.inf)
        while True:
            after = self._frames()
            changes = {name: motion(grey(before[name]), grey(after[name])) for name in after}
            still = all(change <= self._noise[name].moved for name, change in changes.items())
            least = {name: min(least[name], change) for name, change in changes.items()}
            if still or clock.now() > deadline:
                for name, change in least.items():
                    self._noise[name].add(change)
                return after, still
            before = after

    def _frames(self) -> dict[str, Images]:
        return {name: take(name, camera, self._shapes[name]) for name, camera in self._cameras.items()}


def read_positions(robot: Robot) -> Floats | None:
    """What the encoders read, (joints,) radians; None without encoders.

    Raises:
        UserError: the robot does not answer, or gives no finite angles.
    """
    positions = asked("the robot", robot.positions)
    if positions is None:
        return None
    values = np.asarray(positions, dtype=np.float64)
    if values.shape != (len(robot.joints),) or not np.isfinite(values).all():
        raise UserError(f"the robot gives {values.tolist()}, not {len(robot.joints)} finite angles in radians")
    return values

"""A robot without physics and cameras that draw it, with a clock of their own: what may go wrong is told to them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ropes.common.arrays import Floats, Images
from ropes.data.recorder.interfaces import Camera, Clock, Robot
from ropes.data.recorder.record import RecordOptions, record_data
from ropes.data.recorder.registry import RobotRequest
from ropes.data.recorder.travel import progress_at, travel_time
from ropes.simulation.pinhole import Pinhole
from tests import tiny


class HandClock(Clock):
    """Time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.time = 100.0

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += max(0.0, seconds)


@dataclass
class ScriptedRobot(Robot):
    """An arm that moves as it should, unless told otherwise.

    Attributes:
        encoders: whether it reads its positions.
        stuck: joint 0 goes no farther than this.
        fault: called before every answer.
        stops: how often it was stopped.
        latency: seconds from a command to the motion.
        jitter: noise of the encoders, radians: every other reading is this much farther from zero.
        read: what the encoders read.
    """

    joints: tuple[str, ...] = tiny.JOINTS
    encoders: bool = True
    stuck: float = np.inf
    fault: Callable[[], None] = lambda: None
    stops: int = 0
    goals: list[Floats] = field(default_factory=list)
    latency: float = 0.0
    jitter: float = 0.0
    read: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock: HandClock = HandClock()
        self._start = self._goal = np.zeros(len(self.joints))
        self._began = self._total = 0.0

    def start_at(self, place: Floats) -> None:
        """Stand there, as an arm at rest when it is switched on."""
        self._start = self._goal = place

    def at(self, time: float) -> Floats:
        place = self._start + progress_at(max(0.0, time - self._began), self._total) * (self._goal - self._start)
        return np.minimum(place, [self.stuck, *[np.inf] * (len(self.joints) - 1)])

    def positions(self) -> Floats | None:
        self.fault()
        if not self.encoders:
            return None
        place = self.at(self.clock.now())
        self.read.append(place + self.jitter * (len(self.read) % 2) * np.sign(place))
        return self.read[-1]

    def move_to(self, positions: Floats, speed: Floats) -> None:
        self.fault()
        self._start, self._began = self.at(self.clock.now()), self.clock.now() + self.latency
        self._goal, self._total = positions, float(travel_time(self._start, positions, speed))
        self.goals.append(positions)

    def stop(self) -> None:
        self.stops += 1


@dataclass
class DrawnCamera(Camera):
    """Sees two blobs, of the two joints, some time late.

    Attributes:
        robot: what it sees.
        delay: seconds.
        change: what happens to a frame, by its number.
        known: its parameters.
        backdrop: what is behind the blobs; None for nothing.
    """

    robot: ScriptedRobot
    delay: float = 0.0
    change: Callable[[Images, int], Images] = lambda image, number: image
    known: Pinhole | None = None
    backdrop: Images | None = None
    frames: int = 0
    closed: bool = False

    def frame(self) -> Images:
        self.robot.clock.sleep(1 / 30)
        self.frames += 1
        image = tiny.draw(self.robot.at(self.robot.clock.now() - self.delay), 32)[0]
        return self.change(np.maximum(image, 20 if self.backdrop is None else self.backdrop), self.frames)

    def pinhole(self) -> Pinhole | None:
        return self.known

    def close(self) -> None:
        self.closed = True


class ScriptedKind:
    """A kind of robot whose arm and camera do as they are told."""

    def __init__(self) -> None:
        self.robots: list[ScriptedRobot] = []
        self.requests: list[RobotRequest] = []
        self.cameras: list[DrawnCamera] = []
        self.fault: Callable[[int], None] = lambda number: None
        self.change: Callable[[Images, int], Images] = lambda image, number: image
        self.backdrops: dict[str, Images | None] = {"cam": None}
        self.known: Pinhole | None = None
        self.robot: dict[str, Any] = {}

    def __call__(self, request: RobotRequest) -> Robot:
        kind = self

        class Told(ScriptedRobot):
            def cameras(self) -> dict[str, Camera]:
                made = {
                    name: DrawnCamera(self, change=kind.change, known=kind.known, backdrop=backdrop)
                    for name, backdrop in kind.backdrops.items()
                }
                kind.cameras += made.values()
                return dict(made)

        robot = Told(joints=request.joints, **self.robot)
        robot.fault = lambda: self.fault(len(robot.goals))
        self.robots.append(robot)
        self.requests.append(request)
        return robot


def record(options: RecordOptions, out: Path) -> list[str]:
    """Record, and give the lines that are printed."""
    lines: list[str] = []
    record_data(options, out, say=lines.append, progress=False)
    return lines

"""Steps an arm: gravity, motors, and a delay between a command and its effect."""

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np

from ropes.common.arrays import Floats
from ropes.simulation.availability import locate
from ropes.simulation.context import ClosesAtExit
from ropes.simulation.physics import RATE, motors
from ropes.simulation.settings import Robot
from ropes.simulation.urdf import read_urdf

#: Seconds for which past positions are kept.
_MEMORY = 1.0
#: Time → target of each joint, (joints,) radians.
Target = Callable[[float], Floats]


class MovingArm(ClosesAtExit):
    """A context manager with an arm under gravity, whose motors follow a target.

    Links do not collide here; `ropes.simulation.collisions` checks a plan before the arm moves.

    Args:
        robot: the arm.
        joints: order of the angles in targets and positions; all other joints are held at their neutral values, or
            follow the joint that they mimic.
        start: first positions, (joints,) radians.
        delay: seconds between a command and its effect.

    Raises:
        UserError: a file is missing or not a URDF, or there is no such joint.
    """

    def __init__(self, robot: Robot, joints: Sequence[str], start: Floats, *, delay: float = 0.0) -> None:
        self.joints, self._delay = tuple(joints), delay
        self._urdf, self._neutral = read_urdf(locate(robot.urdf)), robot.neutral
        for name in self.joints:
            self._urdf.joint(name)
        self._order = (*self.joints, *(name for name in self._urdf.moving if name not in self.joints))
        rest = self._complete(start)
        self._motors = motors(self._urdf, self._order, rest)
        self._shown = [self._order.index(name) for name in robot.joints]
        self._steps = 0
        self._commands: deque[tuple[float, Target]] = deque([(0.0, lambda now: start)])
        self._past: deque[Floats] = deque([rest], maxlen=round(_MEMORY * RATE))

    @property
    def now(self) -> float:
        """Simulated seconds since the start."""
        return self._steps / RATE

    def follow(self, target: Target) -> None:
        """Follow a target, which is a function of the time of `now`, after the delay."""
        self._commands.append((self.now + self._delay, target))

    def hold(self) -> None:
        """Stay where the arm is, at once: what an emergency stop does."""
        here = self.positions
        self._commands = deque([(self.now, lambda now: here)])

    def advance(self, seconds: float) -> None:
        """Step the arm for some simulated seconds, at least one step."""
        for _ in range(max(1, round(seconds * RATE))):
            self._step()

    def close(self) -> None:
        """Free the engine."""
        self._motors.close()

    def _step(self) -> None:
        now = self.now
        while len(self._commands) > 1 and self._commands[1][0] <= now:
            self._commands.popleft()
        self._past.append(self._motors.step(self._complete(self._commands[0][1](now - self._delay))))
        self._steps += 1

    def _complete(self, angles: Floats) -> Floats:
        """Values of all movable joints, from those of `joints`; joints that mimic others follow them."""
        values = self._urdf.positions(self.joints, angles[None], self._neutral)
        return np.array([values[name][0] for name in self._order])

    @property
    def positions(self) -> Floats:
        """Angles of `joints` now, (joints,) radians."""
        return self._past[-1][: len(self.joints)].copy()

    def pose(self, ago: float) -> Floats:
        """Angles some seconds ago, up to one second, of the joints of the robot, in its order."""
        steps = min(round(ago * RATE), len(self._past) - 1)
        return self._past[-1 - steps][self._shown]

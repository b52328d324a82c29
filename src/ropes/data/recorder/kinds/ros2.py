"""An arm of ROS 2 behind a rosbridge, by roslibpy: joint states in, joint trajectories out.

`ros2 launch rosbridge_server rosbridge_websocket_launch.xml` starts the bridge.  The controller is that of
ros2_control, `joint_trajectory_controller`.
"""

import time
from collections.abc import Iterable, Mapping

import numpy as np

from ropes.common import rosbridge
from ropes.common.arrays import Floats
from ropes.common.rosbridge import Address, JointStates
from ropes.data.recorder.interfaces import Robot
from ropes.data.recorder.registry import RobotRequest
from ropes.data.recorder.travel import knots, travel_time
from ropes.errors import UserError

#: Seconds to wait for the connection, and for the first joint state.
TIMEOUT = 5.0
#: Seconds: age of the oldest joint state that counts, and the time to stop.
_OLDEST, _HALT = 1.0, 0.1
_STATES, _TRAJECTORY = "/joint_states", "/joint_trajectory_controller/joint_trajectory"


class Ros2Robot(Robot):
    """Publishes trajectories, and reads joint states.

    Args:
        host: of the rosbridge.
        port: of the rosbridge.
        joints: of the plan.
        states: topic of sensor_msgs/JointState.
        command: topic of trajectory_msgs/JointTrajectory.
        commanded: joints of the controller; those beyond the plan's are held where they are at the first command.

    Raises:
        UserError: roslibpy is missing, nobody answers, or a joint has no state.
    """

    def __init__(
        self, host: str, port: int, joints: tuple[str, ...], states: str, command: str, commanded: tuple[str, ...] = ()
    ) -> None:
        roslibpy = rosbridge.require_roslibpy("--robot ros2", "record")
        self.joints, self._message, self._topic = joints, roslibpy.Message, states
        self._commanded = tuple(dict.fromkeys((*joints, *commanded)))
        self._ros = rosbridge.connect(roslibpy, Address(host, port), TIMEOUT)
        try:
            self._states = JointStates(roslibpy, self._ros, states, self._commanded, TIMEOUT)
        except UserError:
            rosbridge.disconnect(self._ros)
            raise
        self._commands = roslibpy.Topic(self._ros, command, "trajectory_msgs/JointTrajectory")
        self._commands.advertise()
        #: Goals of the joints beyond the plan's: where they stand at the first command.  Somebody may have moved them
        #: before, because the recorder asked for it.
        self._held: Floats | None = None

    def positions(self) -> Floats:
        """Angles that were told last.

        Raises:
            UserError: one of them is too old.
        """
        if not self._ros.is_connected:
            raise UserError("the connection to the rosbridge is lost")
        here, age = self._known()
        if age > _OLDEST:
            raise UserError(f"the robot does not answer: no position of its joints on {self._topic} for {age:.1f} s")
        return here

    def others(self) -> Mapping[str, float]:
        """Angles of the other joints that were told."""
        return {name: angle for name, (_, angle) in self._states.newest().items() if name not in self.joints}

    def _known(self) -> tuple[Floats, float]:
        """Angles of the plan's joints, (joints,), and the age of the oldest one in seconds."""
        newest = self._states.newest()
        stamps, angles = zip(*(newest[joint] for joint in self.joints), strict=True)
        return np.array(angles), time.monotonic() - min(stamps)

    def move_to(self, positions: Floats, speed: Floats) -> None:
        """Start a move.

        The controller connects points by cubic splines.  With the last point alone it would be 1.5 times as fast in the
        middle; points where the acceleration changes keep the speed.
        """
        start = self.positions()
        way, seconds = positions - start, float(travel_time(start, positions, speed))
        if seconds > 0:
            self._publish([(time, start + share * way, rate * way) for time, share, rate in knots(seconds)])

    def _publish(self, points: Iterable[tuple[float, Floats, Floats]]) -> None:
        """Publish points: seconds from now, angles and velocities."""
        if self._held is None:
            newest = self._states.newest()
            self._held = np.array([newest[joint][1] for joint in self._commanded[len(self.joints) :]])
        described = []
        for seconds, positions, velocities in points:
            whole, nanoseconds = divmod(round(seconds * 1e9), 1_000_000_000)
            described.append(
                {
                    "positions": [*positions.tolist(), *self._held.tolist()],
                    "velocities": [*velocities.tolist(), *np.zeros(len(self._held)).tolist()],
                    "accelerations": [],
                    "effort": [],
                    "time_from_start": {"sec": whole, "nanosec": nanoseconds},
                }
            )
        header = {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": ""}  # zero: at once
        names = list(self._commanded)
        self._commands.publish(self._message({"header": header, "joint_names": names, "points": described}))

    def stop(self) -> None:
        """Make where the arm is its goal, which replaces the trajectory.

        Raises:
            UserError: the connection is lost, or the last joint state is old: the arm may have moved since.
        """
        if not self._ros.is_connected:
            raise UserError("the connection to the rosbridge is lost")
        here, age = self._known()
        # The arm goes back to an old state as slowly as it left it.
        self._publish([(_HALT + age, here, np.zeros(len(self.joints)))])
        if age > _OLDEST:
            raise UserError(f"no position of its joints on {self._topic} for {age:.1f} s")

    def close(self) -> None:
        """Close the connection; the last command has left this machine then."""
        if self._ros.is_connected:
            self._commands.unadvertise()
            self._states.close()
            rosbridge.disconnect(self._ros)


def open_robot(request: RobotRequest) -> Ros2Robot:
    """Connect to a rosbridge; options host, port, states and command (topics), controller-joints (NAME,NAME,…).

    Raises:
        UserError: an option is wrong, or nobody answers.
    """
    given = request.take("host", "port", "states", "command", "controller-joints")
    port = given.get("port", "9090")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise UserError(f"--robot-options: port is {port!r}, which is no number of a port")
    return Ros2Robot(
        given.get("host", "127.0.0.1"),
        int(port),
        request.joints,
        given.get("states", _STATES),
        given.get("command", _TRAJECTORY),
        tuple(filter(None, given.get("controller-joints", "").split(","))),
    )

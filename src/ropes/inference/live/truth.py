"""True joint angles: of a video from a CSV file with the angles at some times, of a live arm from its encoders."""

import sys
from pathlib import Path

import numpy as np

from ropes.common import rosbridge
from ropes.common.arrays import Floats
from ropes.common.rosbridge import Address, JointStates
from ropes.common.units import require_angles_in_radians
from ropes.errors import UserError
from ropes.inference.sources import csv_rows
from ropes.methods.run import Run

_TIME = "time"
#: Topic of an arm's encoders in ROS; seconds to wait for a rosbridge and for the first angles.
STATES, TIMEOUT = "/joint_states", 5.0
#: Age above which an angle of the encoders is not that of an image, seconds.
MAX_AGE = 0.2


class Truth:
    """Angles that are interpolated linearly between their times.

    Args:
        times: (n,) ascending, seconds from the first frame of the video.
        angles: (n, d) radians.
    """

    def __init__(self, times: Floats, angles: Floats) -> None:
        self._times, self._angles = times, angles

    def at(self, seconds: float) -> Floats | None:
        """Angles (d,) at a time; None before the first and after the last one."""
        if not self._times[0] <= seconds <= self._times[-1]:
            return None
        return np.array([np.interp(seconds, self._times, column) for column in self._angles.T])


def read_truth(run: Run, path: Path) -> Truth:
    """Read a CSV file with the column `time` in seconds from the first frame, and one of radians for each joint.

    Raises:
        UserError: the file or a column is missing, a value is not a finite number, times do not ascend, or the
            angles of a joint are probably in degrees.
    """
    names = (_TIME, *run.joints)
    rows = csv_rows(path, names, "angles")
    values = np.empty((len(rows), len(names)))
    for number, row in enumerate(rows):
        try:
            values[number] = [float(row[name]) for name in names]
        except (TypeError, ValueError) as error:
            raise UserError(f"{path}, line {number + 2}: a value is not a number") from error
    if not np.isfinite(values).all() or (np.diff(values[:, 0]) <= 0).any():
        raise UserError(f"{path}: times must ascend, and all values must be finite")
    try:
        require_angles_in_radians(run.joints, values[:, 1:])
    except ValueError as error:
        raise UserError(f"{path}: {error}") from error
    return Truth(values[:, 0], values[:, 1:])


class EncoderTruth:
    """The angles that the encoders of a live arm tell through a rosbridge.

    Args:
        run: identity of the run; its joints are found by their names.
        address: ws://HOST:PORT/TOPIC of sensor_msgs/JointState; `STATES` without a topic.

    Raises:
        UserError: roslibpy is not installed, nobody answers, or a joint has no angle.
    """

    def __init__(self, run: Run, address: str) -> None:
        place = topic_of(address)
        roslibpy = rosbridge.require_roslibpy(f"--truth {address}", "live")
        self._joints, self._topic, self._told = run.joints, place.topic, False
        self._ros = rosbridge.connect(roslibpy, place, TIMEOUT)
        try:
            self._states = JointStates(roslibpy, self._ros, place.topic, run.joints, TIMEOUT)
        except UserError:
            rosbridge.disconnect(self._ros)
            raise

    def at(self, stamp: float) -> Floats | None:
        """The newest angles (d,) received until a time of `time.monotonic`, radians.

        Returns:
            None where that of a joint is older than `MAX_AGE`; the first time, a line on standard error says so.
        """
        newest = self._states.newest(stamp)
        late = [joint for joint in self._joints if joint not in newest or newest[joint][0] < stamp - MAX_AGE]
        if not late:
            return np.array([newest[joint][1] for joint in self._joints], dtype=np.float64)
        if not self._told:
            self._told = True
            what = f"{self._topic} gives no position of joint {late[0]} within {MAX_AGE:g} s before an image"
            print(f"ropes: {what}; such images have no true angles", file=sys.stderr)
        return None

    def close(self) -> None:
        """End the connection."""
        rosbridge.disconnect(self._ros)


def topic_of(address: str) -> Address:
    """The rosbridge of an address of --truth, and the topic there.

    Raises:
        UserError: it has another form.
    """
    place = Address.parse("--truth", address, with_topic=True)
    return place._replace(topic=place.topic or STATES)

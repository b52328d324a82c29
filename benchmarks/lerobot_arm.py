"""Records with LeRobot's own SO-101 and OpenCV's own capture, from servos and cameras that this program plays.

    python -m benchmarks.lerobot_arm [--anchors 2] [--out results/lerobot-arm.json] [--page]

LeRobot drives six Feetech servos behind a serial line (`benchmarks.servos`), and OpenCV reads two Motion JPEG streams
(`benchmarks.streams`) of the arm as the servos stand, which MuJoCo draws. Both are what a user has, but for the arm.
`ropes record` then records: whole, interrupted by Ctrl-C in a move, and with the serial line unplugged in a move; each
time the same command resumes. LeRobot is no dependency: `make oracles` installs it into an environment of its own and
runs this. With --page, the table is written to docs/recording.md. Other exit codes than those of an interruption and of
a fault, an arm that goes on moving, and frames of other poses end it with an error.
"""

import math
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

import numpy as np

from benchmarks.figures import described, keep, options, origin
from benchmarks.servos import TURN, Servo, ServoBus
from benchmarks.streams import Streams
from ropes.common.arrays import Floats, Images
from ropes.common.files import write_json
from ropes.data.layout import open_dataset
from ropes.data.recordings.lerobot_units import GRIPPER
from ropes.simulation.scene import ArmScene
from ropes.simulation.settings import Setting, setting_named
from ropes.simulation.so101 import GRIPPER as HAND
from ropes.simulation.so101 import RANGES
from ropes.simulation.workers import arm_scene

PAGE = Path(__file__).parents[1] / "docs" / "recording.md"
LIMITS = Path(__file__).parents[1] / "examples" / "so101" / "limits.toml"
#: Joints in the order of their servos' ids, from 1 on.
JOINTS = (*RANGES, HAND)
#: Least and greatest positions that calibration found; the middle is zero.
_CALIBRATED = {HAND: (2030, 3500), "wrist_roll": (0, TURN - 1)}
_LIMITS = (TURN // 2 - 1150, TURN // 2 + 1150)
_NAME = "played"
_GRIPPER_ZERO = 1 / 11
#: Seconds from the first motion to Ctrl-C at the earliest, those after which the arm must stand, and those between
#: looks at the arm; seconds in which a command must then end.
MOVING, _STANDING, _LOOK, ENDING = 1.0, 1.0, 0.05, 60.0
#: One position of a servo, radians.
_STEP = 2 * math.pi / TURN


def limits_of(joint: str) -> tuple[int, int]:
    """Least and greatest position of a servo."""
    return _CALIBRATED.get(joint, _LIMITS)


def angle(joint: str, position: float) -> float:
    """Radians at a servo's position, as LeRobot and ropes have them."""
    low, high = limits_of(joint)
    if joint == HAND:
        units = GRIPPER[joint]
        return units.zero + units.unit * 100 * (position - low) / (high - low)
    return (position - (low + high) / 2) * 2 * math.pi / (TURN - 1)


def servos() -> dict[int, Servo]:
    """The servos with the arm in the middle of the ranges and the gripper at the URDF's zero."""
    made = {}
    for number, joint in enumerate(JOINTS, 1):
        low, high = limits_of(joint)
        middle = sum(RANGES[joint]) / 2 if joint in RANGES else 0.0
        at = low + _GRIPPER_ZERO * (high - low) if joint == HAND else (low + high) / 2 + middle * (TURN - 1) / math.tau
        made[number] = Servo(number, (low, high), round(at))
    return made


def write_calibration(folder: Path) -> None:
    """The file that `lerobot-calibrate` writes."""
    entries = {}
    for number, joint in enumerate(JOINTS, 1):
        low, high = limits_of(joint)
        entries[joint] = {"id": number, "drive_mode": 0, "homing_offset": 0, "range_min": low, "range_max": high}
    write_json(folder / f"{_NAME}.json", entries)


class Arm:
    """An arm and its cameras, played while the context is open; the serial line can be unplugged and plugged in again.

    Args:
        folder: of the calibration, and of the link that names the serial line.
        setting: gives the cameras.
    """

    def __init__(self, folder: Path, setting: Setting) -> None:
        self.folder, self.port, self._setting = folder, folder / "serial", setting
        self.bus = ServoBus(servos())
        self._scene: ArmScene | None = None
        self.streams = Streams(self._take, self._close)

    def __enter__(self) -> Self:
        self._plug()
        write_calibration(self.folder)
        self.streams.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self.streams.unplug()
        self.bus.unplug()

    def replug(self) -> None:
        """Open the serial line again, with the servos where they stand and their torque off."""
        self.bus = self.bus.again()
        self._plug()

    def _plug(self) -> None:
        self.bus.plug()
        self.port.unlink(missing_ok=True)
        self.port.symlink_to(self.bus.port)

    def pose(self) -> Floats:
        """Angles of all joints now, radians."""
        at = self.bus.positions()
        return np.array([angle(joint, at[number]) for number, joint in enumerate(JOINTS, 1)])

    def _take(self) -> Mapping[str, Images]:
        if self._scene is None:  # a renderer belongs to the thread that opens it
            self._scene = arm_scene(self._setting, JOINTS)
        [images] = self._scene.render_all(self.pose()[None])
        return dict(zip((camera.name for camera in self._setting.cameras), images, strict=True))

    def _close(self) -> None:
        if self._scene is not None:
            self._scene.close()


def command(arm: Arm, data: Path, anchors: int) -> list[str]:
    """The words of `ropes record`."""
    cameras = [f"{camera.name}={arm.streams.address(camera.name)}" for camera in setting().cameras]
    robot = ["type=so101_follower", f"port={arm.port}", f"id={_NAME}", f"calibration_dir={arm.folder}"]
    return [
        *(sys.executable, "-m", "ropes", "record", "--robot", "lerobot", "--robot-options", *robot),
        *("--urdf", "so101", "--limits", str(LIMITS), "--cameras", *cameras, "--anchors", str(anchors)),
        *("--redraw", "--yes", "--out", str(data)),
    ]


def setting() -> Setting:
    """The SO-101 in a room, in colour."""
    return replace(setting_named("so101"), scene="room", colour=True, image_size=256, requested_renderer="mujoco")


def begun(arm: Arm, words: Sequence[str]) -> subprocess.Popen[str]:
    """Start a command, and wait until the arm moves a second or more after it first moved.

    Raises:
        RuntimeError: it ended before.
    """
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    first = None
    while True:
        before = arm.pose()
        time.sleep(_LOOK)
        if process.poll() is not None:
            raise RuntimeError(process.communicate()[1])
        if np.abs(arm.pose() - before).max() > 2 * _STEP:
            first = first or time.monotonic()
            if time.monotonic() >= first + MOVING:
                return process


def last_line(process: subprocess.Popen[str]) -> str:
    """What a command says last; one that does not end within a minute is killed."""
    try:
        said = process.communicate(timeout=ENDING)[1].strip().splitlines()
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return said[-1] if said else ""


def whole(arm: Arm, data: Path, anchors: int) -> float:
    """Record until all anchors are there; seconds.

    Raises:
        RuntimeError: the command failed.
    """
    started = time.monotonic()
    done = subprocess.run(command(arm, data, anchors), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return time.monotonic() - started


def interrupted(arm: Arm, data: Path, anchors: int) -> dict[str, Any]:
    """Ctrl-C in a move: the exit code, and how far the arm turned in the seconds after the command ended, radians."""
    process = begun(arm, command(arm, data, anchors))
    process.send_signal(signal.SIGINT)
    said = last_line(process)
    stood = arm.pose()
    time.sleep(_STANDING)
    return {"code": process.returncode, "said": said, "turned": float(np.abs(arm.pose() - stood).max())}


def unplugged(arm: Arm, data: Path, anchors: int) -> dict[str, Any]:
    """The serial line is pulled in a move: the exit code and the message."""
    process = begun(arm, command(arm, data, anchors))
    arm.bus.unplug()
    said = last_line(process)
    arm.replug()
    return {"code": process.returncode, "said": said}


def compared(data: Path) -> dict[str, Any]:
    """Recorded frames and angles.

    Returns:
        Numbers of anchors and frames, and in how many frames the pictures are nearer to the rendering of the angles
        that were read in their pose than to that of any other pose of their anchor.
    """
    recorded, own, frames = open_dataset(data), 0, 0
    [split] = recorded.splits
    chosen = recorded.frames(split)
    states = recorded.states(split)
    images = recorded.read_cameras(chosen.index)
    scene = arm_scene(setting(), recorded.state_names)
    drawn = np.stack(list(scene.render_all(states))).astype(float)
    scene.close()
    for anchor in np.unique(chosen.anchor):
        rows = np.flatnonzero(chosen.anchor == anchor)
        for row in rows:
            apart = [
                sum(np.square(seen[row] - drawn[other, k]).mean() for k, seen in enumerate(images)) for other in rows
            ]
            own += int(rows[int(np.argmin(apart))] == row)
            frames += 1
    return {"anchors": len(np.unique(chosen.anchor)), "frames": frames, "own": own}


def written(found: Mapping[str, Any]) -> str:
    """The Markdown table, and what it is of."""
    stopped, pulled, frames = found["interrupted"], found["unplugged"], found["frames"]
    lines = [
        ["anchors recorded at the first call", f"{found['first']} in {found['first_seconds']} s"],
        ["Ctrl-C in a move", f"exit code {stopped['code']}; the arm then turned by {_degrees(stopped['turned'])}"],
        ["serial line unplugged in a move", f"exit code {pulled['code']}: `{pulled['said']}`"],
        ["the same command again", f"{frames['anchors']} anchors"],
        ["frames whose pictures show the pose of their angles", f"{frames['own']} of {frames['frames']}"],
    ]
    libraries = ", ".join(f"{name} {number}" for name, number in sorted(found["libraries"].items()))
    rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    return f"| what | result |\n|---|---|\n{rows}\n{libraries}; {origin(found)}.\n"


def wrong(found: Mapping[str, Any]) -> list[str]:
    """What is not as it should be, in words; the exit codes are those of an interruption and of a fault."""
    stopped, pulled, frames = found["interrupted"], found["unplugged"], found["frames"]
    checks = {
        f"the exit code after Ctrl-C is {stopped['code']}": stopped["code"] == 130,
        "the arm did not stop": stopped["turned"] <= 2 * _STEP,
        f"the exit code without a serial line is {pulled['code']}": pulled["code"] == 2,
        "frames show other poses": frames["own"] == frames["frames"] > 0,
    }
    return [what for what, right in checks.items() if not right]


def _degrees(angle: float) -> str:
    return f"{math.degrees(angle):.1f}°"


def main() -> None:
    """Record, interrupt, unplug, resume, compare, and print the table."""
    parser = options(__doc__)
    parser.add_argument("--anchors", type=int, default=2, help="of the first call; each later one adds two")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/recording.md")
    arguments, began = parser.parse_args(), time.monotonic()
    found: dict[str, Any] = {"first": arguments.anchors}
    with tempfile.TemporaryDirectory() as folder:
        data, count = Path(folder, "data"), arguments.anchors
        with Arm(Path(folder), setting()) as arm:
            found["first_seconds"] = round(whole(arm, data, count))
            found["interrupted"] = interrupted(arm, data, count + 2)
            found["unplugged"] = unplugged(arm, data, count + 4)
            whole(arm, data, count + 4)
        found["frames"] = compared(data)
    found["libraries"] = {name: version(name) for name in ("lerobot", "opencv-python-headless", "mujoco")}
    found |= described(began)
    keep(found, "lerobot-arm", written(found), arguments.out, PAGE if arguments.page else None)
    if faults := wrong(found):
        raise SystemExit(f"benchmarks.lerobot_arm: {'; '.join(faults)}")


if __name__ == "__main__":
    main()

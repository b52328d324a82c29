"""`ropes record`: drives an arm through the poses of a plan and records a data set."""

import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ropes.cli.config import options_beside, write_options
from ropes.cli.options import at_least, by_name, parse_cameras, parse_ranges, shared_options
from ropes.errors import UserError
from ropes.simulation.backgrounds import SceneName

if TYPE_CHECKING:
    from ropes.data.recorder.arm import ArmOptions
    from ropes.data.recorder.record import RecordOptions
    from ropes.data.recordings.views import View

#: The kind of robot that moves nothing real.
_SIMULATED = "simulated"
_SIZE = 128


@dataclass(frozen=True, kw_only=True)
class Record:
    r"""Drive an arm through drawn poses and record a data set: one frame of each camera in each pose.

    A policy here is one of two distributions of a joint's angle, not a controller. An anchor is one pose with all
    joints at their usual angles, plus one pose for each policy of each joint, in which that joint alone has moved.

    The plan is printed and simulated for collisions before anything moves. Ctrl-C stops the arm. To resume, run the
    same command again. To extend a finished data set, give a larger --anchors or --chains.

    Example:
      ropes record --robot simulated --anchors 20 --out data/simulated
      ropes record --robot simulated --chains 12 --out data/recorded-chains
      ropes record --robot simulated --camera-level webcam --scene panda-gym --anchors 20 --out data/webcam
      ropes record --robot simulated --urdf kuka_iiwa/model.urdf --joints lbr_iiwa_joint_2 lbr_iiwa_joint_4 \
        --ranges -0.6:0.6 -1.2:1.2 --anchors 20 --out data/kuka
      ropes record --robot lerobot --robot-options type=so101_follower port=/dev/ttyACM0 id=mine \
        --urdf so101 --limits limits.toml --cameras left=0 right=2 --anchors 500 --out data/so101
      ropes record --robot ros2 --robot-options host=192.168.1.5 --urdf arm.urdf --limits limits.toml \
        --cameras left=rtsp://192.168.1.6/stream --anchors 500 --out data/arm
      ropes record --robot python --robot-options class=my_arm.py:MyArm --urdf arm.urdf --limits limits.toml \
        --cameras left=0 --state none --anchors 500 --plan --out data/arm
    """

    robot: str
    """simulated, lerobot, ros2, python, or a kind of another package."""
    out: Path
    """Folder of the data set."""
    anchors: int | None = None
    """Anchors of the data set; with six joints each has 13 poses."""
    chains: int | None = None
    """In place of --anchors: chains of moves. Each move changes one joint, the joints take turns, and each moves five
    times in a chain."""
    cameras: tuple[str, ...] = ()
    """NAME=SOURCE of each camera: number or device file of a webcam, address of a stream, a file that another program
    replaces, or a folder to which it adds images; the robot's own cameras if omitted. For a simulated arm
    NAME:target=X/Y/Z,distance=M,yaw=DEG[,pitch=DEG,roll=DEG,fov=DEG]."""
    urdf: Path | None = None
    """URDF file of the arm; the simulated Panda if omitted."""
    joints: tuple[str, ...] = ()
    """Names of the joints that move; those of --limits if omitted."""
    ranges: tuple[str, ...] = ()
    """LOW:HIGH in radians for each of --joints; those of --limits if omitted."""
    limits: Path | None = None
    """File of limits, TOML or JSON: low, high and speed of each joint, and the workspace."""
    speed: float | None = None
    """Without --limits: largest speed of all joints in rad/s. Joint limits are the URDF's; --ranges must lie within
    them."""
    workspace: str | None = None
    """Without --limits: X/Y/Z:X/Y/Z, lowest and highest corner in metres of the box in which the arm must stay; the
    table is at the lowest height of the box."""
    robot_options: tuple[str, ...] = ()
    """KEY=VALUE options of the kind of robot (docs/recording.md)."""
    scene: SceneName = "white"
    """Background of a simulated arm."""
    camera_level: Literal["clean", "webcam", "harsh"] = "clean"
    """Level of the simulated camera faults."""
    colour: bool = False
    """Render a simulated arm in RGB instead of grey."""
    crop: tuple[str, ...] = ()
    """LEFT,TOP,WIDTH,HEIGHT in pixels after --rotate, or none, which keeps the whole image; CAMERA=... for one camera.
    The whole image if omitted."""
    rotate: tuple[str, ...] = ()
    """0, 90, 180 or 270 degrees clockwise, or CAMERA=DEGREES."""
    image_size: tuple[str, ...] = ()
    """Longer side of the images in pixels, or CAMERA=PIXELS; that of the camera if omitted, 128 if simulated."""
    grey: bool = False
    """Store grey images instead of RGB."""
    state: Literal["radians", "none"] = "radians"
    """Store the positions that the encoders read, for evaluation only; none leaves them out."""
    settle: float = 0.3
    """Seconds for which frames are dropped after the arm stands still; must exceed the delay of the cameras."""
    tolerance: float = 0.05
    """Largest distance of a joint from its goal when it stands still, radians."""
    seed: int = 0
    """Random seed; equal seeds give equal poses."""
    redraw: bool = False
    """Replace anchors or chains that would collide by new random ones, instead of refusing the plan."""
    plan: bool = False
    """Print and simulate the plan only."""
    yes: bool = False
    """Move a real arm without asking; stop where something is in doubt."""

    def __post_init__(self) -> None:
        if (self.anchors is None) == (self.chains is None):
            raise UserError("give either --anchors or --chains")
        at_least(1, anchors=self.anchors, chains=self.chains)
        at_least(0, seed=self.seed)
        for option, value in (("--speed", self.speed), ("--tolerance", self.tolerance)):
            if value is not None and not 0 < value < math.inf:
                raise UserError(f"{option} is {value:g}; it must be above 0 and finite")
        if not 0 <= self.settle < math.inf:
            raise UserError(f"--settle is {self.settle:g}; it must be 0 or more and finite")
        if self._simulated:
            return
        if self.scene != "white" or self.camera_level != "clean" or self.colour:
            raise UserError(f"--scene, --camera-level and --colour go with --robot {_SIMULATED}; leave them out")

    @property
    def _simulated(self) -> bool:
        return self.robot == _SIMULATED

    def execute(self) -> None:
        """Record the data set."""
        from ropes.data.recorder.record import record_data

        if record_data(self._options(), self.out) is not None:
            write_options(self, options_beside(self.out))
            print(f"wrote {self.out}")

    def _options(self) -> "RecordOptions":
        from ropes.data.recorder.arm import arm_to_record
        from ropes.data.recorder.record import RecordOptions
        from ropes.data.recorder.stillness import Settling

        robot_options = by_name(self.robot_options, "--robot-options", "KEY=VALUE")
        cameras = {} if self._simulated else by_name(self.cameras, "--cameras", "NAME=SOURCE")
        views = self._views()
        setting, limits = arm_to_record(self._arm())
        return RecordOptions(
            kind=self.robot,
            anchors=self.anchors,
            chains=self.chains,
            setting=setting,
            limits=limits,
            cameras=cameras,
            robot_options=robot_options,
            views=views,
            state=self.state == "radians",
            settling=Settling(tolerance=self.tolerance, settle=self.settle),
            seed=self.seed,
            redraw=self.redraw,
            only_plan=self.plan,
            ask=None if self._simulated or self.yes else _ask,
            require_answer=_require_terminal,
        )

    def _arm(self) -> "ArmOptions":
        from ropes.data.recorder.arm import ArmOptions
        from ropes.data.recorder.limits import joints_in
        from ropes.data.recordings.views import by_camera, parse_size

        joints = self.joints
        if self.ranges and not joints and self.limits is not None:
            joints = joints_in(self.limits)
        size = by_camera("--image-size", self.image_size, parse_size)
        if self._simulated and size.keys() - {None}:
            raise UserError("--image-size of simulated cameras is one number; leave the camera out")
        parsed = {
            "urdf": None if self.urdf is None else str(self.urdf),
            "ranges": parse_ranges(joints, self.ranges) if self.ranges else (),
            "simulated": self._simulated,
            "cameras": parse_cameras(self.cameras, "--cameras") if self._simulated else (),
            "image_size": size.get(None, _SIZE),
        }
        return ArmOptions(**shared_options(self, ArmOptions) | parsed)

    def _views(self) -> "dict[str | None, View]":
        from ropes.data.recordings.views import View, by_camera, parse_crop, parse_rotation, parse_size

        crops = by_camera("--crop", self.crop, parse_crop)
        turns = by_camera("--rotate", self.rotate, parse_rotation)
        sizes = {} if self._simulated else by_camera("--image-size", self.image_size, parse_size)
        return {
            name: View(
                rotate=turns.get(name, turns.get(None, 0)),
                crop=crops.get(name, crops.get(None)),
                size=sizes.get(name, sizes.get(None)),
                grey=self.grey,
            )
            for name in {None, *crops, *turns, *sizes}
        }


def _require_terminal() -> None:
    """Check that somebody can be asked.

    Raises:
        UserError: standard input is no terminal.
    """
    if not sys.stdin.isatty():
        raise UserError("cannot ask whether the arm may move: standard input is no terminal; give --yes")


def _ask(question: str) -> None:
    """Ask a question on the arm, whose answer must be yes.

    Raises:
        UserError: the answer is no.
    """
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:  # Ctrl-D
        answer = ""
    if answer.strip().lower() != "y":
        raise UserError("nothing was moved")

"""`ropes watch`: joint angles from live cameras."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ropes.cli.options import RunFolder, distinct, shared_options
from ropes.common.hardware import RequestedPrecision
from ropes.common.rosbridge import is_address
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Estimate joint angles live from cameras, videos or a folder of new images, and show them in the browser.

    If estimation is slower than the camera, the newest frame is used. The page is visible on this machine only, unless
    --host is given. Ctrl-C ends the command.

    Example:
      ropes watch runs/two-cameras --camera left=0 right=2 --crop 80,0,480,480
      ropes watch panda-2c --camera cam45=left.mp4 cam135=right.mp4 --filter kalman
      ropes watch panda-2c --camera data/two-cameras --rate 2 --loop
      ropes watch runs/two-cameras --camera left=0 right=2 --truth ws://localhost:9090
      ropes watch panda-2c --camera pictures --no-page --publish - live.mcap ws://localhost:9090
    """

    run: RunFolder
    """Folder of a calibrated run, or name of a packaged estimator."""
    camera: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[NAME=]SOURCE ...")]
    """A source for each camera of the run: number or device file of a camera, address of a stream, video file, or
    folder that receives new images; or one data set, or one folder with a folder for each camera."""
    crop: tuple[str, ...] = ()
    """LEFT,TOP,WIDTH,HEIGHT in pixels after --rotate, or none, which keeps the whole image; CAMERA=... for one camera.
    By default as the training images were cropped."""
    rotate: tuple[str, ...] = ()
    """0, 90, 180 or 270 degrees clockwise, or CAMERA=DEGREES."""
    page: bool = True
    """Show the page in the browser."""
    host: str = "127.0.0.1"
    """Network address of the page; with 0.0.0.0 the network can see it."""
    port: int = 8080
    """Port of the page; if it is in use, the next free one."""
    publish: tuple[str, ...] = ()
    """Where to send estimates: - for JSON lines on standard output, ws://HOST:PORT for ROS 2 (rosbridge), FILE.mcap."""
    topic: str | None = None
    """Topic of the JointState messages on the rosbridge; /ropes/joint_states if omitted."""
    publish_flagged: bool = False
    """Publish JointState of poses out of distribution too; otherwise only their flag, on out_of_distribution beside the
    topic."""
    filter: Literal["none", "kalman"] = "none"
    """Filter of the angles over time: kalman, with the estimator's standard deviations."""
    acceleration: float | None = None
    """For the Kalman filter: spectral density of the acceleration, rad²/s³; larger values smooth less; 3 if
    omitted."""
    tolerance: float = 0.025
    """Largest difference between the cameras' time stamps in one pose, in seconds."""
    urdf: Path | None = None
    """URDF file of the arm to draw: a path, or a file of pybullet_data; that of the data set or the setting if
    omitted."""
    split: str | None = None
    """Split of a data set; a test split if omitted."""
    rate: float | None = None
    """Poses per second, for a data set; 10 if omitted."""
    loop: bool = False
    """Play videos and data sets again at their end."""
    truth: Annotated[str | None, tyro.conf.arg(metavar="FILE.csv|ws://HOST:PORT[/TOPIC]")] = None
    """True angles, shown beside the estimate. For videos: CSV file with a column time, in seconds from the first frame,
    and a column of radians for each joint. For a live arm: address of a rosbridge with the JointState of its encoders;
    topic /joint_states if omitted."""
    seconds: float | None = None
    """Stop after this many seconds."""
    precision: RequestedPrecision = "auto"
    """As in ropes predict."""

    def __post_init__(self) -> None:
        numbers = {"acceleration": self.acceleration, "tolerance": self.tolerance, "rate": self.rate}
        for option, value in (numbers | {"seconds": self.seconds}).items():
            if value is not None and not 0 < value < math.inf:
                raise UserError(f"--{option} is {value:g}; it must be above 0 and finite")
        if not 0 <= self.port < 65536:
            raise UserError(f"--port is {self.port}; it must be 0 to 65535")
        distinct(publish=self.publish)
        if not self.camera:
            raise UserError("--camera needs a source for each camera of the run")
        if self.acceleration is not None and self.filter != "kalman":
            raise UserError("--acceleration goes with --filter kalman; add it, or leave --acceleration out")
        bridged = any(map(is_address, self.publish))
        if self.topic is not None and not bridged:
            raise UserError("--topic goes with --publish ws://HOST:PORT; add it, or leave --topic out")
        if self.publish_flagged and not bridged:
            raise UserError("--publish-flagged goes with --publish ws://HOST:PORT; add it, or leave the option out")
        if not self.page and not self.publish:
            raise UserError("--no-page leaves nothing to do; add --publish - for JSON lines")
        if not self.page and (self.host, self.port) != (Watch.host, Watch.port):
            raise UserError("--host and --port are of the page; leave them out with --no-page")

    def execute(self) -> None:
        """Watch until the sources end or Ctrl-C."""
        from ropes.data.recordings.views import by_camera, parse_crop, parse_rotation
        from ropes.inference.live.kalman import DENSITY
        from ropes.inference.live.publish import TOPIC
        from ropes.inference.live.session import WatchOptions, watch
        from ropes.models.registry import find_run

        options = shared_options(self, WatchOptions) | {
            "cameras": self.camera,
            "rotate": by_camera("--rotate", self.rotate, parse_rotation),
            "crop": by_camera("--crop", self.crop, parse_crop),
            "topic": self.topic or TOPIC,
            "density": None if self.filter == "none" else self.acceleration or DENSITY,
        }
        watch(find_run(self.run), WatchOptions(**options))

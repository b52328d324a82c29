"""`ropes watch`: joint angles from live cameras."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ropes.cli.options import RunFolder
from ropes.common.hardware import RequestedPrecision
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Estimate joint angles live from cameras, videos or a folder that fills, and show them in the browser.

    Frames are dropped rather than queued. The page serves this machine only, unless --host says otherwise. Ctrl-C ends.

    Example:
      ropes watch runs/two-cameras --camera left=0 right=2 --crop 80,0,480,480
      ropes watch panda-2c --camera cam45=left.mp4 cam135=right.mp4 --filter kalman
      ropes watch panda-2c --camera data/two-cameras --rate 2 --loop
      ropes watch panda-2c --camera pictures --no-page --publish - live.mcap ws://localhost:9090
    """

    run: RunFolder
    """Folder of a calibrated run, or name of a packaged estimator."""
    camera: Annotated[tuple[str, ...], tyro.conf.arg(metavar="[NAME=]SOURCE ...")]
    """A source for each camera of the run: number or device file of a camera, address of a stream, video file, or
    folder that fills; or one data set, or one folder with a folder for each camera."""
    crop: tuple[str, ...] = ()
    """LEFT,TOP,WIDTH,HEIGHT in pixels after --rotate, or CAMERA=...; as in the import of the training images."""
    rotate: tuple[str, ...] = ()
    """0, 90, 180 or 270 degrees clockwise, or CAMERA=DEGREES."""
    page: bool = True
    """Show the page in the browser."""
    host: str = "127.0.0.1"
    """Address that the page is bound to; 0.0.0.0 shows it to the network."""
    port: int = 8080
    """Port of the page; the first free one from it on."""
    publish: tuple[str, ...] = ()
    """Where to send estimates: - for JSON lines on standard output, ws://HOST:PORT for rosbridge, FILE.mcap."""
    topic: str | None = None
    """Topic of the JointState messages on the rosbridge; /ropes/joint_states if omitted."""
    filter: Literal["none", "kalman"] = "none"
    """Filter of the angles over time: kalman, with the estimator's standard deviations."""
    acceleration: float | None = None
    """Of the Kalman filter: spectral density of the acceleration, rad²/s³; larger values smooth less; 3 if omitted."""
    tolerance: float = 0.025
    """Largest difference of the cameras' time stamps in one pose, in seconds."""
    urdf: Path | None = None
    """URDF file of the arm to draw, a path or one of pybullet_data; default that of the data set or the setting."""
    split: str | None = None
    """Split of a data set; a test split if omitted."""
    rate: float | None = None
    """Poses a second of a data set; 10 if omitted."""
    loop: bool = False
    """Play videos and data sets again at their end."""
    truth: Path | None = None
    """Of videos: CSV file with the true angles: time, in seconds from the first frame, and radians of each joint."""
    seconds: float | None = None
    """End after so many seconds."""
    precision: RequestedPrecision = "auto"
    """As ropes predict."""

    def __post_init__(self) -> None:
        numbers = {"acceleration": self.acceleration, "tolerance": self.tolerance, "rate": self.rate}
        for option, value in (numbers | {"seconds": self.seconds}).items():
            if value is not None and not 0 < value < math.inf:
                raise UserError(f"--{option} is {value:g}; it must be above 0 and finite")
        if not 0 <= self.port < 65536:
            raise UserError(f"--port is {self.port}; it must be 0 to 65535")
        if not self.camera:
            raise UserError("--camera needs a source for each camera of the run")
        if self.acceleration is not None and self.filter != "kalman":
            raise UserError("--acceleration goes with --filter kalman; add it, or leave --acceleration out")
        if self.topic is not None and not any(target.startswith(("ws://", "wss://")) for target in self.publish):
            raise UserError("--topic goes with --publish ws://HOST:PORT; add it, or leave --topic out")
        if not self.page and not self.publish:
            raise UserError("--no-page leaves nothing to do; add --publish - for JSON lines")

    def execute(self) -> None:
        """Watch until the sources end or Ctrl-C."""
        from ropes.data.recordings.views import by_camera, parse_box, parse_rotation
        from ropes.inference.live.kalman import DENSITY
        from ropes.inference.live.publish import TOPIC
        from ropes.inference.live.session import WatchOptions, watch
        from ropes.models.registry import find_run

        options = WatchOptions(
            cameras=self.camera,
            rotate=by_camera("--rotate", self.rotate, parse_rotation),
            crop=by_camera("--crop", self.crop, parse_box),
            page=self.page,
            host=self.host,
            port=self.port,
            publish=self.publish,
            topic=self.topic or TOPIC,
            density=None if self.filter == "none" else self.acceleration or DENSITY,
            tolerance=self.tolerance,
            urdf=self.urdf,
            split=self.split,
            rate=self.rate,
            loop=self.loop,
            truth=self.truth,
            seconds=self.seconds,
            precision=self.precision,
        )
        watch(find_run(self.run), options)

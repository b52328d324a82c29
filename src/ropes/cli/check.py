"""`ropes check`: whether the arm is still calibrated, and whether a camera moved."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ropes.cli.config import OPTIONS_FILE, write_options
from ropes.cli.options import RunFolder, at_least, shared_options
from ropes.errors import UserError

if TYPE_CHECKING:
    from ropes.data.recordings.plan import ImportOptions

_PAGE, _LINES = "check.html", "check.jsonl"
#: Greatest --frames: similar errors are compared between all pairs of frames.
_MOST_FRAMES = 5_000


@dataclass(frozen=True, kw_only=True)
class Check:
    """Check on a recording with logged angles whether the arm is still calibrated and whether a camera moved.

    Prints the offset and the trend of each joint's read minus logged angle, its RMS error, and the distance of each
    camera from its usual place. The exit code is 1 if something drifted, else 0. The run must be calibrated. Policies
    are not needed.

    Example:
      ropes check runs/two-cameras --recording recordings/lerobot --state degrees --out check
      ropes check runs/two-cameras --recording recordings/today.mcap --reference data/two-cameras
      ropes check panda-2c --recording data/new --json
    """

    run: RunFolder
    """Folder of a calibrated run, or name of a packaged estimator."""
    recording: Path
    """Recording with logged joint angles: anything that ropes import reads, or a data set."""
    reference: Path | None = None
    """Recording or data set that was recorded while joints and cameras were known to be right, for example that of the
    fit. Joints and cameras are compared with it; the crops of its import apply. A data set of ropes is read as it is, a
    recording with the options below, but with the log beside it."""
    out: Path | None = None
    """Folder for check.html, a page with a plot for each joint and the worst frames, and check.jsonl."""
    json: bool = False
    """Print a JSON object for each joint, each camera and the recording, one a line; radians and pixels."""
    frames: int = 1000
    """Largest number of frames, evenly over the recording; up to 5000."""
    state: Literal["radians", "degrees", "percent"] | None = None
    """Unit of the logged angles, as in ropes import; radians if omitted. percent: -100 to 100 of each joint's range, as
    LeRobot records without use_degrees. Data sets of ropes have radians."""
    lerobot_calibration: Path | None = None
    """With --state percent: the file of lerobot-calibrate with the range of each joint."""
    cameras: tuple[str, ...] = ()
    """NAME=CAMERA for each camera of the run, where the recording names them otherwise; for a bag also NAME=TOPIC."""
    joint_topic: str | None = None
    """Topic of the joint positions of a bag, if it has several."""
    joint_columns: tuple[str, ...] = ()
    """Columns of --log with the joint positions; all columns of numbers if omitted."""
    log: Path | None = None
    """Log of a video or of a folder of frames, CSV or Parquet; the one beside it if omitted."""
    offset: float = 0.0
    """Seconds to add to the times of the log of a video."""
    tolerance: float = 0.02
    """Largest difference of the time stamps of the cameras and the angles, in seconds."""
    different_rates: bool = False
    """Accept cameras of different frame rates."""
    crop: tuple[str, ...] = ()
    """LEFT,TOP,WIDTH,HEIGHT in pixels after --rotate, or none; CAMERA=... for one camera. As in the import of the
    training images; that of --reference if omitted."""
    rotate: tuple[str, ...] = ()
    """0, 90, 180 or 270 degrees clockwise, or CAMERA=DEGREES; that of --reference if omitted."""
    urdf: Path | None = None
    """URDF file of the arm to draw over the worst frames; that of --reference or of the run's setting if omitted."""
    camera_file: Path | None = None
    """JSON file with the cameras' parameters, to draw the arm; those of --reference or of the run's setting if
    omitted."""

    def __post_init__(self) -> None:
        at_least(30, frames=self.frames)
        if self.frames > _MOST_FRAMES:
            raise UserError(f"--frames is {self.frames}; it must be at most {_MOST_FRAMES}: more take too much memory")
        for name, value in (("urdf", self.urdf), ("camera-file", self.camera_file)):
            if value is not None and self.out is None:
                raise UserError(f"--{name} needs --out, whose page shows the arm")
        if not math.isfinite(self.offset):
            raise UserError(f"--offset is {self.offset:g}; it must be finite")

    def execute(self) -> int:
        """Check the recording, print what was found, and write the page."""
        from ropes.common import files
        from ropes.evaluation.drift.check import check
        from ropes.methods.run import Run
        from ropes.models.registry import find_run
        from ropes.report.drift import page, print_check
        from ropes.report.worst_frames import arm_to_draw, worst_frames

        run = find_run(self.run)
        if self.out is not None:  # a wrong file is refused before the check, which takes minutes
            files.require_free(self.out, _PAGE)
            overlay, drawn = arm_to_draw(
                Run.read(run), urdf=self.urdf, camera_file=self.camera_file, reference=self.reference
            )
        found = check(
            run,
            self.recording,
            reference=self.reference,
            state=self.state,
            frames=self.frames,
            options=self._options(),
        )
        lines = "".join(f"{json.dumps(line)}\n" for line in found.lines())
        if self.json:
            print(lines, end="")
        else:
            print_check(found)
        if self.out is not None:
            files.ensure_output_folder(self.out, _PAGE)
            files.write_text(self.out / _PAGE, page(found, worst_frames(found, overlay), drawn))
            files.write_text(self.out / _LINES, lines)
            write_options(self, self.out / OPTIONS_FILE)
            if not self.json:
                print(f"wrote {self.out / _PAGE}")
        return int(found.drifted)

    def _options(self) -> "ImportOptions":
        """How to read the recording."""
        from ropes.data.recordings.plan import ImportOptions
        from ropes.data.recordings.source import Options
        from ropes.data.recordings.views import by_camera, parse_crop, parse_rotation

        return ImportOptions(
            streams=Options(**shared_options(self, Options), calibration=self.lerobot_calibration, progress=True),
            state=self.state,
            tolerance=self.tolerance,
            different_rates=self.different_rates,
            rotate=by_camera("--rotate", self.rotate, parse_rotation),
            crop=by_camera("--crop", self.crop, parse_crop),
        )

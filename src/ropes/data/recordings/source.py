"""The reader interface: a recording is streams of images, joint positions and policies, each with time stamps.

A *source* reads one kind of recording.  Other packages add sources by the entry point `ropes.sources`: an object with
the two methods of `Source`.
"""

import hashlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

import numpy as np
from PIL import Image as Pictures

from ropes.common.arrays import Floats, Images
from ropes.common.progress import progress as show_progress
from ropes.errors import UserError

#: Number of an episode, and number of a frame in it.
FrameId = tuple[int, int]
#: Joint positions are in radians, in degrees, in percent of each joint's range (LeRobot), or left out.
StateUnit = Literal["radians", "degrees", "percent", "none"]
#: Ends of the names of image files and of videos, in lower case.
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm")
VIDEO_SUFFIXES = (".mp4", ".mkv", ".mov", ".avi", ".webm", ".m4v", ".mpg", ".mpeg", ".ts", ".wmv")
#: Commands come at longer intervals, samples of a position at shorter ones, seconds; time stamps are rounded.
COMMAND_INTERVAL = 0.2
_ROUNDING = 1e-3
_MEGABYTE = 1_000_000


def are_samples(times: Floats) -> bool:
    """Whether rows at these times (seconds) are samples, not commands."""
    return len(times) > 1 and float(np.median(np.diff(times))) <= COMMAND_INTERVAL + _ROUNDING


def require_order(times: Floats, what: str) -> None:
    """Check that there are time stamps, and that they do not run back.

    Raises:
        UserError: they do, or there are none.
    """
    if not len(times):
        raise UserError(f"{what}: there are none; record them, or leave the stream out")
    if len(back := np.flatnonzero(np.diff(times) < 0)):
        k = int(back[0])
        raise UserError(f"{what} run back, from {times[k]:.3f} s to {times[k + 1]:.3f} s; record with one clock")


@dataclass(frozen=True)
class Scale:
    """A joint's unit that is neither radians nor degrees: radians at 0, and radians of one unit."""

    zero: float
    unit: float


@dataclass(frozen=True, kw_only=True)
class Joints:
    """Joint positions over time.

    Attributes:
        names: of the joints.
        times: time stamps in seconds, (n,).
        positions: (n, joints), in the unit of the recording.
        hold: a position holds until the next one, as in a log of commands; otherwise it is a sample at its time.
        scales: joint → its unit, where it is not that of the recording.
    """

    names: tuple[str, ...]
    times: Floats
    positions: Floats
    hold: bool = False
    scales: Mapping[str, Scale] = field(default_factory=dict)

    @property
    def are_samples(self) -> bool:
        """Whether positions come so often that they show when the arm stands still."""
        return are_samples(self.times)


@dataclass(frozen=True, kw_only=True)
class Policies:
    """Which policy acts when: each from its time stamp (seconds) until the next one; an empty name is none."""

    times: Floats
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Episode:
    """A part of a recording without interruption.

    Attributes:
        name: for messages.
        frames: camera → time stamps of its frames in seconds, (n,).
        joints: joint positions; None where the recording has none.
        policies: texts that say which policy acts; None where the recording has none.
        number: by which tables name it; None is its place in the recording, from 0 on.
        source: name of the recording that it is of, where several are imported together.
    """

    name: str
    frames: Mapping[str, Floats]
    joints: Joints | None = None
    policies: Policies | None = None
    number: int | None = None
    source: str | None = None


class Recording(Protocol):
    """A recording whose metadata are read; images are read on request.

    Attributes:
        cameras: names.
        episodes: in the order of the recording.
        moves: whether the recording goes on while the arm moves; otherwise each frame is a pose.
        record: origin of the recording for `meta/ropes.json`: format, checksum, topics; as JSON can hold it.

    A recording may also have `calibrations`: camera → `ropes.data.recordings.calibration.Calibration`, without cameras
    that have none; and a method `frame_file` from a camera and a `FrameId` to the path of the frame's own file, or
    None, for messages.
    """

    @property
    def cameras(self) -> tuple[str, ...]:
        """See the class."""

    @property
    def episodes(self) -> tuple[Episode, ...]:
        """See the class."""

    @property
    def moves(self) -> bool:
        """See the class."""

    @property
    def record(self) -> Mapping[str, object]:
        """See the class."""

    def images(self, camera: str, frames: Sequence[FrameId]) -> Generator[Images, None, None]:
        """Decode frames of a camera, given in ascending order; memory does not grow with their number.

        Yields:
            Each frame, uint8 (H, W), or (H, W, 3) in RGB.

        Raises:
            UserError: a frame is damaged.
        """


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which streams of a source to read.

    Attributes:
        cameras: names to import, or NAME=CAMERA to give a camera of the recording (for a bag also a topic) another
            name; all if empty.
        joint_topic: topic of the joint positions; the only one if None.
        policy_topic: topic of the policies; the only one if None.
        policy_column: column with the policies; that of the source's own rule if None.
        joint_columns: columns of `log` with the joint positions, all of numbers if empty; of a bag joints that the
            messages must have.
        calibration: file of `lerobot-calibrate`, for positions from −100 to 100.
        policies: table that gives the policies, so that the recording needs none; set by `ImportOptions`.
        needs_policies: whether the recording must say which policy acts when.
        log: table of time stamps, commands and positions of a video or a folder of frames.
        offset: seconds to add to the time stamps of `log`.
        progress: show progress while time stamps are read and while the checksum is computed.

    Raises:
        UserError: a camera is given twice.
    """

    cameras: tuple[str, ...] = ()
    joint_topic: str | None = None
    policy_topic: str | None = None
    policy_column: str | None = None
    joint_columns: tuple[str, ...] = ()
    calibration: Path | None = None
    policies: Path | None = None
    needs_policies: bool = True
    log: Path | None = None
    offset: float = 0.0
    progress: bool = False
    renamed: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        renamed: dict[str, str] = {}
        for name, _, camera in (text.partition("=") for text in self.cameras):
            if name in renamed:
                raise UserError(f"--cameras has {name} twice; give each camera once")
            renamed[name] = camera or name
        object.__setattr__(self, "renamed", renamed)

    @property
    def policies_elsewhere(self) -> bool:
        """Whether a table gives the policies, or nobody needs them."""
        return self.policies is not None or not self.needs_policies

    def named(self, found: Iterable[str], path: Path) -> Mapping[str, str]:
        """Name → camera of the recording, of the cameras to import among those that it has.

        Raises:
            UserError: a camera is unknown.
        """
        cameras = dict.fromkeys(found)
        for camera in self.renamed.values():
            if camera not in cameras:
                raise UserError(f"{path} has no camera {camera!r}; it has {', '.join(cameras) or 'none'}")
        return self.renamed or {camera: camera for camera in cameras}


class Source(Protocol):
    """Reads one kind of recording."""

    def recognises(self, path: Path) -> bool:
        """Whether the file or folder looks like such a recording; reads no more than names."""

    def open(self, path: Path, options: Options) -> Recording:
        """Read the metadata of a recording.

        Raises:
            UserError: it is damaged, or lacks a stream.
        """


class DamagedPicture(UserError):
    """An image file is damaged, missing or incomplete."""


def read_picture(
    source: Path | BinaryIO,
    where: str,
    unreadable: str,
    formats: tuple[str, ...] | None = None,
    *,
    opaque: bool = False,
) -> Images:
    """The pixels of an image file, which must be grey or RGB.

    Args:
        source: the file.
        where: its name, for messages.
        unreadable: message for a damaged file.
        formats: those of Pillow to try; all if None.
        opaque: accept RGB with an alpha channel in which nothing is transparent, and drop that channel.

    Raises:
        UserError: the image has another mode; or a `DamagedPicture`.
    """
    try:
        with Pictures.open(source, formats=formats) as picture:
            if opaque and picture.mode == "RGBA" and picture.getchannel("A").getextrema() == (255, 255):
                return np.asarray(picture.convert("RGB"))
            if picture.mode not in ("L", "RGB"):
                raise UserError(f"{where}: {picture.mode} image; images must be 8-bit grey or RGB")
            return np.asarray(picture)
    except (OSError, SyntaxError, ValueError) as error:
        raise DamagedPicture(f"{unreadable} ({error})") from error


def require_one_size(paths: Sequence[Path]) -> tuple[int, int]:
    """Height and width of image files, pixels; reads their headers.

    Raises:
        UserError: an image is missing or damaged, or sizes differ.
    """
    sizes: dict[tuple[int, int], Path] = {}
    for path in paths:
        try:
            with Pictures.open(path) as picture:
                sizes.setdefault(picture.size, path)
        except (OSError, SyntaxError, ValueError) as error:
            raise UserError(f"{path} is no image that can be read ({error}); restore it") from error
    (width, height), first = next(iter(sizes.items()))
    if len(sizes) > 1:
        (across, down), other = list(sizes.items())[1]
        raise UserError(
            f"{other} has {across}x{down} pixels, and {first.name} {width}x{height}; import images of one size"
        )
    return height, width


def digest(root: Path, paths: Iterable[Path], *, progress: bool = False) -> str:
    """SHA-256 over names, relative to `root`, and bytes of files in the order given; shows `progress`."""
    files, total, done = list(paths), hashlib.sha256(), 0
    size = sum(path.stat().st_size for path in files)
    with show_progress("checksum of the recording, MB", size // _MEGABYTE, show=progress) as update:
        for path in files:
            name, own = path.relative_to(root).as_posix() if path != root else path.name, hashlib.sha256()
            with path.open("rb") as stream:
                while part := stream.read(_MEGABYTE):
                    own.update(part)
                    done += len(part)
                    update(done // _MEGABYTE)
            total.update(f"{name}\0{own.hexdigest()}\n".encode())
    return total.hexdigest()

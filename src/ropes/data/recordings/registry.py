"""The sources of recordings: which one reads a path."""

from pathlib import Path

from ropes.common.plugins import load_plugins
from ropes.data.recordings.bags import Bag
from ropes.data.recordings.frame_folders import FrameFolders
from ropes.data.recordings.lerobot import LeRobot
from ropes.data.recordings.logs import require_utf8
from ropes.data.recordings.source import Options, Recording, Source
from ropes.data.recordings.videos import Videos
from ropes.errors import UserError

#: Sources of this package by name, in the order in which they are asked.
SOURCES: dict[str, Source] = {"lerobot": LeRobot(), "bag": Bag(), "videos": Videos(), "frames": FrameFolders()}
#: Option → sources that use it.
_USED_BY = {
    "log": ("videos", "frames"),
    "offset": ("videos",),
    "joint_columns": ("videos", "frames", "bag"),
    "policy_column": ("lerobot", "videos", "frames"),
    "policy_topic": ("bag",),
    "joint_topic": ("bag",),
}
#: Entry points by which other packages add sources.
GROUP = "ropes.sources"


def open_recording(path: Path, options: Options) -> tuple[str, Recording]:
    """Open a recording with the first source that recognises it; sources of other packages come first.

    Returns:
        Name of the source, and the recording.

    Raises:
        UserError: the path does not exist, its name is not UTF-8, no source recognises it, or the recording is damaged.
    """
    if not path.exists():
        raise UserError(f"{path} does not exist")
    require_utf8(path.name)
    added, broken = load_plugins(GROUP, _fault)
    for name, source in (added | SOURCES).items():
        if source.recognises(path):
            _require_use(name, options)
            return name, source.open(path, options)
    faults = "".join(f"; source {name} cannot be loaded ({fault})" for name, fault in broken.items())
    raise UserError(
        f"{path} is no recording that can be read: neither a LeRobot folder (meta/info.json), a ROS bag "
        "(metadata.yaml, .bag, .db3, .mcap), a video, a folder of videos or frames with a log, a folder of DREAM "
        "(NNNNNN.rgb.jpg and NNNNNN.json), Causal Triplet's files, MPI3D's photographs (.npz), a table of factors "
        f"(.csv, .parquet), nor images of the causal chambers{faults}"
    )


def _require_use(name: str, options: Options) -> None:
    """Check that a source of this package uses the options that are given."""
    for option, users in _USED_BY.items():
        if name in SOURCES and getattr(options, option) and name not in users:
            raise UserError(
                f"--{option.replace('_', '-')} goes with {' and '.join(users)}, not with {name}; leave it out"
            )


def _fault(name: str, loaded: object) -> str | None:
    """Why an object cannot be a source; None if it can."""
    if name in SOURCES:
        return "the name is taken"
    if not all(callable(getattr(loaded, method, None)) for method in ("recognises", "open")):
        return "it lacks the methods of ropes.data.recordings.source.Source"
    return None

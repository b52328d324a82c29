"""The log beside a video or a folder of frames: policies and joint positions, as commands or as samples."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ropes.common.arrays import Floats
from ropes.data.recordings.source import Joints, Options, Policies, are_samples, digest, require_order
from ropes.data.recordings.tables import Table, read_table
from ropes.errors import UserError

LOG_SUFFIXES = (".csv", ".parquet")
#: Columns of a log that are no joint.
_RESERVED = ("time", "frame", "policy", "episode")
#: A log of samples says nothing in a gap of more than so many of its intervals.
_GAP = 5


def joints(log: Table, times: Floats, options: Options) -> Joints | None:
    """The joint positions of a log: the columns that the options name, or all of numbers.

    Positions of commands hold until the next row.

    Raises:
        UserError: no such column, or a position is not a finite number.
    """
    others = (*_RESERVED, options.policy_column)
    if not options.joint_columns:
        log.require_whole("mend the cell, remove the row, or name the joints' columns by --joint-columns", others)
    numeric = (name for name in log.numeric() if name not in others)
    names = options.joint_columns or tuple(numeric)
    if not names:
        return None
    positions = np.stack([log.numbers(name) for name in names], axis=1)
    return Joints(names=names, times=times, positions=positions, hold=not are_samples(times))


def policies(log: Table, times: Floats, options: Options, *, every_row: bool = False) -> Policies | None:
    """When which policy acts.

    Rows at long intervals are commands: each begins a stretch, also of the same policy.  Samples say nothing in gaps
    and after the last one.

    Raises:
        UserError: the times run back.
    """
    column = options.policy_column or "policy"
    if column not in log.columns and options.policy_column is None:
        return None
    names = log.texts(column)
    if every_row or not are_samples(times):
        return Policies(times=times, names=names)
    require_order(times, f"{log.path.name}: time stamps of the policies")
    steps = np.diff(times)
    step = float(np.median(steps))
    ends = np.append(steps > _GAP * step, True)
    stated = list[tuple[float, str]]()
    for row, (time, name) in enumerate(zip(times.tolist(), names, strict=True)):
        if row == 0 or name != names[row - 1] or ends[row - 1]:
            stated.append((time, name))
        if ends[row]:
            stated.append((time + step, ""))
    return Policies(times=np.array([time for time, _ in stated]), names=tuple(name for _, name in stated))


def chosen(found: Mapping[str, Path], options: Options, path: Path) -> dict[str, Path]:
    """The cameras that the options name; all without such an option."""
    return {name: found[camera] for name, camera in options.named(found, path).items()}


def find(path: Path, video: Path | None, options: Options) -> Table | None:
    """The log that the options name, or else the one beside the video, or the only one in the folder."""
    if options.log is not None:
        return read_table(options.log)
    if path.is_file() and video is not None:
        found = [video.with_suffix(suffix) for suffix in LOG_SUFFIXES if video.with_suffix(suffix).is_file()]
    else:
        table = None if options.policies is None else options.policies.resolve()
        found = [file for file in files(path, LOG_SUFFIXES) if file.resolve() != table]
    if len(found) > 1:
        raise UserError(f"{path} has several logs ({', '.join(file.name for file in found)}); choose one by --log")
    if not found and not options.policies_elsewhere:
        raise UserError(f"{path} has no log of time stamps and policies; give it by --log FILE")
    return read_table(found[0]) if found else None


def record(path: Path, used: Iterable[Path], log: Table | None, options: Options) -> dict[str, object]:
    """Checksums of images and log."""
    root = path if path.is_dir() else path.parent
    images = digest(root, sorted(used), progress=options.progress)
    return {"sha256": images, "log_sha256": None if log is None else digest(log.path, [log.path])}


def files(folder: Path, suffixes: Sequence[str]) -> list[Path]:
    """Files of a folder with one of the suffixes, by name; hidden ones do not count.

    Raises:
        UserError: a name is not UTF-8.
    """
    if not folder.is_dir():
        return []
    shown = (file for file in folder.iterdir() if not file.name.startswith("."))
    found = sorted(file for file in shown if file.suffix.lower() in suffixes and file.is_file())
    for name in (folder.name, *(file.name for file in found)) if found else ():
        require_utf8(name)
    return found


def require_utf8(name: str) -> None:
    """Check the name of a file, of which cameras have their names and data sets a checksum.

    Raises:
        UserError: it is not UTF-8.
    """
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise UserError(f"the name {name!a} is not UTF-8; rename the file or folder") from error

"""Files of predictions: an angle in radians for every joint and test pose, optionally with an interval.

An archive .npz has the array `joints` (names, in the order of the task), optionally `task` (the name of the task) and,
for every test split, an array of its name (poses, joints); arrays SPLIT-lower and SPLIT-upper are the ends of
intervals.  A table .csv has the columns split, pose (from 0, in order) and one of each joint, optionally JOINT-lower
and JOINT-upper.
"""

import csv
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.common.files import write_arrays
from ropes.common.units import require_radians
from ropes.errors import UserError
from ropes.evaluation.benchmark.task import TEST_POSES, Task

_ENDS = ("lower", "upper")
#: Radians; no value of a prediction or of an interval's end may be larger.
_LARGEST = 1e3


@dataclass(frozen=True, kw_only=True)
class Predictions:
    """Predictions for the poses of a test split, in the order of the split.

    Attributes:
        angles: (poses, joints) radians.
        lower: lower ends of intervals, (poses, joints) radians; None without intervals.
        upper: upper ends, likewise.
    """

    angles: Floats
    lower: Floats | None = None
    upper: Floats | None = None


def read_predictions(path: Path, task: Task, splits: Sequence[str] | None = None) -> dict[str, Predictions]:
    """Read and check a file of predictions.

    Args:
        path: .npz or .csv.
        task: the task.
        splits: test splits that the file must have; all of the task if None.

    Returns:
        Split → predictions.

    Raises:
        UserError: the file is damaged or of another kind, names another task, lacks a split, has other joints, another
            number of poses, a value that is no finite angle, angles that look like degrees, intervals for a part of the
            splits, or an interval whose lower end is above the upper.
    """
    if path.suffix not in (".npz", ".csv"):
        raise UserError(f"{path}: predictions are a .npz or a .csv file (docs/benchmark.md)")
    with _one_line(path):
        arrays = _read_npz(path, task) if path.suffix == ".npz" else _read_csv(path, task)
        known = {name for split in task.splits for name in (split, *(f"{split}-{end}" for end in _ENDS))}
        if unknown := sorted(set(arrays) - known):
            raise ValueError(f"unknown {unknown[0]!r}; {task.name} has {', '.join(task.splits)}")
        found = {split: _of_split(arrays, split, task) for split in splits or task.splits}
        if len(without := [split for split, each in found.items() if each.lower is None]) not in (0, len(found)):
            raise ValueError(f"{without[0]} has no intervals; give intervals for all splits, or for none")
        return found


def require_archive(path: Path) -> None:
    """Check the name of a file to write.

    Raises:
        UserError: it does not end in .npz.
    """
    if path.suffix != ".npz":
        raise UserError(f"{path}: give a name that ends in .npz")


def write_predictions(path: Path, task: Task, predictions: Mapping[str, Predictions]) -> None:
    """Write predictions as an archive .npz with numbers of 32 bits.

    Args:
        path: the file.
        task: the task.
        predictions: split → predictions.

    Raises:
        UserError: the name does not end in .npz, or the folder cannot be written to.
    """
    require_archive(path)
    arrays: dict[str, NDArray[np.generic]] = {"task": np.array(task.name), "joints": np.array(task.joints)}
    for split, each in predictions.items():
        for name, values in ((split, each.angles), (f"{split}-lower", each.lower), (f"{split}-upper", each.upper)):
            if values is not None:
                arrays[name] = values.astype(np.float32)
    write_arrays(path, arrays)


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Turn the errors of reading a file into one line that names it."""
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, MemoryError, RuntimeError, OSError) as error:
        raise UserError(f"{path} cannot be read ({_joined(error)}); write it again") from error
    except (ValueError, csv.Error) as error:
        raise UserError(f"{path}: {_joined(error)}") from error


def _joined(error: Exception) -> str:
    """The message of an error on one line."""
    return " ".join(str(error).split())


def _read_npz(path: Path, task: Task) -> dict[str, NDArray[np.generic]]:
    """The arrays of an archive, without the names of the task and of the joints."""
    arrays: dict[str, NDArray[np.generic]] = {}
    with path.open("rb") as stream:
        if stream.read(2) != b"PK":
            raise ValueError("this is no .npz archive; write it with numpy.savez_compressed")
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as archive:
            for name in archive.files:
                try:
                    arrays[name] = np.asarray(archive[name])
                except ValueError as error:
                    raise ValueError(f"{name}: {error}; store plain numbers, and joints as a list of names") from error
    named = [str(name) for name in arrays.pop("task", np.array(task.name)).reshape(-1)]
    if named != [task.name]:
        raise ValueError(f"these are predictions for task {_listed(named)}, not for {task.name}")
    if "joints" not in arrays:
        raise ValueError(f"no array joints; it must be {_listed(task.joints)}")
    _require_joints([str(name) for name in arrays.pop("joints").reshape(-1)], task)
    return arrays


def _read_csv(path: Path, task: Task) -> dict[str, NDArray[np.generic]]:
    """The columns of a table, as the arrays of an archive."""
    with path.open(newline="", encoding="utf-8-sig") as stream:  # spreadsheets begin with a mark
        reader = csv.reader(stream, strict=True)
        header = next(reader, [])
        lines = [line for line in reader if line]
    if header[:2] != ["split", "pose"]:
        raise ValueError(f"the first columns must be split and pose, not {_listed(header[:2])}")
    ends = {end: [name for name in header[2:] if name.endswith(f"-{end}")] for end in _ENDS}
    _require_joints([name for name in header[2:] if name not in (*ends["lower"], *ends["upper"])], task)
    for end, names in ends.items():
        if names and names != [f"{joint}-{end}" for joint in task.joints]:
            raise ValueError(f"the columns of {end} ends must be {_listed([f'{each}-{end}' for each in task.joints])}")
    counts: dict[str, int] = {}
    values: dict[str, list[list[float]]] = {}
    for number, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise ValueError(f"row {number} has {len(line)} values; the header has {len(header)}")
        split, pose = line[:2]
        expected = counts.setdefault(split, 0)
        if pose != str(expected):
            raise ValueError(f"row {number} is pose {pose!r} of {split!r}; pose {expected} is next")
        counts[split] = expected + 1
        for name in ("", *(f"-{end}" for end in _ENDS if ends[end])):
            row = [line[header.index(f"{joint}{name}", 2)] for joint in task.joints]
            values.setdefault(split + name, []).append(_numbers(row, number))
    return {name: np.array(rows) for name, rows in values.items()}


def _numbers(texts: Sequence[str], row: int) -> list[float]:
    """The values of a row as numbers."""
    try:
        return [float(text) for text in texts]
    except ValueError as error:
        raise ValueError(f"row {row}: {error}") from error


def _require_joints(names: Sequence[str], task: Task) -> None:
    """Check that these are the joints of a task in its order."""
    if list(names) != list(task.joints):
        same = "in another order" if sorted(names) == sorted(task.joints) else "other joints"
        raise ValueError(f"{same}: {_listed(names)}; {task.name} has {_listed(task.joints)}")


def _of_split(arrays: Mapping[str, NDArray[np.generic]], split: str, task: Task) -> Predictions:
    """The checked predictions of a split."""
    if split not in arrays:
        raise ValueError(f"no predictions for {split}; {task.name} has {', '.join(task.splits)}")
    angles = _checked(arrays, split, task)
    names = [f"{split}: {joint}" for joint in task.joints]
    require_radians(names, np.median(np.abs(angles), axis=0), "has a median of")
    given = [end for end in _ENDS if f"{split}-{end}" in arrays]
    if len(given) == 1:
        raise ValueError(f"{split} has {given[0]} ends of intervals alone; give lower and upper ends")
    if not given:
        return Predictions(angles=angles)
    lower, upper = (_checked(arrays, f"{split}-{end}", task) for end in _ENDS)
    if len(wrong := np.argwhere(lower > upper)):
        pose, joint = wrong[0]
        raise ValueError(f"{split}, pose {pose}, {task.joints[joint]}: the lower end is above the upper end")
    return Predictions(angles=angles, lower=lower, upper=upper)


def _checked(arrays: Mapping[str, NDArray[np.generic]], name: str, task: Task) -> Floats:
    """An array as finite numbers of the right shape."""
    found, shape = arrays[name], (TEST_POSES, len(task.joints))
    if found.dtype.kind not in "fiu":
        raise ValueError(f"{name} holds {found.dtype}, not numbers")
    if found.shape != shape:
        raise ValueError(f"{name} has shape {found.shape}; {task.name} needs {shape}, poses and joints")
    values = found.astype(np.float64)
    if len(bad := np.argwhere(~np.isfinite(values))):
        pose, joint = bad[0]
        raise ValueError(f"{name}, pose {pose}, {task.joints[joint]}: not a finite number")
    if len(bad := np.argwhere(np.abs(values) > _LARGEST)):
        pose, joint = bad[0]
        raise ValueError(f"{name}, pose {pose}, {task.joints[joint]}: {values[pose, joint]:.3g} is no angle in radians")
    return values


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"

"""Reads JSON, writes files atomically, and keeps output folders from mixing."""

import fcntl
import glob
import hashlib
import json
import math
import os
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from ropes.common import stores
from ropes.common.stores import Location
from ropes.errors import UserError

#: Name of the folder that `replaced_folder` replaces, while it does so.
_EARLIER = "earlier"
#: Age in seconds from which an empty temporary folder is taken for one that a killed process left.
_ABANDONED = 60.0


@contextmanager
def atomic_path(path: Location) -> Iterator[Path]:
    """Yield a temporary sibling of `path`; it replaces `path` if the block succeeds and is removed otherwise.

    For a file of an object store, it is a local file, which is stored as one object.

    Raises:
        UserError: the path is a folder, or its folder cannot be created or written to.
    """
    if not isinstance(path, Path):
        with stores.put(path) as temporary:
            yield temporary
        return
    require_file(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        # Unlike tempfile's files, this one respects the user's umask.
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose another output folder") from error
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    os.close(handle)
    try:
        yield temporary
        temporary.chmod(mode)  # a library may have replaced the file
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())  # after a power cut `path` must not be half a file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def is_temporary(path: Path) -> bool:
    """Whether a path has the name of a temporary file: hidden, and ending in .part, as in `atomic_path`."""
    return path.name.startswith(".") and path.name.endswith(".part")


def write_text(path: Location, text: str) -> None:
    """Write `text` to `path` atomically, as UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Location, content: Any) -> None:
    """Write `content` to `path` atomically as sorted, indented JSON without NaN and infinities."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to `path` atomically as a compressed NumPy archive."""
    import numpy as np

    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def cache_folder() -> Path:
    """The folder for files that can be made again: `ropes` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ropes"


def link_file(source: Path, path: Path) -> None:
    """Link `path` to `source`, or copy it; `source` must be replaced, never written in place."""
    with atomic_path(path) as temporary:
        try:
            temporary.unlink(missing_ok=True)
            os.link(source, temporary)
        except OSError:  # another file system, or no hard links
            shutil.copyfile(source, temporary)


def copy_tree(source: Path, target: Path) -> None:
    """Copy every file of a folder into another one, each atomically; other files there stay."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.name.endswith(".part"):
            with atomic_path(target / path.relative_to(source)) as temporary:
                shutil.copyfile(path, temporary)


@contextmanager
def replaced_folder(target: Path) -> Iterator[Path]:
    """Yield a new folder; it replaces the folder `target` if the block succeeds, and is removed otherwise.

    First removes what killed processes left beside `target`; an earlier `target` that one had moved away comes back.

    Raises:
        UserError: the parent folder cannot be made.
    """
    require_folder(target.parent)
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{glob.escape(target.name)}.????????.part"):
        with suppress(OSError):  # a process holds its lock, or a file system has none
            _remove_left(left, target)
    with (
        tempfile.TemporaryDirectory(prefix=f".{target.name}.", suffix=".part", dir=target.parent) as folder,
        _open_folder(Path(folder)) as handle,
    ):
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        new, earlier = Path(folder, target.name), Path(folder, _EARLIER)
        new.mkdir()
        yield new
        try:
            if target.exists():
                target.rename(earlier)
            new.rename(target)
        except BaseException:
            if earlier.exists() and not target.exists():
                earlier.rename(target)
            raise


def _remove_left(folder: Path, target: Path) -> None:
    """Remove a temporary folder of `replaced_folder`, whose lock ended with its process, also where it was killed.

    Raises:
        OSError: a process holds the lock, or the folder cannot be removed.
    """
    with _open_folder(folder) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not any(folder.iterdir()) and time.time() - folder.stat().st_mtime < _ABANDONED:
            return  # another process has just made it, and not locked it yet
        if (folder / _EARLIER).is_dir() and not target.exists():
            (folder / _EARLIER).rename(target)
        shutil.rmtree(folder)


@contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    """Open a folder; yields its file descriptor."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def read_json(path: Location, *, folder: Location | None = None) -> Any:
    """Read the JSON file at `path`.

    Args:
        path: the file.
        folder: the data set or run of the file, for the message; by default the file's own folder.

    Raises:
        UserError: the file is missing or not JSON.
    """
    folder = path.parent if folder is None else folder
    try:
        with nullcontext() if isinstance(path, Path) else stores.answered(path):
            text = path.read_text(encoding="utf-8")
        return json.loads(text)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path} is missing; is {folder} the right folder?") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not text, not JSON, too large a number or too deep
        raise UserError(f"{path} is not valid JSON ({error}); restore it, or make {folder.resolve()} again") from error


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of the file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def as_json(content: Any) -> Any:
    """`content` after writing and reading as JSON, for comparisons with a JSON file."""
    return json.loads(json.dumps(content))


def nan_to_none(values: Mapping[str, float]) -> dict[str, float | None]:
    """The values as JSON can hold them: None for NaN."""
    return {name: None if math.isnan(value) else value for name, value in values.items()}


def strip_folder(text: str, path: Location) -> str:
    """`text` with the name of `path` in place of the whole path, so that results do not depend on folders."""
    return text.replace(str(path), path.name) if len(path.parts) > 1 else text


def require_free(path: Location, marker: str) -> None:
    """Check that `ensure_output_folder` would accept `path`, without creating it.

    Raises:
        UserError: as `ensure_output_folder`, as far as it can be known before the folder exists.
    """
    if not isinstance(path, Path):
        contents = stores.glob(path, "*")
    else:
        require_folder(path)
        contents = [entry for entry in path.iterdir() if not _is_left(entry)] if path.is_dir() else []
    if contents and not stores.is_file(path / marker):
        raise UserError(f"{path} holds something else (no {marker} in it); choose an empty or new folder")


def _is_left(entry: Path) -> bool:
    """Whether an entry of a folder is a temporary file, or a folder of nothing else, as a killed process leaves it."""
    if entry.is_dir() and not entry.is_symlink():
        return all(map(_is_left, entry.iterdir()))
    return is_temporary(entry)


def require_file(path: Path) -> None:
    """Check that `path` is no folder.

    Raises:
        UserError: it is one.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder; give the name of a file")


def require_folder(path: Path) -> None:
    """Check that `path` is a folder, or that no file is in the way of making it.

    Raises:
        UserError: it is a file, or in a file.
    """
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise UserError(f"cannot make the folder {path}: {nearest} is a file")


def ensure_output_folder(path: Location, marker: str) -> None:
    """Create `path`, or accept it if it is empty or holds the file `marker` (a run to resume).

    Temporary files of an interrupted `atomic_path` are ignored.  A store has no folders to create.

    Raises:
        UserError: the folder holds something else, or is a file.
    """
    require_free(path, marker)
    if not isinstance(path, Path):
        return
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {path}: {error.strerror}") from error


def check_manifest(path: Path, about: Mapping[str, Any], refusal: str) -> None:
    """Write the identity of a folder to the JSON file `path`, or check the one that the file holds.

    Other entries of an existing file stay.

    Args:
        path: the JSON file.
        about: the entries that must agree.
        refusal: the end of the error message, after the folder's name.

    Raises:
        UserError: an entry differs, or the file is damaged.
    """
    if not path.exists():
        write_json(path, about)
        return
    stored = read_json(path)
    if not isinstance(stored, dict) or any(stored.get(key) != value for key, value in as_json(about).items()):
        raise UserError(f"{path.parent} {refusal}")

"""Writes files atomically and protects folders that hold something else."""

import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ropes.errors import UserError


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary sibling of `path` that replaces it when the block ends well, and is removed when not.

    Raises:
        UserError: the folder cannot be created or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        # Unlike tempfile's, with the mode that the user's umask leaves.
        handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose another output folder") from error
    mode = stat.S_IMODE(os.fstat(handle).st_mode)
    os.close(handle)
    try:
        yield temporary
        temporary.chmod(mode)  # of a file that a library has put in its place
        _settle(temporary)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _settle(path: Path) -> None:
    """Have the file's content on disk before its name is: a power cut must not leave a whole name on half a file."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically, as UTF-8."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any) -> None:
    """Write `content` to `path` atomically as sorted, indented JSON; NaN and infinities are refused."""
    write_text(path, json.dumps(content, indent=1, sort_keys=True, allow_nan=False) + "\n")


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write arrays to `path` atomically, as NumPy's compressed archive."""
    import numpy as np

    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def link_file(source: Path, path: Path) -> None:
    """Make `path` the same file as `source` (which is to be replaced and never written in place), or a copy of it."""
    with atomic_path(path) as temporary:
        try:
            temporary.unlink(missing_ok=True)
            os.link(source, temporary)
        except OSError:  # another file system, or one without links
            shutil.copyfile(source, temporary)


def copy_tree(source: Path, target: Path) -> None:
    """Copy every file of a folder into another one, each whole or not at all; what is there beside them stays."""
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.name.endswith(".part"):
            with atomic_path(target / path.relative_to(source)) as temporary:
                shutil.copyfile(path, temporary)


def read_json(path: Path, *, folder: Path | None = None) -> Any:
    """Read the JSON file at `path`.

    Args:
        path: of the file.
        folder: the data set or run that it is part of, for the message; the file's own folder where left out.

    Raises:
        UserError: the file is missing or not JSON.
    """
    folder = path.parent if folder is None else folder
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{path} is missing; is {folder} the right folder?") from error
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not text, not JSON, a number or a depth beyond all bounds
        raise UserError(f"{path} is not valid JSON ({error}); restore it or make {folder} anew") from error


def sha256(path: Path) -> str:
    """Hexadecimal SHA-256 of the file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def as_json(content: Any) -> Any:
    """`content` as it would come back from a JSON file, for comparisons with one."""
    return json.loads(json.dumps(content))


def without_folder(text: str, path: Path) -> str:
    """`text` with the name of `path` alone wherever it has the whole of it: where files lie is no part of a result."""
    return text.replace(str(path), path.name) if len(path.parts) > 1 else text


def require_free(path: Path, marker: str) -> None:
    """Check that `claim_folder` would take `path`, and make nothing.

    Raises:
        UserError: as `claim_folder`, as far as can be told without making the folder.
    """
    nearest = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise UserError(f"cannot make the folder {path}: {nearest} is a file")
    contents = [entry for entry in path.iterdir() if not entry.name.endswith(".part")] if path.is_dir() else []
    if contents and not (path / marker).exists():
        raise UserError(f"{path} holds something else (no {marker} in it); choose an empty or new folder")


def claim_folder(path: Path, marker: str) -> None:
    """Create `path`, or accept it when it is empty or already holds the file `marker` (a run to go on with).

    Leftovers of an interrupted `atomic_path` count as nothing.

    Raises:
        UserError: the folder holds something else, or is a file.
    """
    require_free(path, marker)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot make the folder {path}: {error.strerror}") from error


def claim_record(path: Path, about: Mapping[str, Any], refusal: str) -> None:
    """Store in the JSON file `path` what its folder is about, or check that the folder is about this already.

    Other entries of a file that is there are nobody's business here, and stay.

    Args:
        path: of the record.
        about: the entries that have to agree.
        refusal: what the message says of the folder where they do not.

    Raises:
        UserError: an entry differs, or the record is damaged.
    """
    if not path.exists():
        write_json(path, about)
        return
    found = read_json(path)
    if not isinstance(found, dict) or any(found.get(key) != value for key, value in as_json(about).items()):
        raise UserError(f"{path.parent} {refusal}")

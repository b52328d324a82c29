"""The cache folder: files that can be made or fetched again, with a limit on their size.

Before a file is written, the least recently used ones are removed, except those in use.  A file is in use while a
process holds a shared lock on it.  Simplified meshes and URDF files, which renderers open by their names, cannot be
locked: they count as in use for a day after they were asked for.
"""

import fcntl
import glob
import hashlib
import math
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from ropes.common import files, stores
from ropes.common.stores import Location
from ropes.errors import UserError

if TYPE_CHECKING:
    from upath import UPath

#: Environment variable with the size limit of the cache folder, and its default, gigabytes.
LIMIT_VARIABLE, DEFAULT_LIMIT = "ROPES_CACHE_GB", 20.0
#: Age in seconds above which a partial file counts as left by a killed process, and an entry of `_FOLDERS` as unused.
_ABANDONED = 24 * 3600.0
#: Endings of the files that count: decoded images, and files fetched from a store.
_KINDS = (".npy", ".parquet", ".json", ".urdf")
#: Folders of the cache folder whose entries, files and folders, are removed as a whole.
_FOLDERS = ("meshes", "finger")
#: Bytes of the SHA-256 at the end of an array's file, and bytes that are read at a time to compute it.
DIGEST, _BLOCK = 32, 1 << 20
#: Characters of the digests in the name of a fetched file, and how often a damaged copy is fetched again.
_KEY, _TRIES = 24, 3


def cache_limit() -> float:
    """Size limit of the cache folder in bytes: `$ROPES_CACHE_GB` gigabytes, 20 by default.

    Raises:
        UserError: the variable is not a number of at least 0.
    """
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_LIMIT)
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not limit >= 0:
        raise UserError(f"{LIMIT_VARIABLE} is {text!r}; give the gigabytes for decoded images, for example 20")
    return limit * 1e9


def make_room(folder: Path, needed: int, limit: float, *, keep: Path) -> None:
    """Remove least recently used files until `needed` more bytes fit the limit; files in use stay.

    Args:
        folder: folder of the cache.
        needed: bytes about to be written; they are written even above the limit.
        limit: size limit of the folder, bytes.
        keep: a file that is about to be replaced; its size does not count.
    """
    entries: list[tuple[float, int, Path]] = []
    for path in [each for kind in _KINDS for each in (*folder.glob(f"*{kind}"), *folder.glob(f".*{kind}.*.part"))]:
        with suppress(FileNotFoundError):
            status = path.stat()
            if path.suffix != ".part" or time.time() - status.st_mtime > _ABANDONED:
                entries.append((status.st_mtime, status.st_size, path))
    for path in [each for name in _FOLDERS for each in (folder / name).glob("*")]:
        with suppress(OSError):
            entries.append((path.stat().st_mtime, _size(path), path))
    total = needed + sum(size for _, size, path in entries if path != keep)
    for _, size, path in sorted(entries):
        if total <= limit:
            return
        if path != keep and (_removed(path) if path.parent == folder else _removed_whole(path)):
            total -= size


def mark_used(path: Path) -> None:
    """Note that an entry of one of the folders of the cache folder is in use from now on; it may be missing."""
    with suppress(OSError):  # also another user's cache
        os.utime(path)


def _size(path: Path) -> int:
    """Bytes of a file, or of all files in a folder."""
    return sum(each.stat().st_size for each in ([path] if path.is_file() else path.rglob("*")) if each.is_file())


def _removed_whole(path: Path) -> bool:
    """Remove an entry of `_FOLDERS` as a whole unless it is in use; returns whether it is removed."""
    try:
        if time.time() - path.stat().st_mtime <= _ABANDONED:
            return False
        gone = path.with_name(f".{secrets.token_hex(8)}.part")
        path.rename(gone)
        if gone.is_dir():
            shutil.rmtree(gone)
        else:
            gone.unlink()
    except OSError:
        return False
    return True


def _removed(path: Path) -> bool:
    """Remove a file unless a process uses it; returns whether it is removed."""
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    except OSError:
        return False
    return True


def hold(path: Path) -> IO[bytes]:
    """Open a file of the cache, which stays until the stream and every map of it are closed.

    Raises:
        FileNotFoundError: it is not there, or another process removed it meanwhile.
    """
    stream = path.open("rb")
    with suppress(OSError):  # a file system without locks
        fcntl.flock(stream, fcntl.LOCK_SH)
    if not os.fstat(stream.fileno()).st_nlink:
        stream.close()
        raise FileNotFoundError(f"{path} was removed meanwhile")
    return stream


def append_digest(path: Path) -> None:
    """Write the SHA-256 of a file at its end."""
    digest = digest_of(path, path.stat().st_size)
    with path.open("ab") as stream:
        stream.write(digest)


def digest_of(path: Path, length: int) -> bytes:
    """SHA-256 of the first bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while length > 0 and (block := stream.read(min(length, _BLOCK))):
            digest.update(block)
            length -= len(block)
    return digest.digest()


@contextmanager
def fetched(path: Location) -> Iterator[Path]:
    """The local copy of a whole file of a store, in the cache folder while the block runs; a local path is itself.

    The store is asked for the file's version each time, so a changed file is fetched again. So is a damaged copy: its
    name contains the digest of what was fetched.

    Raises:
        FileNotFoundError: the store has no such file.
        UserError: the store fails, the file changes while it is fetched, or the cache damages it again and again.
    """
    if isinstance(path, Path):
        yield path
        return
    about = stores.information(path)
    version = f"{path} {path.storage_options} {sorted(about.items())}"  # with the ETag, or the time of the last change
    key = hashlib.sha256(version.encode()).hexdigest()[:_KEY]
    damaged = 0
    while damaged < _TRIES:
        found = files.cache_folder().glob(f"{key}-{'?' * _KEY}-{glob.escape(path.name)}")
        copy = next(found, None) or _fetch(path, key, about["size"])
        try:
            stream = hold(copy)
        except FileNotFoundError:  # another process has removed it
            continue
        with stream:
            if files.sha256(copy)[:_KEY] != copy.name.split("-")[1]:
                copy.unlink(missing_ok=True)
                damaged += 1
                continue
            with suppress(OSError):  # another user's cache
                os.utime(copy)
            yield copy
        return
    raise UserError(f"{files.cache_folder()} returns other bytes than were written; check its disk")


def _fetch(path: "UPath", key: str, size: int) -> Path:
    """Fetch a file of a store into the cache; its local copy."""
    whole = files.cache_folder() / f"{key}-{path.name}"
    make_room(whole.parent, size, cache_limit(), keep=whole)
    with files.atomic_path(whole) as temporary:
        with stores.answered(path):
            path.fs.get_file(path.path, str(temporary))
        if temporary.stat().st_size != size:
            raise UserError(f"{path} changed while it was read; run the same command again") from None
        digest = files.sha256(temporary)[:_KEY]
    copy = whole.with_name(f"{key}-{digest}-{path.name}")
    with suppress(FileNotFoundError):  # another process has removed it already
        whole.replace(copy)
    return copy


def sha256(path: Location) -> str:
    """Hexadecimal SHA-256 of a file's bytes, local or on a store."""
    with fetched(path) as local:
        return files.sha256(local)

"""Files on object stores, `s3://bucket/folder`: a local path is a `pathlib.Path`, a URL is a `upath.UPath`.

fsspec reads and writes the store, with the credentials and settings of its own package (s3fs, gcsfs, adlfs, ...).
Whatever a store fails with becomes a `UserError` of one line.
"""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias, TypeGuard, TypeVar, cast

from ropes.errors import UserError, install_command

if TYPE_CHECKING:
    from upath import UPath

    Location: TypeAlias = Path | UPath
else:
    Location = Path
#: Seconds in which a store must answer first.
PATIENCE = 30.0
#: Files of a store that are read at a time.
_AT_ONCE = 16
_Result = TypeVar("_Result")


def is_url(text: object) -> bool:
    """Whether a text is a URL, with ://, and not a local path."""
    return isinstance(text, str) and "://" in text


def is_location(value: object) -> "TypeGuard[str | Location]":
    """Whether a value is a path, a URL or a UPath."""
    return isinstance(value, str | Path) or hasattr(value, "storage_options")


def location(given: "str | Location") -> "Location":
    """The path of a local file or folder, or the UPath of a URL.

    Raises:
        UserError: the packages for URLs are not installed, or fsspec does not know such URLs.
    """
    if not is_url(given):
        return Path(given) if isinstance(given, str) else given
    try:
        from upath import UPath
    except ModuleNotFoundError as error:
        raise UserError(f"{given} needs the package {error.name}; {install_command('stores')}") from error
    try:
        path = UPath(given)
        _ = path.fs  # imports the package of this store
    except (ImportError, ValueError) as error:
        raise UserError(f"{given}: {error}") from error
    return Path(path.path) if path.protocol in ("file", "local") else path


@contextmanager
def answered(path: object) -> Iterator[None]:
    """Turn the errors of a store into a `UserError` that begins with `path`; a missing file stays FileNotFoundError."""
    try:
        yield
    except UserError:
        raise
    except FileNotFoundError as error:
        unreachable = error.__cause__  # fsspec calls a file missing where a web server does not answer
        if isinstance(unreachable, OSError) and not isinstance(unreachable, FileNotFoundError):
            raise _failure(path, unreachable) from unreachable
        raise
    except Exception as error:  # of any class: every store has its own library
        raise _failure(path, error) from error


def _failure(path: object, error: Exception) -> UserError:
    text = " ".join(str(error).split()) or type(error).__name__
    return UserError(f"{path}: {text}; check the address, the network and the store's credentials")


def require_answer(path: "Location") -> None:
    """Check that the store of a path answers, within a time that a user waits for; a file need not be there.

    Raises:
        UserError: it does not answer, refuses the credentials, or has no such bucket.
    """
    if isinstance(path, Path):
        return
    from fsspec.asyn import AsyncFileSystem, sync

    files = path.fs
    try:
        with answered(path):
            if isinstance(files, AsyncFileSystem):
                sync(files.loop, files._info, path.path, timeout=PATIENCE)
            else:
                files.info(path.path)
    except FileNotFoundError as error:
        if path.path not in (text := str(error)):  # a message of its own: no such bucket
            raise UserError(f"{path}: {text}; check the address") from error
    except UserError as error:
        if isinstance(error.__cause__, TimeoutError):
            raise UserError(f"{path}: no answer in {PATIENCE:.0f} seconds; check the network") from error
        raise


def information(path: "UPath") -> dict[str, Any]:
    """What the store itself tells about a file now: its size and, in a form of the store's own, its version.

    Raises:
        FileNotFoundError: there is no such file.
        UserError: the store fails.
    """
    with answered(path):
        path.fs.invalidate_cache(path.path)
        found: dict[str, Any] = path.fs.info(path.path)
    return found


def is_file(path: "Location") -> bool:
    """Whether a file exists; a store that fails is an error, not a missing file."""
    if isinstance(path, Path):
        return path.is_file()
    try:
        return bool(information(path)["type"] == "file")
    except FileNotFoundError:
        return False


def glob(folder: "Location", pattern: str) -> list[Path]:
    """The files of a folder whose path in it has a pattern; none where the folder is not there."""
    if isinstance(folder, Path):
        return list(folder.glob(pattern))
    with answered(folder):
        folder.fs.invalidate_cache()
        return cast("list[Path]", list(folder.glob(pattern)))


def each(function: "Callable[[Location], _Result]", paths: "Sequence[Location]") -> list[_Result]:
    """The results of a function that reads a little of each file, in their order; several of a store at a time."""
    if all(isinstance(path, Path) for path in paths):
        return list(map(function, paths))
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        return list(pool.map(function, paths))
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def ranges(path: "UPath") -> Iterator[IO[bytes]]:
    """A file of a store from which parts are read, each as it is asked for.

    Raises:
        FileNotFoundError: there is no such file.
        UserError: the store fails, or what the caller reads is damaged.
    """
    with answered(path):
        path.fs.invalidate_cache(path.path)
        with path.fs.open(path.path, "rb", cache_type="none") as stream:
            yield stream


@contextmanager
def put(path: "UPath") -> Iterator[Path]:
    """Yield a local file, which becomes one object if the block succeeds: no reader sees a part of it.

    Raises:
        UserError: the store fails, or has no such bucket.
    """
    with tempfile.TemporaryDirectory(prefix="ropes-") as folder:
        temporary = Path(folder) / path.name
        temporary.touch()
        yield temporary
        try:
            with answered(path):
                path.fs.put_file(str(temporary), path.path)
        except FileNotFoundError as error:
            raise UserError(f"cannot write {path}: {error}; check the address") from error


def remove(path: "Location") -> None:
    """Remove a file, which may be missing."""
    if isinstance(path, Path):
        path.unlink(missing_ok=True)
        return
    try:
        with answered(path):
            path.fs.rm_file(path.path)
    except FileNotFoundError:
        return

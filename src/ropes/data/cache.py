"""Decodes all images of a split once into a memory-mapped array, so that training reads at memory speed.

The file lies in the user's cache folder under a name made of the data set's checksum, the split and the
image size: another data set, or a changed one, never meets a stale cache.  The folder is kept below a limit (see
`cache_limit`): before a split is decoded, files that nobody reads are removed, first the one that was opened the
longest ago.  Resident memory stays small
however large the array: once too many pages have been read in they are handed back to the system (and stay in
its page cache, where reading them again is cheap).
"""

import fcntl
import math
import mmap
import os
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common import files
from ropes.common.hardware import usable_cores
from ropes.common.progress import progress as show_progress
from ropes.data import parquet, schema
from ropes.data.dataset import Dataset, Frames
from ropes.errors import UserError

#: Bytes of mapped files in this process's resident memory above which a cache hands its pages back.
_RESIDENT_LIMIT = 1 << 30
#: Gigabytes that decoded images may take in the cache folder, unless the environment says otherwise.
LIMIT_VARIABLE, DEFAULT_LIMIT = "ROPES_CACHE_GB", 20.0
#: Seconds after which a half-written file that nobody holds is a killed process's.
_ABANDONED = 24 * 3600.0


class ImageCache:
    """The images of one split `size` pixels square; position k is the k-th of `dataset.frames(split)`.

    Args:
        dataset: where the images are.
        split: name of the split.
        size: side in pixels; a smaller one than the originals' averages them by area.
        folder: where the cache lies; `ropes` in the user's cache folder when not given.
        progress: show progress while decoding.

    Raises:
        UserError: no such split, images that are not square or smaller than `size`, or a damaged data file.
    """

    def __init__(
        self, dataset: Dataset, split: str, size: int, folder: Path | None = None, *, progress: bool = True
    ) -> None:
        height, width = dataset.image_size
        if height != width or size > height or size < 1:
            raise UserError(
                f"{dataset.path} has {height}x{width} images: they cannot be had at {size}x{size}; "
                "choose a size of at most theirs, and square images"
            )
        self.frames: Frames = dataset.frames(split)
        self.cameras = dataset.cameras
        self.shape = (len(self.frames), len(self.cameras), size, size, *dataset.image_shape[2:])
        if not len(self.frames):
            raise UserError(f"{dataset.path}: split {split!r} has no frames")
        folder = cache_folder() if folder is None else Path(folder)
        self.path = folder / f"{dataset.checksum[:24]}-{split}-{size}.npy"
        while not self._opened():
            make_room(folder, int(np.prod(self.shape)), cache_limit(), keep=self.path)
            with show_progress("decoding, frames", len(self.frames), show=progress) as update:
                for done in _build(self.path, dataset, self.frames, self.shape):
                    update(done)

    def __len__(self) -> int:
        return self.shape[0]

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in vars(self).items() if key not in ("_map", "_pixels")}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._open()

    def _opened(self) -> bool:
        """Open the file if it is whole; another process may remove it at any time before."""
        try:
            if not _holds(self.path, self.shape):
                return False
            self._open()
        except FileNotFoundError:
            return False
        with suppress(OSError):  # a cache of somebody else's
            os.utime(self.path)
        return True

    def _open(self) -> None:
        with self.path.open("rb") as stream:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(stream, fcntl.LOCK_SH)  # which the map keeps
            if not os.fstat(stream.fileno()).st_nlink:
                raise FileNotFoundError(f"{self.path} was removed meanwhile")
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        offset = len(self._map) - int(np.prod(self.shape))
        self._pixels = np.frombuffer(self._map, np.uint8, offset=offset).reshape(self.shape)

    def read(self, positions: ArrayLike) -> NDArray[np.uint8]:
        """Copy the images at `positions` (n,), in any order: uint8 (n, cameras, size, size), in colour with 3 more."""
        chosen = np.asarray(positions, dtype=np.int64)
        images = self._pixels[chosen]
        # Asked, not counted: one page fault may map in anything from 64 kB to 2 MB around it.
        if _mapped_bytes() > _RESIDENT_LIMIT:
            self._map.madvise(mmap.MADV_DONTNEED)
        return images


def _mapped_bytes() -> int:
    """Resident bytes of this process that belong to files; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[2]) * mmap.PAGESIZE
    except OSError:
        return 0


def cache_folder() -> Path:
    """`ropes` in `$XDG_CACHE_HOME`, or in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "ropes"


def cache_limit() -> float:
    """Bytes that decoded images may take: `$ROPES_CACHE_GB` gigabytes, or 20.

    Raises:
        UserError: the variable holds no such number.
    """
    text = os.environ.get(LIMIT_VARIABLE) or str(DEFAULT_LIMIT)
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not limit >= 0:
        raise UserError(
            f"{LIMIT_VARIABLE} is {text!r}; give the gigabytes that decoded images may take, for example 20"
        )
    return limit * 1e9


def make_room(folder: Path, needed: int, limit: float, *, keep: Path) -> None:
    """Remove decoded images until `needed` bytes more stay below the limit, or all that is left is being read.

    Args:
        folder: of the cache.
        needed: bytes about to be written, which are written in any case.
        limit: bytes in all.
        keep: a file that counts as gone, since it is about to be replaced.
    """
    found: list[tuple[float, int, Path]] = []
    for path in [*folder.glob("*.npy"), *folder.glob(".*.npy.*.part")]:
        with suppress(FileNotFoundError):
            status = path.stat()
            if path.suffix != ".part" or time.time() - status.st_mtime > _ABANDONED:
                found.append((status.st_mtime, status.st_size, path))
    total = needed + sum(size for _, size, path in found if path != keep)
    for _, size, path in sorted(found):
        if total <= limit:
            return
        if path != keep and _removed(path):
            total -= size


def _removed(path: Path) -> bool:
    """Remove a file unless a process has it open as its cache."""
    try:
        with path.open("rb") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    except OSError:
        return False
    return True


def _holds(path: Path, shape: tuple[int, ...]) -> bool:
    """Whether `path` is an array file of that shape, to the last byte."""
    try:
        with path.open("rb") as stream:
            version = np.lib.format.read_magic(stream)
            if version != (1, 0):
                return False
            found, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
            whole = stream.tell() + int(np.prod(shape))
    except (OSError, ValueError):
        return False
    return found == shape and not fortran and dtype == np.uint8 and path.stat().st_size == whole


def _build(path: Path, dataset: Dataset, frames: Frames, shape: tuple[int, ...]) -> Iterator[int]:
    """Decode the frames into the file `path`; yields how many are done."""
    with files.atomic_path(path) as temporary:
        with temporary.open("wb") as stream:
            header = {"descr": "|u1", "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(stream, header)
            start, frame_bytes = stream.tell(), int(np.prod(shape[1:]))
            # Claims the room at once: a full disk shows before the work, not after it.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(stream.fileno(), 0, start + shape[0] * frame_bytes)

        def decode(source: Path, first: int, chosen: NDArray[np.int64], descriptor: int) -> int:
            pixels = _decode_file(dataset, source, frames.index[chosen] - first, shape[2])
            # The frames of a split are in the order of the rows, so those of a file are neighbours.
            _write_all(descriptor, pixels, start + int(chosen[0]) * frame_bytes)
            return len(chosen)

        done = 0
        with _open_descriptor(temporary) as descriptor, _threads() as pool:
            jobs = [
                pool.submit(decode, source, first, chosen, descriptor)
                for source, first, chosen in dataset.by_file(frames.index)
            ]
            for job in jobs:
                done += _result(job, jobs)
                yield done


def _decode_file(dataset: Dataset, path: Path, rows: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    table = parquet.read_table(path)
    name = path.relative_to(dataset.path).as_posix()
    recorded = (dataset.provenance or {}).get("files", {}).get(name, {}).get("images_sha256")
    if recorded is not None and parquet.images_digest(table) != recorded:
        raise UserError(f"{path} has changed since it was written; restore it or make the data set anew")
    columns = [schema.IMAGES + camera for camera in dataset.cameras]
    if absent := [column for column in columns if column not in table.column_names]:
        raise UserError(f"{path} lacks the camera {absent[0].removeprefix(schema.IMAGES)!r}")
    return parquet.decode_rows(path, table, rows, dataset.cameras, dataset.image_shape, size)


def _write_all(descriptor: int, pixels: NDArray[np.uint8], offset: int) -> None:
    left = pixels.reshape(-1).data
    while left:
        written = os.pwrite(descriptor, left, offset)
        left, offset = left[written:], offset + written


def _result(job: "Future[int]", jobs: "list[Future[int]]") -> int:
    try:
        return job.result()
    except BaseException:
        for other in jobs:
            other.cancel()
        raise


@contextmanager
def _open_descriptor(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _threads() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(usable_cores())
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)

"""Decodes the images of a split once into a memory-mapped file, from which training reads at memory speed.

The file's name in the user's cache folder has the data set's checksum, the split and the image size, so a changed data
set never reads a stale cache.  After the images stands their SHA-256: a file that was damaged since is decoded again.
The folder has a size limit, see `ropes.common.cached_files`.  Resident memory is
limited as well: above `RESIDENT_LIMIT`, mapped pages go back to the system's page cache.
"""

import mmap
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.common import files
from ropes.common.cached_files import DIGEST, append_digest, cache_limit, digest_of, hold, make_room
from ropes.common.hardware import usable_cores
from ropes.common.progress import progress as show_progress
from ropes.common.stores import Location
from ropes.data import parquet, schema
from ropes.data.dataset import Dataset, Frames
from ropes.errors import UserError

#: Limit of the mapped files in this process's resident memory, bytes.
RESIDENT_LIMIT = 1 << 30
#: Images that are transformed at a time.
_CHUNK = 128


class CachedImages:
    """Images in a memory-mapped file of the cache folder; the file is written first if it is not there.

    Args:
        path: of the file.
        shape: uint8 (n, cameras, size, size), or (n, cameras, size, size, 3) in colour.
        build: writes the images in their order to a file, and yields the number of images written so far.
        activity: name of the progress bar of `build`.
        progress: show it.
    """

    def __init__(
        self,
        path: Path,
        shape: tuple[int, ...],
        build: Callable[[Path], Iterator[int]],
        activity: str,
        *,
        progress: bool = True,
    ) -> None:
        self.path, self.shape = path, shape
        opened = self._opened()
        while not opened:
            make_room(path.parent, int(np.prod(shape)), cache_limit(), keep=path)
            with show_progress(activity, len(self), show=progress) as update:
                for done in build(path):
                    update(done)
            opened = self._opened(new=True)

    def __len__(self) -> int:
        return self.shape[0]

    def __getstate__(self) -> dict[str, object]:
        return {key: value for key, value in vars(self).items() if key not in ("_map", "_pixels")}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._open()

    def _opened(self, *, new: bool = False) -> bool:
        """Open the file if it is complete and, unless it is new, undamaged; another process may remove it meanwhile."""
        try:
            if not _holds(self.path, self.shape, checked=not new):
                return False
            self._open()
        except FileNotFoundError:
            return False
        with suppress(OSError):  # another user's cache
            os.utime(self.path)
        return True

    def _open(self) -> None:
        with hold(self.path) as stream:  # the map keeps the lock
            self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        size = int(np.prod(self.shape))
        offset = len(self._map) - DIGEST - size
        self._pixels = np.frombuffer(self._map, np.uint8, size, offset).reshape(self.shape)

    def read(self, positions: ArrayLike) -> NDArray[np.uint8]:
        """Copy images, in any order: uint8 (n, cameras, size, size), or (n, cameras, size, size, 3) in colour."""
        images = self._pixels[np.asarray(positions, dtype=np.int64)]
        # Measured, not counted: one page fault maps 64 kB to 2 MB.
        if mapped_bytes() > RESIDENT_LIMIT:
            self._map.madvise(mmap.MADV_DONTNEED)
        return images

    def transformed(
        self,
        positions: NDArray[np.int64],
        name: str,
        transform: Callable[[NDArray[np.uint8], slice], NDArray[np.uint8]],
        activity: str,
        *,
        progress: bool = True,
    ) -> "CachedImages":
        """Some of the images, changed by a function once, in a file of their own.

        Args:
            positions: of the images, (k,).
            name: distinguishes this function and these positions; part of the file's name.
            transform: a chunk of images, and which of the k they are → images of the same shape.
            activity: name of the progress bar.
            progress: show it.
        """
        shape = (len(positions), *self.shape[1:])

        def build(path: Path) -> Iterator[int]:
            with files.atomic_path(path) as temporary:
                with temporary.open("wb") as stream:
                    _write_header(stream, shape)
                    for start in range(0, len(positions), _CHUNK):
                        chunk = positions[start : start + _CHUNK]
                        changed = transform(self.read(chunk), slice(start, start + len(chunk)))
                        stream.write(np.ascontiguousarray(changed).data)
                        yield start + len(chunk)
                append_digest(temporary)

        path = self.path.with_name(f"{self.path.stem}-{name}.npy")
        return CachedImages(path, shape, build, activity, progress=progress)


class ImageCache(CachedImages):
    """The images of a split, `size` pixels square; position k is the k-th frame of `dataset.frames(split)`.

    Images that are not square are letterboxed, see `ropes.common.png.letterbox`.

    Args:
        dataset: the data set.
        split: name of the split.
        size: side in pixels; larger images are averaged by area.
        folder: folder of the cache; by default `ropes` in the user's cache folder.
        progress: show progress while decoding.

    Raises:
        UserError: no such split, images whose longer side is below `size`, or a damaged data file.
    """

    def __init__(
        self, dataset: Dataset, split: str, size: int, folder: Path | None = None, *, progress: bool = True
    ) -> None:
        self.frames: Frames = dataset.frames(split)
        self.cameras = dataset.cameras
        shape = decoded_shape(dataset, split, len(self.frames), size)
        folder = files.cache_folder() if folder is None else Path(folder)
        path = folder / f"{dataset.checksum[:24]}-{split}-{size}.npy"
        build = partial(decode_frames, dataset=dataset, frames=self.frames, shape=shape)
        super().__init__(path, shape, build, "decoding, frames", progress=progress)


def decoded_shape(dataset: Dataset, split: str, frames: int, size: int) -> tuple[int, ...]:
    """The shape of the images of a split at a side of `size` pixels.

    Raises:
        UserError: images whose longer side is below `size`, or no frames.
    """
    for height, width, *_ in dataset.image_shapes:
        if not 1 <= size <= max(height, width):
            raise UserError(
                f"{dataset.path} has {height}x{width} images: they cannot be resized to {size}x{size}; "
                "use a size of at most their longer side"
            )
    if not frames:
        raise UserError(f"{dataset.path}: split {split!r} has no frames")
    return (frames, len(dataset.cameras), size, size, *dataset.image_shapes[0][2:])


def mapped_bytes() -> int:
    """Resident memory of this process that belongs to files, bytes; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[2]) * mmap.PAGESIZE
    except OSError:
        return 0


def _write_header(stream: IO[bytes], shape: tuple[int, ...]) -> None:
    np.lib.format.write_array_header_1_0(stream, {"descr": "|u1", "fortran_order": False, "shape": shape})


def _holds(path: Path, shape: tuple[int, ...], *, checked: bool) -> bool:
    """Whether `path` is a complete uint8 array file of that shape, followed by a SHA-256; its own, if `checked`."""
    try:
        with path.open("rb") as stream:
            if np.lib.format.read_magic(stream) != (1, 0):
                return False
            header = np.lib.format.read_array_header_1_0(stream)
            length = stream.tell() + int(np.prod(shape))
            if header != (shape, False, np.dtype(np.uint8)) or path.stat().st_size != length + DIGEST:
                return False
            stream.seek(length)
            return not checked or digest_of(path, length) == stream.read()
    except (OSError, ValueError):
        return False


def decode_frames(path: Path, dataset: Dataset, frames: Frames, shape: tuple[int, ...]) -> Iterator[int]:
    """Decode frames of a split, in their order, into the file `path`; yields the number of decoded frames."""
    with files.atomic_path(path) as temporary:
        with temporary.open("wb", buffering=0) as stream:
            _write_header(stream, shape)
            start, frame_bytes, descriptor = stream.tell(), int(np.prod(shape[1:])), stream.fileno()
            # Reserves the space, so that a full disk fails at once.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, start + shape[0] * frame_bytes)

            def decode(source: Location, first: int, positions: NDArray[np.int64]) -> int:
                pixels = _decode_file(dataset, source, frames.index[positions] - first, shape[2])
                # The frames of a split are in the order of the rows, so those of one file are contiguous.
                _write_all(descriptor, pixels, start + int(positions[0]) * frame_bytes)
                return len(positions)

            done, pool = 0, ThreadPoolExecutor(usable_cores())
            try:
                for job in [pool.submit(decode, *part) for part in dataset.by_file(frames.index)]:
                    done += job.result()
                    yield done
            finally:
                pool.shutdown(cancel_futures=True)
        append_digest(temporary)


def _decode_file(dataset: Dataset, path: Location, rows: NDArray[np.int64], size: int) -> NDArray[np.uint8]:
    table = parquet.read_table(path)
    name = dataset.name_of(path)
    recorded = (dataset.provenance or {}).get("files", {}).get(name, {}).get("images_sha256")
    if recorded is not None and parquet.images_digest(table) != recorded:
        raise UserError(f"{path} has changed since it was written; restore it or create the data set again")
    columns = [schema.IMAGES + camera for camera in dataset.cameras]
    if absent := [column for column in columns if column not in table.column_names]:
        raise UserError(f"{path} lacks the camera {absent[0].removeprefix(schema.IMAGES)!r}")
    of_cameras = zip(dataset.cameras, dataset.image_shapes, strict=True)
    pixels = [parquet.decode_rows(path, table, rows, camera, shape, size) for camera, shape in of_cameras]
    return np.stack(pixels, axis=1)


def _write_all(descriptor: int, pixels: NDArray[np.uint8], offset: int) -> None:
    data = pixels.reshape(-1).data
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written

"""Reads MPI3D: a robot arm photographed over a full grid of seven factors, `mpi3d_real.npz`.

Source: Gondal et al. 2019, and the description that comes with the files.
"""

import math
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from typing import IO
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats, Images, Ints
from ropes.common.progress import progress as show_progress
from ropes.errors import UserError, require_name

#: The factors in the order of the grid; the last one changes fastest.
NAMES = (
    "object_color",
    "object_shape",
    "object_size",
    "camera_height",
    "background_color",
    "horizontal_axis",
    "vertical_axis",
)
#: Factors whose values have no order.
CATEGORIES = ("object_color", "object_shape", "background_color")
#: The camera heights in their order; each is a fixed camera.
CAMERAS = ("top", "center", "bottom")
HEIGHT = NAMES.index("camera_height")
#: The two axes of the arm.
AXES = NAMES[-2:]
#: Positions of each axis, and the angle from one to the next, radians: 180° in 40 steps.
POSITIONS = 40
STEP = math.pi / POSITIONS
#: Range of each axis, radians; position k is the middle of the k-th of 40 equal parts.
RANGE = (-math.pi / 2, math.pi / 2)
#: Numbers of sizes, camera heights, background colours and positions; colours and shapes follow from the file.
_KNOWN = (2, len(CAMERAS), 3, POSITIONS, POSITIONS)
#: Height, width and channels of each photograph.
SHAPE = (64, 64, 3)
_ARRAY = "images"
_MEMBER = f"{_ARRAY}.npy"
#: Photographs that are in memory at a time.
_CHUNK = 1_024


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A file of photographs over the full grid.

    Attributes:
        path: the npz file.
        sizes: number of values of each factor, in the order of `NAMES`.
        record: name of the file, and size and CRC-32 of the array in it.
        first: position of the first pixel in the array's file within the archive, bytes.
    """

    path: Path
    sizes: tuple[int, ...]
    record: Mapping[str, str | int]
    first: int

    def rows(self, numbers: Ints) -> Ints:
        """Indices of photographs, (n,), from the numbers of their factors' values, (n, 7)."""
        return np.ravel_multi_index(tuple(numbers.T), self.sizes).astype(np.int64)

    def photographs(self, rows: Ints, *, progress: bool = False) -> "Photographs":
        """The photographs of these indices.

        A stored array is mapped.  A compressed one is read once from the beginning to the end, 13 MB at a time, and
        the photographs are copied to a temporary file of 12 kB each.

        Raises:
            UserError: the file is damaged.
        """
        with _readable(self.path), ZipFile(self.path) as archive:
            entry = archive.getinfo(_MEMBER)
            if entry.compress_type == ZIP_STORED:
                shape = (math.prod(self.sizes), *SHAPE)
                offset = _data_offset(self.path, entry) + self.first
                return Photographs(np.memmap(self.path, np.uint8, "r", offset, shape), None)
            chosen = np.unique(rows)
            with archive.open(entry) as stream:
                stream.read(self.first)
                return Photographs(_extracted(stream, math.prod(self.sizes), chosen, progress), chosen)


@dataclass(frozen=True)
class Photographs:
    """Photographs on disk, uint8 (n, 64, 64, 3), and their ascending indices in the grid; None for all of them."""

    images: Images
    rows: Ints | None

    def take(self, rows: Ints) -> Images:
        """The photographs of some indices, uint8 (n, 64, 64, 3)."""
        return np.asarray(self.images[rows if self.rows is None else np.searchsorted(self.rows, rows)])


def holds_grid(path: Path) -> bool:
    """Whether a path is a file that `open_grid` should read."""
    return path.suffix == ".npz" and path.is_file()


def open_grid(path: Path) -> Grid:
    """Open an npz file with the array `images`, uint8 (n, 64, 64, 3), over the full grid; nothing is unpickled.

    The grid has as many shapes as colours, so its sizes follow from n: 6 of each for 1,036,800 photographs, 4 of each
    for 460,800.

    Raises:
        UserError: the file is missing, damaged or of another kind.
    """
    with _readable(path), ZipFile(path) as archive:
        if _MEMBER not in archive.namelist():
            names = [name.removesuffix(".npy") for name in archive.namelist()]
            raise UserError(f"{path} has no array {_ARRAY!r}; it has {', '.join(names) or 'none'}")
        entry = archive.getinfo(_MEMBER)
        with archive.open(entry) as stream:
            shape, by_column, dtype = _header(stream)
            first = stream.tell()
    if dtype != np.uint8 or shape[1:] != SHAPE or by_column:
        order = " in columns" if by_column else ""
        raise UserError(f"{path}: images must be uint8 (n, 64, 64, 3), got {dtype} {shape}{order}")
    kinds = math.isqrt(shape[0] // math.prod(_KNOWN))
    sizes = (kinds, kinds, *_KNOWN)
    if math.prod(sizes) != shape[0] or not kinds:
        raise UserError(
            f"{path} has {shape[0]:,} images, which is no full grid of MPI3D: {math.prod(_KNOWN):,} of each colour "
            "and shape, and as many shapes as colours"
        )
    record: dict[str, str | int] = {"name": path.name, "bytes": entry.file_size, "crc32": entry.CRC}
    return Grid(path=path, sizes=sizes, record=record, first=first)


def angles_of(positions: Ints) -> Floats:
    """Angles of positions of an axis, radians."""
    return RANGE[0] + (positions.astype(np.float64) + 0.5) * STEP


def positions_of(angles: Floats) -> Ints:
    """The position nearest to each angle of an axis, radians."""
    return np.clip(np.floor((angles - RANGE[0]) / STEP), 0, POSITIONS - 1).astype(np.int64)


def allowed_numbers(
    sizes: Sequence[int], fixed: Mapping[str, int], cameras: Sequence[str], *, axes: bool
) -> tuple[Ints, ...]:
    """The numbers that the value of each factor may have.

    Args:
        sizes: number of values of each factor, in the order of `NAMES`.
        fixed: factor → number of its only value.
        cameras: names of the camera heights; all if empty.
        axes: whether the axes may be fixed too.

    Raises:
        UserError: no such factor, value or camera, or a camera is named twice.
    """
    for camera in cameras:
        require_name(camera, CAMERAS, "camera")
    if len(set(cameras)) < len(cameras):
        raise UserError(f"cameras {', '.join(cameras)}: name each once")
    known = [name for name in NAMES if name != NAMES[HEIGHT] and (axes or name not in AXES)]
    allowed = [np.arange(size) for size in sizes]
    for name, number in fixed.items():
        require_name(name, known, "factor to fix")
        size = sizes[NAMES.index(name)]
        if not 0 <= number < size:
            raise UserError(f"{name} has values 0 to {size - 1}, not {number}")
        allowed[NAMES.index(name)] = np.array([number])
    if cameras:
        allowed[HEIGHT] = np.sort([CAMERAS.index(camera) for camera in cameras])
    return tuple(allowed)


def draw(allowed: Sequence[Ints], count: int, rng: np.random.Generator) -> Ints:
    """Numbers of the factors' values, uniform over those allowed, (count, factors)."""
    return np.stack([rng.choice(numbers, count) for numbers in allowed], axis=1)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn errors of a file that is no npz file of plain arrays into one line.

    Raises:
        UserError: the file is missing or damaged.
    """
    try:
        yield
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing") from error
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error, RuntimeError, struct.error) as error:
        raise UserError(f"{path} cannot be read as an npz file of plain arrays ({error})") from error


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
    """Shape, whether columns come first, and type of an npy file; reads its header alone."""
    version = np.lib.format.read_magic(stream)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(stream)
    if version == (2, 0):
        return np.lib.format.read_array_header_2_0(stream)
    raise ValueError(f"npy version {version[0]}.{version[1]}")


def _data_offset(path: Path, entry: ZipInfo) -> int:
    """Where the bytes of a stored member begin: after its local header, whose last fields have variable lengths."""
    with path.open("rb") as stream:
        stream.seek(entry.header_offset)
        name, extra = struct.unpack("<HH", stream.read(30)[26:])
    return entry.header_offset + 30 + int(name) + int(extra)


def _extracted(stream: IO[bytes], count: int, rows: Ints, progress: bool) -> NDArray[np.uint8]:
    """Copies the photographs of ascending rows out of a stream of `count`, (len(rows), 64, 64, 3), on disk."""
    size = math.prod(SHAPE)
    with TemporaryFile() as copy:  # which goes with the map
        with show_progress("reading, photographs", count, show=progress) as update:
            for first in range(0, count, _CHUNK):
                read = min(_CHUNK, count - first)
                block = np.frombuffer(stream.read(read * size), np.uint8).reshape(read, size)
                start, stop = np.searchsorted(rows, (first, first + read))
                try:
                    copy.write(block[rows[start:stop] - first].tobytes())
                except OSError as error:
                    needed = f"{len(rows) * size / 1e6:,.0f} MB"
                    raise UserError(f"{gettempdir()} has no room for {needed} ({error}); set TMPDIR") from error
                update(first + read)
            if stream.read(1):
                raise ValueError("more bytes than images")
        copy.flush()
        return np.memmap(copy, np.uint8, "r", shape=(len(rows), *SHAPE))

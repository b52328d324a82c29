"""Reads and writes parquet files of images; errors name file, row and camera.

Of a file on an object store, columns without images are read alone, and images with the whole file, which the cache
folder keeps.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ropes.common import files, png, stores
from ropes.common.arrays import Ints
from ropes.common.cached_files import fetched
from ropes.common.stores import Location
from ropes.data import schema
from ropes.errors import UserError, in_one_line

#: Small row groups, so that a single frame can be read without the whole file.
_ROWS_PER_GROUP = 100


def write_table(path: Location, table: pa.Table) -> None:
    """Write a data table atomically; images are PNG and not compressed again."""
    plain = [name for name in table.column_names if not name.startswith(schema.IMAGES)]
    images = [f"{name}.{part}" for name in table.column_names if name not in plain for part in ("bytes", "path")]
    compression = dict.fromkeys(plain, "snappy") | dict.fromkeys(images, "NONE")
    with files.atomic_path(path) as temporary:
        pq.write_table(
            table,
            temporary,
            row_group_size=_ROWS_PER_GROUP,
            compression=compression,
            use_dictionary=[name for name in plain if name != schema.STATE],
            write_page_checksum=True,
        )


def images_digest(table: pa.Table) -> str:
    """SHA-256 of the training input in a shard: images, tasks and episodes, without angles."""
    digest = hashlib.sha256()
    for name in ("episode_index", "task_index"):
        digest.update(table[name].to_numpy().astype("<i8").tobytes())
    for name in table.column_names:
        if name.startswith(schema.IMAGES):
            digest.update(name.encode())
            for data in table[name].combine_chunks().field("bytes").to_pylist():
                digest.update(len(data or b"").to_bytes(8, "little"))
                digest.update(data or b"")
    return digest.hexdigest()


def is_complete(path: Location, rows: int) -> bool:
    """Whether a data table exists, is undamaged, and has `rows` rows.

    A store has whole objects only, so the number of rows is enough.
    """
    try:
        if not isinstance(path, Path):
            return stores.is_file(path) and read_metadata(path).num_rows == rows
        return path.exists() and len(read_table(path)) == rows
    except UserError:
        return False


@contextmanager
def _opened(path: Location, columns: Sequence[str] | None) -> Iterator[Path | IO[bytes]]:
    """A file whose columns are to be read, all if None."""
    in_parts = columns is not None and not any(name.startswith(schema.IMAGES) for name in columns)
    if in_parts and not isinstance(path, Path):
        with stores.ranges(path) as stream:
            yield stream
    else:
        with fetched(path) as local:
            yield local


def read_metadata(path: Location, columns: Sequence[str] | None = ()) -> pq.FileMetaData:
    """Read the metadata of a parquet file, before `columns` are read from it.

    Raises:
        UserError: the file is missing or damaged.
    """
    try:
        with _opened(path, columns) as source:
            return pq.read_metadata(source)
    except FileNotFoundError as error:
        raise _missing(path) from error
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} is truncated or damaged; restore it or create the data set again") from error


def read_table(path: Location, columns: Sequence[str] | None = None, groups: Sequence[int] | None = None) -> pa.Table:
    """Read a parquet file, or some of its columns or row groups, and verify the page checksums.

    Raises:
        UserError: the file is missing, damaged, or lacks a column.
    """
    if isinstance(path, Path):
        read_metadata(path)
    try:
        with (
            _opened(path, columns) as source,
            pq.ParquetFile(source, page_checksum_verification=True, memory_map=False) as file,
        ):
            if absent := [name for name in columns or () if name not in file.schema_arrow.names]:
                kind = "camera" if absent[0].startswith(schema.IMAGES) else "column"
                raise UserError(f"{path} lacks the {kind} {absent[0].removeprefix(schema.IMAGES)!r}")
            names = None if columns is None else list(columns)
            return file.read(names) if groups is None else file.read_row_groups(list(groups), names)
    except FileNotFoundError as error:
        raise _missing(path) from error
    except (OSError, pa.ArrowException) as error:
        raise UserError(f"{path} is damaged ({in_one_line(error)}); restore it or create the data set again") from error


def _missing(path: Location) -> UserError:
    return UserError(f"{path} is missing; restore it or create the data set again")


def read_rows(path: Location, columns: Sequence[str], rows: Ints) -> tuple[pa.Table, Ints]:
    """Read the row groups with `rows`; returns the table and the positions of the rows in it."""
    metadata = read_metadata(path, columns)
    counts = np.array([metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)])
    ends = np.cumsum(counts)
    group_of_row = np.searchsorted(ends, rows, side="right")
    groups, position = np.unique(group_of_row, return_inverse=True)
    before = np.concatenate([[0], np.cumsum(counts[groups])])[position]
    return read_table(path, columns, groups.tolist()), rows - (ends - counts)[group_of_row] + before


def decode_rows(
    path: Location, table: pa.Table, rows: Ints, camera: str, shape: tuple[int, ...], side: int | None = None
) -> NDArray[np.uint8]:
    """Decode a camera's images in `rows` of `table`; errors name `path`.

    Returns:
        uint8 (rows, *shape), with sides of `side` where given, see `ropes.common.png.letterbox`.

    Raises:
        UserError: an image is damaged or has another size or type; names file, row and camera.
    """
    sides = (side, side) if side else shape[:2]
    pixels = np.empty((len(rows), *sides, *shape[2:]), np.uint8)
    data = table[schema.IMAGES + camera].combine_chunks().field("bytes").take(pa.array(rows))
    for position, image in enumerate(data):
        try:
            pixels[position] = png.decode(image.as_py(), shape, side)
        except png.NotAnImage as error:
            raise UserError(f"{path}, row {rows[position]}, camera {camera}: {error}") from error
    return pixels

"""Arrays in the cache folder, each computed once."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common import files
from ropes.common.cached_files import DIGEST, append_digest, cache_limit, digest_of, hold, make_room


def cached_array(name: str, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """An array of the cache folder; it is computed, and written, if it is not there or its file is damaged.

    Args:
        name: of the file, with a digest of everything that the array depends on.
        compute: the array.
    """
    path = files.cache_folder() / f"{name}.npy"
    if (stored := _stored(path)) is not None:
        return stored
    array = compute()
    if array.nbytes <= cache_limit():
        make_room(path.parent, array.nbytes, cache_limit(), keep=path)
        with files.atomic_path(path) as temporary:
            with temporary.open("wb") as stream:
                np.save(stream, array, allow_pickle=False)
            append_digest(temporary)
    return array


def _stored(path: Path) -> NDArray[Any] | None:
    """The array in a file; None without an undamaged one."""
    with suppress(FileNotFoundError), hold(path) as stream:
        length = path.stat().st_size - DIGEST
        digest = digest_of(path, length)
        stream.seek(max(0, length))
        if stream.read() == digest:
            with suppress(OSError):  # another user's cache
                os.utime(path)
            stream.seek(0)
            array: NDArray[Any] = np.load(stream, allow_pickle=False)
            return array
    return None

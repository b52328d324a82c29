"""Arrays in the cache folder, each computed once."""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common import files
from ropes.common.cached_files import cache_limit, hold, make_room

#: Bytes of the SHA-256 at the end of a file.
_DIGEST = 32


def cached_array(name: str, compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """An array of the cache folder; it is computed, and written, if it is not there or its file is damaged.

    Args:
        name: of the file, with a digest of everything that the array depends on.
        compute: the array.
    """
    path = files.cache_folder() / f"{name}.npy"
    with suppress(FileNotFoundError):
        with hold(path) as stream:
            content = stream.read()
        if hashlib.sha256(content[:-_DIGEST]).digest() == content[-_DIGEST:]:
            with suppress(OSError):  # another user's cache
                os.utime(path)
            stored: NDArray[Any] = np.load(BytesIO(content[:-_DIGEST]), allow_pickle=False)
            return stored
    array = compute()
    stream = BytesIO()
    np.save(stream, array, allow_pickle=False)
    payload = stream.getvalue()
    if len(payload) <= cache_limit():
        make_room(path.parent, len(payload), cache_limit(), keep=path)
        with files.atomic_path(path) as temporary:
            temporary.write_bytes(payload + hashlib.sha256(payload).digest())
    return array

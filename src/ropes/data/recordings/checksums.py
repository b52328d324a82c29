"""One checksum for all files of a recording."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from ropes.common.files import sha256


def digest(root: Path, paths: Iterable[Path]) -> str:
    """SHA-256 over names, relative to `root`, and bytes of files in the order given."""
    total = hashlib.sha256()
    for path in paths:
        name = path.relative_to(root).as_posix() if path != root else path.name
        total.update(f"{name}\0{sha256(path)}\n".encode())
    return total.hexdigest()

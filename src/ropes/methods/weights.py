"""Digests of a run's weights and of its uncertainty model."""

import hashlib
import json
from pathlib import Path

from ropes.common.files import sha256
from ropes.methods.run import UNCERTAINTY_FILE
from ropes.models.checkpoints import WEIGHTS


def weights_digest(folder: Path) -> str:
    """SHA-256 of every weights.safetensors in a run's folder, with their relative paths."""
    digests = {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(folder.rglob(WEIGHTS))}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def uncertainty_digest(folder: Path) -> str | None:
    """SHA-256 of a run's uncertainty model; None if it has none."""
    return sha256(folder / UNCERTAINTY_FILE) if (folder / UNCERTAINTY_FILE).exists() else None

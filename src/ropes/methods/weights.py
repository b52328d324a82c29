"""Digests of a run's weights and standard deviations."""

import hashlib
import json
from pathlib import Path

from ropes.common.files import sha256
from ropes.methods.run import TRUST_FILE
from ropes.models.checkpoints import WEIGHTS


def weights_digest(folder: Path) -> str:
    """Digest of every weights.safetensors of a run's folder, by relative path."""
    found = {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(folder.rglob(WEIGHTS))}
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()


def trust_digest(folder: Path) -> str | None:
    """Digest of what a run knows of its own errors; None for one that knows nothing."""
    return sha256(folder / TRUST_FILE) if (folder / TRUST_FILE).exists() else None

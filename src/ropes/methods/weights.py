"""Identity of what a fit learnt: a digest of its weights."""

import hashlib
import json
from pathlib import Path

from ropes.checkpoints import WEIGHTS
from ropes.files import sha256


def weights_digest(folder: Path) -> str:
    """Digest of every weights.safetensors of a run's folder, by relative path."""
    found = {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(folder.rglob(WEIGHTS))}
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()

"""Initial weights that depend on a seed alone."""

from typing import Any

import torch


def seeded(seed: int, make: Any) -> Any:
    """Build a network whose initial weights depend on `seed` alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()

"""Derives independent random generators from one seed and names.

The stream depends on the names, not on the order of calls.  So a new generator does not change the draws of others.
"""

import hashlib

import numpy as np


def integer(seed: int, *names: str | int) -> int:
    """A 63-bit integer that depends only on `seed` and `names`."""
    text = "/".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """A NumPy generator that depends only on `seed` and `names`."""
    return np.random.default_rng(integer(seed, *names))

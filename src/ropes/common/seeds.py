"""Derives independent random generators from one seed and a name.

A name, not an order of calls, picks the stream: adding a generator never changes what the others draw.
"""

import hashlib

import numpy as np


def integer(seed: int, *names: str | int) -> int:
    """A 63-bit integer that depends on `seed` and `names` alone."""
    text = "/".join(str(part) for part in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """An independent NumPy generator for this `seed` and these `names`."""
    return np.random.default_rng(integer(seed, *names))

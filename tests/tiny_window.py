"""Data sets of drawn blobs in twice the size of the whole images, and a recipe that cuts windows from them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.methods.recipes import EncoderRecipe, Optimisation
from tests import tiny

#: Side of the images that windows are cut from.
SIDE = 2 * tiny.SIDE


def write_data(
    path: Path,
    *,
    anchors: int = 120,
    tests: int = 200,
    change: Callable[[NDArray[np.uint8]], NDArray[np.uint8]] = np.asarray,
) -> Path:
    """Write a data set as `tests.tiny.write_data` does, with images of `SIDE` that a function changes."""
    rng, causal = np.random.default_rng(0), tiny.model()
    states = {"train": causal.sample(rng, anchors), "test-id": causal.sample_observational(rng, tests)[:, None]}
    images = {split: change(tiny.draw(angles, SIDE)) for split, angles in states.items()}
    return tiny.write_data(path, images=images, states=states)


def recipe(**changes: Any) -> EncoderRecipe:
    """The recipe of `tests.tiny` with windows from larger images, and a student."""
    small = tiny.encoder_recipe(foreign=0.5, student=Optimisation(epochs=2, batch=20, learning_rate=1e-2))
    return replace(small, **({"encoder": replace(small.encoder, window_image_size=SIDE)} | changes))

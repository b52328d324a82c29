"""Occludes images of cameras whose sizes may differ."""

import numpy as np

from ropes.common.seeds import generator
from ropes.data.views import Views, by_camera, joined
from ropes.simulation.corruption import Hiding, occlude


def occlude_views(images: Views, size: int, rng: np.random.Generator, kind: Hiding) -> Views:
    """A random square of every image occluded, see `occlude`.

    Args:
        images: of n poses.
        size: side of the square, pixels of the images.
        rng: draws positions and contents.
        kind: of the occluder.
    """
    if isinstance(images, np.ndarray):
        return occlude(images, size, rng, kind)
    return joined([occlude(camera[:, None], size, rng, kind)[:, 0] for camera in by_camera(images)])


def occluded(images: Views, occlusion: int, seed: int, split: str, hide: Hiding) -> Views:
    """Images with an occlusion of this side in each, by the evaluation's seed; unchanged for 0."""
    if not occlusion:
        return images
    return occlude_views(images, occlusion, generator(seed, "occlusion", split, occlusion), hide)

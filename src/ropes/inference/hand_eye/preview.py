"""A picture of the arm's outline over held-out images of each camera."""

from collections.abc import Sequence

import numpy as np

from ropes.common.arrays import Images, evenly
from ropes.inference.hand_eye.find import FoundCamera
from ropes.inference.hand_eye.poses import PosedImages
from ropes.inference.overlay import Overlay

#: Images of each camera, and their longer side at least, pixels.
_SHOWN, _SIDE = 6, 256


def preview(posed: PosedImages, found: Sequence[FoundCamera]) -> Images:
    """A row of held-out images for each camera, with the arm's outline over them, uint8 (h, w, 3).

    Args:
        posed: images and angles.
        found: their cameras.
    """
    known = {each.camera.name: each.camera for each in found}
    overlay = Overlay(posed.arm, posed.cameras, known, _SIDE)
    poses = posed.held_out[evenly(len(posed.held_out), _SHOWN)]
    columns = [overlay.draw([images[posed.at[k]] for images in posed.images], posed.angles[k]) for k in poses]
    rows = [np.concatenate(row, axis=1) for row in zip(*columns, strict=True)]
    wide = max(row.shape[1] for row in rows)
    padded = [np.pad(row, ((0, 0), (0, wide - row.shape[1]), (0, 0)), constant_values=255) for row in rows]
    return np.concatenate(padded)

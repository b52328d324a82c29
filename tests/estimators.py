"""Estimators that read the drawn blobs by a formula, in place of trained networks."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.common.arrays import Floats, Images
from ropes.common.hardware import Precision
from ropes.inference.estimator import Estimator
from ropes.methods.reader import Read, Reader
from ropes.methods.run import Run
from tests import tiny

#: Images (n, V, side, side) → coordinates (n, d).
Formula = Callable[[Images], Floats]


class FormulaReader(Reader):
    """Stands for the networks: coordinates by a formula, in float64."""

    def __init__(self, formula: Formula) -> None:
        self.size: int = tiny.SIDE
        self.precision: Precision = "32-true"
        self._formula = formula

    def read(self, images: Tensor) -> Read:
        coordinates = torch.from_numpy(self._formula(images.cpu().numpy()))
        return Read(coordinates, coordinates)


def run_of(**changes: Any) -> Run:
    """A run of method ropes, fitted on a data set that no test writes; `changes` are its fields."""
    fields: dict[str, Any] = {
        "method": "ropes",
        "recipe": tiny.recipe(),
        "seed": 0,
        "setting": "tiny",
        "cameras": tiny.CAMERAS,
        "joints": tiny.JOINTS,
        "image_size": tiny.SIDE,
        "data_checksum": "another data set's",
        "version": "0",
    }
    return Run(**(fields | changes))


def estimator_of(formula: Formula, **changes: Any) -> Estimator:
    """An uncalibrated estimator of these coordinates; `changes` are fields of its run."""
    return Estimator(run_of(**changes), FormulaReader(formula), None)


def places(images: Images) -> Floats:
    """The place of the first camera's blob, across and down, in units and signs of its own."""
    weights = images[:, 0].astype(float)
    weights /= weights.sum((1, 2), keepdims=True)
    grid = (np.arange(tiny.SIDE) + 0.5) / tiny.SIDE
    across, down = weights.sum(1) @ grid, weights.sum(2) @ grid
    return np.stack([-7 * across, 0.5 * down + 2], axis=1)


def blobs() -> Estimator:
    """An estimator as good as a well-trained one."""
    return estimator_of(places)

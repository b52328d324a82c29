"""What the registration of a frame needs of the background alone."""

from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional

from ropes.models.alignment import RobustFit, nearest_inside

#: Level from which a pixel counts as saturated; below 1 minus this level it is black.
SATURATED = 0.99


class BackgroundTerms:
    """Terms of `ropes.models.registration.Registration` that depend on no frame; each is computed when first needed.

    Args:
        background: in units of white, (V, C, H, W).
        steadiness: weight of each pixel in the fits, (P, H, W).
        inside: false in the bars of letterboxed images, bool (P, H, W).
        solve: function for linear equations.
    """

    def __init__(
        self, background: Tensor, steadiness: Tensor, inside: Tensor, solve: Callable[[Tensor, Tensor], Tensor]
    ) -> None:
        self._background, self._steadiness, self._inside, self._solve = background, steadiness, inside, solve

    @cached_property
    def fit(self) -> RobustFit:
        """The fit of frames at half their resolution."""
        height, width = self._background.shape[-2:]
        return RobustFit(functional.avg_pool2d(self._background, 2), (height, width), self._solve)

    def weight(self, halved: Tensor) -> Tensor:
        """Weight of each pixel of frames at half their resolution, (n, P, h, w): 0 for black and saturated pixels."""
        return self._halved_steadiness * ((halved < SATURATED) & (halved > 1 - SATURATED))

    def filled(self, levels: Tensor) -> Tensor:
        """Frames (n, P, H, W) whose bars are filled with their edge pixels."""
        if self._nearest is None:
            return levels
        rows, columns = self._nearest
        plane = torch.arange(len(rows), device=levels.device)
        return levels[:, plane[:, None, None], rows[:, :, None], columns[:, None, :]]

    @cached_property
    def _halved_steadiness(self) -> Tensor:
        return functional.avg_pool2d(self._steadiness, 2)

    @cached_property
    def _nearest(self) -> tuple[Tensor, Tensor] | None:
        return nearest_inside(self._inside)

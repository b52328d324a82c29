"""Copies the objects that a cleaner has found in recorded frames into other frames."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ropes.data.batches import TrainingImages
from ropes.methods.training.sampling import EpochShuffle
from ropes.models.cleaner import Cleaner

#: Most frames that are searched, and most bytes of the views that are kept.
_FRAMES, _BYTES = 2_500, 1 << 27
#: Frames that are searched at a time.
_CHUNK = 100
#: An object has more parts than this, see `Cleaner.foreign_parts`: a few parts of the arm are taken for foreign.
_LEAST_PARTS = 6
#: Share of the views that get a copy, and of the copies that are mirrored.
_COPIED, _MIRRORED = 0.6, 0.5
#: Longest shift of a copy across and along the height, as a share of the image's side.
_ACROSS, _ALONG = 0.3, 0.05


@dataclass(frozen=True)
class CopiedObjects:
    """Views of a recording in which a cleaner has found objects.

    Attributes:
        levels: the views, registered, uint8 (m, channels, N, N).
        shown: the pixels of the objects, bool (m, N, N).
    """

    levels: Tensor
    shown: Tensor

    def __len__(self) -> int:
        return len(self.levels)

    @classmethod
    def found(cls, cleaner: Cleaner, images: TrainingImages, seed: int) -> "CopiedObjects":
        """The objects that a cleaner finds in frames that are not trusted.

        Args:
            cleaner: trained on synthetic objects.
            images: registered frames.
            seed: of the choice of frames, if there are many.
        """
        doubted = images.take(np.flatnonzero(~images.trusted))
        sides = cleaner.background.shape[1:]
        levels = [torch.empty(0, cleaner.of_view, *sides, dtype=torch.uint8)]
        shown = [torch.empty(0, *sides, dtype=torch.bool)]
        most = min(_FRAMES, len(doubted), max(1, _BYTES // cleaner.background.numel()))
        rows = np.sort(EpochShuffle(len(doubted), most, seed)(0)) if most else np.empty(0, dtype=np.int64)
        for chunk in np.array_split(rows, max(1, len(rows) // _CHUNK)):
            frames = torch.from_numpy(doubted.pixels(chunk)).to(cleaner.background.device)
            parts = cleaner.foreign_parts(frames)
            chosen = parts.sum((2, 3)) > _LEAST_PARTS
            pixels = cleaner.pixels_of(parts)[chosen]
            views = frames.unflatten(1, (-1, cleaner.of_view))[chosen]
            levels.append(views.cpu())
            shown.append((pixels & (views != _views(cleaner)[chosen.nonzero()[:, 1]]).any(1)).cpu())
        return cls(torch.cat(levels), torch.cat(shown))

    def added(self, images: Tensor, cleaner: Cleaner, behind: Tensor) -> Tensor:
        """A copy of registered frames in which most views show one of the objects, shifted and perhaps mirrored.

        Args:
            images: uint8 (B, P, N, N).
            cleaner: knows the background.
            behind: whether the objects of a frame cover the background only, bool (B,).
        """
        views, side, device = images.unflatten(1, (-1, cleaner.of_view)).clone(), images.shape[-1], images.device
        frame, view = (torch.rand(views.shape[:2], device=device) < _COPIED).nonzero().unbind(1)
        chosen = torch.randint(len(self), frame.shape)  # on the CPU, where the objects are
        candidates, object_pixels = self.levels[chosen].to(device), self.shown[chosen].to(device)
        mirrored = torch.rand(frame.shape, device=device) < _MIRRORED
        pixel = torch.arange(side, device=device)
        rows, columns = (
            pixel - torch.randint(-round(share * side), round(share * side) + 1, (len(frame), 1), device=device)
            for share in (_ALONG, _ACROSS)
        )
        inside = _within(rows, side)[:, :, None] & _within(columns, side)[:, None, :]
        columns = torch.where(mirrored[:, None], side - 1 - columns, columns)
        place = rows.clamp(0, side - 1)[:, :, None], columns.clamp(0, side - 1)[:, None, :]
        number = torch.arange(len(frame), device=device)[:, None, None]
        shown = object_pixels[number, *place] & inside
        arm = (views[frame, view] != _views(cleaner)[view]).any(1)
        shown &= ~(behind[frame, None, None] & arm)
        levels = candidates.transpose(0, 1)[:, number, *place].transpose(0, 1)
        views[frame, view] = torch.where(shown[:, None], levels, views[frame, view])
        return views.flatten(1, 2)


def _views(cleaner: Cleaner) -> Tensor:
    """The background of each view, uint8 (V, channels, N, N)."""
    return cleaner.levels.unflatten(0, (-1, cleaner.of_view))


def _within(numbers: Tensor, side: int) -> Tensor:
    """Which rows or columns an image has."""
    return (numbers >= 0) & (numbers < side)

"""Copies the objects that a cleaner has found in recorded frames into other frames."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ropes.data.batches import TrainingImages
from ropes.methods.training.sampling import EpochShuffle
from ropes.models.cleaner import CHUNK_BYTES, Cleaner
from ropes.models.zoom import Window

#: Most frames that are searched, and most bytes of the views that are kept.
_FRAMES, _BYTES = 2_500, 1 << 27
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
        most = min(_FRAMES, len(doubted), max(1, _BYTES // cleaner.background.numel()))
        rows = np.sort(EpochShuffle(len(doubted), most, seed)(0)) if most else np.empty(0, dtype=np.int64)
        levels, shown = [], []
        for chunk in torch.from_numpy(rows).split(max(1, CHUNK_BYTES // cleaner.background.numel())):
            frames = torch.from_numpy(doubted.pixels(chunk.numpy())).to(cleaner.background.device)
            parts = cleaner.foreign_parts(frames)
            chosen = parts.sum((2, 3)) > _LEAST_PARTS
            pixels = cleaner.pixels_of(parts) & cleaner.changed_pixels(frames)
            levels.append(frames.unflatten(1, (-1, cleaner.of_view))[chosen].cpu())
            shown.append(pixels[chosen].cpu())
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
        levels, shown = self.levels[chosen].to(device), self.shown[chosen].to(device)[:, None]
        mirrored = (torch.rand(frame.shape, device=device) < _MIRRORED)[:, None, None, None]
        levels, shown = (torch.where(mirrored, each.flip(-1), each) for each in (levels, shown))
        longest = (round(share * side) for share in (_ALONG, _ACROSS))
        shifts = torch.stack([torch.randint(-most, most + 1, frame.shape, device=device) for most in longest], dim=-1)
        window = Window.around(side // 2 - shifts[:, None], side, side)
        arm = cleaner.changed_pixels(images)[frame, view]
        shown = window.cut(shown) & window.inside & ~(behind[frame, None, None] & arm)[:, None]
        views[frame, view] = torch.where(shown, window.cut(levels), views[frame, view])
        return views.flatten(1, 2)

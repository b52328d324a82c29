"""Shape of the networks of actions as plain data, importable without torch."""

from dataclasses import dataclass
from typing import Literal

from ropes.models.shapes import require_positive


@dataclass(frozen=True, kw_only=True)
class DeltaConfig:
    """Shape of a network that predicts an action from two images.

    Attributes:
        image_size: side of the images in pixels.
        backbone: vit (also DINO, DINOv2), resnet, or pose: the encoder of a run.
        checkpoint: folder or hub name of a `transformers` model; for pose a run or packaged:NAME; None for none.
        patch: patch size of a transformer in pixels.
        width: token width of a transformer.
        depth: blocks of a transformer.
        heads: attention heads of a transformer.
        stem: convolutions before a transformer that is trained from scratch (Xiao et al. 2021).
        widths: channels of a ResNet's stages.
        blocks: blocks of each of a ResNet's stages.
        latents: dimensions of φ.
        patches: greatest number of patches that method cde-patch classifies, those with the greatest change.
        change: measure of a patch's change: the norm of its delta, or of its features' difference.
        aggregate: classify the mean of the patches' deltas.

    Raises:
        ValueError: sizes do not fit each other, or a checkpoint is missing.
    """

    image_size: int = 64
    backbone: Literal["vit", "resnet", "pose"] = "vit"
    checkpoint: str | None = None
    patch: int = 8
    width: int = 96
    depth: int = 3
    heads: int = 3
    stem: bool = True
    widths: tuple[int, ...] = (32, 64, 128, 256)
    blocks: int = 1
    latents: int = 64
    patches: int = 16
    change: Literal["deltas", "features"] = "deltas"
    aggregate: bool = False

    def __post_init__(self) -> None:
        sizes = self.image_size, self.patch, self.width, self.depth, self.heads, self.blocks, self.latents, self.patches
        require_positive("the network of actions", *sizes, *self.widths)
        if self.checkpoint is None and self.backbone == "pose":
            raise ValueError("backbone pose needs a run; give --delta.checkpoint RUN, or packaged:NAME")
        if self.checkpoint is None and self.image_size % self.patch:
            raise ValueError(f"patches of {self.patch} pixels do not tile images of {self.image_size}")
        stem = self.stem and self.backbone == "vit" and self.checkpoint is None
        if stem and (self.patch < 2 or self.patch.bit_count() > 1):
            raise ValueError(f"a stem needs patches of 2, 4, 8, … pixels, not {self.patch}; or give --delta.no-stem")
        if self.width % self.heads:
            raise ValueError(f"the width must be a multiple of the {self.heads} heads, got {self.width}")

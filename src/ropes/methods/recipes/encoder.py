"""Configuration of methods `ldr` and `anchored`."""

import math
from dataclasses import dataclass, field

from ropes.errors import UserError
from ropes.methods.recipes.base import renamed
from ropes.methods.recipes.optimisation import PRESETS, Optimisation, Preset, require_name
from ropes.models.shapes import EncoderConfig

#: Side in pixels of the parts that `ropes.models.student` judges.
_PART = 4
_STUDENT = Optimisation(epochs=4, min_samples=62_400, batch=104, learning_rate=2e-3, weight_decay=0.05, clip=1.0)
#: Fields that mean nothing where there are no anchors.
OF_ANCHORS = ("anchor_warmup_poses", "anchor_warmup_fraction", "independent")


@dataclass(frozen=True, kw_only=True)
class EncoderRecipe:
    """One encoder straight from images: methods `ldr` and `anchored`.

    Attributes:
        preset: compact: two CPU cores; paper: one CUDA GPU and the paper's sizes.
        encoder: its shape.
        training: how it is optimised; samples are poses.
        anchor_weight: weight of the variance within anchors, once it has risen; above 0 for method anchored.
        anchor_warmup_poses: poses during which only regimes count, before that weight begins to rise.
        anchor_warmup_fraction: share of all poses that these may be.
        independent: whether each joint is commanded by itself, so that no joint follows another; otherwise what
            follows is asked of the images.
        val_fraction: share of the training anchors kept for label-free criteria.
        anchors: how many of the training anchors there are, the first, to learn from; None for all.
        random_erasing: share of the training images (each view by itself) in which a white square hides something.
        foreign: share of the poses of a second training, of a student, in which something foreign hides parts of the
            images; 0 for no second training.
        student: how that is optimised; samples are poses.  Always the same where there is none.
    """

    preset: Preset
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    training: Optimisation
    anchor_weight: float = 0.0
    anchor_warmup_poses: int = renamed("alone", 75_000)
    anchor_warmup_fraction: float = renamed("alone_at_most", 0.35)
    independent: bool = False
    val_fraction: float = renamed("held_out", 0.1)
    anchors: int | None = None
    random_erasing: float = renamed("erased", 0.0)
    foreign: float = 0.0
    student: Optimisation = field(default_factory=lambda: _STUDENT)

    def __post_init__(self) -> None:
        if not 0 <= self.anchor_weight < math.inf:
            raise UserError(f"anchor_weight must be at least 0, got {self.anchor_weight}")
        if not isinstance(self.anchor_warmup_poses, int) or self.anchor_warmup_poses < 0:
            raise UserError(f"anchor_warmup_poses must be a whole number, at least 0, got {self.anchor_warmup_poses}")
        if not 0 <= self.anchor_warmup_fraction < 1 or not 0 < self.val_fraction < 1:
            raise UserError("anchor_warmup_fraction and val_fraction must be fractions between 0 and 1")
        if not 0 <= self.random_erasing <= 1:
            raise UserError(f"random_erasing must be a share between 0 and 1, got {self.random_erasing}")
        if not 0 <= self.foreign <= 1:
            raise UserError(f"foreign must be a share between 0 and 1, got {self.foreign}")
        if not self.foreign:  # recipes that lead to the same weights are equal
            object.__setattr__(self, "student", _STUDENT)
        elif self.encoder.image_size % _PART:
            raise UserError(
                f"a student judges parts of {_PART} pixels, and images of {self.encoder.image_size} are no multiple of "
                "that: choose another size, or leave the student out with --foreign 0"
            )
        if self.anchors is not None and self.anchors < 2:
            raise UserError(f"anchors must be at least 2, got {self.anchors}; leave it out for all")
        if self.encoder.window and not self.anchor_weight:
            raise UserError(
                "only anchors tell where to look closely: to leave them out use --method ldr, without --encoder.window"
            )

    @property
    def shape(self) -> EncoderConfig:
        """The network that reads the images."""
        return self.encoder


def encoder_recipe(preset: str) -> EncoderRecipe:
    """The recipe of method `anchored`: compact for two CPU cores in an hour, paper for a GPU and 10,000 anchors."""
    require_name(preset, PRESETS, "preset")
    if preset == "paper":
        return EncoderRecipe(
            preset="paper",
            encoder=EncoderConfig(
                widths=(64, 128, 256, 512),
                blocks=(2, 2, 2, 2),
                hidden=512,
                window_widths=(64, 128, 256),
                window_blocks=(2, 2, 2),
            ),
            training=Optimisation(epochs=20, batch=208, learning_rate=1e-3, weight_decay=0.05, clip=1.0),
            foreign=0.5,
            student=Optimisation(epochs=10, batch=208, learning_rate=1e-3, weight_decay=0.05, clip=1.0),
            anchor_weight=30.0,
            anchor_warmup_poses=150_000,  # as many steps as in the compact preset
        )
    return EncoderRecipe(
        preset="compact",
        training=Optimisation(epochs=8, batch=104, learning_rate=2e-3, weight_decay=0.05, clip=1.0),
        anchor_weight=30.0,
        foreign=0.5,
    )

"""Configuration of methods `ldr` and `anchored`."""

from dataclasses import dataclass, field

from ropes.errors import UserError, require_name
from ropes.methods.optimisation import PRESETS, Optimisation, Preset, require, require_anchors
from ropes.methods.recipe import CLEANER_SAMPLES, renamed
from ropes.models.shapes import EncoderConfig, added

#: Side in pixels of the parts in which `ropes.models.student` detects foreign objects.
_PART = 4
_STUDENT = Optimisation(epochs=4, min_samples=124_800, batch=104, learning_rate=2e-3, weight_decay=0.05, clip=1.0)
#: Fields without effect for a method that does not use anchors.
ANCHOR_FIELDS = ("anchor_warmup_poses", "anchor_warmup_fraction", "independent")


@dataclass(frozen=True, kw_only=True)
class EncoderRecipe:
    """One encoder from images to coordinates: methods `ldr` and `anchored`.

    Attributes:
        preset: compact: two CPU cores; paper: one CUDA GPU and the paper's sizes.
        encoder: shape of the encoder.
        training: optimiser of the encoder; samples are poses.
        anchor_weight: final weight of the invariance loss, the variance within anchors; above 0 (0 for method ldr).
        anchor_warmup_poses: number of poses before the invariance loss is switched on.
        anchor_warmup_fraction: upper bound on anchor_warmup_poses, as a fraction of all poses of the training.
        independent: assume that no joint causally affects another; otherwise descendants are estimated from the
            images.
        val_fraction: fraction of the training anchors held out for validation.
        anchors: train on the first N anchors only, or the first N chains of moves; None for all.
        random_erasing: fraction of the training images (each view separately) with a random white square.
        registration: register frames to their camera's background, where light, camera position or noise vary.
        cleaner_samples: train the cleaner of a recording with passers-by on at least this many poses.
        foreign: fraction of poses with synthetic occluders in the training of the student; 0 disables the student.
        student: optimiser of the student; samples are poses. Ignored without a student.
        shards_in_window: draw batches from windows of N shards, which are fetched and decoded one after the other, for
            data larger than the disk; None decodes the whole training split once.
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
    registration: bool = True
    cleaner_samples: int = added(CLEANER_SAMPLES)
    foreign: float = 0.0
    student: Optimisation = field(default_factory=lambda: _STUDENT)
    shards_in_window: int | None = added(None)

    def __post_init__(self) -> None:
        require("at least 0", self, "anchor_weight", "cleaner_samples")
        if not isinstance(self.anchor_warmup_poses, int) or self.anchor_warmup_poses < 0:
            raise UserError(f"anchor_warmup_poses must be a whole number, at least 0, got {self.anchor_warmup_poses}")
        if not 0 <= self.anchor_warmup_fraction < 1:
            raise UserError(f"anchor_warmup_fraction must be at least 0 and below 1, got {self.anchor_warmup_fraction}")
        require("above 0 and below 1", self, "val_fraction")
        require("between 0 and 1", self, "random_erasing", "foreign")
        if not self.foreign:  # recipes that give the same weights are equal
            object.__setattr__(self, "student", _STUDENT)
        elif self.encoder.image_size % _PART:
            raise UserError(
                f"a student needs an image size that is a multiple of {_PART}, not {self.encoder.image_size}: "
                "choose another size, or leave the student out with --foreign 0"
            )
        require_anchors(self.anchors)
        if self.shards_in_window is not None and self.shards_in_window < 1:
            raise UserError(f"shards_in_window is {self.shards_in_window}; it must be at least 1")
        if self.encoder.window and not self.anchor_weight:
            raise UserError(
                "only anchors train the attention of the window: to train without anchors use --method ldr, "
                "without --encoder.window"
            )

    @property
    def shape(self) -> EncoderConfig:
        """Shape of the network that reads the images."""
        return self.encoder


def encoder_recipe(preset: str) -> EncoderRecipe:
    """The recipe of method `anchored`.

    Compact: an hour on two CPU cores; paper: a GPU and 10,000 anchors.

    Raises:
        UserError: unknown preset.
    """
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

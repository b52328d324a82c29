"""Named, frozen configurations: everything that a fit depends on besides its data and its seed."""

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from ropes.errors import UserError
from ropes.models.shapes import AE1Config, AE2Config, EncoderConfig, LDRConfig

Preset = Literal["compact", "paper"]
PRESETS: tuple[Preset, ...] = get_args(Preset)
METHODS = ("anchored", "ldr", "ropes")
#: Name of an AE2 that serves all joints.
JOINT = "joint"


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """How a stage is optimised.

    Attributes:
        epochs: passes over the stage's training samples.
        at_least: samples seen at least, however few there are to pass over.
        batch: samples a step.
        learning_rate: peak learning rate of Adam.
        weight_decay: decoupled weight decay.
        clip: bound on the norm of the gradient; None for none.
        schedule: constant, or one cycle (rise over a tenth of the steps, then a cosine down to zero).
    """

    epochs: float
    batch: int
    learning_rate: float
    weight_decay: float = 0.0
    clip: float | None = None
    at_least: int = 0
    schedule: Literal["constant", "one-cycle"] = "one-cycle"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "learning_rate"):
            if not 0 < getattr(self, name) < math.inf:
                raise UserError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("weight_decay", "at_least"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UserError(f"{name} must be at least 0, got {getattr(self, name)}")
        if self.clip is not None and not self.clip > 0:
            raise UserError(f"clip must be positive, got {self.clip}; leave it out for no bound")

    def steps(self, samples: int) -> int:
        """Number of optimiser steps for `samples` training samples."""
        return max(1, round(max(self.epochs * samples, self.at_least) / self.batch))


@dataclass(frozen=True, kw_only=True)
class RopesRecipe:
    """The three stages of ROPES.

    Attributes:
        preset: compact: two CPU cores; paper: one CUDA GPU and the paper's sizes.
        joint_ae2: one AE2 for all joints (sparsity against the identity) instead of the paper's one for each.
        sparsity_rows: joints whose row of the sparsity matrix a step of a joint AE2 estimates, in turn; 0 for all.
        logit_weight: weight of the term that ties each coordinate to its joint's logit; 0 for the paper's Eq. 3.
        sparsity_weights: candidates for λ of Eq. 3; more than one are compared on held-out anchors.
        search_share: share of AE2's epochs that each candidate gets.
        held_out: share of the training anchors kept for label-free criteria: early stopping and choices.
    """

    preset: Preset
    ae1: AE1Config = field(default_factory=AE1Config)
    ldr: LDRConfig = field(default_factory=LDRConfig)
    ae2: AE2Config = field(default_factory=AE2Config)
    ae1_training: Optimisation
    ldr_training: Optimisation
    ae2_training: Optimisation
    joint_ae2: bool = False
    sparsity_rows: int = 0
    logit_weight: float = 0.0
    sparsity_weights: tuple[float, ...] = (1.0,)
    search_share: float = 0.25
    held_out: float = 0.1

    def __post_init__(self) -> None:
        if not self.sparsity_weights or not all(0 <= weight < math.inf for weight in self.sparsity_weights):
            raise UserError(f"sparsity_weights must be one or more numbers of at least 0, got {self.sparsity_weights}")
        for name in ("search_share", "held_out"):
            if not 0 < getattr(self, name) < 1:
                raise UserError(f"{name} must lie between 0 and 1, got {getattr(self, name)}")
        if self.sparsity_rows < 0 or not 0 <= self.logit_weight < math.inf:
            raise UserError("sparsity_rows and logit_weight must be at least 0, and finite")

    def networks(self, joints: Sequence[str]) -> dict[str, list[int]]:
        """Each AE2 by name → the coordinates read from it: one for all joints, or a joint's own for each."""
        if self.joint_ae2:
            return {JOINT: list(range(len(joints)))}
        return {joint: [k] for k, joint in enumerate(joints)}


@dataclass(frozen=True, kw_only=True)
class EncoderRecipe:
    """One encoder straight from images: methods `ldr` and `anchored`.

    Attributes:
        preset: compact: two CPU cores; paper: one CUDA GPU and the paper's sizes.
        encoder: its shape.
        training: how it is optimised; samples are poses.
        anchor_weight: weight of the variance within anchors, once it has risen; above 0 for method anchored.
        alone: poses during which only regimes count, before that weight begins to rise.
        alone_at_most: share of all poses that these may be.
        held_out: share of the training anchors kept for label-free criteria.
        anchors: how many of the training anchors there are, the first, to learn from; None for all.
        erased: share of the training images (each view by itself) in which a white square hides something.
    """

    preset: Preset
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    training: Optimisation
    anchor_weight: float = 0.0
    alone: int = 75_000
    alone_at_most: float = 0.35
    held_out: float = 0.1
    anchors: int | None = None
    erased: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.anchor_weight < math.inf:
            raise UserError(f"anchor_weight must be at least 0, got {self.anchor_weight}")
        if not isinstance(self.alone, int) or self.alone < 0:
            raise UserError(f"alone must be a whole number of poses, at least 0, got {self.alone}")
        if not 0 <= self.alone_at_most < 1 or not 0 < self.held_out < 1:
            raise UserError("alone_at_most and held_out must be shares between 0 and 1")
        if not 0 <= self.erased <= 1:
            raise UserError(f"erased must be a share between 0 and 1, got {self.erased}")
        if self.anchors is not None and self.anchors < 2:
            raise UserError(f"anchors must be at least 2, got {self.anchors}; leave it out for all")
        if self.encoder.window and not self.anchor_weight:
            raise UserError(
                "only anchors tell where to look closely: to leave them out use --method ldr, without --encoder.window"
            )


Recipe = RopesRecipe | EncoderRecipe


def recipe_from_dict(content: dict[str, Any]) -> Recipe:
    """The inverse of `dataclasses.asdict` for a recipe, lists read back from JSON included.

    Raises:
        TypeError, ValueError: an unknown field, a missing one, or a value out of range.
    """
    parts: dict[str, type] = {
        "ae1": AE1Config,
        "ldr": LDRConfig,
        "ae2": AE2Config,
        "ae1_training": Optimisation,
        "ldr_training": Optimisation,
        "ae2_training": Optimisation,
        "encoder": EncoderConfig,
        "training": Optimisation,
    }
    fields = {name: parts[name](**_tuples(value)) if name in parts else value for name, value in content.items()}
    kind: type[Recipe] = EncoderRecipe if "encoder" in content else RopesRecipe
    return kind(**_tuples(fields))


def _tuples(content: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in content.items()}


def paper_recipe() -> RopesRecipe:
    """Tables 3 to 5 and App. C: 128×128 images, full widths, an AE2 of its own for each joint.

    Deviation: λ, the length of the LDR's training and the schedule are not given; λ is chosen among three on
    held-out anchors, the LDR stops early on them, and Adam's rate is constant as the tables suggest.
    """
    return RopesRecipe(
        preset="paper",
        ae1_training=Optimisation(epochs=1, batch=256, learning_rate=1e-4, schedule="constant"),
        ldr_training=Optimisation(epochs=20, batch=64, learning_rate=1e-3, schedule="constant"),
        ae2_training=Optimisation(epochs=1, batch=256, learning_rate=7e-5, schedule="constant"),
        sparsity_weights=(0.1, 1.0, 10.0),
    )


def compact_recipe() -> RopesRecipe:
    """The same three stages and the same 8×8×1 code, narrower and at 64×64, for two CPU cores.

    Deviation: one AE2 for all joints, with a term that ties each coordinate to its joint's logit (`logit_loss`):
    Eq. 3 alone does not get there within its few steps.  Besides: dropout and weight decay in the LDRs, one-cycle
    schedules, clipped gradients, and a gradient that leaks below zero at AE1's rectified ends.
    """
    return RopesRecipe(
        preset="compact",
        ae1=AE1Config(
            image_size=64,
            stem=4,
            encoder_widths=(32, 64),
            encoder_blocks=(1, 3),
            decoder_widths=(64, 32),
            decoder_blocks=(3, 1),
            groups=8,
            revive=0.1,
        ),
        ldr=LDRConfig(dropout=0.3, others=True),
        ae2=AE2Config(encoder_widths=(32, 64, 128), decoder_widths=(128, 64, 32), seed_width=128, blocks=1),
        ae1_training=Optimisation(epochs=0.4, at_least=48_000, batch=16, learning_rate=3e-3, clip=0.5),
        ldr_training=Optimisation(epochs=24, batch=128, learning_rate=1.5e-3, weight_decay=0.05),
        ae2_training=Optimisation(epochs=1, at_least=144_000, batch=128, learning_rate=2e-3, clip=1.0),
        joint_ae2=True,
        sparsity_rows=1,
        logit_weight=1.0,
        sparsity_weights=(0.1,),
    )


def encoder_recipe(preset: str) -> EncoderRecipe:
    """The recipe of method `anchored`: compact for two CPU cores in an hour, paper for a GPU and 10,000 anchors."""
    _require(preset, PRESETS, "preset")
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
            anchor_weight=30.0,
            alone=150_000,  # as many steps as in the compact preset
        )
    return EncoderRecipe(
        preset="compact",
        training=Optimisation(epochs=8, batch=104, learning_rate=2e-3, weight_decay=0.05, clip=1.0),
        anchor_weight=30.0,
    )


def ropes_recipe(preset: str) -> RopesRecipe:
    """The recipe of method `ropes`.

    Raises:
        UserError: no preset of that name.
    """
    _require(preset, PRESETS, "preset")
    return paper_recipe() if preset == "paper" else compact_recipe()


def recipe_of(method: str, preset: str) -> Recipe:
    """The recipe of a method under a preset.

    Raises:
        UserError: no method or preset of that name.
    """
    require_method(method)
    match method:
        case "ropes":
            return ropes_recipe(preset)
        case "ldr":
            recipe = encoder_recipe(preset)
            return replace(recipe, anchor_weight=0.0, encoder=replace(recipe.encoder, window=0))
        case _:
            return encoder_recipe(preset)


def method_of(label: str) -> str:
    """The method of a fit that an experiment calls METHOD or METHOD@VARIANT."""
    return label.partition("@")[0]


def require_method(name: str) -> None:
    """Check that there is a method of that name.

    Raises:
        UserError: there is none; names the one that was meant.
    """
    _require(name, METHODS, "method")


def _require(name: str, known: Sequence[str], kind: str) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(known)}"
        raise UserError(f"unknown {kind} {name!r}: {hint}")

"""Configuration of the methods that tell an action from two images."""

import math
from dataclasses import dataclass, field, replace

from ropes.errors import UserError
from ropes.methods.recipes.base import renamed
from ropes.methods.recipes.optimisation import PRESETS, Optimisation, Preset, require_name
from ropes.models.shapes import DeltaConfig


@dataclass(frozen=True, kw_only=True)
class DeltaRecipe:
    """Settings of `cde-global`, `cde-patch`, and of the baselines.

    Attributes:
        preset: compact: two CPU cores; paper: one CUDA GPU and the paper's sizes.
        delta: shape of the network.
        training: how it is optimised; samples are pairs.
        contrast: weight of the supervised contrastive loss.
        contrast_sum: whether that loss is summed over the batch, instead of its mean.
        temperature: of that loss.
        sparsity: weight of the mean L1 norm of deltas.
        independence: weight of the critic of nouns (icm).
        blocks: weight of what changes outside of an action's block (sms).
        crop: least share of the images' area that training shows of a pair; below 1 pairs are mirrored half the time as
            well, so leave it at 1 where left and right matter.
        val_fraction: share of the training pairs held out; the validation split, where there is one, is that instead.
    """

    preset: Preset
    delta: DeltaConfig = field(default_factory=DeltaConfig)
    training: Optimisation
    contrast: float = 0.0
    contrast_sum: bool = False
    temperature: float = 0.1
    sparsity: float = 0.0
    independence: float = 0.0
    blocks: float = 0.0
    crop: float = 1.0
    val_fraction: float = renamed("held_out", 0.05)

    def __post_init__(self) -> None:
        for name in ("contrast", "sparsity", "independence", "blocks"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UserError(f"{name} must be at least 0, got {getattr(self, name)}")
        if not 0 < self.temperature < math.inf:
            raise UserError(f"temperature must be positive, got {self.temperature}")
        if not 0 < self.crop <= 1:
            raise UserError(f"crop must be a share above 0 and at most 1, got {self.crop:g}; 1 crops nothing")
        if not 0 < self.val_fraction < 1:
            raise UserError(f"val_fraction must be a share between 0 and 1, got {self.val_fraction}")

    @property
    def shape(self) -> DeltaConfig:
        """The network that reads the images."""
        return self.delta


def delta_recipe(method: str, preset: str) -> DeltaRecipe:
    """The recipe of a method that tells actions.

    The weights of the losses, 2 and 1, are those that the summary gives.

    Deviation: the method is built after a summary of the paper; projector, temperature, number of patches and rates are
    ours.  Why: the paper itself was not at hand, so what it states of these is not known here.  Effect: not known.

    Deviation: under the compact preset transformers begin from scratch, with convolutions.  Why: no pre-trained weights
    come with the package, and convolutions help with new things where training has so few.  Effect: new things are told
    .50 of the time instead of .37 (left-out training things, one seed).

    Deviation: under the compact preset ResNets begin from scratch; the reference's, and those of the paper's preset,
    from ImageNet.  Why: no such weights come with the package.  Effect: not known; all methods of the compact preset
    begin from scratch alike.

    Deviation: the weights of ICM's and SMS's losses are .1 and 1, where the reference sweeps five values of each over
    ten seeds; ICM's critic learns in the same step by a reversed gradient, where the reference alternates.  Why: two
    cores.  Effect: baselines are not tuned, and our recipe was, on training things left out.

    Deviation: weights are chosen on pairs in distribution, and compact training has 16,000 simulated pairs.  Why:
    choosing on a shifted split would leave no test of the shift.  Effect: the reference logs its shifted split as its
    validation and trains on 5,000 pairs, so rows of the two are chosen and trained differently.

    Raises:
        UserError: no preset of that name.
    """
    require_name(preset, PRESETS, "preset")
    if preset == "paper":
        tuned = Optimisation(epochs=30, batch=64, learning_rate=3e-5, weight_decay=0.01, clip=1.0)
        like_the_reference = Optimisation(epochs=50, batch=128, learning_rate=2e-4, weight_decay=0.0, clip=1.0)
        shape = DeltaConfig(image_size=224, checkpoint="facebook/dino-vits16", latents=128, patches=8)
        recipe = DeltaRecipe(preset="paper", delta=shape, training=tuned)
        of_imagenet = DeltaConfig(image_size=224, backbone="resnet", checkpoint="microsoft/resnet-18", latents=128)
        resnet = replace(recipe, delta=of_imagenet, training=like_the_reference)
    else:
        training = Optimisation(
            epochs=1, min_samples=2_000 * 32, batch=32, learning_rate=1e-3, weight_decay=0.05, clip=1.0
        )
        recipe = DeltaRecipe(preset="compact", training=training)
        resnet = replace(recipe, delta=DeltaConfig(backbone="resnet"))
    match method:
        case "cde-global" | "cde-patch":
            return replace(recipe, contrast=2.0, sparsity=1.0)
        case "icm":
            return replace(resnet, independence=0.1)
        case "sms":
            return replace(resnet, blocks=1.0)
        case "plain-resnet":
            return resnet
        case _:
            return recipe

"""Configuration of the methods that predict an action from two images."""

from dataclasses import dataclass, field, replace

from ropes.errors import require_name
from ropes.methods.optimisation import PRESETS, Optimisation, Preset, require
from ropes.methods.recipe import renamed
from ropes.models.delta_shape import DeltaConfig


@dataclass(frozen=True, kw_only=True)
class DeltaRecipe:
    """Configuration of `cde-global`, `cde-patch`, and of their baselines.

    Attributes:
        preset: compact: two CPU cores; paper: one CUDA GPU and the paper's sizes.
        delta: shape of the network.
        training: optimiser of the network; samples are pairs.
        contrast: weight of the supervised contrastive loss.
        contrast_sum: sum that loss over the batch instead of averaging it.
        temperature: temperature of the contrastive loss.
        sparsity: weight of the mean L1 norm of deltas.
        independence: weight of the adversarial noun critic (icm).
        blocks: weight of the changes outside of an action's block (sms).
        crop: least fraction of the images' area in a training crop; below 1 pairs are also mirrored half the time, so
            leave it at 1 where left and right matter.
        val_fraction: fraction of the training pairs held out; unused where the data set has a validation split.
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
        require("at least 0", self, "contrast", "sparsity", "independence", "blocks")
        require("positive", self, "temperature")
        require("above 0 and at most 1", self, "crop")
        require("above 0 and below 1", self, "val_fraction")

    @property
    def shape(self) -> DeltaConfig:
        """Shape of the network that reads the images."""
        return self.delta


def delta_recipe(method: str, preset: str) -> DeltaRecipe:
    """The recipe of a method that predicts actions.

    The weights of the losses, 2 and 1, are those of the summary.

    Deviation: the method is built after a summary of the paper; projector, temperature, number of patches and rates are
    ours.  Why: the paper itself was not available.  Effect: not known.

    Deviation: under the compact preset transformers begin from scratch, with convolutions.  Why: no pre-trained weights
    come with the package, and convolutions help with new objects where training has few.  Effect: accuracy on new
    objects is .50 instead of .37 (left-out training objects, one seed).

    Deviation: under the compact preset ResNets begin from scratch; the reference's, and those of the paper's preset,
    from ImageNet.  Why: no such weights come with the package.  Effect: not known; all methods of the compact preset
    begin from scratch.

    Deviation: the weights of ICM's and SMS's losses are .1 and 1, where the reference sweeps five values of each over
    ten seeds; ICM's critic learns in the same step by a reversed gradient, where the reference alternates.  Why: two
    cores.  Effect: baselines are not tuned, and our recipe was, on left-out training objects.

    Deviation: several objects in a scene have the four baselines of single objects; the paper also has pre-trained
    encoders of other kinds and ground-truth masks.  Why: the summary does not describe them.  Effect: the paper's claim
    to exceed masks is not tested.

    Deviation: weights are chosen on pairs in distribution, and compact training has 8,000 simulated pairs,
    that on recorded data all pairs of the scenes that are not held out.  Why: choosing on a shifted split would leave
    no test of the shift.  Effect: the reference logs its shifted split as its validation and trains on 5,000 pairs, so
    rows of the two are chosen and trained differently.

    Deviation: rows "with crops" of the compact preset train on random crops and mirrored pairs, which the summary does
    not mention.  Why: they help on new objects.  Effect: on new objects deltas gain .03, with an interval around
    zero, the four baselines .12 to .19 (docs/deltas.md).

    Raises:
        UserError: unknown preset.
    """
    require_name(preset, PRESETS, "preset")
    if preset == "paper":
        ours = Optimisation(epochs=30, batch=64, learning_rate=3e-5, weight_decay=0.01, clip=1.0)
        reference = Optimisation(epochs=50, batch=128, learning_rate=2e-4, weight_decay=0.0, clip=1.0)
        shape = DeltaConfig(image_size=224, checkpoint="facebook/dino-vits16", latents=128, patches=8)
        recipe = DeltaRecipe(preset="paper", delta=shape, training=ours)
        imagenet = DeltaConfig(image_size=224, backbone="resnet", checkpoint="microsoft/resnet-18", latents=128)
        resnet = replace(recipe, delta=imagenet, training=reference)
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

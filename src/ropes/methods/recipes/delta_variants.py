"""Variants of causal delta embeddings: ablations, backbones, crops, readings of the paper."""

from collections.abc import Mapping
from dataclasses import replace

from ropes.methods.recipes import Recipe
from ropes.methods.recipes.delta import DeltaRecipe, delta_recipe
from ropes.methods.recipes.optimisation import Optimisation
from ropes.models.registry import ARM_ESTIMATOR, PACKAGED
from ropes.models.shapes import DeltaConfig

#: Without one term or both; of the ResNet that baselines have; and of an encoder that begins as the packaged one.
ABLATED = ("cde-global@no-contrast", "cde-global@no-sparsity", "cde-global@classification")
OF_A_RESNET, FROM_POSES = "cde-global@resnet", f"cde-global@{ARM_ESTIMATOR}"
BASELINES = ("plain-vit", "plain-resnet", "icm", "sms")
#: Of parts of pairs, mirrored or not.
CROPPED = {name: f"{name}@crops" for name in ("cde-global", *BASELINES)}


def delta_variants(recipe: DeltaRecipe) -> Mapping[str, DeltaRecipe]:
    """Variants of method `cde-global`.

    Args:
        recipe: of the method.
    """
    terms = (0.0, recipe.sparsity), (recipe.contrast, 0.0), (0.0, 0.0)
    return {
        **{
            label: replace(recipe, contrast=contrast, sparsity=sparsity)
            for label, (contrast, sparsity) in zip(ABLATED, terms, strict=True)
        },
        OF_A_RESNET: of_a_resnet(recipe),
        FROM_POSES: replace(
            recipe,
            delta=DeltaConfig(
                backbone="pose",
                checkpoint=f"{PACKAGED}{ARM_ESTIMATOR}",
                image_size=128,
                latents=recipe.delta.latents,
            ),
            training=Optimisation(
                epochs=1, min_samples=2_000 * 32, batch=32, learning_rate=5e-4, weight_decay=0.05, clip=1.0
            ),
        ),
    }


#: As many patches as an image has.
_ALL = 1_000_000
#: Readings of the paper that differ from ours, in words: variant → what it does.
OPTIONS = {
    "cde-global@contrast-sum": "deltas of whole images, contrast summed over the batch",
    "cde-global@sparsity-0.1": "deltas of whole images, sparsity weighs .1",
    "cde-global@sparsity-10": "deltas of whole images, sparsity weighs 10",
    "cde-global@sparsity-100": "deltas of whole images, sparsity weighs 100 (1 in the classifier's units)",
    "cde-patch@contrast-sum": "deltas of patches, contrast summed over the batch",
    "cde-patch@features": "deltas of patches, of those whose features change most",
    "cde-patch@aggregate": "deltas of patches, their mean classified",
    "cde-patch@patches-4": "deltas of 4 patches",
    "cde-patch@patches-all": "deltas of all patches",
}


def options(recipes: Mapping[str, Recipe]) -> Mapping[str, DeltaRecipe]:
    """The variants `OPTIONS` of the methods that are given.

    Args:
        recipes: method → its recipe.
    """
    found = {}
    for label in OPTIONS:
        method, _, option = label.partition("@")
        if isinstance(recipe := recipes.get(method), DeltaRecipe):
            match option.rpartition("-"):
                case ("contrast", _, _):
                    found[label] = replace(recipe, contrast_sum=True)
                case ("sparsity", _, weight):
                    found[label] = replace(recipe, sparsity=float(weight))
                case ("patches", _, count):
                    patches = _ALL if count == "all" else int(count)
                    found[label] = replace(recipe, delta=replace(recipe.delta, patches=patches))
                case (_, _, "features"):
                    found[label] = replace(recipe, delta=replace(recipe.delta, change="features"))
                case _:
                    found[label] = replace(recipe, delta=replace(recipe.delta, aggregate=True))
    return found


def cropped(recipes: Mapping[str, Recipe]) -> Mapping[str, Recipe]:
    """The variants `CROPPED`, which see at least half of the images' area in training, of compact recipes.

    Args:
        recipes: method → its recipe.
    """
    return {
        label: replace(recipe, crop=0.5)
        for name, label in CROPPED.items()
        if isinstance(recipe := recipes.get(name), DeltaRecipe) and recipe.preset == "compact"
    }


def of_a_resnet(recipe: DeltaRecipe) -> DeltaRecipe:
    """The same losses of the ResNet of the preset's baselines, which is trained as they are."""
    plain = delta_recipe("plain-resnet", recipe.preset)
    return replace(recipe, delta=plain.delta, training=plain.training)

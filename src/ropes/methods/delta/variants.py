"""Variants of causal delta embeddings: ablations, backbones, crops, readings of the paper."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ropes.methods.delta.recipe import DeltaRecipe, delta_recipe
from ropes.methods.optimisation import Optimisation
from ropes.methods.recipes import Recipe
from ropes.models.delta_shape import DeltaConfig
from ropes.models.registry import ARM_ESTIMATOR, PACKAGED

#: Ablations: without one term or both; changes of a recipe.
_LEFT_OUT: Mapping[str, dict[str, Any]] = {
    "no-contrast": {"contrast": 0.0},
    "no-sparsity": {"sparsity": 0.0},
    "classification": {"contrast": 0.0, "sparsity": 0.0},
}
ABLATED = tuple(f"cde-global@{name}" for name in _LEFT_OUT)
#: With the baselines' ResNet; with an encoder that starts from the packaged estimator.
OF_A_RESNET, FROM_POSES = "cde-global@resnet", f"cde-global@{ARM_ESTIMATOR}"
BASELINES = ("plain-vit", "plain-resnet", "icm", "sms")
#: Method → its variant with random crops and mirroring of pairs.
CROPPED = {name: f"{name}@crops" for name in ("cde-global", *BASELINES)}


def delta_variants(recipe: DeltaRecipe) -> Mapping[str, DeltaRecipe]:
    """Variants of method `cde-global`.

    Args:
        recipe: of the method.
    """
    poses = DeltaConfig(
        backbone="pose", checkpoint=f"{PACKAGED}{ARM_ESTIMATOR}", image_size=128, latents=recipe.delta.latents
    )
    training = Optimisation(epochs=1, min_samples=2_000 * 32, batch=32, learning_rate=5e-4, weight_decay=0.05, clip=1.0)
    return {
        **ablations(recipe),
        OF_A_RESNET: of_a_resnet(recipe),
        FROM_POSES: replace(recipe, delta=poses, training=training),
    }


#: At least as many patches as an image has.
_ALL = 1_000_000
#: Variant → how it differs from our reading of the paper, in words; changes of the recipe; changes of the network.
_OPTIONS: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {
    "cde-global@contrast-sum": ("deltas of whole images, contrast summed over the batch", {"contrast_sum": True}, {}),
    "cde-global@contrast-0.2": ("deltas of whole images, contrast weighs .2", {"contrast": 0.2}, {}),
    "cde-global@contrast-20": ("deltas of whole images, contrast weighs 20", {"contrast": 20.0}, {}),
    "cde-global@sparsity-0.1": ("deltas of whole images, sparsity weighs .1", {"sparsity": 0.1}, {}),
    "cde-global@sparsity-10": ("deltas of whole images, sparsity weighs 10", {"sparsity": 10.0}, {}),
    "cde-global@sparsity-100": (
        "deltas of whole images, sparsity weighs 100 (1 in the classifier's units)",
        {"sparsity": 100.0},
        {},
    ),
    "cde-patch@no-contrast": ("deltas of patches, without contrast", _LEFT_OUT["no-contrast"], {}),
    "cde-patch@no-sparsity": ("deltas of patches, without sparsity", _LEFT_OUT["no-sparsity"], {}),
    "cde-patch@classification": ("deltas of patches, classification alone", _LEFT_OUT["classification"], {}),
    "cde-patch@contrast-sum": ("deltas of patches, contrast summed over the batch", {"contrast_sum": True}, {}),
    "cde-patch@features": ("deltas of patches, of those whose features change most", {}, {"change": "features"}),
    "cde-patch@aggregate": ("deltas of patches, their mean classified", {}, {"aggregate": True}),
    "cde-patch@patches-4": ("deltas of 4 patches", {}, {"patches": 4}),
    "cde-patch@patches-all": ("deltas of all patches", {}, {"patches": _ALL}),
}
OPTIONS = {label: words for label, (words, *_) in _OPTIONS.items()}


def ablations(recipe: DeltaRecipe) -> Mapping[str, DeltaRecipe]:
    """The variants `ABLATED`.

    Args:
        recipe: of the method `cde-global`.
    """
    return {f"cde-global@{name}": replace(recipe, **changes) for name, changes in _LEFT_OUT.items()}


def options(recipes: Mapping[str, Recipe]) -> Mapping[str, DeltaRecipe]:
    """The variants `OPTIONS` and `ABLATED` of the given methods.

    Args:
        recipes: method → its recipe.
    """
    changed = {
        label: replace(recipe, **changes, delta=replace(recipe.delta, **shape))
        for label, (_, changes, shape) in _OPTIONS.items()
        if isinstance(recipe := recipes.get(label.partition("@")[0]), DeltaRecipe)
    }
    base = recipes.get("cde-global")
    return {**(ablations(base) if isinstance(base, DeltaRecipe) else {}), **changed}


def cropped(recipes: Mapping[str, Recipe]) -> Mapping[str, Recipe]:
    """The variants `CROPPED` of compact recipes: training crops keep at least half of the images' area.

    Args:
        recipes: method → its recipe.
    """
    return {
        label: replace(recipe, crop=0.5)
        for name, label in CROPPED.items()
        if isinstance(recipe := recipes.get(name), DeltaRecipe) and recipe.preset == "compact"
    }


def of_a_resnet(recipe: DeltaRecipe) -> DeltaRecipe:
    """The same losses with the ResNet of the preset's baselines and their training."""
    plain = delta_recipe("plain-resnet", recipe.preset)
    return replace(recipe, delta=plain.delta, training=plain.training)

"""Frozen configurations: everything that a fit depends on besides its data and its seed."""

from dataclasses import replace
from typing import Any

from ropes.methods.recipes.delta import DELTA_METHODS, DeltaRecipe, delta_recipe
from ropes.methods.recipes.encoder import EncoderRecipe, encoder_recipe
from ropes.methods.recipes.optimisation import PRESETS, Optimisation, Preset, require_name
from ropes.methods.recipes.ropes import JOINT, RopesRecipe, compact_recipe, paper_recipe, ropes_recipe
from ropes.methods.recipes.supervised import LABEL_SHARES, CNNRecipe, JointNetRecipe, cnn_recipe, jointnet_recipe
from ropes.methods.recipes.vae import VAERecipe, vae_recipe
from ropes.models.shapes import (
    AE1Config,
    AE2Config,
    DeltaConfig,
    EncoderConfig,
    LDRConfig,
    VAEConfig,
    ViTConfig,
    with_tuples,
)

__all__ = [
    "DELTA_METHODS",
    "JOINT",
    "LABELLED_METHODS",
    "LABEL_SHARES",
    "METHODS",
    "PRESETS",
    "VAE_METHODS",
    "CNNRecipe",
    "DeltaRecipe",
    "EncoderRecipe",
    "JointNetRecipe",
    "LabelledRecipe",
    "Optimisation",
    "Preset",
    "Recipe",
    "RopesRecipe",
    "VAERecipe",
    "cnn_recipe",
    "compact_recipe",
    "delta_recipe",
    "encoder_recipe",
    "jointnet_recipe",
    "method_of",
    "paper_recipe",
    "recipe_from_dict",
    "recipe_of",
    "require_method",
    "ropes_recipe",
    "vae_recipe",
]

#: Those that learn factors of variation instead of joints.
VAE_METHODS = ("ada-gvae", "beta-vae")
METHODS = tuple(sorted(("anchored", "cnn", "jointnet", "ldr", "ropes", *VAE_METHODS, *DELTA_METHODS)))
#: Those that learn from angles.
LABELLED_METHODS = ("cnn", "jointnet")

LabelledRecipe = CNNRecipe | JointNetRecipe
Recipe = RopesRecipe | EncoderRecipe | CNNRecipe | JointNetRecipe | VAERecipe | DeltaRecipe

_PARTS: dict[str, type] = {
    "ae1": AE1Config,
    "ldr": LDRConfig,
    "ae2": AE2Config,
    "ae1_training": Optimisation,
    "ldr_training": Optimisation,
    "ae2_training": Optimisation,
    "delta": DeltaConfig,
    "encoder": EncoderConfig,
    "vae": VAEConfig,
    "vit": ViTConfig,
    "pretraining": Optimisation,
    "student": Optimisation,
    "training": Optimisation,
}


def recipe_from_dict(content: dict[str, Any]) -> Recipe:
    """The inverse of `dataclasses.asdict` for a recipe, lists read back from JSON included.

    Raises:
        TypeError, ValueError: an unknown field, a missing one, or a value out of range.
    """
    fields = {name: _PARTS[name](**with_tuples(value)) if name in _PARTS else value for name, value in content.items()}
    kind: type[Recipe]
    if "encoder" in content:
        kind = CNNRecipe if "labels" in content else EncoderRecipe
    elif "vae" in content:
        kind = VAERecipe
    elif "delta" in content:
        kind = DeltaRecipe
    else:
        kind = JointNetRecipe if "vit" in content else RopesRecipe
    return kind(**with_tuples(fields))


def recipe_of(method: str, preset: str, *, labels: float = 1.0) -> Recipe:
    """The recipe of a method under a preset.

    Args:
        method: see `METHODS`.
        preset: see `PRESETS`.
        labels: share of the labels that a method of `LABELLED_METHODS` reads; nothing to the others.

    Raises:
        UserError: no method or preset of that name.
    """
    require_method(method)
    match method:
        case "ropes":
            return ropes_recipe(preset)
        case "cnn":
            return cnn_recipe(preset, labels)
        case "jointnet":
            return jointnet_recipe(preset, labels)
        case "ada-gvae" | "beta-vae":
            return vae_recipe(preset)
        case name if name in DELTA_METHODS:
            return delta_recipe(name, preset)
        case "ldr":
            recipe = encoder_recipe(preset)
            return replace(recipe, anchor_weight=0.0, foreign=0.0, encoder=replace(recipe.encoder, window=0))
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
    require_name(name, METHODS, "method")

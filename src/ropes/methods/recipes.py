"""Recipes: the frozen configuration of a fit, without its data and its seed."""

from ropes.methods.anchored.recipe import EncoderRecipe, encoder_recipe
from ropes.methods.delta.recipe import DeltaRecipe, delta_recipe
from ropes.methods.optimisation import PRESETS, Optimisation, Preset
from ropes.methods.recipe import Recipe, recipe_from_dict, recipe_to_dict
from ropes.methods.ropes.recipe import (
    JOINT,
    RopesRecipe,
    compact_recipe,
    paper_recipe,
    ropes_recipe,
    with_convolutions,
)
from ropes.methods.supervised.recipe import LABEL_FRACTIONS, CNNRecipe, JointNetRecipe, cnn_recipe, jointnet_recipe
from ropes.methods.vae.recipe import VAERecipe, vae_recipe

__all__ = [
    "JOINT",
    "LABEL_FRACTIONS",
    "PRESETS",
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
    "paper_recipe",
    "recipe_from_dict",
    "recipe_to_dict",
    "ropes_recipe",
    "vae_recipe",
    "with_convolutions",
]

LabelledRecipe = CNNRecipe | JointNetRecipe

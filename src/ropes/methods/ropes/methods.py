"""Registers method `ropes`."""

from ropes.methods.method import Method
from ropes.methods.ropes.recipe import RopesRecipe, ropes_recipe

METHODS = (
    Method(
        name="ropes",
        summary="joints by the ROPES paper's three stages, without labels",
        description="The three stages of ROPES: autoencoder, log density ratios, disentanglement by score differences.",
        learns="joints",
        recipe_type=RopesRecipe,
        recipe=lambda preset, _: ropes_recipe(preset),
        fit="ropes.methods.ropes.fit:fit",
        reader="ropes.methods.ropes.reader:reader",
        weights="ropes.methods.ropes.reader:weights",
        pretrained=True,
    ),
)

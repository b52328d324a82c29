"""Registers the VAEs, `beta-vae` and `ada-gvae`."""

from typing import Any

from ropes.methods.method import Method
from ropes.methods.vae.recipe import VAERecipe, vae_recipe

_BOTH: dict[str, Any] = {
    "learns": "factors",
    "recipe_type": VAERecipe,
    "recipe": lambda preset, _: vae_recipe(preset),
    "fit": "ropes.methods.vae.fit:fit",
    "reader": "ropes.methods.vae.reader:reader",
    "weights": "ropes.methods.vae.reader:weights",
}
METHODS = (
    Method(name="beta-vae", summary="factors from single images", **_BOTH),
    Method(name="ada-gvae", summary="factors from pairs of images that differ in one factor", **_BOTH),
)

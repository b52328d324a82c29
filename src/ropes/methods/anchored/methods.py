"""Registers methods `anchored` and `ldr`."""

from dataclasses import replace
from typing import Any

from ropes.methods.anchored.recipe import EncoderRecipe, encoder_recipe
from ropes.methods.method import Method


def _without_anchors(preset: str, _: float) -> EncoderRecipe:
    recipe = encoder_recipe(preset)
    return replace(recipe, anchor_weight=0.0, encoder=replace(recipe.encoder, window=0))


_BOTH: dict[str, Any] = {
    "learns": "joints",
    "recipe_type": EncoderRecipe,
    "fit": "ropes.methods.anchored.fit:fit",
    "reader": "ropes.methods.anchored.reader:reader",
    "weights": "ropes.methods.anchored.reader:weights",
}
METHODS = (
    Method(
        name="anchored",
        summary="joints from regimes and anchors, without labels",
        description="An encoder maps images to one coordinate per joint. It is trained to classify the policies that "
        "moved the arm, with coordinates that do not change under interventions on other joints.",
        recipe=lambda preset, _: encoder_recipe(preset),
        **_BOTH,
    ),
    Method(
        name="ldr",
        summary="joints from regimes alone, without labels",
        description="An encoder maps images to one coordinate per joint. It is trained to classify the policies that "
        "moved the arm.",
        recipe=_without_anchors,
        **_BOTH,
    ),
)

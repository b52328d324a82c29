"""Registers the methods of actions: causal delta embeddings and their baselines."""

from ropes.methods.delta.recipe import DeltaRecipe, delta_recipe
from ropes.methods.method import Method

_SUMMARIES = {
    "cde-global": "actions by deltas of whole images",
    "cde-patch": "actions by deltas of patches",
    "icm": "actions by the baseline ICM",
    "plain-resnet": "actions by a plain ResNet",
    "plain-vit": "actions by a plain vision transformer",
    "sms": "actions by the baseline SMS",
}


def _method(name: str, summary: str) -> Method:
    return Method(
        name=name,
        summary=summary,
        learns="actions",
        recipe_type=DeltaRecipe,
        recipe=lambda preset, _: delta_recipe(name, preset),
        fit="ropes.methods.delta.fit:fit",
        reader=None,
        weights="ropes.methods.delta.fit:weights",
    )


METHODS = tuple(_method(name, summary) for name, summary in _SUMMARIES.items())

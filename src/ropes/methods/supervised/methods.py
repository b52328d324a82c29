"""Registers the baselines that read labels, `cnn` and `jointnet`."""

from typing import Any

from ropes.methods.method import Method
from ropes.methods.supervised.recipe import CNNRecipe, JointNetRecipe, cnn_recipe, jointnet_recipe

_BOTH: dict[str, Any] = {
    "learns": "joints",
    "fit": "ropes.methods.supervised.fit:fit",
    "reader": "ropes.methods.supervised.reader:reader",
    "weights": "ropes.methods.supervised.reader:weights",
    "reads_labels": True,
}
METHODS = (
    Method(
        name="cnn",
        summary="joints from labels, by a convolutional network",
        recipe_type=CNNRecipe,
        recipe=cnn_recipe,
        **_BOTH,
    ),
    Method(
        name="jointnet",
        summary="joints from labels, by the paper's baseline, I-JEPA and JointNet",
        recipe_type=JointNetRecipe,
        recipe=jointnet_recipe,
        pretrained=True,
        **_BOTH,
    ),
)

"""A method of another package: each coordinate is a linear discriminant of small images between its joint's policies.

    pip install examples/plugin
    ropes fit --method linear --data data/two-cameras --out runs/linear

This module only registers the method, so that `ropes --help` stays fast.  `ropes_linear.training` imports torch.
"""

from dataclasses import dataclass

from ropes.methods.method import Method


@dataclass(frozen=True, kw_only=True)
class LinearRecipe:
    """Configuration.

    Attributes:
        preset: its name; both presets are the same.
        image_size: side of the images, pixels.
        ridge: weight of the squared discriminant, per training image.
        val_fraction: fraction of the training anchors held out for validation.
    """

    preset: str
    image_size: int = 32
    ridge: float = 0.1
    val_fraction: float = 0.1

    @property
    def shape(self) -> "LinearRecipe":
        """The part of the recipe with the size of the images."""
        return self


METHOD = Method(
    name="linear",
    summary="joints by linear discriminants of small images, without labels (an example of a plug-in)",
    learns="joints",
    recipe_type=LinearRecipe,
    recipe=lambda preset, labels: LinearRecipe(preset=preset),
    fit="ropes_linear.training:fit",
    reader="ropes_linear.training:reader",
    weights="ropes_linear.training:weights",
)

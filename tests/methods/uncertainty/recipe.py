"""The recipe of the tiny runs whose errors and distances are measured."""

from ropes.methods.recipes import Optimisation
from ropes.models.shapes import EncoderConfig
from tests import tiny

RECIPE = tiny.encoder_recipe(
    encoder=EncoderConfig(image_size=tiny.SIDE, stem=4, widths=(8,), blocks=(0,), hidden=16, window=0),
    training=Optimisation(epochs=0.5, batch=20, learning_rate=1e-2),
    val_fraction=0.5,
)

"""Gives an encoder the background of its training images."""

import torch

from ropes.data.batches import TrainingImages
from ropes.methods.context import Context
from ropes.methods.training.sampling import EpochShuffle
from ropes.models.encoder import PoseEncoder

#: Number of poses from which the background is taken.
_POSES = 256


def adapt_background(context: Context, encoder: PoseEncoder, images: TrainingImages) -> None:
    """Set an encoder's background and the spread of differences from it, by some random training poses."""
    sample = EpochShuffle(len(images), min(len(images), _POSES), context.seed("background"))
    encoder.adapt(torch.from_numpy(images.pixels(sample(0))))

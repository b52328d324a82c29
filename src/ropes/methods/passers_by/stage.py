"""The training stage of a cleaner, which removes passers-by from recordings."""

import torch
from torch import Tensor
from torch.nn import functional

from ropes.common.seeds import integer
from ropes.methods.passers_by.copies import CopiedObjects
from ropes.methods.recipes import Optimisation
from ropes.methods.student.foreign import add_foreign_objects
from ropes.methods.student.stage import foreign_parts
from ropes.methods.training.best_weights import BestWeightsStage
from ropes.models.cleaner import Cleaner

#: Optimiser; samples are poses, at least `cleaner_samples` of the recipe.
OPTIMISATION = Optimisation(epochs=1, batch=64, learning_rate=4e-3, weight_decay=0.01, clip=1.0, schedule="one-cycle")
#: Share of the objects that are behind the arm, and of those that are as tall as people.
_BEHIND, _TALL = 0.5, 0.5
#: Share of the frames with copied objects, where there are any; the others have synthetic ones.
_COPIES = 0.6
#: Weight of the parts that show the arm alone.
_ARM = 0.7


class CleanerStage(BestWeightsStage):
    """Segmentation of foreign objects, before and behind the arm, in frames in which only the arm moves.

    The loss is `arm_loss`.  An object behind the arm covers the background only, which registered frames show exactly.

    Args:
        network: to train.
        steps: number of training steps.
        seed: of the objects.
        held_out: held-out frames, uint8 (n, P, N, N).
        copies: objects of the recording, which more than half of the frames then get; synthetic ones alone by default.
    """

    network: Cleaner
    rate_option = "learning rate in ropes.methods.passers_by.stage"
    records = 6

    def __init__(
        self, network: Cleaner, *, steps: int, seed: int, held_out: Tensor, copies: CopiedObjects | None = None
    ) -> None:
        super().__init__(network, OPTIMISATION, steps=steps, seed=seed)
        self.held_out, self.copies = held_out, copies
        with torch.random.fork_rng():
            torch.manual_seed(integer(seed, "held out"))
            self.occluded = add_objects(held_out, network, copies)

    def training_step(self, images: Tensor, batch_idx: int) -> Tensor:
        """Loss of frames, uint8 (B, P, N, N)."""
        occluded = add_objects(images, self.network, self.copies)
        (logits,) = self.spread(self.network, occluded)
        loss = arm_loss(logits, images, occluded, self.network)
        self.note(foreign=loss)
        return loss

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Loss on held-out frames."""
        (logits,) = self.outputs(self.occluded, 0)
        loss = float(arm_loss(logits, self.held_out, self.occluded, self.network))
        self.update_best(loss)
        return {"held_out_loss": loss}


def arm_loss(logits: Tensor, images: Tensor, occluded: Tensor, network: Cleaner) -> Tensor:
    """Cross-entropy of "a foreign object is in this part of the view", nats, where frames differ from the background.

    It is averaged over the parts with an object and over those of the arm separately.

    Args:
        logits: of `occluded`, (B, V, s, s).
        images: registered, uint8 (B, P, N, N), without foreign objects.
        occluded: with them.
        network: the cleaner.
    """
    views, side = logits.shape[1:3]
    shrunk = network.shrunk(occluded)
    there = foreign_parts(network.shrunk(images), shrunk, views, side)
    arm = network.changed_parts(shrunk, views, side) & ~there
    losses = functional.binary_cross_entropy_with_logits(logits, there.to(logits), reduction="none")
    means = [(losses * parts).sum((2, 3)) / parts.sum((2, 3)).clamp_min(1) for parts in (there, arm)]
    return (means[0] + _ARM * means[1]).mean()


def add_objects(images: Tensor, network: Cleaner, copies: CopiedObjects | None = None) -> Tensor:
    """A copy of registered frames, uint8 (B, P, N, N), with foreign objects: in half of the frames behind the arm."""
    occluded = add_foreign_objects(images, network.of_view, tall=_TALL)
    behind = torch.rand(len(images), device=images.device) < _BEHIND
    arm = network.changed_pixels(images).repeat_interleave(network.of_view, dim=1)
    occluded = torch.where(behind[:, None, None, None] & arm, images, occluded)
    if copies:
        copied = torch.rand(len(images), device=images.device) < _COPIES
        occluded[copied] = copies.added(images[copied], network, behind[copied])
    return occluded

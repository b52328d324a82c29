"""The training stage of a cleaner, which removes passers-by from recordings."""

import torch
from torch import Tensor

from ropes.common.seeds import integer
from ropes.methods.recipes import Optimisation
from ropes.methods.student.foreign import add_foreign_objects
from ropes.methods.student.stage import foreign_loss
from ropes.methods.training.best_weights import BestWeightsStage
from ropes.models.cleaner import Cleaner

#: Optimiser; samples are poses.
OPTIMISATION = Optimisation(
    epochs=1, min_samples=38_400, batch=64, learning_rate=4e-3, weight_decay=0.01, clip=1.0, schedule="one-cycle"
)
#: Share of the objects that are behind the arm.
_BEHIND = 0.5


class CleanerStage(BestWeightsStage):
    """Segmentation of synthetic foreign objects, before and behind the arm, in frames in which only the arm moves.

    The loss is `ropes.methods.student.stage.foreign_loss`.  An object behind the arm covers the background only, which
    registered frames show exactly.

    Args:
        network: to train.
        steps: number of training steps.
        seed: of the objects.
        held_out: held-out frames, uint8 (n, P, S, S).
    """

    network: Cleaner
    rate_option = "learning rate in ropes.methods.passers_by.stage"
    records = 6

    def __init__(self, network: Cleaner, *, steps: int, seed: int, held_out: Tensor) -> None:
        super().__init__(network, OPTIMISATION, steps=steps, seed=seed)
        self.held_out = held_out
        with torch.random.fork_rng():
            torch.manual_seed(integer(seed, "held out"))
            self.occluded = add_objects(held_out, network)

    def training_step(self, images: Tensor, batch_idx: int) -> Tensor:
        """Loss of frames, uint8 (B, P, S, S)."""
        occluded = add_objects(images, self.network)
        (logits,) = self.spread(self.network, occluded)
        loss = foreign_loss(logits, self.network.shrunk(images), self.network.shrunk(occluded))
        self.note(foreign=loss)
        return loss

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Loss on held-out frames."""
        (logits,) = self.outputs(self.occluded, 0)
        images, occluded = self.network.shrunk(self.held_out), self.network.shrunk(self.occluded)
        loss = float(foreign_loss(logits, images, occluded))
        self.update_best(loss)
        return {"held_out_loss": loss}


def add_objects(images: Tensor, network: Cleaner) -> Tensor:
    """A copy of registered frames, uint8 (B, P, S, S), with foreign objects: in half of the frames behind the arm."""
    occluded = add_foreign_objects(images, network.of_view)
    behind = (torch.rand(len(images), device=images.device) < _BEHIND)[:, None, None, None]
    arm = images != network.levels
    if network.of_view > 1:
        views = arm.unflatten(1, (-1, network.of_view)).any(2)
        arm = views.repeat_interleave(network.of_view, dim=1)
    return torch.where(behind & arm, images, occluded)

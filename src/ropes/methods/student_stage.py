"""The second training of an encoder: what it read, whatever something foreign hides."""

import torch
from torch import Tensor
from torch.nn import functional

from ropes.methods.foreign import with_foreign_things
from ropes.methods.kept_weights import KeptWeightsStage
from ropes.models.encoder import ContrastNetwork
from ropes.recipes import EncoderRecipe
from ropes.seeds import integer

#: From this many standard deviations of a coordinate on, an error counts by its size and no longer by its square.
_HUBER = 0.5
#: Weight of where to look.
_GAZE = 0.1
_CHUNK = 128

#: Images, uint8 (B, V, S, S), what the teacher reads in them, (B, d), and its shares of where to look, (B, V, s, s).
Batch = tuple[Tensor, Tensor, Tensor | None]


class StudentStage(KeptWeightsStage):
    """Read in images with foreign things what the teacher, the encoder as it was, reads in the images without them.

    The teacher's coordinates are targets for every pose, so nothing is left to be told apart: what regimes and anchors
    have taught cannot be unlearnt for want of a teacher that says whose coordinate is whose.  A part of the poses is
    shown as it is.  The weights are kept as they were where held-out poses, as they are and with foreign things, were
    read most as the teacher reads them.

    Deviation: the ROPES paper has no such training; it tests with white squares what has never seen any.  After
    "Self-training with Noisy Student" (Xie et al. 2020), with the teacher's own weights to begin from.

    Args:
        network: begins with the teacher's weights.
        recipe: how.
        steps: of the training.
        seed: of the foreign things.
        scale: (d,), standard deviations of the teacher's coordinates.
        held_out: poses with what the teacher reads in them.
    """

    network: ContrastNetwork
    rate_option = "--student.learning-rate"
    records = 8

    def __init__(
        self, network: ContrastNetwork, recipe: EncoderRecipe, *, steps: int, seed: int, scale: Tensor, held_out: Batch
    ) -> None:
        super().__init__(network, recipe.student, steps=steps, seed=seed)
        self.share, self.scale = recipe.foreign, scale
        self.held_out = held_out[0], held_out[1]
        with torch.random.fork_rng():
            torch.manual_seed(integer(seed, "held out"))
            self.hidden = with_foreign_things(held_out[0])

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Loss of a batch, a share of its poses with foreign things."""
        images, wanted, look = batch
        chosen = torch.rand(len(images), device=images.device) < self.share
        shown = images.clone()
        shown[chosen] = with_foreign_things(images[chosen])
        read, gaze = self.network.encoder.look(shown)
        apart = self._apart(read.float(), wanted)
        self.note(apart=apart)
        if gaze is None or look is None:
            return apart
        looked = -(look.float() * gaze.float().flatten(2).log_softmax(-1).view_as(look)).sum((-2, -1)).mean()
        self.note(gaze=looked)
        return apart + _GAZE * looked

    def _apart(self, read: Tensor, wanted: Tensor) -> Tensor:
        """How far coordinates (B, d) are from the teacher's, in units of `scale`: Huber loss, summed over joints."""
        scale = self.scale.to(read)
        errors = functional.smooth_l1_loss(read / scale, wanted.to(read) / scale, beta=_HUBER, reduction="none")
        return errors.sum(1).mean()

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """How far held-out poses are read from what the teacher reads: as they are, and with foreign things."""
        images, wanted = self.held_out
        apart = {
            name: float(self._apart(self._read(shown), wanted.to(self.device)))
            for name, shown in (("held_out", images), ("held_out_hidden", self.hidden))
        }
        loss = sum(apart.values())
        self.remember(loss)
        return {**apart, "held_out_loss": loss}

    def _read(self, images: Tensor) -> Tensor:
        return torch.cat([self.network.encoder(part.to(self.device)) for part in images.split(_CHUNK)]).float()

"""The training stage of a student: reproduce the teacher's coordinates where something is hidden."""

import torch
from torch import Tensor
from torch.nn import functional

from ropes.common.seeds import integer
from ropes.methods.best_weights import KeptWeightsStage
from ropes.methods.foreign import with_foreign_things
from ropes.methods.recipes import EncoderRecipe
from ropes.models.student import StudentNetwork

#: From this many standard deviations of a coordinate on, an error counts by its size and no longer by its square.
_HUBER = 0.5
#: Weight of where to look.
_GAZE = 0.1
#: Weight of where foreign things are.
_FOREIGN = 0.3
#: How much more a part that has nothing counts: one false alarm in any part is one for the image.
_NOTHING = 4.0
#: What differs by less from what it hides cannot be seen.
_VISIBLE = 8

#: Images, uint8 (B, V, S, S), what the teacher reads in them, (B, d), and its shares of where to look, (B, V, s, s).
Batch = tuple[Tensor, Tensor, Tensor | None]


class StudentStage(KeptWeightsStage):
    """Read in images with foreign things what the teacher, the encoder as it was, reads in the images without them.

    The teacher's coordinates are targets for every pose, so nothing is left to be told apart: what regimes and anchors
    have taught cannot be unlearnt for want of a teacher that says whose coordinate is whose.  A part of the poses is
    shown as it is.  Where foreign things are is learnt as well, and is known of every pose.  The weights are kept as
    they were where held-out poses, as they are and with foreign things, were read most as the teacher reads them.

    Deviation: a second training with foreign things in the images, which the paper does not have.  Why: otherwise the
    network takes everything that differs from the background for the arm.  Effect: rows under occlusion of methods with
    a student are those of a network that has seen foreign things, white rectangles among them; the paper's network has
    seen none.

    Args:
        network: which has begun to learn from its teacher, see `ropes.models.student.StudentNetwork.learn_from`.
        recipe: how.
        steps: of the training.
        seed: of the foreign things.
        scale: (d,), standard deviations of the teacher's coordinates.
        held_out: poses with what the teacher reads in them.
    """

    network: StudentNetwork
    rate_option = "--student.learning-rate"
    records = 8

    def __init__(
        self, network: StudentNetwork, recipe: EncoderRecipe, *, steps: int, seed: int, scale: Tensor, held_out: Batch
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
        read, gaze, foreign = self.network(shown)
        apart = self._apart(read.float(), wanted)
        found = foreign_loss(foreign, images, shown)
        self.note(apart=apart, foreign=found)
        loss = apart + _FOREIGN * found
        if gaze is None or look is None:
            return loss
        looked = -(look.float() * gaze.flatten(2).log_softmax(-1).view_as(look)).sum((-2, -1)).mean()
        self.note(gaze=looked)
        return loss + _GAZE * looked

    def _apart(self, read: Tensor, wanted: Tensor) -> Tensor:
        """How far coordinates (B, d) are from the teacher's, in units of `scale`: Huber loss, summed over joints."""
        scale = self.scale.to(read)
        errors = functional.smooth_l1_loss(read / scale, wanted.to(read) / scale, beta=_HUBER, reduction="none")
        return errors.sum(1).mean()

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """How far held-out poses are read from what the teacher reads: as they are, and with foreign things."""
        images, wanted = self.held_out
        (clean,) = self.outputs(images, 0)
        hidden, foreign = self.outputs(self.hidden, 0, 2)
        apart = float(self._apart(clean, wanted)), float(self._apart(hidden, wanted))
        self.remember(sum(apart))
        return {
            "held_out": apart[0],
            "held_out_hidden": apart[1],
            "held_out_foreign": float(foreign_loss(foreign, images, self.hidden)),
            "held_out_loss": sum(apart),
        }

    def finish(self) -> None:
        """Go back to the best weights, and measure how much student and teacher differ on held-out poses."""
        super().finish()
        self.network.eval().measure_usual(self.chunks(self.held_out[0]))


def foreign_loss(logits: Tensor, images: Tensor, shown: Tensor) -> Tensor:
    """Cross-entropy of "something foreign is in this part of the view", in nats.

    The parts of a view that have something and those that have nothing count by their means, so that a speck counts as
    much as what covers half of the view.

    Args:
        logits: (B, V, s, s).
        images: uint8 (B, V, S, S), without foreign things.
        shown: with them; a part has one where a pixel differs by more than `_VISIBLE` grey levels.
    """
    changed = (shown.to(torch.int16) - images.to(torch.int16)).abs() > _VISIBLE
    there = functional.max_pool2d(changed.float(), images.shape[-1] // logits.shape[-1])
    each = functional.binary_cross_entropy_with_logits(logits, there, reduction="none")
    kinds = [(each * kind).sum((2, 3)) / kind.sum((2, 3)).clamp_min(1) for kind in (there, 1 - there)]
    return (kinds[0] + _NOTHING * kinds[1]).mean()

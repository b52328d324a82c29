"""The training stage of a student: reproduce the teacher's coordinates from images with foreign objects."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from ropes.common.seeds import integer
from ropes.methods.recipes import Optimisation
from ropes.methods.student.foreign import add_foreign_objects
from ropes.methods.training.best_weights import BestWeightsStage
from ropes.models.cleaner import Cleaner
from ropes.models.frame_changes import parts_with
from ropes.models.student import StudentNetwork

#: Error, in standard deviations of a coordinate, at which the Huber loss becomes linear.
_HUBER = 0.5
#: Weights of the attention loss and of the segmentation of foreign objects.
_ATTENTION, _FOREIGN = 0.1, 0.3
#: Weight of cells without a foreign object: one false alarm in any cell is one for the whole image.
_NOTHING = 4.0
#: Grey levels: a foreign object that differs less from what it covers is invisible.
_VISIBLE = 8

#: Images, uint8 (B, P, S, S), their targets, (B, d), and the teacher's attention maps, (B, V, s, s).
Batch = tuple[Tensor, Tensor, Tensor | None]


@dataclass(frozen=True)
class Occlusion:
    """Adds foreign objects to images, and removes those that the cleaner of a fit finds, as in predictions.

    Attributes:
        of_view: planes of a view.
        cleaner: of the fit; None where it has none.
    """

    of_view: int
    cleaner: Cleaner | None

    def __call__(self, images: Tensor) -> Tensor:
        """A copy of registered images, uint8 (B, P, S, S)."""
        occluded = add_foreign_objects(images, self.of_view)
        if self.cleaner is None:
            return occluded
        device = next(self.cleaner.parameters()).device
        return self.cleaner.clean(occluded.to(device)).to(images.device)


class StudentStage(BestWeightsStage):
    """Distillation: from images with foreign objects, predict targets that follow from the teacher's coordinates.

        L = Σ_j ℓ((ẑ_j − ẑ_j^target) / scale_j) + .3 L_foreign + .1 L_attention

    with ℓ(e) = e² up to |e| = ½ and |e| − ¼ above, twice the Huber loss.

    Targets are the teacher's coordinates of the clean images, or means of these.  Every pose has one, so the student
    cannot forget what regimes and anchors taught.  A share of the poses stays clean.  The student also learns to
    segment foreign objects, whose places are known.  It ends with the weights of the least error on held-out poses,
    clean and with foreign objects.

    Deviation: a second training on images with foreign objects, which the paper does not have.  Why: otherwise the
    network takes everything that differs from the background for the arm.  Effect: results under occlusion of methods
    with a student are of a network trained on foreign objects, white rectangles among them; the paper's network is
    trained on none.

    Args:
        network: initialised from its teacher if that is an encoder, see `StudentNetwork.initialise_from`.
        optimisation: its optimiser.
        share: share of the poses with foreign objects.
        steps: number of training steps.
        seed: of the foreign objects.
        scale: standard deviations of the held-out targets, (d,).
        occlude: a copy of images, uint8 (B, P, S, S), with foreign objects.
        held_out: images of poses, uint8 (n, P, S, S), and their targets, (n, d).
    """

    network: StudentNetwork
    rate_option = "--student.learning-rate"
    records = 8

    def __init__(
        self,
        network: StudentNetwork,
        optimisation: Optimisation,
        *,
        share: float,
        steps: int,
        seed: int,
        scale: Tensor,
        occlude: Callable[[Tensor], Tensor],
        held_out: tuple[Tensor, Tensor],
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.share, self.scale, self.occlude = share, scale, occlude
        self.held_out = held_out
        with torch.random.fork_rng():
            torch.manual_seed(integer(seed, "held out"))
            self.occluded = occlude(held_out[0])

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Loss of a batch; a share of its poses gets foreign objects."""
        images, targets, maps = batch
        occluded = torch.rand(len(images), device=images.device) < self.share
        inputs = images.clone()
        inputs[occluded] = self.occlude(images[occluded])
        coordinates, attention, foreign = self.spread(self.network, inputs)
        error = self._error(coordinates.float(), targets)
        segmentation = self._segmentation(foreign, images, inputs)
        self.note(apart=error, foreign=segmentation)
        loss = error + _FOREIGN * segmentation
        if attention is None or maps is None:
            return loss
        attention_term = -(maps.float() * attention.flatten(2).log_softmax(-1).view_as(maps)).sum((-2, -1)).mean()
        self.note(gaze=attention_term)
        return loss + _ATTENTION * attention_term

    def _segmentation(self, logits: Tensor, images: Tensor, occluded: Tensor) -> Tensor:
        """`foreign_loss` of the whole images, which the detector sees."""
        encoder = self.network.encoder
        return foreign_loss(logits, encoder.shrunk(images), encoder.shrunk(occluded))

    def _error(self, coordinates: Tensor, targets: Tensor) -> Tensor:
        """Smooth L1 loss of coordinates (B, d) in units of `scale`, summed over joints: twice the Huber loss."""
        scale = self.scale.to(coordinates)
        losses = functional.smooth_l1_loss(
            coordinates / scale, targets.to(coordinates) / scale, beta=_HUBER, reduction="none"
        )
        return losses.sum(1).mean()

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Error on held-out poses, clean and with foreign objects."""
        images, targets = self.held_out
        (clean,) = self.outputs(images, 0)
        occluded, foreign = self.outputs(self.occluded, 0, 2)
        errors = float(self._error(clean, targets)), float(self._error(occluded, targets))
        self.update_best(sum(errors))
        return {
            "held_out": errors[0],
            "held_out_hidden": errors[1],
            "held_out_foreign": float(self._segmentation(foreign, images, self.occluded)),
            "held_out_loss": sum(errors),
        }

    def finish(self) -> None:
        """Load the best weights, and measure how much student and teacher usually differ on held-out poses."""
        super().finish()
        self.network.eval().fit_agreement(self.chunks(self.held_out[0]))


def foreign_loss(logits: Tensor, images: Tensor, occluded: Tensor) -> Tensor:
    """Cross-entropy of "a foreign object is in this cell of the view", in nats.

    It is averaged over the cells with and those without an object separately, so that a small object has the same
    weight as a large one.  The mean over cells without one has four times the weight of the other.

    Args:
        logits: (B, V, s, s).
        images: uint8 (B, P, S, S), without foreign objects.
        occluded: with them.
    """
    there = foreign_parts(images, occluded, *logits.shape[1:3]).to(logits)
    losses = functional.binary_cross_entropy_with_logits(logits, there, reduction="none")
    means = [(losses * cells).sum((2, 3)) / cells.sum((2, 3)).clamp_min(1) for cells in (there, 1 - there)]
    return (means[0] + _NOTHING * means[1]).mean()


def foreign_parts(images: Tensor, occluded: Tensor, views: int, side: int) -> Tensor:
    """The cells with a foreign object: a channel of a pixel differs by more than `_VISIBLE` levels, bool (B, V, s, s).

    Args:
        images: uint8 (B, P, S, S), without foreign objects.
        occluded: with them.
        views: V.
        side: s.
    """
    return parts_with((occluded.to(torch.int16) - images.to(torch.int16)).abs() > _VISIBLE, views, side)

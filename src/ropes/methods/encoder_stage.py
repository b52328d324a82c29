"""What the training stages of `ldr` and `anchored` share."""

from torch import Tensor

from ropes.methods.augmentation import erase
from ropes.methods.best_weights import KeptWeightsStage
from ropes.methods.contrast import policy_loss, regime_loss
from ropes.methods.recipes import EncoderRecipe
from ropes.models.encoder import ContrastNetwork


class EncoderStage(KeptWeightsStage):
    """Tell the regimes apart, the policies on each joint by its coordinate alone.

    Subclasses say in `evaluate` what held-out images are asked.  The weights are kept as they were where held-out loss
    was least, and a run whose held-out loss has long stopped falling ends.

    Args:
        network: to train.
        recipe: how.
        steps: of the training.
        seed: of its noise.
        log_prior: log share of each regime among the poses to learn from.
        target: see `ropes.methods.contrast.targets`.
        held_out: what `evaluate` asks, uint8.

    Attributes:
        patience: records without a better one after which a run counts as memorising.
    """

    patience = 5

    network: ContrastNetwork
    rate_option = "--training.learning-rate"

    def __init__(
        self,
        network: ContrastNetwork,
        recipe: EncoderRecipe,
        *,
        steps: int,
        seed: int,
        log_prior: Tensor,
        target: Tensor,
        held_out: Tensor,
    ) -> None:
        super().__init__(network, recipe.training, steps=steps, seed=seed)
        self.erased = recipe.random_erasing
        self.log_prior, self.target, self.held_out = log_prior, target, held_out

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Images, uint8 (..., V, S, S), and their regimes (...) → loss."""
        images, regime = batch
        coordinates, logits, gaze = self.network(erase(images, self.erased).flatten(0, -4))
        coordinates, logits = coordinates.float(), logits.float()
        told = regime_loss(logits, regime.flatten(), self.log_prior.to(logits))
        policies = policy_loss(coordinates, regime.flatten(), self.log_prior)
        loss = told + policies + self.further_loss(images, coordinates.unflatten(0, regime.shape), gaze)
        self.note(loss=loss, regimes=told, policies=policies)
        return loss

    def further_loss(self, images: Tensor, coordinates: Tensor, gaze: Tensor | None) -> Tensor | float:
        """What else a step asks of images (..., V, S, S), nothing hidden, and what was made of them."""
        return 0.0

    def read(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Coordinates (n, d) and logits (n, R) of images, uint8 (n, V, S, S)."""
        coordinates, logits = self.outputs(images, 0, 1)
        return coordinates, logits

    def keep_best(self, loss: float) -> None:
        """Remember the weights where held-out loss is least, and end a run where it has long stopped falling."""
        if not self.compared(self.global_step):
            return
        self.remember(loss)
        if self.global_step - self.best_step >= self.patience * self.evaluate_every:
            self.trainer.should_stop = True

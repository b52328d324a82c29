"""The training stage that `ldr` and `anchored` share."""

from torch import Tensor

from ropes.methods.anchored.contrast import intervention_loss, policy_loss, regime_loss
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.training.augmentation import Jitter, erase
from ropes.methods.training.best_weights import BestWeightsStage
from ropes.models.encoder import ContrastNetwork


class EncoderStage(BestWeightsStage):
    """Classification of regimes, and of each joint's policy from its coordinate: `regime_loss` + `coordinate_loss`.

    Subclasses evaluate the held-out images.  Ends early, with the weights of the least held-out loss.

    Args:
        network: to train.
        recipe: its settings.
        steps: number of training steps.
        seed: of its noise.
        log_prior: log share of each regime among the training poses, (R,).
        target: see `ropes.methods.anchored.contrast.targets`.
        held_out: images for `evaluate`, uint8.
        single: whether joints have one policy each, see `ropes.methods.policies.second_regime`.
        jitter: augmentation of recorded frames; None for renderings.

    Attributes:
        coordinate_loss: `policy_loss`, or `intervention_loss` where joints have one policy each.
        patience: records without improvement until training stops.
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
        single: bool = False,
        jitter: Jitter | None = None,
    ) -> None:
        super().__init__(network, recipe.training, steps=steps, seed=seed)
        self.erased, self.jitter = recipe.random_erasing, jitter
        self.log_prior, self.target, self.held_out = log_prior, target, held_out
        self.single, self.coordinate_loss = single, intervention_loss if single else policy_loss

    def training_step(self, batch: tuple[Tensor, ...], batch_idx: int) -> Tensor:
        """Images, uint8 (..., P, S, S), their regimes (...), and which poses count, bool (...) → loss."""
        images, regime, trusted = batch
        coordinates, logits, attention = self.spread(self.network, self.augmented(images).flatten(0, -4))
        coordinates, logits = coordinates.float(), logits.float()
        counted, regime_counted = trusted.flatten(), regime[trusted]
        regimes = regime_loss(logits[counted], regime_counted, self.log_prior.to(logits))
        policies = self.coordinate_loss(coordinates[counted], regime_counted, self.log_prior)
        loss = regimes + policies + self.further_loss(images, coordinates.unflatten(0, regime.shape), attention)
        self.note(loss=loss, regimes=regimes, policies=policies)
        return loss

    def augmented(self, images: Tensor) -> Tensor:
        """Images, uint8 (..., P, S, S), as the network gets them in training."""
        changed = images if self.jitter is None else self.jitter(images)
        return erase(changed, self.erased, self.network.encoder.of_view)

    def further_loss(self, images: Tensor, coordinates: Tensor, attention: Tensor | None) -> Tensor | float:
        """Further terms of the loss, from images (..., P, S, S) before augmentation, and the network's outputs."""
        return 0.0

    def read(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Coordinates (n, d) and logits (n, R) of images, uint8 (n, P, S, S)."""
        coordinates, logits = self.outputs(images, 0, 1)
        return coordinates, logits

    def stop_early(self, loss: float) -> None:
        """Update the best weights; stop the training after `patience` records without improvement."""
        if not self.may_be_best(self.global_step):
            return
        self.update_best(loss)
        if self.global_step - self.best_step >= self.patience * self.evaluate_every:
            self.trainer.should_stop = True

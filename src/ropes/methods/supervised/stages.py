"""Training stages of the supervised baselines: I-JEPA pre-training, and regression of angles."""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from ropes.common.seeds import generator
from ropes.methods.recipes import JointNetRecipe, Optimisation
from ropes.methods.supervised.blocks import draw_blocks
from ropes.methods.training.augmentation import Jitter, erase, random_crops
from ropes.methods.training.best_weights import BestWeightsStage
from ropes.methods.training.stage import Stage
from ropes.models.angles import AngleCNN, AngleTransformer
from ropes.models.jepa import JEPA, collapse_indicators, invert_levels

_CHUNK = 128


class PretrainingStage(Stage):
    """I-JEPA on images of single cameras: predict the target encoder's tokens of hidden blocks from the context.

    Every record evaluates the loss on held-out images, with fixed blocks, and signs of collapse, see
    `ropes.models.jepa.collapse_indicators`.

    Args:
        network: to train.
        recipe: its settings, with the initial momentum of the moving average; it rises linearly to 1.
        steps: number of training steps.
        seed: of its noise.
        held_out: uint8 (n, C, S, S).
        camera: of each held-out image, (n,).
    """

    network: JEPA
    rate_option = "--pretraining.learning-rate"
    records = 16

    def __init__(
        self, network: JEPA, recipe: JointNetRecipe, *, steps: int, seed: int, held_out: Tensor, camera: Tensor
    ) -> None:
        super().__init__(network, recipe.pretraining, steps=steps, seed=seed)
        self.momentum, self.crop, self.side = recipe.momentum, recipe.crop, recipe.vit.side
        self.held_out, self.camera = held_out, camera

    def training_step(self, batch: Tensor, batch_idx: int) -> Tensor:
        """Images, uint8 (B, C, S, S) → loss."""
        context, targets = draw_blocks(generator(self.seed, "blocks", self.global_step), len(batch), self.side)
        images = random_crops(invert_levels(batch), self.crop)
        predicted, target = self.spread(self.network, images, context.to(self.device), targets.to(self.device))
        loss = functional.smooth_l1_loss(predicted, target)
        self.note(loss=loss)
        return loss

    def after_step(self) -> None:
        """Update the moving average, before a checkpoint can be saved."""
        progress = min(1.0, self.global_step / self.steps)
        self.network.follow(self.momentum + (1 - self.momentum) * progress)
        super().after_step()

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Loss on held-out images, and the signs of collapse if there are enough images."""
        losses, pooled = [], []
        for number, part in enumerate(self.held_out.split(_CHUNK)):
            context, targets = draw_blocks(generator(self.seed, "held-out blocks", number), len(part), self.side)
            images = invert_levels(part.to(self.device))
            tokens = self.network.targets(images)
            pair = self.network.predictions(images, tokens, context.to(self.device), targets.to(self.device))
            losses.append(float(functional.smooth_l1_loss(*pair)) * len(part))
            pooled.append(tokens.mean(1).cpu())
        return {"held_out": sum(losses) / len(self.held_out), **collapse_indicators(torch.cat(pooled), self.camera)}


class AngleStage(BestWeightsStage):
    """Regression of angles θ: L = E ((θ̂ − θ) / σ)², with σ the standard deviations of the labels.

    Ends with the weights of the least held-out loss.

    Args:
        network: to train, adapted to the labels.
        optimisation: its settings.
        steps: number of training steps.
        seed: of its noise.
        erased: share of the images with random erasing.
        channels: planes of a view.
        held_out: uint8 (n, P, S, S) of P planes, and angles (n, d) in radians.
        jitter: augmentation of recorded frames; None for renderings.
    """

    network: AngleCNN | AngleTransformer
    rate_option = "--training.learning-rate"
    criterion = "held_out"

    def __init__(
        self,
        network: AngleCNN | AngleTransformer,
        optimisation: Optimisation,
        *,
        steps: int,
        seed: int,
        erased: float,
        channels: int,
        held_out: tuple[Tensor, Tensor],
        jitter: Jitter | None = None,
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.erased, self.channels, self.held_out, self.jitter = erased, channels, held_out, jitter

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Images, uint8 (B, P, S, S), and angles (B, d) in radians → loss."""
        images, angles = batch
        changed = images if self.jitter is None else self.jitter(images)
        predicted = self.spread(self.network, erase(changed, self.erased, self.channels))
        error = (predicted - angles) / self.network.radians.deviation
        loss = error.square().mean()
        self.note(loss=loss)
        return loss

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """The same loss on held-out poses, and each joint's mean squared error in rad²."""
        images, angles = self.held_out
        predicted = torch.cat([self.spread(self.network, part).float().cpu() for part in self.chunks(images)])
        error = (predicted - angles).square().mean(0)
        loss = float((error / self.network.radians.deviation.cpu().square()).mean())
        self.update_best(loss)
        return {"held_out": loss, **{f"mse_{k}": float(value) for k, value in enumerate(np.asarray(error))}}

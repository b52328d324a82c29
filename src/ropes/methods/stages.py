"""The three stages of ROPES as trainable modules: AE1 on images, an LDR a joint and AE2 on codes."""

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from ropes.errors import UserError
from ropes.methods.objectives import (
    contrast_loss,
    decode_with_scores,
    reconstruction_loss,
    sparsity_loss,
    sparsity_matrix,
)
from ropes.models.autoencoder import AE1, AE2
from ropes.models.density_ratio import LDR
from ropes.recipes import Optimisation
from ropes.training import Stage

MAX_DEAD = 0.5


def dead_fraction(codes: Tensor) -> float:
    """Share of the code's units that are zero for every sample: codes (B, 1, 8, 8), never negative."""
    return float((codes.amax(0) <= 0).float().mean())


class AE1Stage(Stage):
    """AE1 on single grey images (ROPES Eq. 4); held-out reconstruction and dead units are recorded."""

    network: AE1

    def __init__(self, network: AE1, optimisation: Optimisation, *, steps: int, seed: int, held_out: Tensor) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.held_out = held_out

    def training_step(self, batch: Tensor, batch_idx: int) -> Tensor:
        """Images (B, 1, S, S) → loss."""
        loss = reconstruction_loss(batch, self.network(batch))
        self.note(loss=loss)
        return loss

    def evaluate(self) -> dict[str, float]:
        """Mean squared error and dead share on the held-out images."""
        images = self.held_out.to(self.device)
        codes = self.network.encode(images)
        loss = reconstruction_loss(images, self.network.decode(codes).float())
        return {"held_out": float(loss), "dead_fraction": dead_fraction(codes)}

    def finish(self) -> None:
        """Refuse a code that has died.

        Raises:
            UserError: more than half of the units are always zero.
        """
        dead = self.history["dead_fraction"][-1]
        if dead > MAX_DEAD:
            raise UserError(
                f"AE1 collapsed: {dead:.0%} of its code is always zero (bound {MAX_DEAD:.0%}); "
                "fit with another --seed or a lower --ae1-training.learning-rate"
            )


class LDRStage(Stage):
    """The log density ratio of one joint's two policies, kept as it was where its held-out contrast was least."""

    network: LDR

    def __init__(
        self, network: LDR, optimisation: Optimisation, *, steps: int, seed: int, held_out: TensorDataset
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.held_out = held_out
        self.best_loss = float("inf")
        self.best: dict[str, Tensor] = {}

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Standardised codes (B, V, 8, 8) and labels (B,) → loss."""
        codes, first_policy = batch
        loss = contrast_loss(self.network(codes), first_policy)
        self.note(train=loss)
        return loss

    def evaluate(self) -> dict[str, float]:
        """Held-out contrast; remembers the best weights so far."""
        codes, first_policy = (tensor.to(self.device) for tensor in self.held_out.tensors)
        loss = float(contrast_loss(self.network(codes), first_policy))
        if loss < self.best_loss:
            self.best_loss = loss
            self.best = {name: tensor.detach().clone() for name, tensor in self.network.state_dict().items()}
        return {"held_out": loss}

    def finish(self) -> None:
        """Go back to the best weights (early stopping on held-out anchors)."""
        self.network.load_state_dict(self.best)

    def extra_state(self) -> dict[str, Any]:
        """The best weights so far."""
        return {"best": self.best, "best_loss": self.best_loss}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Take them back."""
        self.best, self.best_loss = state["best"], state["best_loss"]


class AE2Stage(Stage):
    """AE2 under reconstruction plus λ times sparsity of the latent score differences (ROPES Eq. 3).

    `targets` has a row e_i for each joint trained here: one row for a joint's own AE2, the identity for one AE2 of
    all joints.
    """

    network: AE2

    def __init__(
        self,
        network: AE2,
        optimisation: Optimisation,
        *,
        steps: int,
        seed: int,
        targets: Tensor,
        sparsity_weight: float,
        held_out: tuple[Tensor, Tensor],
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.register_buffer("targets", targets, persistent=False)
        self.sparsity_weight = sparsity_weight
        self.held_out = held_out

    def _losses(self, codes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        coordinates = self.network.encode(codes)
        decoded, latent = decode_with_scores(self.network.decode, coordinates, scores)
        targets = self.targets
        assert isinstance(targets, Tensor)
        return reconstruction_loss(codes, decoded), sparsity_loss(sparsity_matrix(latent), targets)

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Standardised codes (B, V, 8, 8) and their score differences (k, B, V, 8, 8) → loss."""
        reconstruction, sparsity = self._losses(*batch)
        loss = reconstruction + self.sparsity_weight * sparsity
        self.note(loss=loss, reconstruction=reconstruction, sparsity=sparsity)
        return loss

    def evaluate(self) -> dict[str, float]:
        """Both terms on held-out anchors."""
        codes, scores = (tensor.to(self.device) for tensor in self.held_out)
        reconstruction, sparsity = self._losses(codes, scores)
        return {"held_out_reconstruction": float(reconstruction), "held_out_sparsity": float(sparsity)}


def seeded(seed: int, make: Any) -> Any:
    """Build a network with its initial weights drawn from `seed` alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()

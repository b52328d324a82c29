"""The three training stages of ROPES: AE1 on images, an LDR per joint, AE2 on codes."""

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from ropes.errors import UserError
from ropes.methods.objectives import (
    contrast_loss,
    decode_with_scores,
    encode_with_gradients,
    kinds_loss,
    logit_loss,
    reconstruction_loss,
    score_loss,
    sparsity_loss,
    sparsity_matrix,
)
from ropes.methods.recipes import Optimisation
from ropes.methods.training.stage import Stage
from ropes.models.autoencoder import AE1, AE2
from ropes.models.dense import DenseAE2
from ropes.models.density_ratio import LDR

MAX_DEAD = 0.5


def dead_fraction(codes: Tensor) -> float:
    """Share of the code's units that are zero for every sample: codes (B, 1, 8, 8), never negative."""
    return float((codes.amax(0) <= 0).float().mean())


class AE1Stage(Stage):
    """AE1 on single grey images (ROPES Eq. 4); held-out reconstruction and dead units are recorded."""

    network: AE1
    rate_option = "--ae1-training.learning-rate"

    def __init__(self, network: AE1, optimisation: Optimisation, *, steps: int, seed: int, held_out: Tensor) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.held_out = held_out

    def training_step(self, batch: Tensor, batch_idx: int) -> Tensor:
        """Images (B, 1, S, S) → loss."""
        loss = reconstruction_loss(batch, self.network(batch))
        self.note(loss=loss)
        return loss

    def evaluate(self) -> dict[str, float]:
        """Mean squared error and dead share on the held-out images.

        Raises:
            UserError: past the middle of the training, more than half of the code's units are always zero.
        """
        images = self.held_out.to(self.device)
        codes = self.network.encode(images)
        dead = dead_fraction(codes)
        if dead > MAX_DEAD and self.global_step >= self.steps // 2:
            raise UserError(
                f"AE1 collapsed: {dead:.0%} of its code is always zero (bound {MAX_DEAD:.0%}); "
                f"fit with another --seed or a lower {self.rate_option}"
            )
        loss = reconstruction_loss(images, self.network.decode(codes).float())
        return {"held_out": float(loss), "dead_fraction": dead}


class LDRStage(Stage):
    """The log density ratio of one joint's two policies, kept as it was where its held-out contrast was least.

    With `noise` codes are blurred while it learns, which points its gradient along the surface that codes lie on.
    """

    network: LDR
    rate_option = "--ldr-training.learning-rate"

    def __init__(
        self,
        network: LDR,
        optimisation: Optimisation,
        *,
        steps: int,
        seed: int,
        held_out: TensorDataset,
        noise: float = 0.0,
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.held_out, self.noise = held_out, noise
        self.best_loss = float("inf")
        self.best: dict[str, Tensor] = {}

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Standardised codes (B, V, 8, 8), those under neither policy last, and labels (b,) → loss."""
        codes, first_policy = batch
        if self.noise:
            codes = codes + self.noise * torch.randn_like(codes)
        if len(codes) == len(first_policy):
            loss = contrast_loss(self.network(codes), first_policy)
            self.note(train=loss)
            return loss
        scores = self.network.kinds(codes)
        own = scores[: len(first_policy)]
        self.note(train=contrast_loss(own[:, 0] - own[:, 1], first_policy))
        return kinds_loss(scores, first_policy)

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

    The sparsity loss is a sum over the joints in `columns`: one for a joint's own AE2, else all of them.
    A batch may bring only some of them; what it brings is scaled up, so that the sum is estimated without bias.
    """

    network: AE2 | DenseAE2
    rate_option = "--ae2-training.learning-rate"
    records = 20

    def __init__(
        self,
        network: AE2 | DenseAE2,
        optimisation: Optimisation,
        *,
        steps: int,
        seed: int,
        columns: list[int],
        sparsity_weight: float,
        logit_weight: float,
        score_weight: float = 0.0,
        held_out: tuple[Tensor, Tensor, Tensor, Tensor],
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.columns = columns
        self.sparsity_weight = sparsity_weight
        self.logit_weight, self.score_weight = logit_weight, score_weight
        self.held_out = held_out

    def _losses(self, codes: Tensor, scores: Tensor, targets: Tensor, logits: Tensor) -> dict[str, Tensor]:
        share, further = len(self.columns) / len(targets), {}
        if self.score_weight:
            coordinates, gradients = encode_with_gradients(self.network.encode, codes, targets.argmax(1).tolist())
            further = {"score": share * score_loss(gradients, scores)}
        else:
            coordinates = self.network.encode(codes)
        decoded, latent = decode_with_scores(self.network.decode, coordinates, scores)
        return {
            "reconstruction": reconstruction_loss(codes, decoded),
            "sparsity": share * sparsity_loss(sparsity_matrix(latent), targets),
            "logit": logit_loss(coordinates[:, self.columns], logits),
            **further,
        }

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor, Tensor], batch_idx: int) -> Tensor:
        """Loss of a batch: codes (B, V, 8, 8), scores (k, B, V, 8, 8), targets (k, d), logits (B, columns).

        Along directions codes are (B, directions), and scores (k, B, directions).
        """
        terms = self._losses(*batch)
        loss = terms["reconstruction"] + self.sparsity_weight * terms["sparsity"]
        if self.logit_weight:
            loss = loss + self.logit_weight * terms["logit"]
        if self.score_weight:
            loss = loss + self.score_weight * terms["score"]
        self.note(loss=loss, **terms)
        return loss

    def evaluate(self) -> dict[str, float]:
        """Every term on held-out anchors."""
        terms = self._losses(*(tensor.to(self.device) for tensor in self.held_out))
        return {f"held_out_{name}": float(value) for name, value in terms.items()}


def seeded(seed: int, make: Any) -> Any:
    """Build a network with its initial weights drawn from `seed` alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make()

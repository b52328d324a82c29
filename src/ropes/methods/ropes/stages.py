"""The three training stages of ROPES: AE1 on images, one LDR per joint, AE2 on codes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from ropes.errors import UserError
from ropes.methods.recipes import Optimisation
from ropes.methods.ropes.objectives import (
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
from ropes.methods.training.best_weights import BestWeightsStage
from ropes.methods.training.parts import in_parts, saved_bytes_of_row
from ropes.methods.training.stage import Stage
from ropes.models.autoencoder import AE1, AE2
from ropes.models.dense import DenseAE2, Directions
from ropes.models.density_ratio import LDR

#: A term of AE2's loss beside reconstruction.
Term = Literal["sparsity", "logit", "decoded_logit", "score"]
#: Greatest share of dead units in a code.
MAX_DEAD = 0.5


def dead_fraction(codes: Tensor) -> float:
    """Share of the code's units that are zero for every sample; codes (B, 1, 8, 8), ≥ 0."""
    return float((codes.amax(0) <= 0).float().mean())


class AE1Stage(Stage):
    """AE1 on single grey images, by `reconstruction_loss` (ROPES Eq. 4)."""

    network: AE1
    rate_option = "--ae1-training.learning-rate"

    def __init__(self, network: AE1, optimisation: Optimisation, *, steps: int, seed: int, held_out: Tensor) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.held_out = held_out
        self._row_bytes: int | None = None

    def training_step(self, batch: Tensor, batch_idx: int) -> Tensor:
        """Images (B, 1, S, S) → loss."""
        if self._row_bytes is None:
            self._row_bytes = saved_bytes_of_row(self.network, batch[:1])
        reconstruct = partial(in_parts, self.network, row_bytes=self._row_bytes)
        loss = reconstruction_loss(batch, self.spread(reconstruct, batch))
        self.note(loss=loss)
        return loss

    def evaluate(self) -> dict[str, float]:
        """Mean squared error and share of dead units on the held-out images.

        Raises:
            UserError: more than half of the code's units are dead after half of the steps.
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


class LDRStage(BestWeightsStage):
    """The log density ratio of one joint's two policies, by `contrast_loss` or `kinds_loss` (ROPES Section 3.3).

    With `noise`, Gaussian noise is added to the training codes: the log ratio then memorises fewer of them; with much
    noise its gradient points along the surface of the codes.  Ends with the weights of the least held-out contrast.
    """

    network: LDR
    rate_option = "--ldr-training.learning-rate"
    records, criterion = 40, "held_out"

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

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Standardised codes (B, V, 8, 8), those under neither policy last, and labels (b,) → loss."""
        codes, first_policy = batch
        if self.noise:
            codes = codes + self.noise * torch.randn_like(codes)
        if len(codes) == len(first_policy):
            loss = contrast_loss(self.spread(self.network, codes), first_policy)
            self.note(train=loss)
            return loss
        scores = self.spread(self.network.kinds, codes)
        labelled = scores[: len(first_policy)]
        self.note(train=contrast_loss(labelled[:, 0] - labelled[:, 1], first_policy))
        return kinds_loss(scores, first_policy)

    def evaluate(self) -> dict[str, float]:
        """Held-out contrast."""
        codes, first_policy = (tensor.to(self.device) for tensor in self.held_out.tensors)
        loss = float(contrast_loss(self.network(codes), first_policy))
        if loss < self.best_loss:  # of equal losses the first
            self.update_best(loss)
        return {"held_out": loss}


@dataclass(frozen=True)
class DecodedRatios:
    """The log density ratios of codes that an AE2 decodes.

    Attributes:
        ratios: from standardised codes (B, V, 8, 8) to (B,).
        directions: in which the AE2 works; None for codes as they are.
    """

    ratios: Sequence[nn.Module]
    directions: Directions | None

    def __call__(self, decoded: Tensor) -> Tensor:
        """Output of an AE2 → (B, ratios)."""
        codes = standardised_codes(decoded, self.directions)
        return torch.stack([ratio.to(codes.device)(codes) for ratio in self.ratios], dim=1)


def standardised_codes(decoded: Tensor, directions: Directions | None) -> Tensor:
    """Output of an AE2, in the directions in which it works if there are any → codes (B, V, 8, 8), on its device."""
    return decoded if directions is None else directions.to(decoded.device).inverse(decoded)


class AE2Stage(Stage):
    """AE2 by reconstruction plus λ times the sparsity of the latent score differences (ROPES Eq. 3).

        L = E ‖y − g(h(y))‖² + λ Σ_i ‖E|J_gᵀ Δs_i| − e_i‖²

    Terms of other objectives can be added or take the place of the second one; each has its weight.

    The sum is over the joints in `columns`: one for a joint's own AE2, else all of them.  A batch may contain the score
    differences of only some joints; its sum is scaled up, which keeps it unbiased.

    Args:
        weights: weight of each term beside reconstruction: "sparsity" is λ; "logit" of `logit_loss`; "decoded_logit" of
            the same on decoded codes, compared with the logits of the codes; "score" of `score_loss`.
        sparsity_start: step from which the sparsity term is added.
        sparsity_of_mean: that the sparsity term is of |E J_gᵀ Δs_i|.
        ratios: output of the network → log density ratios (B, columns), for "decoded_logit".
        held_out: codes, scores, targets and logits of held-out poses, as a batch.
        others: as of `Stage`.
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
        weights: Mapping[Term, float],
        sparsity_start: int = 0,
        sparsity_of_mean: bool = False,
        ratios: Callable[[Tensor], Tensor],
        held_out: tuple[Tensor, Tensor, Tensor, Tensor],
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.columns, self.ratios, self.held_out = columns, ratios, held_out
        self.weights: dict[Term, float] = {term: weight for term, weight in weights.items() if weight}
        self.sparsity_start, self.sparsity_of_mean = sparsity_start, sparsity_of_mean

    def _losses(
        self, codes: Tensor, scores: Tensor, targets: Tensor, logits: Tensor, *, with_sparsity: bool
    ) -> dict[str, Tensor]:
        def outputs(codes: Tensor, scores: Tensor) -> tuple[Tensor | None, ...]:
            """Of a part of the batch, with the scores' second dimension first; None for what no term needs."""
            gradients = latent = None
            if "score" in self.weights:
                coordinates, gradients = encode_with_gradients(self.network.encode, codes, targets.argmax(1).tolist())
                gradients = gradients.transpose(0, 1)
            else:
                coordinates = self.network.encode(codes)
            if with_sparsity:
                decoded, latent = decode_with_scores(self.network.decode, coordinates, scores.transpose(0, 1))
                latent = latent.transpose(0, 1)
            else:
                decoded = self.network.decode(coordinates)
            of_decoded = self.ratios(decoded) if "decoded_logit" in self.weights else None
            return coordinates, gradients, decoded, latent, of_decoded

        coordinates, gradients, decoded, latent, decoded_logits = self.spread(outputs, codes, scores.transpose(0, 1))
        scale = len(self.columns) / len(targets)
        further: dict[str, Tensor] = {}
        if gradients is not None:
            further = {"score": scale * score_loss(gradients.transpose(0, 1), scores)}
        if latent is not None:
            matrix = sparsity_matrix(latent.transpose(0, 1), of_mean=self.sparsity_of_mean)
            further["sparsity"] = scale * sparsity_loss(matrix, targets)
        if decoded_logits is not None:
            further["decoded_logit"] = logit_loss(decoded_logits, logits)
        return {
            "reconstruction": reconstruction_loss(codes, decoded),
            "logit": logit_loss(coordinates[:, self.columns], logits),
            **further,
        }

    def training_step(self, batch: tuple[Tensor, Tensor, Tensor, Tensor], batch_idx: int) -> Tensor:
        """Loss of codes (B, V, 8, 8), scores (k, B, V, 8, 8), targets e_i (k, d) and logits (B, columns).

        With directions, codes are (B, directions) and scores (k, B, directions).
        """
        terms = self._losses(*batch, with_sparsity="sparsity" in self.weights)  # recorded from the first step on
        loss = terms["reconstruction"]
        for term, weight in self.weights.items():
            if term != "sparsity" or self.global_step >= self.sparsity_start:
                loss = loss + weight * terms[term]
        self.note(loss=loss, **terms)
        return loss

    def evaluate(self) -> dict[str, float]:
        """Each term of the loss on held-out anchors."""
        terms = self._losses(*(tensor.to(self.device) for tensor in self.held_out), with_sparsity=True)
        return {f"held_out_{name}": float(value) for name, value in terms.items()}

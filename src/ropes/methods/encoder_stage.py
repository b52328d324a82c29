"""The encoder of the methods `ldr` and `anchored` as a trainable module."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.methods.contrast import anchor_loss, followers, regime_loss
from ropes.methods.criteria import coordinate_contrast
from ropes.models.encoder import ContrastNetwork
from ropes.recipes import Optimisation
from ropes.stage import Stage

_RECORDS = 16
_CHUNK = 128


class EncoderStage(Stage):
    """Tell the regimes apart and, with anchors, keep together what an intervention left alone.

    Every record asks the held-out anchors, and finds anew which coordinates follow which intervention.

    Attributes:
        effects: (d, d), the response of coordinate j to an intervention on joint i, zero where it was left alone.
    """

    network: ContrastNetwork

    def __init__(
        self,
        network: ContrastNetwork,
        optimisation: Optimisation,
        *,
        steps: int,
        seed: int,
        anchor_weight: float,
        warm_up: int,
        log_prior: Tensor,
        target: Tensor,
        held_out: Tensor,
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.anchor_weight, self.warm_up = anchor_weight, warm_up
        self.log_prior, self.target, self.held_out = log_prior, target, held_out
        self.effects = torch.eye(network.head.joints)
        self.evaluate_every = max(1, steps // _RECORDS)

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Images (B, V, S, S) and their regimes (B,) → loss; with anchors, (A, R, V, S, S) and (A, R)."""
        images, regime = batch
        anchors = regime.shape[0] if regime.ndim == 2 else 0
        coordinates, logits = self.network(images.flatten(0, -4).contiguous(memory_format=torch.channels_last))
        coordinates, logits = coordinates.float(), logits.float()
        loss = told = regime_loss(logits, regime.flatten(), self.log_prior.to(logits))
        if anchors and self.anchor_weight:
            apart = anchor_loss(
                coordinates.unflatten(0, regime.shape), self.target.to(regime.device), self.effects.to(coordinates)
            )
            self.note(within=apart)
            if self.global_step >= self.warm_up:
                loss = told + self.anchor_weight * apart
        self.note(loss=loss, regimes=told)
        return loss

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Held-out cross-entropy of the regimes, variance within anchors, and each joint's contrast."""
        anchors, regimes = self.held_out.shape[:2]
        parts = self.held_out.flatten(0, 1).split(_CHUNK)
        found = [self.network(part.to(self.device).float().div(255)) for part in parts]
        coordinates = torch.cat([part[0] for part in found]).float().cpu().unflatten(0, (anchors, regimes))
        logits = torch.cat([part[1] for part in found]).float().cpu()
        regime = torch.arange(regimes).repeat(anchors)
        self.effects = followers(coordinates, self.target)
        return {
            "held_out": float(regime_loss(logits, regime, self.log_prior)),
            "held_out_within": float(anchor_loss(coordinates, self.target, self.effects)),
            "followers": float(self.effects.count_nonzero() - len(self.effects)),
            **{f"contrast_{k}": value for k, value in enumerate(contrasts(coordinates, self.target))},
        }

    def extra_state(self) -> dict[str, Any]:
        """What each intervention was last seen to move."""
        return {"effects": self.effects}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Take it back."""
        self.effects = state["effects"]


def contrasts(coordinates: Tensor, target: Tensor) -> list[float]:
    """`coordinate_contrast` of every joint's own coordinate: (A, R, d) → d values, nats."""
    found = []
    for i in range(coordinates.shape[-1]):
        first, second = coordinates[:, 1:][:, target == i, i].double().numpy().T
        labels = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
        found.append(coordinate_contrast(np.concatenate([first, second]), labels))
    return found

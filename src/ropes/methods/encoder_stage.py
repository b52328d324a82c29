"""The encoder of the methods `ldr` and `anchored` as a trainable module."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.methods.contrast import anchor_loss, followers, gaze_loss, policy_loss, regime_loss
from ropes.methods.criteria import coordinate_contrast
from ropes.models.encoder import ContrastNetwork
from ropes.recipes import Optimisation
from ropes.stage import Stage

_RECORDS = 16
_CHUNK = 128
#: Records without a better one after which a run counts as memorising, and ends.
_PATIENCE = 5
#: Share of the steps in which the weight of the anchors rises.
_RISE = 0.4
#: Weight of the map of where to look, which nothing else teaches.
_GAZE = 0.1


class EncoderStage(Stage):
    """Tell the regimes apart and, with anchors, keep together what an intervention left alone.

    Every record asks the held-out anchors, and finds anew which coordinates follow which intervention.  The weights
    are kept as they were where held-out loss was least, and a run whose held-out loss has long stopped falling ends.

    Attributes:
        effects: (d, d), the response of coordinate j to an intervention on joint i, zero where it was left alone.
        gaze_joint: the joint whose interventions show where to look closely.
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
        gaze_joint: int,
    ) -> None:
        super().__init__(network, optimisation, steps=steps, seed=seed)
        self.gaze_joint = gaze_joint
        self.anchor_weight, self.warm_up = anchor_weight, warm_up
        self.log_prior, self.target, self.held_out = log_prior, target, held_out
        self.effects = torch.eye(network.head.joints)
        self.evaluate_every = max(1, steps // _RECORDS)
        self.best: dict[str, Tensor] = {}
        self.best_loss, self.best_step = float("inf"), 0

    def _rise(self) -> float:
        """From 0 at the end of the warm-up to 1 after another two fifths of the steps.

        Anchors say precisely what belongs together, but not which coordinate is whose: policies must have said that.
        """
        return min(1.0, max(0.0, (self.global_step - self.warm_up) / (_RISE * self.steps)))

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Images (B, V, S, S) and their regimes (B,) → loss; with anchors, (A, R, V, S, S) and (A, R)."""
        images, regime = batch
        anchors = regime.shape[0] if regime.ndim == 2 else 0
        coordinates, logits, gaze = self.network(images.flatten(0, -4))
        coordinates, logits = coordinates.float(), logits.float()
        told = regime_loss(logits, regime.flatten(), self.log_prior.to(logits))
        policies = policy_loss(coordinates, regime.flatten(), self.log_prior)
        loss = told + policies
        if anchors and self.anchor_weight:
            apart = anchor_loss(
                coordinates.unflatten(0, regime.shape), self.target.to(regime.device), self.effects.to(coordinates)
            )
            self.note(within=apart)
            loss = loss + self.anchor_weight * self._rise() ** 2 * apart
            if gaze is not None:
                seen = gaze_loss(gaze.unflatten(0, regime.shape), images, self.gaze_joint)
                self.note(gaze=seen)
                loss = loss + _GAZE * seen
        self.note(loss=loss, regimes=told, policies=policies)
        return loss

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Held-out cross-entropy of the regimes, variance within anchors, and each joint's contrast."""
        anchors, regimes = self.held_out.shape[:2]
        read, logits = self.read(self.held_out.flatten(0, 1))
        coordinates = read.unflatten(0, (anchors, regimes))
        regime = torch.arange(regimes).repeat(anchors)
        self.effects = followers(coordinates, self.target, doubt=max(0.0, 1 - 2 * self.global_step / self.steps))
        told = float(regime_loss(logits, regime, self.log_prior))
        within = float(anchor_loss(coordinates, self.target, followers(coordinates, self.target)))
        loss = (
            told + float(policy_loss(coordinates.flatten(0, 1), regime, self.log_prior)) + self.anchor_weight * within
        )
        self.keep_best(loss)
        return {
            "held_out": told,
            "held_out_within": within,
            "held_out_loss": loss,
            "followers": float(self.effects.count_nonzero() - len(self.effects)),
            **{f"contrast_{k}": value for k, value in enumerate(contrasts(coordinates, self.target))},
        }

    def read(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Coordinates (n, d) and logits (n, R) of images, uint8 (n, V, S, S)."""
        found = [self.network(part.to(self.device).float().div(255)) for part in images.split(_CHUNK)]
        coordinates, logits = (torch.cat([part[k] for part in found]).float().cpu() for k in (0, 1))
        return coordinates, logits

    def keep_best(self, loss: float) -> None:
        """Remember the weights where held-out loss is least, and end a run where it has long stopped falling."""
        if loss < self.best_loss:
            self.best_loss, self.best_step = loss, self.global_step
            self.best = {name: tensor.detach().cpu().clone() for name, tensor in self.network.state_dict().items()}
        elif self.global_step - self.best_step >= _PATIENCE * self.evaluate_every:
            self.trainer.should_stop = True

    def finish(self) -> None:
        """Go back to the best weights (early stopping on held-out anchors)."""
        self.network.load_state_dict(self.best)

    def extra_state(self) -> dict[str, Any]:
        """What each intervention was last seen to move, and the best weights so far."""
        return {
            "effects": self.effects,
            "best": self.best,
            "best_loss": self.best_loss,
            "best_step": self.best_step,
        }

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Take them back."""
        self.effects, self.best = state["effects"], state["best"]
        self.best_loss, self.best_step = state["best_loss"], state["best_step"]


def contrasts(coordinates: Tensor, target: Tensor) -> list[float]:
    """`coordinate_contrast` of every joint's own coordinate: (A, R, d) → d values, nats."""
    found = []
    for i in range(coordinates.shape[-1]):
        first, second = coordinates[:, 1:][:, target == i, i].double().numpy().T
        labels = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
        found.append(coordinate_contrast(np.concatenate([first, second]), labels))
    return found

"""The training stage of method `anchored`."""

from typing import Any

import torch
from torch import Tensor

from ropes.methods.anchored.anchor_moves import off_way_variance
from ropes.methods.anchored.contrast import (
    attention_loss,
    image_changes,
    policy_loss,
    regime_loss,
    within_anchor_variance,
)
from ropes.methods.anchored.descendants import ancestor_prior, descendants, estimate_descendants
from ropes.methods.anchored.invariance_stage import ATTENTION, InvarianceStage
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.training.criteria import policy_contrasts
from ropes.models.encoder import ContrastNetwork

#: Share x of a descendant's response that is partialled out; the rest keeps (1 − x)², a thousandth, of its weight.
_PARTIALLED = 0.97
#: Decrease of a joint's weight with the effects of others on it: an effect of .85 leaves a tenth of the weight.
_EFFECT_DOWNWEIGHTING = 12.5
#: Number of recent training anchors from which descendants are estimated.
_RECENT = 2_048
#: Joints have descendants if so many of the last graphs contain the same pair: one noisy graph changes nothing.
_CONFIRMATIONS, _GRAPHS = 3, 4
#: Standard errors by which an effect must be too small before a pair is excluded, where joints have descendants.
_N_SIGMA = 2.0
#: Key in a checkpoint → attribute.
_STORED = {
    "follows": "descendants",
    "found": "graphs",
    "recent": "recent",
    "recent_of": "recent_anchors",
    "responses": "effects",
}


class AnchoredStage(InvarianceStage):
    """Classification of regimes and policies, plus the variance within anchors.

        L = L_regimes + L_policies + λ ρ² mean_j(w_j v_j) + .1 L_attention

    with v of `within_anchor_variance`, λ the recipe's anchor weight, ρ of `penalty_ramp` and w of `joint_weights`.
    Every record evaluates the held-out anchors, uint8 (A, R, P, S, S), and estimates descendants from the coordinates
    of recent training anchors, which are many and already computed.  Poses in which something besides the arm moves
    count nowhere.

    Frames on the way to an intervention count in v as poses under it, and add λ ρ² mean_j(u_j) with u of
    `off_way_variance`.  They are under no policy: the other terms, and the records, are of poses alone.

    Args:
        network: to train.
        recipe: its settings.
        held_trusted: which held-out poses count, bool (A, R).
        common: arguments of `InvarianceStage`.

    Attributes:
        recent: coordinates of recent training anchors, each at its last training step, (at most `_RECENT`, R, d).
        recent_anchors: the numbers of those anchors.
        graphs: descendants in the causal graphs of the last records, bool (at most `_GRAPHS`, d, d), the latest last.
        descendants: bool (d, d); none where the graphs have none, or where the recipe says that joints are independent.
        effects: total effects on descendants, (d, d); 0 elsewhere.
        change: change of the images under interventions on each joint, (d,); the attention is on the least one.
    """

    def __init__(self, network: ContrastNetwork, recipe: EncoderRecipe, *, held_trusted: Tensor, **common: Any) -> None:
        super().__init__(network, recipe, **common)
        self.held_trusted = held_trusted
        self.independent = recipe.independent
        self.change = image_changes(self.held_out, held_trusted)
        joints = network.head.joints
        self.recent = torch.empty(0, self.held_out.shape[1], joints)
        self.recent_anchors = torch.empty(0, dtype=torch.int64)
        self.graphs = torch.empty(0, joints, joints, dtype=torch.bool)
        self.descendants = torch.zeros(joints, joints, dtype=torch.bool)
        self.effects = torch.zeros(joints, joints)

    def partialling_weights(self) -> Tensor:
        """Share of each response that is partialled out, (d, d), see `partial_out_ancestors`.

        It is below 1, so that a coordinate slowly loses a response that is spurious.  The policies of its joint keep
        up a true one.
        """
        return _PARTIALLED * self.descendants.float()

    def joint_weights(self) -> Tensor:
        """Weight of each joint in the anchors' term, (d,): w_j = 1 / (1 + 12.5 Σ_i effect_ij²).

        Mixtures of a coordinate with an ancestor respond as well.  Some have a lower variance within anchors, or a
        higher one between them, than the true angle; only policies discriminate them from it.
        """
        return 1 / (1 + _EFFECT_DOWNWEIGHTING * (self.effects**2).sum(0))

    def training_step(self, batch: tuple[Tensor, ...], batch_idx: int) -> Tensor:
        """A batch of anchors, with or without frames on the way → loss.

        Args:
            batch: images, uint8 (A, R + F, P, S, S), of R poses and F = 0 or d frames of each anchor; their regimes,
                (A, R + F); which of them count, bool (A, R + F); numbers of the anchors, (A,); and the share of the
                move that is done at each frame, (A, F).
            batch_idx: of Lightning.
        """
        images, self._regime, self._trusted, self._anchors, self._share = batch
        posed = torch.arange(images.shape[1], device=self._trusted.device) < images.shape[1] - self._share.shape[1]
        return super().training_step((images, self._regime, self._trusted & posed), batch_idx)

    def store_recent(self, anchors: Tensor, coordinates: Tensor) -> None:
        """Store the coordinates (A, R, d) of anchors (A,) in place of earlier ones of the same anchors."""
        # The last of each: an anchor is in a batch twice where one epoch ends and the next begins.
        last = {anchor: row for row, anchor in enumerate(anchors.tolist())}
        others = ~torch.isin(self.recent_anchors, anchors.cpu())
        numbers = torch.tensor(list(last), dtype=torch.int64)
        self.recent_anchors = torch.cat([self.recent_anchors[others], numbers])[-_RECENT:]
        self.recent = torch.cat([self.recent[others], coordinates.detach().cpu()[list(last.values())]])[-_RECENT:]

    def further_loss(self, images: Tensor, coordinates: Tensor, attention: Tensor | None) -> Tensor:
        """The anchors' term and the attention loss of images (A, R + F, P, S, S) with coordinates (A, R + F, d)."""
        frames = self._share.shape[1]
        poses = coordinates.shape[1] - frames
        trusted = self._trusted[:, :poses]
        complete = trusted.all(1)
        self.store_recent(self._anchors[complete], coordinates[complete, :poses])
        moved = torch.cat([self.target, torch.arange(frames)])
        arguments = moved, self.partialling_weights(), self.joint_weights()
        target, excused, weight = (each.to(coordinates.device) for each in arguments)
        within = within_anchor_variance(coordinates, target, excused, self._trusted)
        invariance, noted = (weight * within).mean(), within.mean()
        if frames:
            off_way = off_way_variance(coordinates, self._regime, self._share, self._trusted).mean()
            invariance, noted = invariance + off_way, noted + off_way
        self.note(within=noted)
        loss = self.anchor_weight * self.penalty_ramp(self.global_step) ** 2 * invariance
        if attention is None:
            return loss
        maps = attention.unflatten(0, coordinates.shape[:2])[:, :poses]
        zoom = self.network.encoder.config.zoom
        attention_term = attention_loss(maps, images[:, :poses], int(self.change.argmin()), trusted, zoom)
        self.note(gaze=attention_term)
        return loss + ATTENTION * attention_term

    def following(self, coordinates: Tensor) -> Tensor:
        """Which joints follow interventions on each joint, by coordinates of many anchors (A, R, d), bool (d, d).

        Doubtful pairs count, as they do in `update_descendants`, where any joint has a descendant in the causal graph.
        """
        if self.independent or len(coordinates) < 2:
            return torch.zeros_like(self.descendants)
        n_sigma = _N_SIGMA if descendants(coordinates, self.target).any() else 0.0
        return estimate_descendants(coordinates, self.target, self.change, n_sigma=n_sigma)[0]

    def update_descendants(self) -> None:
        """Estimate the descendants of each joint and the effects on them.

        The causal graph decides whether any joint has descendants; one graph in a hundred is wrong about that.  If so,
        `estimate_descendants` decides which ones: it misses few, at the price of some coordinates that contain
        another joint by mistake, and then may keep doing so.
        """
        self.graphs = torch.cat([self.graphs, descendants(self.recent, self.target)[None]])[-_GRAPHS:]
        confirmed = self.graphs.sum(0) >= _CONFIRMATIONS
        self.descendants, self.effects = torch.zeros_like(confirmed), torch.zeros(confirmed.shape)
        if confirmed.any() and not self.independent:
            self.descendants, effects = estimate_descendants(self.recent, self.target, self.change, n_sigma=_N_SIGMA)
            self.effects = self.descendants * effects

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Held-out cross-entropy of the regimes, variance within anchors, and contrast of each joint.

        The variance is that with every possible response partialled out, so that records are comparable.
        """
        anchors, regimes = self.held_out.shape[:2]
        coordinates, logits = self.read(self.held_out.flatten(0, 1))
        by_anchor, counted = coordinates.unflatten(0, (anchors, regimes)), self.held_trusted.flatten()
        regime = torch.arange(regimes).repeat(anchors)[counted]
        coordinates, logits = coordinates[counted], logits[counted]
        self.update_descendants()
        cross_entropy = float(regime_loss(logits, regime, self.log_prior))
        prior = ancestor_prior(self.change)
        within = float(within_anchor_variance(by_anchor, self.target, prior, self.held_trusted).mean())
        loss = cross_entropy + float(policy_loss(coordinates, regime, self.log_prior)) + self.anchor_weight * within
        self.stop_early(loss)
        return {
            "held_out": cross_entropy,
            "held_out_within": within,
            "held_out_loss": loss,
            "certain_followers": float(self.graphs[-1].sum()),
            "followers": float(self.descendants.sum()),
            **policy_contrasts(coordinates, regime, self.target),
        }

    def extra_state(self) -> dict[str, Any]:
        """The recent coordinates and what was estimated from them, besides the best weights so far."""
        return super().extra_state() | {key: getattr(self, name) for key, name in _STORED.items()}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Restore `extra_state`."""
        super().load_extra_state(state)
        for key, name in _STORED.items():
            setattr(self, name, state[key])

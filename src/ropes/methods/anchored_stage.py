"""The training stage of method `anchored`."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.methods.contrast import anchor_loss, gaze_loss, image_changes, policy_loss, regime_loss, under_policies
from ropes.methods.criteria import coordinate_contrast
from ropes.methods.descendants import descendants
from ropes.methods.encoder_stage import EncoderStage
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.responses import followers_and_responses, precedes
from ropes.models.encoder import ContrastNetwork

#: Share of the steps in which the weight of the anchors rises.
_RISE = 0.4
#: Weight of the map of where to look, which nothing else teaches.
_GAZE = 0.1
#: Share of the response of a coordinate that follows which is excused; a thousandth of its weight, (1 − x)², is left.
_EXCUSED = 0.97
#: How fast the anchors' weight on a joint falls with its responses to others: a tenth is left of .85 of its own change.
_YIELD = 12.5
#: Anchors, the last ones learnt from, that are asked what follows what.
_ASKED = 2_048
#: Some joint follows another where so many of the last records find the same pair: one noisy record changes nothing.
_CONFIRMED, _REMEMBERED = 3, 4
#: Standard errors by which a response must fall short of what counts before it is denied, where some joint follows.
_DOUBT = 2.0
_STORED = ("follows", "found", "recent", "recent_of", "responses")
#: From here in the rise of the weight on, weights are compared: earlier ones have hardly met an anchor.
_COMPARED_FROM = 0.5


class AnchoredStage(EncoderStage):
    """Tell the regimes apart, and keep together what an intervention left alone.

    Every record asks the held-out anchors, uint8 (A, R, V, S, S), and finds anew which coordinates follow which
    intervention, from what the last anchors learnt from were read as: they are many, and cost nothing.  Once anchors
    weigh enough the best weights are kept, and a run that memorises is ended.

    Attributes:
        recent: (at most `_ASKED`, R, d), coordinates of the last anchors learnt from, as they were when each was last
            learnt from.
        recent_of: (at most `_ASKED`,), which anchors those are.
        found: what the causal graph of the last records shows to follow, bool (at most `_REMEMBERED`, d, d), the latest
            last.
        follows: bool (d, d), which coordinates follow which joint; none where nothing was found, nor where the recipe
            says that joints are independent.
        responses: (d, d), how much where they do, in shares of what a coordinate's own policies do to it; 0 elsewhere.
        change: (d,), how much interventions on each joint change the images; the least show where to look closely.
    """

    patience = 3

    def __init__(self, network: ContrastNetwork, recipe: EncoderRecipe, **common: Any) -> None:
        super().__init__(network, recipe, **common)
        self.anchor_weight = recipe.anchor_weight
        self.independent = recipe.independent
        self.warm_up = round(
            min(recipe.anchor_warmup_poses / recipe.training.batch, recipe.anchor_warmup_fraction * self.steps)
        )
        self.change = image_changes(self.held_out)
        joints = network.head.joints
        self.recent = torch.empty(0, self.held_out.shape[1], joints)
        self.recent_of = torch.empty(0, dtype=torch.int64)
        self.found = torch.empty(0, joints, joints, dtype=torch.bool)
        self.follows = torch.zeros(joints, joints, dtype=torch.bool)
        self.responses = torch.zeros(joints, joints)

    def rise(self, step: int) -> float:
        """From 0 at the end of the warm-up to 1 after another two fifths of the steps.

        Anchors say precisely what belongs together, but not which coordinate is whose: policies must have said that.
        """
        return min(1.0, max(0.0, (step - self.warm_up) / (_RISE * self.steps)))

    def compared(self, step: int) -> bool:
        """From the middle of the rise on; where that is never reached, at the end."""
        return self.rise(step) >= min(_COMPARED_FROM, self.rise(self.steps))

    def excused(self) -> Tensor:
        """How much of each response is no matter of the anchors, (d, d), see `left_alone`.

        Next to all of it where a coordinate follows: what follows indeed is held up by its joint's contrast, and what
        was taken for it by mistake fades.
        """
        return _EXCUSED * self.follows.float()

    def weight(self) -> Tensor:
        """Of each joint among the anchors' terms, (d,).

        Mixtures of a coordinate with one that it follows respond as well.  Some are quieter within anchors, or vary
        more between them, and gain; only policies tell them from the angle.
        """
        return 1 / (1 + _YIELD * (self.responses**2).sum(0))

    def training_step(self, batch: tuple[Tensor, ...], batch_idx: int) -> Tensor:
        """Images, uint8 (A, R, V, S, S), their regimes (A, R) and the number of each anchor (A,) → loss."""
        images, regime, self._anchors = batch
        return super().training_step((images, regime), batch_idx)

    def remember_read(self, anchors: Tensor, coordinates: Tensor) -> None:
        """Keep what anchors (A,) were read as, (A, R, d), in the place of what they were read as before."""
        # The last of each: an anchor comes twice in a batch where one pass over all of them ends and the next begins.
        last = {anchor: row for row, anchor in enumerate(anchors.tolist())}
        others = ~torch.isin(self.recent_of, anchors.cpu())
        self.recent_of = torch.cat([self.recent_of[others], torch.tensor(list(last))])[-_ASKED:]
        self.recent = torch.cat([self.recent[others], coordinates.detach().cpu()[list(last.values())]])[-_ASKED:]

    def further_loss(self, images: Tensor, coordinates: Tensor, gaze: Tensor | None) -> Tensor:
        """The anchors' term for images (A, R, V, S, S) with coordinates (A, R, d), and where to look."""
        self.remember_read(self._anchors, coordinates)
        target, excused, weight = (each.to(coordinates.device) for each in (self.target, self.excused(), self.weight()))
        apart = anchor_loss(coordinates, target, excused)
        self.note(within=apart.mean())
        loss = self.anchor_weight * self.rise(self.global_step) ** 2 * (weight * apart).mean()
        if gaze is None:
            return loss
        seen = gaze_loss(gaze.unflatten(0, coordinates.shape[:2]), images, int(self.change.argmin()))
        self.note(gaze=seen)
        return loss + _GAZE * seen

    def ask_what_follows(self) -> None:
        """Find anew which coordinates follow which joint, and by how much.

        Two questions are asked.  Does any joint follow another?  The causal graph says so, by mistake in one of a
        hundred answers.  If so, `followers` says which: it misses few of those that do follow, and takes some for
        followers that hold another joint by mistake, as they then may go on doing.
        """
        self.found = torch.cat([self.found, descendants(self.recent, self.target)[None]])[-_REMEMBERED:]
        confirmed = self.found.sum(0) >= _CONFIRMED
        self.follows, self.responses = torch.zeros_like(confirmed), torch.zeros(confirmed.shape)
        if confirmed.any() and not self.independent:
            self.follows, sizes = followers_and_responses(self.recent, self.target, self.change, doubt=_DOUBT)
            self.responses = self.follows * sizes

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Held-out cross-entropy of the regimes, variance within anchors, and each joint's contrast.

        Every response that there could be is excused, whatever follows what, so that records can be compared.
        """
        anchors, regimes = self.held_out.shape[:2]
        read, logits = self.read(self.held_out.flatten(0, 1))
        coordinates = read.unflatten(0, (anchors, regimes))
        regime = torch.arange(regimes).repeat(anchors)
        self.ask_what_follows()
        told = float(regime_loss(logits, regime, self.log_prior))
        within = float(anchor_loss(coordinates, self.target, precedes(self.change)).mean())
        loss = told + float(policy_loss(read, regime, self.log_prior)) + self.anchor_weight * within
        self.keep_best(loss)
        return {
            "held_out": told,
            "held_out_within": within,
            "held_out_loss": loss,
            "certain_followers": float(self.found[-1].sum()),
            "followers": float(self.follows.sum()),
            **{f"contrast_{k}": value for k, value in enumerate(contrasts(coordinates, self.target))},
        }

    def extra_state(self) -> dict[str, Any]:
        """What each intervention was last seen to move, and in what, besides the best weights so far."""
        return super().extra_state() | {name: getattr(self, name) for name in _STORED}

    def load_extra_state(self, state: dict[str, Any]) -> None:
        """Take them back."""
        super().load_extra_state(state)
        for name in _STORED:
            setattr(self, name, state[name])


def contrasts(coordinates: Tensor, target: Tensor) -> list[float]:
    """`coordinate_contrast` of every joint's own coordinate: (A, R, d) → d values, nats."""
    found = []
    for i, own in enumerate(under_policies(coordinates, target).unbind(1)):
        first, second = own[..., i].double().numpy().T
        labels = np.concatenate([np.ones(len(first)), np.zeros(len(second))])
        found.append(coordinate_contrast(np.concatenate([first, second]), labels))
    return found

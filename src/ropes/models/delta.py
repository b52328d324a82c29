"""Networks that predict an action from two images: causal delta embeddings, and plain pair classifiers.

Source: Causal delta embeddings (arXiv 2508.04492); baselines: Causal Triplet (Liu et al. 2023).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ropes.errors import UserError
from ropes.models.backbones import backbone_of
from ropes.models.delta_shape import DeltaConfig

#: Length of a delta that the classifier scales to 1: the L1 term keeps deltas far shorter than 1.
_UNIT = 0.01


class Reading(NamedTuple):
    """Predictions for B pairs.

    Attributes:
        logits: of the verbs, (B, K, c) for each of K patches; (B, 1, c) for the whole images or the patches' mean.
        deltas: δ = φ(x̃) − φ(x), (B, K, l) for K patches or (B, 1, l) for the whole images; for a pair network the
            input of its classifier.
        patches: index of each of the K patches, (B, K); 0 for the whole images.
        before, after: φ of both images of a pair network, (B, l); (B, 0) otherwise.
    """

    logits: Tensor
    deltas: Tensor
    patches: Tensor
    before: Tensor
    after: Tensor

    @property
    def shares(self) -> Tensor:
        """Probabilities of the verbs, (B, c), averaged over patches."""
        return self.logits.float().softmax(-1).mean(1)


class DeltaNetwork(nn.Module):
    """δ = φ(x̃) − φ(x) and a linear classifier of δ, for whole images or for the K patches that change most.

    The projector has one hidden layer, as wide as the backbone, so that it can remove side effects of an action.

    Deviation: the classifier reads δ / .01.  Why: at length 1 the L1 term keeps deltas so short that the classifier's
    answers stay flat.  Effect: in the classifier's units the sparsity weighs a hundredth of the summary's weight of 1.

    Deviation: the K patches are those of the longest projected deltas, unless `change` is features.  Why: the
    classifier reads these.  Effect: on single objects none beyond chance (docs/deltas.md); the summary selects by the
    norm of patch features' differences.

    Deviation: each of the K patches has its own losses, and the mean of their probabilities decides, unless `aggregate`
    is set.  Why: the summary calculates losses for each patch; a review (OpenReview 5d7prMWHNF) mentions an
    aggregation.  Effect: on single objects the mean delta is classified worse by .02 and .03 under the two shifts (one
    seed, docs/deltas.md).

    Deviation: patches are projected as whole images are, and each of the two models has its own classifier.  Why: the
    summary compares the two as methods of their own.  Effect: not measured; the summary's diagram has a projector for
    whole images alone, and one classifier for the deltas of both models.

    Args:
        config: its shape.
        channels: of the images.
        verbs: number of verbs.
        patchwise: classify patches instead of whole images.
        stored: see `backbone_of`.

    Raises:
        UserError: see `backbone_of`, or the backbone has no patches.
    """

    def __init__(
        self,
        config: DeltaConfig,
        channels: int,
        verbs: int,
        *,
        patchwise: bool,
        stored: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if patchwise and config.backbone != "vit":
            raise UserError(
                f"backbone {config.backbone} has no patches; leave --delta.backbone at vit, or take --method cde-global"
            )
        self.backbone = backbone_of(config, channels, stored)
        width = self.backbone.width
        self.project = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, config.latents))
        self.classify = nn.Linear(config.latents, verbs)
        self.patches = config.patches if patchwise else None
        self.of_features, self.aggregate = config.change == "features", config.aggregate

    def forward(self, before: Tensor, after: Tensor) -> Reading:
        """Levels in [0, 1], (B, C, S, S) each."""
        features = self.backbone(torch.cat([before, after]))[0 if self.patches is None else 1]
        first, second = _project_float32(self.project, features).chunk(2)
        deltas = second - first
        if self.patches is None:
            deltas, patches = deltas[:, None], torch.zeros(len(deltas), 1, dtype=torch.long, device=deltas.device)
        else:
            features_before, features_after = features.float().chunk(2)
            change = features_after - features_before if self.of_features else deltas
            patches = change.norm(dim=-1).topk(min(self.patches, deltas.shape[1]), dim=1).indices
            deltas = deltas.take_along_dim(patches[..., None], dim=1)
            if self.aggregate:
                deltas = deltas.mean(1, keepdim=True)
        empty = deltas.new_empty(len(deltas), 0)
        return Reading(self.classify(deltas / _UNIT), deltas, patches, empty, empty)


class PairNetwork(nn.Module):
    """A plain classifier of the concatenation of φ(x) and φ(x̃) − φ(x), with an optional noun critic.

    Args:
        config: its shape.
        channels: of the images.
        verbs: number of verbs.
        nouns: number of nouns that the critic classifies; 0 for no critic.
        stored: see `backbone_of`.

    Raises:
        UserError: see `backbone_of`.
    """

    def __init__(
        self, config: DeltaConfig, channels: int, verbs: int, *, nouns: int = 0, stored: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.backbone = backbone_of(config, channels, stored)
        size = config.latents
        self.project = nn.Sequential(nn.Linear(self.backbone.width, size), nn.ReLU())
        self.relate = nn.Sequential(nn.Linear(2 * size, size), nn.ReLU(), nn.Linear(size, size), nn.ReLU())
        self.classify = nn.Linear(size, verbs)
        self.critic = nn.Sequential(nn.Linear(size, size), nn.ReLU(), nn.Linear(size, nouns)) if nouns else None

    def forward(self, before: Tensor, after: Tensor) -> Reading:
        """Levels in [0, 1], (B, C, S, S) each."""
        features = self.backbone(torch.cat([before, after]))[0]
        first, second = _project_float32(self.project, features).chunk(2)
        relation = self.relate(torch.cat([first, second - first], dim=1)).float()
        patches = torch.zeros(len(first), 1, dtype=torch.long, device=first.device)
        return Reading(self.classify(relation)[:, None], relation[:, None], patches, first, second)


def _project_float32(project: nn.Module, features: Tensor) -> Tensor:
    """φ in float32: bf16 would round away the small difference between two images."""
    with torch.autocast(features.device.type, enabled=False):
        projected: Tensor = project(features.float())
    return projected


def reversed_gradient(values: Tensor, weight: float) -> Tensor:
    """Gradient reversal: the same values, with the gradient multiplied by −weight."""
    return (1 + weight) * values.detach() - weight * values

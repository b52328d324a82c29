"""Networks that tell what was done from two images: causal delta embeddings, and plain pairs.

Source: Causal delta embeddings (arXiv 2508.04492); baselines: Causal Triplet (Liu et al. 2023).
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ropes.errors import UserError
from ropes.models.backbones import backbone_of
from ropes.models.shapes import DeltaConfig

#: Length of a delta that its classifier reads as 1: the L1 term keeps deltas far shorter than that.
_UNIT = 0.01


class Reading(NamedTuple):
    """What a network makes of pairs.

    Attributes:
        logits: of the verbs, (B, K, c): of the whole, or of each of K patches; of their mean (B, 1, c).
        deltas: likewise (B, K, l) or (B, 1, l), δ = φ(x̃) − φ(x); of a pair network what it classifies.
        patches: number of each of the K patches, (B, K); 0 for the whole.
        before, after: φ of both images, (B, l), of a pair network; (B, 0) otherwise.
    """

    logits: Tensor
    deltas: Tensor
    patches: Tensor
    before: Tensor
    after: Tensor

    @property
    def shares(self) -> Tensor:
        """Probabilities of the verbs, (B, c): the mean of the patches'."""
        return self.logits.float().softmax(-1).mean(1)


class DeltaNetwork(nn.Module):
    """δ = φ(x̃) − φ(x), and a linear classifier of it: of the whole, or of the K patches that change most.

    The projector has one hidden layer, as wide as the backbone, so that it can leave out what moves along.

    Deviation: the classifier reads δ / .01.  Why: at length 1 the L1 term keeps deltas so short that the classifier's
    answers stay flat.  Effect: in the classifier's units the sparsity weighs a hundredth of the weight of 1 that the
    summary gives.

    Deviation: the K patches are those of the longest projected deltas, unless `change` says features.  Why: the
    classifier reads these.  Effect: not measured yet (experiment "delta-options"); the summary selects by the norm of
    patch features' differences.

    Deviation: each of the K patches has its own losses, and the mean of their probabilities decides, unless `aggregate`
    says otherwise.  Why: the summary says that losses are calculated for each patch; reviews of the paper mention an
    aggregation.  Effect: not measured yet (experiment "delta-options").

    Args:
        config: its shape.
        channels: of the images.
        verbs: number of them.
        patchwise: of patches.
        stored: see `backbone_of`.

    Raises:
        UserError: see `backbone_of`, or patches are asked of another backbone than a transformer.
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
        place = 0 if self.patches is None else 1
        features = self.backbone(torch.cat([before, after]))[place]
        first, second = _in_full(self.project, features).chunk(2)
        deltas = second - first
        if self.patches is None:
            deltas, chosen = deltas[:, None], torch.zeros(len(deltas), 1, dtype=torch.long, device=deltas.device)
        else:
            read, changed = features.float().chunk(2)
            change = changed - read if self.of_features else deltas
            chosen = change.norm(dim=-1).topk(min(self.patches, deltas.shape[1]), dim=1).indices
            deltas = deltas.take_along_dim(chosen[..., None], dim=1)
            if self.aggregate:
                deltas = deltas.mean(1, keepdim=True)
        nothing = deltas.new_empty(len(deltas), 0)
        return Reading(self.classify(deltas / _UNIT), deltas, chosen, nothing, nothing)


class PairNetwork(nn.Module):
    """A plain classifier of φ(x) and φ(x̃) − φ(x) side by side; with a critic of its features where there are nouns.

    Args:
        config: its shape.
        channels: of the images.
        verbs: number of them.
        nouns: number of nouns that the critic tells; 0 for no critic.
        stored: see `backbone_of`.

    Raises:
        UserError: see `backbone_of`.
    """

    def __init__(
        self,
        config: DeltaConfig,
        channels: int,
        verbs: int,
        *,
        nouns: int = 0,
        stored: Mapping[str, Any] | None = None,
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
        first, second = _in_full(self.project, features).chunk(2)
        related = self.relate(torch.cat([first, second - first], dim=1)).float()
        chosen = torch.zeros(len(first), 1, dtype=torch.long, device=first.device)
        return Reading(self.classify(related)[:, None], related[:, None], chosen, first, second)


def _in_full(project: nn.Module, features: Tensor) -> Tensor:
    """φ in float32: of two numbers that nearly agree, bf16 would round away what they differ in."""
    with torch.autocast(features.device.type, enabled=False):
        projected: Tensor = project(features.float())
    return projected


def reversed_gradient(values: Tensor, weight: float) -> Tensor:
    """The same values, whose gradient is taken times −weight."""
    return (1 + weight) * values.detach() - weight * values


def as_levels(images: Tensor) -> Tensor:
    """uint8 (B, 1, S, S, 3), or in grey (B, cameras, S, S) → float (B, C, S, S) in [0, 1]."""
    planes = images[:, 0].permute(0, 3, 1, 2) if images.ndim == 5 else images
    return planes.float().div(255).contiguous(memory_format=torch.channels_last)

"""LDR: a classifier with a log density ratio as logit and a score difference as gradient (ROPES Table 4)."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from ropes.models.shapes import CODE_SIDE, LDRConfig


class LDR(nn.Module):
    """Codes of all views → logit of policy 1 against policy 2 of one joint (ROPES Table 4).

    With balanced samples the logit of the Bayes-optimal classifier is log q(y) − log q̄(y). Convolutions are unpadded:
    8 → 6 → 4 → 2.

    Deviation: with `others`, never in the paper's preset, the network has three classes: policy 1, policy 2 and
    neither.  Why: each network then trains on the images of all regimes.  Effect: the difference of the first two
    scores is the same log ratio.
    """

    def __init__(self, config: LDRConfig, *, views: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = views
        for width in config.widths:
            layers += [nn.Conv2d(channels, width, 3), nn.ReLU()]
            channels = width
        side = CODE_SIDE - 2 * len(config.widths)
        layers += [nn.Flatten(), nn.Dropout(config.dropout), nn.Linear(channels * side**2, config.hidden), nn.ReLU()]
        layers += [nn.Dropout(config.dropout), nn.Linear(config.hidden, 3 if config.others else 1)]
        self.body = nn.Sequential(*layers)

    def forward(self, codes: Tensor) -> Tensor:
        """Standardised codes (B, V, 8, 8) → logits (B,)."""
        scores = self.kinds(codes)
        return scores[:, 0] - scores[:, 1] if scores.shape[1] == 3 else scores[:, 0]

    def kinds(self, codes: Tensor) -> Tensor:
        """Standardised codes (B, V, 8, 8) → scores of policy 1, policy 2 and neither, (B, 3), or one logit."""
        scores: Tensor = self.body(codes)
        return scores


def softplus_copy(ratio: nn.Module, beta: float) -> nn.Module:
    """A copy of a density ratio with softplus, log(1 + exp(βx)) / β, for its ReLUs; the ratio itself for β of 0.

    Deviation: with `softplus_beta`, as in the compact preset, score differences are gradients of this copy.  Why: the
    gradient of a network of ReLUs is piecewise constant, and AE2's encoder cannot follow its jumps.  Effect: with one
    camera the relative error of the encoder's gradients falls from .09 to .01, and the squared error of joint 6 from
    .049 to .047 rad² (docs/log.md, score differences without jumps).

    Source: β-smoothing of Dombrowski et al. 2019 (arXiv 1906.07983), there for explanations of classifiers.
    """
    if not beta:
        return ratio
    copy = deepcopy(ratio)
    for parent in [*copy.modules()]:
        for name, child in [*parent.named_children()]:
            if isinstance(child, nn.ReLU):
                setattr(parent, name, nn.Softplus(beta))
    return copy


def score_difference(ratio: nn.Module, codes: Tensor) -> Tensor:
    """∇_y [log q(y) − log q̄(y)] at standardised codes (B, V, 8, 8), same shape, detached (ROPES Section 3.3).

    The network must be frozen and in evaluation mode, without dropout.

    Raises:
        ValueError: the network is in training mode.
    """
    if ratio.training:
        raise ValueError("the density ratio must be in eval mode when its gradient is taken")
    with torch.enable_grad():
        inputs = codes.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(ratio(inputs).sum(), inputs)
    return gradient.detach()

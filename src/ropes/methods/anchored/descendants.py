"""Estimates which latent coordinates respond to interventions on each joint. Uses no labels.

Arguments of the functions below: `coordinates` (A, R, d), the observational pose of each anchor first; `target`, see
`ropes.methods.anchored.contrast.targets`; `change` (d,), see `image_changes` there.  In (d, d) results the row is the
joint intervened on, the column the coordinate that responds.
"""

import numpy as np
import torch
from torch import Tensor

from ropes.causal.graph import estimate_graph
from ropes.methods.anchored.contrast import mean_differences, select_by_target

#: Least effect that counts, as a share of the effect of the coordinate's own policies.
MIN_EFFECT = 0.1
#: Of the logistic regressions: ridge a pose, Newton steps, and the z-score beyond which a weight is significant.
_RIDGE, _NEWTON_STEPS, _SIGNIFICANT = 1e-3, 12, 3.0


def descendants(coordinates: Tensor, target: Tensor) -> Tensor:
    """Descendants in the estimated causal graph of the coordinates, bool (d, d).

    The graph bounds false positives: of independent joints, one graph in a hundred has an edge, however the coordinates
    mix the joints.  No descendants where the coordinates do not discriminate the policies, or with fewer than two
    anchors.
    """
    anchors, poses, d = coordinates.shape
    joint = np.tile(np.concatenate([[-1], target.numpy()]), anchors)
    policy = np.tile(np.concatenate([[0], 1 + np.arange(len(target)) % 2]), anchors)
    values = coordinates.flatten(0, 1).double().numpy()
    try:
        graph = estimate_graph(values, joint, policy, np.repeat(np.arange(anchors), poses))
    except ValueError:  # too few poses, or coordinates that do not depend on any joint
        return torch.zeros(d, d, dtype=torch.bool)
    return torch.from_numpy(graph.descendants)


def estimate_descendants(
    coordinates: Tensor, target: Tensor, change: Tensor, *, n_sigma: float = 0.0
) -> tuple[Tensor, Tensor]:
    """Which coordinates respond to interventions on joint i because their joint is a descendant of joint i.

    A coordinate may also respond because it contains some of another joint by mistake.  Three criteria exclude that:

    - In the `discriminants`, which do not contain other joints, the effect is significant, and at least `MIN_EFFECT` of
      that of the coordinate's own policies.
    - An effect e_ij implies a change of the images: e_ij · change_j ≤ change_i.
    - Only one of two joints is a descendant of the other.  Where both seem to be, it is the one that changes the images
      less (`ancestor_prior`).

    With `n_sigma`, every pair in the order of `ancestor_prior` also counts, unless `standardized_effects` exclude it by
    so many standard errors: its effect is below `MIN_EFFECT`, or above what the images allow.  A missed descendant
    ruins its coordinate; a spurious one costs little.

    Returns:
        bool (d, d), false on the diagonal, and the total effects |D_ij / D_jj| of all pairs, (d, d), with D of
        `mean_differences` in the `discriminants`.
    """
    mask, prior = predictor_mask(coordinates, target, change), ancestor_prior(change)
    separated = discriminants(coordinates, target, mask)
    effect = _relative_effects(separated, target)
    significant = mean_differences(separated, target).abs() > _SIGNIFICANT * _standard_errors(separated, target)
    descends = significant & (effect >= MIN_EFFECT) & (effect * change <= change[:, None])
    descends &= ~(descends.T & prior.T)
    if n_sigma:
        mean, error = standardized_effects(coordinates, target, mask)
        least, most = (mean.abs() - n_sigma * error).clamp_min(0), mean.abs() + n_sigma * error
        descends |= prior & ~descends.T & (most >= MIN_EFFECT) & (least * change <= change[:, None])
    return descends.fill_diagonal_(False), effect


def ancestor_prior(change: Tensor) -> Tensor:
    """The assumed causal order: joint i precedes joint j if interventions on it change the images more, bool (d, d)."""
    return change[:, None] > change


def predictor_mask(coordinates: Tensor, target: Tensor, change: Tensor) -> Tensor:
    """Coordinates (columns) that may predict the policy on each joint (rows), bool (d, d): all but its descendants.

    A descendant has an effect of at least `MIN_EFFECT` and comes later in the order of `ancestor_prior`.  Effects are
    those in the discriminants on no later coordinates: two coordinates that contain some of each other seem to respond
    both ways.
    """
    no_later = ~ancestor_prior(change)
    effects = _relative_effects(discriminants(coordinates.double(), target, no_later), target)
    return no_later | (effects < MIN_EFFECT)


def discriminants(coordinates: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """The linear discriminant of each joint's two policies, (A, R, d) → (A, R, d).

        w_jᵀ ẑ    with w_j = argmin_w E[softplus(∓ wᵀ ẑ)] over poses under policy 1 (−) or 2 (+) of joint j

    Under a policy on joint j its angle has no causes, so that only this angle and its descendants depend on the policy.
    Other joints in the coordinate are noise there, and the discriminant removes them.  It is a logistic regression of
    the policy on the coordinates of `mask`, see `predictor_mask`, without insignificant ones.
    """
    scaled = _standardised(coordinates)
    poses = select_by_target(scaled, target).unbind(1)
    weights = [_significant_weights(pair, j, row) for j, (pair, row) in enumerate(zip(poses, mask, strict=True))]
    return (scaled @ torch.stack(weights, dim=1)).to(coordinates)


def standardized_effects(coordinates: Tensor, target: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Total effects in shares of those of the coordinate's own policies, (d, d), and their standard errors, (d, d).

    As the `mean_differences` of the `discriminants`, but with insignificant predictors: the errors are those of the
    regression weights, by the delta method.  They treat all poses as independent, which makes them a little too large,
    and leave out the errors of the means over anchors.
    """
    scaled = _standardised(coordinates)
    differences, poses = mean_differences(scaled, target), select_by_target(scaled, target)
    effects, errors = [], []
    for j, row in enumerate(mask):
        weights, covariance = _logistic_regression(poses[:, j][..., row])
        effect = differences[:, row] @ weights
        reference = _away_from_zero(effect[j])
        slope = (differences[:, row] - effect[:, None] / reference * differences[j, row]) / reference
        effects.append(effect / reference)
        errors.append(((slope @ covariance) * slope).sum(1).sqrt())
    return torch.stack(effects, dim=1), torch.stack(errors, dim=1)


def _standardised(coordinates: Tensor) -> Tensor:
    exact = coordinates.double()
    return exact / _away_from_zero(exact.flatten(0, 1).std(0))


def _relative_effects(coordinates: Tensor, target: Tensor) -> Tensor:
    """|D_ij / D_jj| with D of `mean_differences`, (d, d)."""
    differences = mean_differences(coordinates, target)
    return (differences / _away_from_zero(differences.diagonal())).abs()


def _significant_weights(poses: Tensor, joint: int, mask: Tensor) -> Tensor:
    """Weights (d,) of the logistic regression of the policy on poses (A, 2, d), by backward elimination.

    Zero for coordinates outside the mask (d,), and for insignificant ones of other joints.
    """
    kept = torch.nonzero(mask)[:, 0]
    while True:
        weights, covariance = _logistic_regression(poses[..., kept])
        score = torch.where(kept == joint, torch.inf, weights.abs() / covariance.diagonal().sqrt())
        if score.min() > _SIGNIFICANT:
            return torch.zeros_like(poses[0, 0]).index_put((kept,), weights)
        kept = kept[torch.arange(len(kept)) != score.argmin()]


def _logistic_regression(poses: Tensor) -> tuple[Tensor, Tensor]:
    """Ridge logistic regression of the first policy of two, (A, 2, k) → weights and covariance, by Newton's method."""
    x = (poses - poses.mean((0, 1))).flatten(0, 1)
    first = torch.tensor([1.0, 0.0]).to(x).repeat(len(poses))
    ridge = _RIDGE * len(x) * torch.eye(x.shape[1]).to(x)
    weights = torch.zeros_like(x[0])
    for _ in range(_NEWTON_STEPS):
        probability = (x @ weights).sigmoid()
        curvature = (x * (probability * (1 - probability))[:, None]).T @ x + ridge
        weights = weights - torch.linalg.solve(curvature, x.T @ (probability - first) + ridge @ weights)
    return weights, torch.linalg.inv(curvature)


def _standard_errors(coordinates: Tensor, target: Tensor) -> Tensor:
    """Standard errors of `mean_differences` over anchors, (d, d)."""
    first, second = select_by_target(coordinates, target).unbind(2)
    return (first - second).std(0) / len(coordinates) ** 0.5


def _away_from_zero(values: Tensor) -> Tensor:
    return torch.where(values.abs() < 1e-12, 1e-12, values)

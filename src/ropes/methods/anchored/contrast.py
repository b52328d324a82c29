"""Objectives of `ldr` and `anchored`: regime classification and variance within anchors.

R = 1 + 2 d regimes of d joints are in the order of `head_regimes`: the observational one, then policies 1 and 2 of each
joint.  Coordinates of A anchors are (A, R, d), and their images uint8 (A, R, P, S, S) of P planes, see
`ropes.data.views.planes`, with the observational pose of each anchor first; `target` is the joint of each intervention,
see `targets`.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from ropes.causal.scm import Regime
from ropes.models.zoom import shrink


def regime_loss(logits: Tensor, regime: Tensor, log_prior: Tensor) -> Tensor:
    """Cross-entropy of the regime of each pose, in nats.

        L = E[−log softmax_r(ℓ_r + log π_r)]

    The logits ℓ_r are log density ratios against the observational regime; the shares π_r enter as in Bayes' rule.

    Args:
        logits: (B, R).
        regime: (B,).
        log_prior: log π, (R,).
    """
    return functional.cross_entropy(logits + log_prior, regime)


def policy_loss(coordinates: Tensor, regime: Tensor, log_prior: Tensor) -> Tensor:
    """Cross-entropy of policy 1 against policy 2 of each joint, from its own coordinate; summed over joints, in nats.

        L = d · E[softplus(∓(ẑ_i + log π_i1 − log π_i2))]    over poses under policy 1 (−) or 2 (+) of a joint i

    Its minimum is the log density ratio, as that of `regime_loss`.  Alone, `regime_loss` gives a coordinate little
    gradient at first: its joint's policies are only two of 1 + 2 d regimes.

    Args:
        coordinates: ẑ, (B, d).
        regime: (B,).
        log_prior: log π, (1 + 2 d,).
    """
    intervened = regime > 0
    joint, policy = (regime[intervened] - 1) // 2, (regime[intervened] - 1) % 2
    prior = log_prior.to(coordinates)
    logit = coordinates[intervened].gather(1, joint[:, None]).squeeze(1) + (prior[1::2] - prior[2::2])[joint]
    losses = functional.softplus(torch.where(policy == 0, -logit, logit))
    return losses.sum() / intervened.sum().clamp_min(1) * coordinates.shape[1]


def intervention_loss(coordinates: Tensor, regime: Tensor, log_prior: Tensor) -> Tensor:
    """Cross-entropy of each joint's only intervention against no intervention, summed over joints, in nats.

        L = Σ_i E[softplus(∓(ẑ_i + log π_i1 − log π_0))]    over poses under policy 1 of joint i (−) or none (+)

    Its minimum is the log density ratio log q_i(z_i) − log p(z_i | parents).  It takes the place of `policy_loss` where
    joints have one policy.  Arguments as of `policy_loss`; log π of policies 2 is −∞.
    """
    prior = log_prior.to(coordinates)
    intervened = regime[:, None] == 1 + 2 * torch.arange(coordinates.shape[1], device=regime.device)
    counted = intervened | (regime == 0)[:, None]
    return two_class_loss(coordinates + prior[1::2] - prior[0], intervened, counted)


def two_class_loss(logit: Tensor, first: Tensor, counted: Tensor) -> Tensor:
    """Cross-entropy of each joint's first class against its second, from its logit; summed over joints, in nats.

    Args:
        logit: of the first class, (n, d).
        first: which poses are of it, bool (n, d).
        counted: which poses are of one of the two classes, bool (n, d); the mean is over them.
    """
    losses = functional.softplus(torch.where(first, -logit, logit)) * counted
    return (losses.sum(0) / counted.sum(0).clamp_min(1)).sum()


def head_regimes(joints: Sequence[str]) -> list[Regime]:
    """The regimes in the order of the network's head: observational, then both policies of each joint."""
    return [Regime(), *(Regime(joint, policy) for joint in joints for policy in (1, 2))]


def targets(regimes: Sequence[Regime], joints: Sequence[str]) -> Tensor:
    """The index in `joints` of each intervention's target, for every regime but the first, (R − 1,).

    Raises:
        ValueError: the first regime is not the observational one, or another is.
    """
    if regimes[0] != Regime() or any(regime.joint is None for regime in regimes[1:]):
        raise ValueError("the observational regime must come first, and once")
    return torch.tensor([joints.index(regime.joint) for regime in regimes[1:] if regime.joint is not None])


def select_by_target(coordinates: Tensor, target: Tensor) -> Tensor:
    """The poses under policies 1 and 2 of each joint: (A, R, d) → (A, d, 2, d), joints on the second axis."""
    return torch.stack([coordinates[:, 1:][:, target == i] for i in range(coordinates.shape[-1])], dim=1)


def mean_differences(coordinates: Tensor, target: Tensor) -> Tensor:
    """Mean difference of every coordinate between the two policies on each joint, (d, d).

    D_ij = E[ẑ_j | do(policy 1 of joint i)] − E[ẑ_j | do(policy 2 of joint i)]    over anchors
    """
    means = select_by_target(coordinates, target).mean(0)
    return means[:, 0] - means[:, 1]


def change_map(images: Tensor, regime: int, cells: int, channels: int = 1, zoom: int = 1) -> Tensor:
    """Distribution over a grid of the change of levels under the two policies on a joint.

    Args:
        images: uint8 (A, R, P, S, S).
        regime: index of the joint's first policy.
        cells: along a side of the grid.
        channels: planes of a view, whose changes are averaged.
        zoom: factor by which the images are shrunk first.

    Returns:
        (A, 3, V, cells²), each map summing to one; zero where nothing changed.  The first map, of the observational
        pose, is that of the mean change under both policies.
    """
    change = _absolute_change(shrink(images[:, [regime, regime + 1]], zoom), shrink(images[:, :1], zoom))
    return change_distribution(torch.cat([change.mean(1, keepdim=True), change], dim=1), cells, channels)


def change_distribution(change: Tensor, cells: int, channels: int = 1) -> Tensor:
    """Distribution over a grid of changes of levels.

    Args:
        change: absolute changes, (A, n, P, S, S).
        cells: along a side of the grid.
        channels: planes of a view, whose changes are averaged.

    Returns:
        (A, n, V, cells²), each map summing to one; zero where nothing changed.
    """
    number = change.shape[1]
    if channels > 1:
        change = change.unflatten(2, (-1, channels)).mean(3)
    pooled = functional.avg_pool2d(change.flatten(0, 1), change.shape[-1] // cells).flatten(2)
    pooled = pooled.unflatten(0, (-1, number))
    return pooled / pooled.sum(-1, keepdim=True).clamp_min(1e-9)


def attention_loss(attention: Tensor, images: Tensor, joint: int, trusted: Tensor, zoom: int = 1) -> Tensor:
    """Cross-entropy of the attention map against the `change_map` of interventions on one joint, in nats.

    Args:
        attention: logits (A, R, V, s, s).
        images: uint8 (A, R, P, S, S).
        joint: index of the joint.
        trusted: bool (A, R), poses in which nothing but the arm moves; the mean is over maps of such poses.
        zoom: factor by which the images are shrunk first.
    """
    first = 1 + 2 * joint
    expected = change_map(images, first, attention.shape[-1], images.shape[2] // attention.shape[2], zoom)
    log_attention = attention[:, [0, first, first + 1]].flatten(3).log_softmax(-1)
    observed, both = trusted[:, :1], trusted[:, [first, first + 1]]
    kept = torch.cat([observed & both.all(1, keepdim=True), observed & both], dim=1).to(expected.device)
    return -(expected * log_attention).sum(-1)[kept].sum() / (kept.sum() * attention.shape[2]).clamp_min(1)


def image_changes(images: Tensor, trusted: Tensor) -> Tensor:
    """Mean change of images under interventions on each joint, (d,), levels a pixel.

    Args:
        images: uint8 (A, R, P, S, S).
        trusted: bool (A, R), poses in which nothing but the arm moves; others do not count.
    """
    usable = (trusted[:, 1:] & trusted[:, :1]).unbind(1)
    change = torch.stack(
        [
            _absolute_change(under[both], images[both, 0]).mean() if both.any() else torch.tensor(torch.inf)
            for under, both in zip(images[:, 1:].unbind(1), usable, strict=True)
        ]
    )
    return change.unflatten(0, (-1, 2)).mean(1)


def _absolute_change(images: Tensor, observational: Tensor) -> Tensor:
    return (images.float() - observational.float()).abs()


def within_anchor_variance(coordinates: Tensor, target: Tensor, excused: Tensor, trusted: Tensor) -> Tensor:
    """Variance of each coordinate within anchors, as a share of its variance over the same poses, (d,).

        L_j = E[Var_r a_j(r)] / Var a_j    over the trusted poses whose intervention is not on joint j

    with a of `partial_out_ancestors`.  Where it needs the observational pose of an anchor and that is not trusted, the
    pose does not count.  A coordinate therefore gains nothing by shrinking, nor by responding more to interventions.
    Poses under a joint's own policies count in neither variance: otherwise a coordinate gains by growing under these
    policies and staying constant everywhere else.

    Args:
        coordinates: (A, R, d).
        target: (R − 1,).
        excused: (d, d), see `partial_out_ancestors`.
        trusted: bool (A, R), poses in which nothing but the arm moves; others do not count.
    """
    residuals, mask = partial_out_ancestors(coordinates, target, excused, trusted)
    needs_reference = functional.pad(excused[target] > 0, (0, 0, 1, 0))  # the observational pose needs none
    counted = mask * (trusted[..., None] & (trusted[:, :1, None] | ~needs_reference)).to(mask)
    number = counted.sum(1, keepdim=True)
    mean = (residuals * counted).sum(1, keepdim=True) / number.clamp_min(1)
    freedom = (number - 1).clamp_min(0).sum((0, 1)).clamp_min(1)
    within = ((residuals - mean).square() * counted).sum((0, 1)) / freedom
    share = number / number.mean(0, keepdim=True).clamp_min(1e-12)
    squares = (residuals - (mean * share).mean(0)).square() * counted
    total = squares.sum((0, 1)) / (number.sum((0, 1)) - 1).clamp_min(1)
    return within / total.clamp_min(1e-12)


def partial_out_ancestors(
    coordinates: Tensor, target: Tensor, excused: Tensor, trusted: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Partial the responses to ancestors out of the coordinates, (A, R, d).

        a_j(r) = ẑ_j(r) − x_ij T_ij (ẑ_i(r) − ẑ_i(observational)),   r an intervention on i ≠ j
        a_j(observational) = ẑ_j(observational)

    T_ij is the least-squares response of coordinate j to coordinate i over the same poses, those that are trusted with
    a trusted observational pose.  Where joint j is a descendant of joint i, x_ij = 1 removes the whole response,
    whatever its size.  Elsewhere x_ij = 0, and ẑ_j itself must stay the same.

    Args:
        coordinates: ẑ, (A, R, d).
        target: (R − 1,).
        excused: x, (d, d), weights in [0, 1]; the diagonal is ignored.
        trusted: bool (A, R), poses in which nothing but the arm moves; all poses if None.

    Returns:
        a, and a mask (R, d): 1 where a should not vary within an anchor, 0 where the intervention is on joint j itself.
    """
    change = coordinates[:, 1:] - coordinates[:, :1]
    on_target = torch.eye(coordinates.shape[-1]).to(coordinates)[target]
    cause = (change * on_target).sum(-1, keepdim=True)
    # Sums of products, not matrix products: autocast would round those to bf16.
    counted = cause if trusted is None else cause * (trusted[:, 1:] & trusted[:, :1])[..., None].to(cause)
    products, squares = (counted * change).sum(0), (counted * cause).sum(0)
    joints = range(coordinates.shape[-1])
    slopes = torch.stack([products[target == i].sum(0) / squares[target == i].sum().clamp_min(1e-12) for i in joints])
    removed = (slopes * excused.to(coordinates) * (1 - torch.eye(len(excused)).to(coordinates)))[target]
    adjusted = coordinates[:, 1:] - cause * removed
    mask = torch.cat([torch.ones_like(on_target[:1]), 1 - on_target])
    return torch.cat([coordinates[:, :1], adjusted], dim=1), mask

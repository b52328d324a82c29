"""The objectives of ROPES, one function per equation, and two of our own.

Symbols: x an image, y = E(x) its code, ẑ = h(y) the coordinates, g the decoder with Jacobian J_g, Δs_i the score
difference of the two policies on joint i.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional

Encoder = Callable[[Tensor], Tensor]
Decoder = Callable[[Tensor], Tensor]
#: Singular values of J_g below this share of the largest count as zero.
_RANK = 1e-4
#: Lower bound on the mean square of a score difference.
_TINY = 1e-12


def reconstruction_loss(images: Tensor, reconstructed: Tensor) -> Tensor:
    """E ‖x − D(E(x))‖², as the mean over pixels (ROPES Eq. 4).

    Deviation: the loss is the mean over entries, where the paper has the squared norm.  Why: it does not depend on the
    image size.  Effect: a constant factor, which changes only λ; a candidate λ corresponds to one 64 to 128 times as
    large in the paper's units.
    """
    return functional.mse_loss(reconstructed, images)


def contrast_loss(logits: Tensor, first_policy: Tensor) -> Tensor:
    """Binary cross-entropy of policy 1 against policy 2, in nats (ROPES Section 3.3); logits and labels (B,).

    Deviation: images of the first policy have label 1, those of the second 0; Section 3.2 labels them 0 and 1.  Why:
    the logit is then log q(y) − log q̄(y), whose gradient Eq. 3 takes.  Effect: the sign of the score differences, and
    so of the coordinates.
    """
    return functional.binary_cross_entropy_with_logits(logits, first_policy)


def kinds_loss(scores: Tensor, first_policy: Tensor) -> Tensor:
    """Cross-entropy of policy 1, policy 2 or neither, in nats.

    Args:
        scores: (B, 3); the first poses are under one of the two policies, the others under neither.
        first_policy: (b,) for the first b poses, 1 for policy 1 and 0 for policy 2.

    Deviation: under the compact preset the LDRs discriminate three classes: the two policies, as in the paper, and the
    poses of all other regimes.  Why: each joint's LDR then learns from every image, and s_1 − s_2 is still
    log q(y) − log q̄(y).  Effect: held-out contrasts are lower, that is, better (docs/log.md).
    """
    neither = first_policy.new_full((len(scores) - len(first_policy),), 2)
    return functional.cross_entropy(scores, torch.cat([1 - first_policy, neither]).long())


def decode_with_scores(decoder: Decoder, coordinates: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """g(ẑ) and J_g(ẑ)ᵀ Δs_i for one or several i, by vector-Jacobian products.

    Args:
        decoder: g, (B, d) → (B, V, 8, 8), or another shape of codes.
        coordinates: ẑ, (B, d).
        scores: Δs in the space of codes, (k, B, V, 8, 8).

    Returns:
        g(ẑ) (B, V, 8, 8) and the latent score differences (k, B, d); both are differentiable.
    """
    decoded: Tensor
    decoded, pullback, *_ = torch.func.vjp(decoder, coordinates)
    return decoded, torch.stack([pullback(score)[0] for score in scores])


def logit_loss(coordinates: Tensor, logits: Tensor) -> Tensor:
    """E (ẑ_i − LDR_i(y))², the mean over poses and joints; both (B, k).  Or E (LDR_i(g(ẑ)) − LDR_i(y))².

    Where reconstruction is perfect, ẑ_i = LDR_i(y) solves Eq. 1: J_gᵀ ∇_y LDR_i(y) is then exactly e_i.

    Deviation: with `decoded_logit_weight`, decoded codes must have the logits of the codes, a term that Eq. 3 does not
    have.  Why: reconstruction hardly needs what moves the codes little.  Effect: MCCs of .44 .48 .04 with one camera,
    and .86 .35 .03 without the term (docs/eq3.md).

    Deviation: with `logit_weight`, as in row "ropes+logit" of Table 1, this term is added to Eq. 3.  Why: without
    perfect reconstruction, Eq. 3 alone is also solved by a decoder that moves along Δs_i for a coordinate i that its
    encoder never uses.  Effect: MCCs of .99 .98 .94 with one camera instead of .86 .35 .03 (docs/eq3.md).
    """
    return functional.mse_loss(coordinates, logits)


def encode_with_gradients(encoder: Encoder, codes: Tensor, columns: Sequence[int]) -> tuple[Tensor, Tensor]:
    """ẑ = h(y), and the gradients ∇_y h_i(y) of some coordinates.

    Args:
        encoder: h, (B, V, 8, 8), or another shape of codes, → (B, d).
        codes: y, (B, V, 8, 8).
        columns: the k coordinates i.

    Returns:
        ẑ (B, d) and the gradients (k, B, V, 8, 8); both are differentiable in the weights of h.
    """
    with torch.enable_grad():
        at = codes.detach().requires_grad_()
        coordinates = encoder(at)
        gradients = [torch.autograd.grad(coordinates[:, k].sum(), at, create_graph=True)[0] for k in columns]
    return coordinates, torch.stack(gradients)


def score_loss(gradients: Tensor, scores: Tensor) -> Tensor:
    """Σ_i E ‖∇_y h_i(y) − Δs_i(y)‖² / E ‖Δs_i(y)‖², the means over poses; both (k, B, V, 8, 8) or (k, B, directions).

    Where it is zero, h_i is the log density ratio of joint i's two policies up to a constant, and so a function of
    that joint alone (ROPES Section 3.1).  Each joint counts the same, however far it moves the codes.

    Deviation: with `score_weight` score differences are imposed on AE2's encoder, where Eq. 3 imposes them on its
    decoder.  Why: the decoder can satisfy Eq. 3 by steps that leave the surface of the codes, which no image takes.
    Effect: MCCs of .99 .98 .84 with one camera instead of .86 .35 .03 (docs/eq3.md).
    """
    apart, whole = (values.square().flatten(2).sum(-1).mean(1) for values in (gradients - scores, scores))
    return (apart / whole.clamp_min(_TINY)).sum()


def sparsity_matrix(latent_scores: Tensor, *, of_mean: bool = False) -> Tensor:
    """E|J_gᵀ Δs_i|, or with `of_mean` |E J_gᵀ Δs_i|, row i for joint i: (k, B, d) → (k, d).

    Deviation: with `of_mean`, as in two objectives of experiment "eq3", the absolute value is of the mean.  Why: errors
    of a gradient that average out count in full in E|·|.  Effect: docs/eq3.md.
    """
    return latent_scores.mean(1).abs() if of_mean else latent_scores.abs().mean(1)


def sparsity_loss(matrix: Tensor, targets: Tensor) -> Tensor:
    """Σ_i ‖E|J_gᵀ Δs_i| − e_i‖², over the given rows (ROPES Eq. 1 and 3); both (k, d).

    Deviation: the expectation is over the poses of all regimes.  Why: the paper does not say over which.  Effect: not
    measured.
    """
    return (matrix - targets).square().sum()


def tangent_share(decoder: Decoder, coordinates: Tensor, scores: Tensor) -> Tensor:
    """E ‖P Δs_i‖ / ‖Δs_i‖ for each i, with P the projection on the span of J_g, the tangent space of the codes: (k,).

    A decoder can match a score difference outside the tangent space only by a step that no image takes.

    Args:
        decoder: g, (B, d) → (B, ...).
        coordinates: ẑ, (B, d).
        scores: Δs in the space of codes, (k, B, ...).
    """
    decoded: Tensor
    decoded, pullback, *_ = torch.func.vjp(decoder, coordinates)
    # The vector-Jacobian product of u ↦ J_gᵀ u is the Jacobian-vector product of g.
    _, push, *_ = torch.func.vjp(lambda scores: pullback(scores)[0], torch.zeros_like(decoded))
    axes = torch.eye(coordinates.shape[1]).to(coordinates)
    columns = [push(axis.expand_as(coordinates).contiguous())[0].flatten(1) for axis in axes]
    basis, sizes, _ = torch.linalg.svd(torch.stack(columns, -1), full_matrices=False)
    basis = basis * (sizes > _RANK * sizes[:, :1])[:, None]
    flat = scores.flatten(2)
    projected = torch.einsum("bnd,kbn->kbd", basis, flat)
    return (projected.norm(dim=-1) / flat.norm(dim=-1).clamp_min(1e-12)).mean(1)

"""Each objective against its equation written out."""

import pytest
import torch
from torch import Tensor, nn
from torch.func import jacfwd, vmap
from torch.nn.utils import convert_conv2d_weight_memory_format

from ropes.methods.ropes.objectives import (
    contrast_loss,
    decode_with_scores,
    encode_with_gradients,
    kinds_loss,
    logit_loss,
    reconstruction_loss,
    score_loss,
    sparsity_loss,
    sparsity_matrix,
    tangent_share,
)
from ropes.models.autoencoder import AE2
from ropes.models.shapes import AE2Config


def network(memory_format: torch.memory_format = torch.contiguous_format) -> AE2:
    torch.manual_seed(0)
    made = AE2(
        AE2Config(encoder_widths=(4, 4, 8), decoder_widths=(64, 4, 4), seed_width=8, blocks=1), views=2, joints=3
    )
    return convert_conv2d_weight_memory_format(made, memory_format)


def explicit(ae2: AE2, coordinates: Tensor, scores: Tensor) -> Tensor:
    """J_gᵀ Δs through the whole Jacobian: (k, B, d)."""
    jacobian = vmap(jacfwd(lambda z: ae2.decode(z[None])[0]))(coordinates)  # (B, V, 8, 8, d)
    return torch.einsum("bvhwd,kbvhw->kbd", jacobian, scores)


# Torch's own forward mode scripts its decompositions.
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_vector_jacobian_product_equals_the_full_jacobian(count: int, memory_format: torch.memory_format) -> None:
    ae2, codes = network(memory_format).double(), torch.randn(5, 2, 8, 8, dtype=torch.float64)
    scores = torch.randn(count, 5, 2, 8, 8, dtype=torch.float64)
    targets = torch.eye(3, dtype=torch.float64)[:count]
    gradients, losses = [], []
    for way in ("product", "jacobian"):
        ae2.zero_grad()
        coordinates = ae2.encode(codes)
        if way == "product":
            decoded, latent = decode_with_scores(ae2.decode, coordinates, scores)
            torch.testing.assert_close(decoded, ae2(codes))
        else:
            latent = explicit(ae2, coordinates, scores)
        assert latent.shape == (count, 5, 3)
        loss = sparsity_loss(sparsity_matrix(latent), targets)
        loss.backward()
        losses.append(loss.detach())
        gradients.append(torch.cat([p.grad.flatten() for p in ae2.parameters() if p.grad is not None]))
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-7, atol=1e-9)
    assert gradients[0].abs().max() > 1e-3


@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last])
def test_latent_scores_work_under_no_grad(memory_format: torch.memory_format) -> None:
    ae2, scores = network(memory_format).eval(), torch.randn(3, 4, 2, 8, 8)
    coordinates = torch.randn(4, 3)
    with torch.no_grad():
        _, without = decode_with_scores(ae2.decode, coordinates, scores)
    _, latent = decode_with_scores(ae2.decode, coordinates, scores)
    torch.testing.assert_close(without, latent.detach())


def test_linear_decoder_matches_hand_calculation() -> None:
    # g(z) = A z, so J_gᵀ Δs = Aᵀ Δs for any z.
    decoder = nn.Linear(2, 3, bias=False)
    with torch.no_grad():
        decoder.weight.copy_(torch.tensor([[1.0, 0.0], [2.0, 1.0], [0.0, -1.0]]))
    scores = torch.tensor([[[1.0, 1.0, 1.0], [0.0, 0.0, 2.0]]])
    decoded, latent = decode_with_scores(decoder, torch.tensor([[1.0, 1.0], [0.0, 2.0]]), scores)
    assert decoded.tolist() == [[1, 3, -1], [0, 2, -2]]
    assert latent.tolist() == [[[3, 0], [0, -2]]]
    matrix = sparsity_matrix(latent).detach()
    assert matrix.tolist() == [[1.5, 1.0]]
    assert float(sparsity_loss(matrix, torch.tensor([[1.0, 0.0]]))) == pytest.approx(0.5**2 + 1.0**2)


def test_sparsity_loss_averages_before_taking_the_norm() -> None:
    # Two poses at 0 and 2 average to the target 1: no loss, although neither is there.
    assert float(sparsity_loss(sparsity_matrix(torch.tensor([[[0.0], [-2.0]]])), torch.ones(1, 1))) == 0


def test_the_sparsity_loss_is_a_sum_over_rows() -> None:
    matrix = torch.tensor([[1.0, 0.5], [0.0, 3.0]])
    assert float(sparsity_loss(matrix, torch.eye(2))) == pytest.approx(0.25 + 4.0)
    rows = [float(sparsity_loss(matrix[k : k + 1], torch.eye(2)[k : k + 1])) for k in (0, 1)]
    assert rows == pytest.approx([0.25, 4.0])


def test_the_true_coordinates_have_no_sparsity_loss() -> None:
    # y = A z and log ratio i = z_i, hence Δs_i = A⁻ᵀ e_i and J_gᵀ Δs_i = e_i.
    mixing = torch.randn(3, 3) + 3 * torch.eye(3)
    scores = torch.linalg.inv(mixing).T.T[:, None].expand(3, 4, 3)
    _, latent = decode_with_scores(lambda z: z @ mixing.T, torch.randn(4, 3), scores)
    torch.testing.assert_close(sparsity_matrix(latent), torch.eye(3), atol=1e-5, rtol=0)


def test_coordinate_gradients_match_finite_differences() -> None:
    ae2 = network().double()
    codes, direction = torch.rand(4, 2, 8, 8, dtype=torch.double), torch.randn(4, 2, 8, 8, dtype=torch.double)
    with torch.no_grad():  # held-out poses are asked so
        coordinates, gradients = encode_with_gradients(ae2.encode, codes, [2, 0])
        ahead, behind = (ae2.encode(codes + step * direction) for step in (1e-6, -1e-6))
        torch.testing.assert_close(coordinates, ae2.encode(codes))
    slopes = ((ahead - behind) / 2e-6)[:, [2, 0]].T
    torch.testing.assert_close((gradients * direction).flatten(2).sum(-1), slopes, rtol=1e-4, atol=1e-6)


def test_score_loss_backpropagates_through_coordinate_gradients() -> None:
    ae2 = network()
    _, gradients = encode_with_gradients(ae2.encode, torch.rand(4, 2, 8, 8), [1])
    score_loss(gradients, torch.randn_like(gradients)).backward()
    assert sum(parameter.grad is not None and bool(parameter.grad.any()) for parameter in ae2.parameters()) > 4


def test_the_log_ratios_have_no_score_loss() -> None:
    # y = A z and log ratio i = z_i = (A⁻¹ y)_i, hence Δs_i is row i of A⁻¹, and so is the gradient of h_i = z_i + c.
    inverse = torch.linalg.inv(torch.randn(3, 3) + 3 * torch.eye(3))
    scores = inverse[:, None].expand(3, 4, 3)
    _, gradients = encode_with_gradients(lambda y: y @ inverse.T + 7, torch.randn(4, 3), [0, 1, 2])
    assert float(score_loss(gradients, scores)) == pytest.approx(0.0, abs=1e-10)
    # off by .5 in one of three entries of row 1: a square of .25 in every pose, relative to that of the row
    off = gradients.clone()
    off[1, :, 2] += 0.5
    relative = 0.25 / float(inverse[1].square().sum())
    assert float(score_loss(off, scores)) == pytest.approx(relative, rel=1e-4)


def test_the_tangent_s_share_is_a_cosine() -> None:
    # g(z) = (z₁, z₁ + z₂, 0, 0): the surface is the plane of the first two entries
    def decoder(z: Tensor) -> Tensor:
        return torch.stack([z[:, 0], z.sum(1), 0 * z[:, 0], 0 * z[:, 0]], dim=1).view(-1, 2, 2)

    scores = torch.tensor([[3.0, -1, 0, 0], [0, 0, 2, 1], [1, 0, 0, 1], [4, 0, 3, 0]])
    share = tangent_share(decoder, torch.randn(5, 2), scores[:, None].expand(-1, 5, -1).unflatten(2, (2, 2)))
    torch.testing.assert_close(share, torch.tensor([1.0, 0.0, 0.5**0.5, 0.8]))


def test_coordinate_without_effect_has_no_tangent() -> None:
    share = tangent_share(
        lambda z: torch.cat([z[:, :1], 0 * z], dim=1), torch.randn(5, 2), torch.eye(3)[:, None].expand(3, 5, 3)
    )
    torch.testing.assert_close(share, torch.tensor([1.0, 0.0, 0.0]))


def test_reconstruction_loss_is_the_mean_over_pixels() -> None:
    assert float(reconstruction_loss(torch.zeros(2, 1, 2, 2), torch.full((2, 1, 2, 2), 3.0))) == 9


def test_contrast_loss_is_a_cross_entropy_in_nats() -> None:
    logits, first = torch.tensor([0.0, 2.0, -1.0]), torch.tensor([1.0, 1.0, 0.0])
    by_hand = (torch.log(torch.tensor(2.0)) + torch.log1p(torch.exp(torch.tensor(-2.0)))) / 3
    by_hand = by_hand + torch.log1p(torch.exp(torch.tensor(-1.0))) / 3
    torch.testing.assert_close(contrast_loss(logits, first), by_hand)


def test_logit_loss_is_a_mean_over_poses_and_joints() -> None:
    assert float(logit_loss(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([[1.0, 0.0], [0.0, 4.0]]))) == 13 / 4


def test_third_class_is_all_poses_after_the_labelled_ones() -> None:
    scores = torch.randn(5, 3)
    chances = scores.log_softmax(1)
    wanted = -(chances[0, 0] + chances[1, 1] + chances[2, 0] + chances[3, 2] + chances[4, 2]) / 5
    torch.testing.assert_close(kinds_loss(scores, torch.tensor([1.0, 0.0, 1.0])), wanted)


def test_third_class_does_not_change_the_optimal_log_ratio() -> None:
    """Two policies and the rest on four cells: at the optimum the first two scores differ by the log ratio."""
    first, second, rest = torch.tensor([[0.7, 0.1, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.4, 0.1]])
    cells = torch.arange(4)
    weights = torch.cat([first, second, 2 * rest])
    scores = torch.zeros(4, 3, requires_grad=True)
    optimiser = torch.optim.LBFGS([scores], max_iter=200, line_search_fn="strong_wolfe")
    kinds = torch.tensor([1.0] * 4 + [0.0] * 4)

    def closure() -> Tensor:
        optimiser.zero_grad()
        singles = [kinds_loss(scores[cells[k % 4]][None], kinds[k : k + 1]) for k in range(12)]
        loss = (torch.stack(singles) * weights).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    torch.testing.assert_close((scores[:, 0] - scores[:, 1]).detach(), (first / second).log(), atol=1e-3, rtol=0)

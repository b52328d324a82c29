"""Linear directions of codes: there and back, in unit variance, with the gradients of functions along them."""

import pytest
import torch
from torch import Tensor, nn

from ropes.models.autoencoder import Standardise
from ropes.models.dense import DenseAE2, Directions

VIEWS, JOINTS = 2, 3


def plane(count: int = 4) -> tuple[Tensor, Tensor]:
    """Codes (500, 2, 8, 8) that vary in some directions, by very different amounts, and these directions (128, k)."""
    torch.manual_seed(0)
    axes = torch.linalg.qr(torch.randn(VIEWS * 64, count))[0]
    along = torch.randn(500, count) * torch.logspace(0, -1.5, count)
    return (3 + along @ axes.T).unflatten(1, (VIEWS, 8, 8)), axes


def scores_in(axes: Tensor) -> Tensor:
    """Score differences (500, joints, 2, 8, 8) that lie in the span of some directions."""
    return (torch.randn(500, JOINTS, axes.shape[1]) @ axes.T).unflatten(2, (VIEWS, 8, 8))


@pytest.mark.parametrize("by_scores", [False, True])
def test_codes_have_unit_variance_along_directions_and_round_trip(by_scores: bool) -> None:
    codes, axes = plane()
    found = Directions.of(codes, 4, scores_in(axes) if by_scores else None)
    along = found(codes)
    torch.testing.assert_close(torch.cov(along.T), torch.eye(4), atol=1e-3, rtol=0)
    torch.testing.assert_close(found.inverse(along), codes, atol=1e-4, rtol=0)
    torch.testing.assert_close(found(found.inverse(torch.eye(4))), torch.eye(4), atol=1e-3, rtol=0)


def test_directions_span_the_scores_even_at_low_code_variance() -> None:
    codes, axes = plane()
    few = axes[:, 2:]  # in which codes vary least
    found = Directions.of(codes, 2, scores_in(few))
    torch.testing.assert_close(few @ few.T @ found.back, found.back, atol=1e-4, rtol=0)
    most = Directions.of(codes, 2)
    torch.testing.assert_close(axes[:, :2] @ axes[:, :2].T @ most.back, most.back, atol=1e-2, rtol=0)


def test_low_variance_directions_are_not_amplified() -> None:
    codes, axes = plane()
    still = codes - ((codes - 3).flatten(1) @ axes[:, 3:] @ axes[:, 3:].T).unflatten(1, (VIEWS, 8, 8))
    found = Directions.of(still, 4, scores_in(axes))
    assert float(found(still).std(0).min()) < 0.1
    assert float(found.toward.norm(dim=1).max()) < 150  # the greatest standard deviation is near 1
    torch.testing.assert_close(found(found.inverse(torch.eye(4))), torch.eye(4), atol=1e-3, rtol=0)


def test_directional_gradients_match_the_function() -> None:
    codes, axes = plane()
    found = Directions.of(codes, 4, scores_in(axes))

    def function(shown: Tensor) -> Tensor:
        return (shown.flatten(1) @ axes).sin().sum()

    along = found(codes).requires_grad_()
    (wanted,) = torch.autograd.grad(function(found.inverse(along)), along)
    at = found.inverse(along).detach().requires_grad_()
    (in_codes,) = torch.autograd.grad(function(at), at)
    torch.testing.assert_close(found.gradients(in_codes), wanted, atol=1e-5, rtol=1e-4)


def test_ae2_projects_raw_codes_onto_its_directions() -> None:
    codes, _ = plane()
    scale = Standardise(VIEWS)
    scale.fit(codes)
    directions = Directions.of(scale(codes), 4)
    network = DenseAE2(views=VIEWS, joints=JOINTS, directions=4, layers=3)
    assert sum(isinstance(part, nn.Linear) for part in network.encoder) == 4
    network.initialise(scale, directions)
    torch.testing.assert_close(network.read(codes), network.encode(directions(scale(codes))))
    again = network.decode(network.read(codes))
    torch.testing.assert_close(directions(scale(network.rebuilt(codes))), again, atol=1e-3, rtol=1e-3)

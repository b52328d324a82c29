"""Residual blocks with a scale."""

import torch

from ropes.models.blocks import ScaledResidual


def test_the_scale_multiplies_the_residual_branch() -> None:
    torch.manual_seed(0)
    block = ScaledResidual(6).double()
    x = torch.randn(3, 6, 9, 7, dtype=torch.float64)
    assert torch.equal(block(x), x)  # it starts at zero
    block.scale.data.fill_(0.3)
    expected = x + block.scale * block.body(x)
    torch.testing.assert_close(block(x), expected)
    found, wanted = (torch.autograd.grad(y.square().sum(), list(block.parameters())) for y in (block(x), expected))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)

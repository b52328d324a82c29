"""Weights of eight bits are read back within half a step of their group's scale."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from ropes.errors import UserError
from ropes.models.checkpoints import load_weights
from ropes.models.eight_bits import GROUP, from_eight_bits, to_eight_bits


@pytest.mark.parametrize("shape", [(5, 3 * GROUP), (5, 7), (4, GROUP, 3, 3), (6,)])
def test_each_weight_is_within_half_a_step(shape: tuple[int, ...]) -> None:
    weights = torch.randn(shape, generator=torch.Generator().manual_seed(0)) * 10.0 ** torch.arange(shape[0]).reshape(
        -1, *[1] * (len(shape) - 1)
    )
    stored = to_eight_bits("a.weight", weights)
    assert stored["a.weight"].dtype == torch.int8
    restored = from_eight_bits(stored)
    assert restored.keys() == {"a.weight"}
    scale = stored["a.weight:scale"]
    steps = scale.repeat_interleave(weights[0].numel() // scale.shape[1], dim=1).reshape(shape)
    assert (restored["a.weight"] - weights).abs().le(0.501 * steps).all()


def test_zeros_stay_zero() -> None:
    assert not from_eight_bits(to_eight_bits("a", torch.zeros(3, 4)))["a"].any()


def test_modules_load_files_with_weights_of_eight_bits(tmp_path: Path) -> None:
    layer, other = nn.Linear(2 * GROUP, 3), nn.Linear(2 * GROUP, 3)
    small = to_eight_bits("weight", layer.weight.detach())
    save_file({**small, "bias": layer.bias.detach()}, tmp_path / "weights.safetensors")
    load_weights(other, tmp_path / "weights.safetensors")
    assert torch.equal(other.bias, layer.bias)
    assert 0 < (other.weight - layer.weight).abs().max() < 0.01 * layer.weight.abs().max()
    save_file({**small, "weight:scale": torch.ones(3, 5)}, tmp_path / "weights.safetensors")
    with pytest.raises(UserError, match="does not hold this network's weights"):
        load_weights(other, tmp_path / "weights.safetensors")

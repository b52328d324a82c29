"""Batches that are computed in parts."""

import pytest
import torch
from torch import Tensor, nn

from ropes.methods.training.parts import in_parts, saved_bytes_of_row
from ropes.models.autoencoder import AE1
from ropes.models.shapes import AE1Config

SMALL = AE1Config(
    image_size=32, encoder_widths=(8, 16), encoder_blocks=(1, 1), decoder_widths=(16, 8), decoder_blocks=(1, 1)
)


def test_parts_have_the_outputs_and_gradients_of_the_whole_batch() -> None:
    torch.manual_seed(0)
    network, images = AE1(SMALL).double(), torch.rand(5, 1, 32, 32, dtype=torch.float64)
    found = []
    for most in (1 << 40, 2):
        network.zero_grad()
        outputs = in_parts(network, images, row_bytes=1, most=most)
        (outputs - images).square().mean().backward()
        found.append([outputs.detach(), *(each.grad for each in network.parameters())])
    for whole, parts in zip(*found, strict=True):
        assert torch.allclose(whole, parts, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("most", "sizes"), [(1_000, [5]), (250, [2, 2, 1]), (10, [1] * 5)])
def test_parts_are_as_large_as_memory_allows(most: int, sizes: list[int]) -> None:
    seen = list[int]()

    def function(rows: Tensor) -> Tensor:
        seen.append(len(rows))
        return 2 * rows

    assert torch.equal(in_parts(function, torch.ones(5, 3), row_bytes=100, most=most), torch.full((5, 3), 2.0))
    assert seen == sizes


def test_memory_of_a_row_is_that_of_its_activations() -> None:
    # A tanh stores its output, which the next layer shares; neither the batch nor the weights count.
    network = nn.Sequential(nn.Linear(100, 50), nn.Tanh(), nn.Linear(50, 10))
    assert saved_bytes_of_row(network, torch.zeros(1, 100)) == 4 * 50

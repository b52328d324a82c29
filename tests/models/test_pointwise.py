"""Convolutions that oneDNN computes wrong under AVX2 are computed otherwise, and mean the same."""

import os
import subprocess
import sys
import textwrap

import pytest
import torch
from torch import nn

from ropes.methods.recipes import Optimisation
from ropes.methods.training.stage import Stage
from ropes.models.pointwise import SlicedConv2d, slice_strided_pointwise
from tests.timeouts import PATIENCE

#: Gradients of a strided shortcut, several times, against float64, where oneDNN may use no more than AVX2.
UNDER_AVX2 = """
    import torch
    from torch import nn
    from ropes.models.pointwise import slice_strided_pointwise

    torch.manual_seed(0)
    errors = []
    for channels in (2, 3, 4, 5, 6, 7):
        network = nn.Sequential(nn.Conv2d(channels, 8, 1, stride=2, bias=False))
        exact = nn.Conv2d(channels, 8, 1, stride=2, bias=False).double()
        exact.weight.data = network[0].weight.data.double()
        slice_strided_pointwise(network)
        network.to(memory_format=torch.channels_last)
        for _ in range(8):
            images = torch.randn(16, channels, 16, 16).contiguous(memory_format=torch.channels_last)
            network.zero_grad(), exact.zero_grad()
            made = network(images)
            answer = torch.randn_like(made)
            made.backward(answer)
            exact(images.double().contiguous()).backward(answer.double().contiguous())
            error = (network[0].weight.grad - exact.weight.grad).abs().max() / exact.weight.grad.abs().max()
            errors.append(error)
    print(float(torch.stack(errors).max()))  # NaN where any of them is
"""


@pytest.mark.slow
@pytest.mark.any_processor
def test_gradients_are_correct_on_avx2() -> None:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(UNDER_AVX2)],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,  # a convolution that oneDNN computes wrong may also hang
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 1e-5


@pytest.mark.parametrize(("stride", "bias"), [(2, True), (3, False), ((2, 1), True)])
def test_replacement_computes_the_same_function_with_the_same_weights(
    stride: int | tuple[int, int], bias: bool
) -> None:
    network = nn.Sequential(nn.Conv2d(4, 6, 1, stride=stride, bias=bias), nn.ReLU())
    images = torch.randn(3, 4, 9, 8)
    before, state = network(images), {name: value.clone() for name, value in network.state_dict().items()}
    parameters = list(network.parameters())
    slice_strided_pointwise(network)
    assert isinstance(network[0], SlicedConv2d)
    torch.testing.assert_close(network(images), before)
    assert all(one is other for one, other in zip(network.parameters(), parameters, strict=True))
    network.load_state_dict(state)


def test_only_affected_convolutions_are_replaced() -> None:
    kept = [
        nn.Conv2d(8, 4, 1, stride=2),
        nn.Conv2d(4, 4, 1),
        nn.Conv2d(4, 4, 3, stride=2),
        nn.Conv2d(4, 4, 1, stride=2, padding=1),
        nn.Conv2d(4, 4, 1, stride=2, groups=2),
    ]
    network = nn.ModuleList([*kept, nn.Sequential(nn.Conv2d(4, 4, 1, stride=2))])
    slice_strided_pointwise(network)
    assert list(network)[: len(kept)] == kept
    assert isinstance(network.get_submodule(f"{len(kept)}.0"), SlicedConv2d)


def test_every_stage_replaces_affected_convolutions() -> None:
    network = nn.Sequential(nn.Sequential(nn.Conv2d(4, 4, 1, stride=2, padding="valid")))
    Stage(network, Optimisation(epochs=1, batch=1, learning_rate=1e-3), steps=1, seed=0)
    assert isinstance(network.get_submodule("0.0"), SlicedConv2d)

"""The network of a student: what it finds foreign it does not see, and is told where that is."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from ropes.models.shapes import EncoderConfig
from ropes.models.student import StudentNetwork

CONFIG = EncoderConfig(
    image_size=16,
    stem=2,
    widths=(8, 8),
    blocks=(1, 1),
    hidden=8,
    window=8,
    window_widths=(8, 8),
    window_blocks=(1, 1),
)


def student(config: EncoderConfig = CONFIG) -> StudentNetwork:
    torch.manual_seed(0)
    return StudentNetwork(config, views=2, joints=3).eval()


def images(seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return torch.randint(0, 256, (5, 2, 16, 16), dtype=torch.uint8)


def finding(network: StudentNetwork, found: torch.Tensor) -> None:
    """Have it find something foreign in the parts of each view that are given, (2, 4, 4), in whatever images."""

    class Given(nn.Module):
        def forward(self, seen: torch.Tensor) -> torch.Tensor:
            return torch.where(found, 9.0, -9.0).expand(len(seen), -1, -1, -1)

    network.add_module("foreign", Given())


@pytest.mark.parametrize("stem", [1, 2, 4, 8])
def test_before_it_has_learnt_it_reads_what_its_encoder_reads(stem: int) -> None:
    network = student(replace(CONFIG, stem=stem, window=0 if stem == 8 else 8))
    coordinates, gaze, foreign = network(images(1))
    wanted, looked = network.encoder.look(images(1))
    assert torch.equal(coordinates, wanted)
    assert (gaze is None) == (looked is None)
    if gaze is not None and looked is not None:
        assert torch.equal(gaze, looked)
    assert foreign.shape == (5, 2, 4, 4)
    assert (foreign == -3).all()
    assert torch.equal(network.read(images(1))[0], wanted)


def test_parts_that_are_found_foreign_are_not_seen() -> None:
    network = student()
    found = torch.zeros(2, 4, 4, dtype=torch.bool)
    found[1, 0, 3] = True
    finding(network, found)
    plain = images(1)
    hidden = plain.clone()
    hidden[:, 1, :4, 12:] = images(2)[:, 1, :4, 12:]
    elsewhere = plain.clone()
    elsewhere[:, 0, :4, 12:] = images(2)[:, 0, :4, 12:]
    read, same, other = (network(shown)[0] for shown in (plain, hidden, elsewhere))
    assert torch.equal(read, same)
    assert (read != other).any(1).all()
    assert (read != network.encoder(plain)).any(1).all()


def test_it_is_told_where_it_does_not_see() -> None:
    network = student()
    with torch.no_grad():
        network.told.weight.normal_()
    blank = torch.full((1, 2, 16, 16), 255, dtype=torch.uint8)  # the background: there is nothing to see
    read = []
    for place in ((0, 0, 0), (0, 3, 1), (1, 0, 0)):
        found = torch.zeros(2, 4, 4, dtype=torch.bool)
        found[place] = True
        finding(network, found)
        read.append(network(blank)[0])
    assert not torch.equal(read[0], read[1])
    assert not torch.equal(read[0], read[2])


def test_coordinates_teach_nothing_of_where_foreign_things_are() -> None:
    network = student()
    with torch.no_grad():
        network.told.weight.normal_()
    network(images(1))[0].sum().backward()
    assert all(parameter.grad is None for parameter in network.foreign.parameters())
    assert network.told.weight.grad is not None

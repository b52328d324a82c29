"""The network of a student: what it finds foreign it does not see, and is told where that is."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import convert_conv2d_weight_memory_format

from ropes.methods.recipes import encoder_recipe
from ropes.models.encoder import PoseEncoder
from ropes.models.shapes import EncoderConfig
from ropes.models.student import StudentNetwork
from tests import tiny

CONFIG = tiny.encoder_recipe().encoder


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
def test_untrained_student_equals_its_encoder(stem: int) -> None:
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


def test_foreign_views_do_not_affect_the_coordinates() -> None:
    network = student()
    finding(network, torch.tensor([False, True])[:, None, None].expand(2, 4, 4))
    plain, other = images(1), images(2)
    hidden, elsewhere = plain.clone(), plain.clone()
    hidden[:, 1], elsewhere[:, 0] = other[:, 1], other[:, 0]
    read, same, differs = (network(shown)[0] for shown in (plain, hidden, elsewhere))
    assert torch.equal(read, same)
    assert (read != differs).any(1).all()
    assert (read != network.encoder(plain)).any(1).all()


def test_only_foreign_parts_are_masked() -> None:
    network = student(replace(CONFIG, window=0))
    found = torch.zeros(2, 4, 4, dtype=torch.bool)
    found[1, 0, 3] = True
    finding(network, found)
    read = network(images(1))[0]
    for view, row, column in np.ndindex(2, 4, 4):
        shown = images(1)
        shown[:, view, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4] = 255 - shown[:, view, 0, 0, None, None]
        assert torch.equal(read, network(shown)[0]) == ((view, row, column) == (1, 0, 3))


@pytest.mark.parametrize("stem", [1, 2, 4, 8])
def test_encoder_receives_the_mask(stem: int) -> None:
    network = student(replace(CONFIG, stem=stem, window=0))
    with torch.no_grad():
        network.told.weight.normal_()
    blank = torch.full((1, 2, 16, 16), 255, dtype=torch.uint8)  # the background: there is nothing to see
    given: list[torch.Tensor] = []
    network.encoder.whole[1].register_forward_pre_hook(lambda _, inputs: given.append(inputs[0].detach()))
    places = (1, 3, 1), (0, 3, 1)
    for place in places:
        found = torch.zeros(2, 4, 4, dtype=torch.bool)
        finding(network, found)
        network(blank)
        found[place] = True
        network(blank)
        changed = (given[-1] != given[-2]).any(1)[0]
        side = len(changed)
        wanted = torch.zeros(side, side, dtype=torch.bool)
        rows, columns = (slice(k * side // 4, max((k + 1) * side // 4, k * side // 4 + 1)) for k in place[1:])
        wanted[rows, columns] = True
        assert torch.equal(changed, wanted)
    assert not torch.equal(given[1], given[3])  # in which view is told as well


def disagreeing(network: StudentNetwork, by: torch.Tensor) -> torch.Tensor:
    """Have the teacher read other coordinates than the student, by so much; what the student reads, (5, 3)."""
    network.initialise_from(network.encoder)
    assert network.teacher is not None
    last = network.teacher.read_off[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.bias.add_(by)
    return network(images(1))[0]


def test_student_and_teacher_are_averaged_when_all_joints_agree() -> None:
    network = student()
    network.usual.copy_(torch.tensor([0.1, 1.0, 0.2]))
    apart = torch.tensor([0.5, 5.0, -1.0])  # five times what is usual
    own = disagreeing(network, apart)
    torch.testing.assert_close(network.read(images(1))[0], own + apart / 2)
    network.usual[2] = 0.1  # now ten times
    torch.testing.assert_close(network.read(images(1))[0], own)


def test_agreement_is_the_same_in_float32_and_bf16() -> None:
    network = student()
    own = disagreeing(network, torch.tensor([0.5, 5.0, -1.0]))
    network.usual.copy_(torch.tensor([0.1, 1.0, 0.2]))
    with torch.autocast("cpu", torch.bfloat16):
        read = network.read(images(1))[0].float()
    torch.testing.assert_close(read, own + torch.tensor([0.25, 2.5, -0.5]), atol=0.05, rtol=0.02)


def test_usual_disagreement_is_a_robust_standard_deviation() -> None:
    network = student()
    disagreeing(network, torch.tensor([0.5, -5.0, 0.0]))
    network.fit_agreement(images(1).split(2))
    torch.testing.assert_close(network.usual, 1.4826 * torch.tensor([0.5, 5.0, 0.0]))


def test_teacher_sees_masked_images_and_is_not_trained() -> None:
    network = student()
    network.initialise_from(PoseEncoder(CONFIG, views=2, joints=3))
    finding(network, torch.tensor([False, True])[:, None, None].expand(2, 4, 4))
    network.usual.fill_(1e9)
    hidden = images(1)
    hidden[:, 1] = images(2)[:, 1]
    assert torch.equal(network.read(images(1))[0], network.read(hidden)[0])
    assert not torch.equal(network.read(images(1))[0], network.read(images(2))[0])
    assert network.teacher is not None
    assert not any(parameter.requires_grad for parameter in network.teacher.parameters())


def test_coordinate_loss_does_not_train_the_foreign_object_head() -> None:
    network = student()
    for bias in network.foreign.parameters():
        last = bias
    nn.init.constant_(last, 1.0)  # something is found everywhere
    network(images(1))[0].sum().backward()
    assert all(parameter.grad is None for parameter in network.foreign.parameters())
    assert network.told.weight.grad is not None
    assert network.told.weight.grad.any()


@pytest.mark.parametrize("layer", [f"foreign.{k}.around" for k in (3, 4, 5)])
def test_context_convolution_has_the_same_gradient_in_bf16(layer: str) -> None:
    """One library computes the gradient of such a layer wrong in bf16, on some processors, unless its channels suit."""
    torch.manual_seed(0)
    network = StudentNetwork(encoder_recipe("compact").encoder, views=2, joints=6)
    convolution = convert_conv2d_weight_memory_format(network, torch.channels_last).get_submodule(layer)
    assert isinstance(convolution, nn.Conv2d)
    assert convolution.in_channels % 16 == convolution.out_channels % 16 == 0  # on a processor that does not show it
    given = torch.randn(8, convolution.in_channels, 32, 32).to(memory_format=torch.channels_last)
    answer = torch.randn(8, convolution.out_channels, 32, 32)
    gradients = []
    for precision in (torch.float32, torch.bfloat16):
        same = deepcopy(convolution).to(precision)
        same(given.to(precision)).backward(answer.to(precision))
        assert same.weight.grad is not None
        gradients.append(same.weight.grad.float())
    torch.testing.assert_close(gradients[1], gradients[0], rtol=0, atol=0.02 * float(gradients[0].abs().max()))


def test_encoder_alone_equals_the_student_without_foreign_objects() -> None:
    network = student()
    nn.init.normal_(network.told.weight)
    finding(network, torch.zeros(2, 4, 4, dtype=torch.bool))
    assert torch.equal(network.encoder(images(1)), network(images(1))[0])

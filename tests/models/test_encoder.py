"""The encoder of the methods `ldr` and `anchored`: where it looks, what it cuts out, and how its head counts."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from ropes.models.encoder import ContrastNetwork, PoseEncoder, RegimeHead, glimpse, soft_argmax
from ropes.models.shapes import EncoderConfig

SMALL = EncoderConfig(
    image_size=16,
    stem=2,
    widths=(4, 8),
    blocks=(1, 1),
    hidden=8,
    window=8,
    window_widths=(4, 4),
    window_blocks=(1, 1),
)


def encoder(config: EncoderConfig = SMALL, views: int = 2) -> PoseEncoder:
    torch.manual_seed(0)
    return PoseEncoder(config, views=views, joints=3).eval()


def images_of(poses: int) -> torch.Tensor:
    return torch.randint(0, 256, (poses, 2, 16, 16), dtype=torch.uint8)


def test_window_is_cut_around_the_centre_of_each_image() -> None:
    images = torch.arange(2 * 2 * 36, dtype=torch.float32).reshape(2, 2, 6, 6)
    centres = torch.tensor([[[2.0, 3.0], [4.0, 1.0]], [[1.0, 1.0], [3.0, 3.0]]])
    found = glimpse(images, centres, 2)
    assert torch.equal(found[0, 0], images[0, 0, 1:3, 2:4])
    assert torch.equal(found[0, 1], images[0, 1, 3:5, 0:2])
    assert torch.equal(found[1, 1], images[1, 1, 2:4, 2:4])


def test_window_is_zero_beyond_the_border() -> None:
    found = glimpse(torch.ones(1, 1, 4, 4), torch.tensor([[[0.0, 0.0]]]), 4)
    assert found[0, 0].tolist() == [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]


def test_soft_argmax_is_the_mean_of_the_map_in_pixels() -> None:
    gaze = torch.full((1, 1, 4, 4), -100.0)
    gaze[0, 0, 1, 3] = 0
    assert soft_argmax(gaze, 16).tolist() == [[[6.0, 14.0]]]
    gaze[0, 0, 3, 3] = 0
    assert soft_argmax(gaze, 16).tolist() == [[[10.0, 14.0]]]


def test_background_ignores_objects_in_few_images() -> None:
    network = encoder()
    background = images_of(1)[0]
    images = background.repeat(9, 1, 1, 1)
    images[0, :, 3:5, 3:5] = 0
    network.adapt(images)
    assert torch.equal(network.background, background / 255)
    assert float(network.spread) == pytest.approx(float((images / 255 - background / 255).std()))
    network.adapt(torch.full((4, 2, 16, 16), 255, dtype=torch.uint8))
    assert float(network.spread) == pytest.approx(1e-3)


def test_coordinates_do_not_depend_on_the_batch() -> None:
    network, images = encoder(), images_of(5)
    torch.testing.assert_close(network(images)[2:3], network(images[2:3]))


def test_input_channels_are_background_difference_and_grey_level() -> None:
    network, images = encoder(), images_of(4)
    network.adapt(images_of(9))
    background = (network.background * 255).round()
    apart = background - images
    shown = (320 - images.float()) * (apart.abs() / 16).clamp(max=1)
    expected = torch.cat([apart, shown], dim=1) / 255 / network.spread
    torch.testing.assert_close(network.channels(images), expected)
    assert network.channels(images).is_contiguous(memory_format=torch.channels_last)
    assert not network.channels(background.to(torch.uint8)[None]).any()
    with torch.autocast("cpu", torch.bfloat16):
        halved = network.channels(images)
    assert halved.dtype == torch.bfloat16
    torch.testing.assert_close(halved.float(), expected, rtol=2**-6, atol=0)
    torch.testing.assert_close(halved[:, :2].float(), expected[:, :2], rtol=2**-8, atol=0)


def test_window_of_each_view_follows_its_own_centre() -> None:
    network = encoder()
    looked: list[torch.Tensor] = []
    network.window[0].register_forward_pre_hook(lambda _, inputs: looked.append(inputs[0]))
    images = images_of(5)
    _, gaze = network.look(images)
    assert gaze is not None
    centres, seen = soft_argmax(gaze.detach(), 16), network.channels(images)
    for view in range(2):
        for channel in (view, 2 + view):
            wanted = glimpse(seen[:, channel : channel + 1], centres[:, view : view + 1], 8)
            assert torch.equal(looked[0][:, channel : channel + 1], wanted)


def test_coordinates_are_computed_from_the_features() -> None:
    network, images = encoder(), images_of(3)
    coordinates, features = network.read(images)
    assert features.shape == (3, 8)
    torch.testing.assert_close(coordinates, network(images))
    torch.testing.assert_close(network.read_off(features), coordinates)


def test_encoder_without_a_window_has_no_gaze() -> None:
    network = encoder(replace(SMALL, window=0))
    coordinates, gaze = network.look(images_of(3))
    assert gaze is None
    assert coordinates.shape == (3, 3)


def test_window_moves_with_its_attention_map() -> None:
    network, images = encoder(), images_of(1)
    weight = network.get_parameter("gaze.1.weight")
    with torch.no_grad():
        weight.zero_()
        middle = network(images)
        weight.normal_(std=100)
    gaze = network.look(images)[1]
    assert gaze is not None
    assert soft_argmax(gaze, 16).tolist() != [[[8.0, 8.0], [8.0, 8.0]]]
    assert not torch.equal(middle, network(images))


def test_policy_logits_differ_by_the_coordinate_of_the_joint() -> None:
    torch.manual_seed(0)
    coordinates = torch.randn(4, 3)
    logits = RegimeHead(3)(coordinates)
    assert logits.shape == (4, 7)
    torch.testing.assert_close(logits[:, 1::2] - logits[:, 2::2], coordinates)
    assert not logits[:, 0].any()


def test_every_weight_gets_a_gradient() -> None:
    torch.manual_seed(0)
    network = ContrastNetwork(SMALL, views=2, joints=3)
    for parameter in network.parameters():
        if parameter.ndim == 0:
            torch.nn.init.ones_(parameter)
    attention = network.get_parameter("encoder.gaze.1.weight")
    torch.nn.init.normal_(attention, std=10)  # else all centres are the images' own
    coordinates, logits, gaze = network(images_of(6))
    assert gaze is not None
    (coordinates.square().sum() + logits.square().sum() + gaze.square().sum()).backward()
    silent = [name for name, weight in network.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert silent == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window": 20}, "a window of side 20 does not lie in images of side 16"),
        ({"window": 6}, "need windows whose side is a multiple of 4, not 6"),
        ({"image_size": 18}, "need images whose side is a multiple of 4, not 18"),
        ({"widths": (4,), "blocks": (1,)}, "the second stage gives the attention"),
        ({"window_blocks": (1,)}, "as many numbers of blocks as widths"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1"),
    ],
)
def test_invalid_shapes_raise(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(SMALL, **changes)

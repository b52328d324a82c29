"""Weight counts worked out from the tables, shapes, and a code that starts alive."""

import pytest
import torch
from torch import nn

from ropes.methods.recipes import ropes_recipe
from ropes.models.autoencoder import AE1, AE2, Standardise
from ropes.models.blocks import LeakyGradientReLU, ResBlockGN, group_norm
from ropes.models.shapes import AE1Config, AE2Config
from tests.tiny import count_weights

SMALL = AE1Config(image_size=16, encoder_widths=(4,), encoder_blocks=(1,), decoder_widths=(4,), decoder_blocks=(1,))


def conv(i: int, o: int, side: int = 3) -> int:
    return side * side * i * o + o


def block(f: int) -> int:
    """GroupNorm, conv, GroupNorm, conv: scale and shift for each of the norms."""
    return 2 * (2 * f) + 2 * conv(f, f)


def stage(i: int, f: int) -> int:
    return conv(i, f) + 2 * block(f)


def test_ae1_has_the_number_of_weights_of_table_3() -> None:
    encoder = (
        *(stage(1, 64), conv(64, 64), stage(64, 128), conv(128, 128), stage(128, 256), conv(256, 256)),
        *(stage(256, 512), conv(512, 1)),
    )
    decoder = (
        *(stage(1, 512), conv(512, 512, 4), stage(512, 256), conv(256, 256, 4), stage(256, 128), conv(128, 128, 4)),
        *(stage(128, 64), conv(64, 64, 4), conv(64, 1)),
    )
    network = AE1(AE1Config())
    assert count_weights(network.encoder) == sum(encoder)
    assert count_weights(network.decoder) == sum(decoder)
    assert count_weights(network) == 34_545_538


@pytest.mark.parametrize(("views", "joints", "total"), [(1, 3, 24_807_236), (2, 6, 24_810_504)])
def test_ae2_has_the_number_of_weights_of_table_5(views: int, joints: int, total: int) -> None:
    encoder = (
        *(stage(views, 64), conv(64, 64), stage(64, 128), conv(128, 128), stage(128, 256), conv(256, 256)),
        256 * joints + joints,
    )
    decoder = (
        *(joints * 256 + 256, stage(256, 512), conv(512, 512, 4), stage(512, 256), conv(256, 256, 4)),
        *(stage(256, 128), conv(128, 128, 4), conv(128, views)),
    )
    network = AE2(AE2Config(), views=views, joints=joints)
    assert count_weights(network.encoder) == sum(encoder)
    assert count_weights(network.decoder) == sum(decoder)
    assert count_weights(network) == sum(encoder) + sum(decoder) == total


@pytest.mark.parametrize(
    ("channels", "groups"),
    [(64, 32), (128, 32), (256, 32), (512, 32), (32, 32), (4, 4), (1, 1), (48, 24), (40, 20), (33, 11), (37, 1)],
)
def test_groups_are_the_largest_divisor_of_the_channels_up_to_32(channels: int, groups: int) -> None:
    layer = group_norm(channels)
    assert (layer.num_groups, layer.num_channels) == (groups, channels)
    assert layer(torch.randn(2, channels, 3, 3)).shape == (2, channels, 3, 3)


def test_residual_block_adds_its_input() -> None:
    layer = ResBlockGN(8)
    last = layer.body[-1]
    assert isinstance(last, nn.Conv2d)
    assert last.bias is not None
    with torch.no_grad():
        last.weight.zero_()
        last.bias.fill_(0.5)
    x = torch.randn(2, 8, 4, 4)
    assert torch.equal(layer(x), x + 0.5)


CONFIGS = {
    "small": SMALL,
    "half": AE1Config(image_size=8, encoder_widths=(4,), encoder_blocks=(0,), decoder_widths=(4,), decoder_blocks=(0,)),
    "stem": AE1Config(
        image_size=32, stem=4, encoder_widths=(8,), encoder_blocks=(1,), decoder_widths=(8,), decoder_blocks=(1,)
    ),
    "compact": ropes_recipe("compact").ae1,
    "paper's sides": AE1Config(
        encoder_widths=(2, 2, 2, 2), decoder_widths=(2, 2, 2, 2), encoder_blocks=(0,) * 4, decoder_blocks=(0,) * 4
    ),
}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_every_image_size_is_encoded_to_8_by_8_and_decoded(config: AE1Config) -> None:
    network, side = AE1(config), config.image_size
    images = torch.rand(2, 3, side, side)
    codes = network.encode_views(images)
    assert codes.shape == (2, 3, 8, 8)
    assert network.decode_views(codes).shape == images.shape
    assert network(images[:, :1]).shape == (2, 1, side, side)


def test_views_are_encoded_separately() -> None:
    network = AE1(SMALL).eval()
    images = torch.rand(3, 2, 16, 16)
    codes = network.encode_views(images)
    for view in (0, 1):
        torch.testing.assert_close(codes[:, view : view + 1], network.encode(images[:, view : view + 1]))
        torch.testing.assert_close(
            network.decode_views(codes)[:, view], network.decode(codes[:, view : view + 1])[:, 0]
        )


@pytest.mark.parametrize("config", [CONFIGS["small"], CONFIGS["stem"], CONFIGS["compact"]])
@pytest.mark.parametrize("seed", range(3))
def test_code_and_image_are_positive_at_initialisation(config: AE1Config, seed: int) -> None:
    torch.manual_seed(seed)
    network = AE1(config)
    images = torch.rand(8, 1, config.image_size, config.image_size)
    codes = network.encode(images)
    assert (codes > 0).float().mean() > 0.95
    assert (network.decode(codes) > 0).float().mean() > 0.95
    assert codes.flatten(1).std(0).mean() > 1e-4  # and it depends on the image


def test_codes_and_images_are_never_negative() -> None:
    network = AE1(SMALL)
    with torch.no_grad():
        for layer in (network.encoder[-2], network.decoder[-3]):
            assert isinstance(layer, nn.Conv2d | nn.ConvTranspose2d)
            assert layer.bias is not None
            layer.weight.normal_()
            layer.bias.zero_()
    codes = network.encode(torch.randn(4, 1, 16, 16))
    assert codes.min() == 0
    assert network.decode(codes).min() == 0


def test_reviving_relu_passes_part_of_the_gradient_below_zero() -> None:
    x = torch.tensor([-2.0, -0.1, 0.5, 3.0])
    for slope in (0.0, 0.1):
        at = x.clone().requires_grad_()
        out = LeakyGradientReLU(slope)(at)
        out.sum().backward()
        assert torch.equal(out, x.relu())
        assert at.grad is not None
        torch.testing.assert_close(at.grad, torch.tensor([slope, slope, 1.0, 1.0]))


@pytest.mark.parametrize("views", [1, 2])
def test_standardised_codes_have_mean_0_and_variance_1_per_camera(views: int) -> None:
    codes = torch.rand(50, views, 8, 8) * torch.arange(1, views + 1).reshape(1, -1, 1, 1) + 3
    scale = Standardise(views)
    scale.fit(codes)
    out = scale(codes)
    torch.testing.assert_close(out.mean((0, 2, 3)), torch.zeros(views), atol=1e-5, rtol=0)
    torch.testing.assert_close(out.std((0, 2, 3)), torch.ones(views), atol=1e-5, rtol=0)
    torch.testing.assert_close(scale.inverse(out), codes)
    assert set(scale.state_dict()) == {"mean", "scale"}
    assert not list(scale.parameters())


def test_constant_codes_raise() -> None:
    codes = torch.rand(5, 2, 8, 8)
    codes[:, 1] = torch.rand(8, 8)  # the same for every image
    with pytest.raises(ValueError, match="AE1 has collapsed"):
        Standardise(2).fit(codes)


@pytest.mark.parametrize(("views", "joints"), [(1, 3), (2, 6)])
def test_ae2_output_starts_at_the_mean_of_the_codes(views: int, joints: int) -> None:
    raw = torch.rand(64, views, 8, 8) + 0.5
    scale = Standardise(views)
    scale.fit(raw)
    config = AE2Config(encoder_widths=(4, 4, 8), decoder_widths=(8, 4, 4), seed_width=8, blocks=1)
    network = AE2(config, views=views, joints=joints)
    network.initialise(scale)
    codes = scale(raw)
    coordinates = network.encode(codes)
    assert coordinates.shape == (64, joints)
    decoded = network(codes)
    assert decoded.shape == codes.shape
    assert (network.standardise.inverse(decoded) > 0).all()
    assert decoded.mean().abs() < 1
    decoded.square().mean().backward()
    assert all(p.grad is not None for p in network.parameters())
    assert sum(float(p.grad.abs().sum()) for p in network.encoder.parameters() if p.grad is not None) > 0


def test_ae2_decodes_standardised_codes_of_nonnegative_raw_codes() -> None:
    network = AE2(AE2Config(blocks=0), views=1, joints=2)
    network.standardise.mean.fill_(2.0)
    network.standardise.scale.fill_(4.0)
    head = network.decoder[-2]
    assert isinstance(head, nn.Conv2d)
    assert head.bias is not None
    with torch.no_grad():
        head.weight.zero_()
        head.bias.fill_(-1.0)
    torch.testing.assert_close(network.decode(torch.randn(3, 2)), torch.full((3, 1, 8, 8), (0 - 2.0) / 4.0))

"""I-JEPA and what is read from it: the paper's size, what is predicted, and how collapse would show."""

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import smooth_l1_loss

from ropes.methods.recipes import PRESETS, cnn_recipe, encoder_recipe, jointnet_recipe
from ropes.models.angles import AngleCNN, Angles, AngleTransformer, JointNet
from ropes.models.encoder import PoseEncoder
from ropes.models.jepa import (
    JEPA,
    PatchEncoder,
    collapse,
    collapse_indicators,
    effective_rank,
    gather_tokens,
    invert_levels,
    position_embedding,
)
from ropes.models.shapes import ViTConfig
from tests import tiny

SHAPE = tiny.jointnet_recipe().vit


def weights(network: torch.nn.Module) -> int:
    return sum(each.numel() for each in network.parameters())


@pytest.mark.slow
def test_the_paper_s_encoder_is_vit_huge() -> None:
    shape = jointnet_recipe("paper").vit
    with torch.device("meta"):
        network = AngleTransformer(shape, views=2, joints=6)
    block = 12 * 1280**2 + 13 * 1280  # attention and a fourfold MLP with their biases, two normalisations
    assert weights(network.encoder) == 32 * block + 16**2 * 1280 + 1280 + 64 * 1280 + 2 * 1280 == 630_091_520
    wide = 2 * 1280 + 6  # both cameras' mean tokens and the estimate so far
    assert weights(network.joints) == (wide + 1) * 1024 + 1025 * 1024 + 1025 * 6
    with torch.device("meta"):
        assert weights(JEPA(shape)) - 2 * 630_091_520 == weights(JEPA(shape).predictor) < 0.1 * 630_091_520


@pytest.mark.parametrize("preset", PRESETS)
def test_the_supervised_network_is_as_large_as_the_anchored_encoder(preset: str) -> None:
    with torch.device("meta"):
        ours = AngleCNN(cnn_recipe(preset).encoder, views=2, joints=6)
        theirs = PoseEncoder(encoder_recipe(preset).encoder, views=2, joints=6)
    assert weights(ours) == pytest.approx(weights(theirs), rel=0.05)


def test_context_encoder_sees_only_its_patches() -> None:
    encoder, images = PatchEncoder(SHAPE).eval(), torch.rand(2, 1, tiny.SIDE, tiny.SIDE)
    seen = torch.tensor([[0, 1, 5], [2, 3, 9]])
    before = encoder(images, seen)
    assert before.shape == (2, 3, SHAPE.width)
    hidden = images.clone()
    hidden[0, :, 8:, :] = 0  # rows of patches that the first image's context does not reach
    torch.testing.assert_close(encoder(hidden, seen)[0], before[0])
    assert not torch.allclose(encoder(hidden)[0], encoder(images)[0])


def test_all_patches_in_order_equal_the_library_forward_pass() -> None:
    encoder, images = PatchEncoder(SHAPE).eval(), torch.rand(2, 1, tiny.SIDE, tiny.SIDE)
    torch.testing.assert_close(encoder(images), encoder.vit(images).last_hidden_state)


def test_encoder_and_predictor_are_trained_and_the_target_is_an_average() -> None:
    jepa, images = JEPA(SHAPE), torch.rand(2, 1, tiny.SIDE, tiny.SIDE)
    seen, hidden = torch.tensor([[0, 1], [4, 5]]), torch.tensor([[[2, 3]] * 4, [[6, 7]] * 4])
    smooth_l1_loss(*jepa(images, seen, hidden)).backward()
    assert all(each.grad is None for each in jepa.average.parameters())
    assert any(each.grad is not None and each.grad.abs().sum() > 0 for each in jepa.predictor.parameters())
    with torch.no_grad():
        for each in jepa.encoder.parameters():
            each.add_(1.0)
    before = [each.clone() for each in jepa.average.parameters()]
    jepa.follow(0.9)
    for was, now in zip(before, jepa.average.parameters(), strict=True):
        torch.testing.assert_close(now - was, torch.full_like(was, 0.1))


def test_every_block_is_predicted_from_its_own_image() -> None:
    """What is asked of one block of one image changes nothing of the others' share of the loss."""
    torch.manual_seed(0)
    jepa, images = JEPA(SHAPE).eval(), torch.rand(2, 1, tiny.SIDE, tiny.SIDE)
    seen, hidden = torch.tensor([[0, 1], [4, 5]]), torch.tensor([[[2, 3]], [[6, 7]]])
    both, targets = jepa(images, seen, hidden)
    for k in (0, 1):
        alone, target = jepa(images[[k]], seen[[k]], hidden[[k]])
        torch.testing.assert_close((both[[k]], targets[[k]]), (alone, target))


def test_the_effective_rank_counts_directions() -> None:
    generator = torch.Generator().manual_seed(0)
    one = torch.randn(500, 1, generator=generator) @ torch.randn(1, 8, generator=generator) + 3
    assert effective_rank(one) == pytest.approx(1, abs=1e-4)
    assert effective_rank(torch.randn(5000, 8, generator=generator)) == pytest.approx(8, rel=0.01)


def test_collapse_to_a_constant_with_noise_is_detected_by_its_spread() -> None:
    """All directions are used where nothing but noise is left: the rank alone would not see it."""
    generator = torch.Generator().manual_seed(0)
    telling, camera = torch.randn(500, 8, generator=generator), torch.arange(500) % 2
    for constant in (torch.ones(500, 8), 1.0 * camera[:, None].expand(500, 8)):  # also one for each camera
        signs = collapse_indicators(constant + 1e-4 * telling, camera)
        assert signs["rank"] > 7
        assert "less than 0.005" in str(collapse(**signs))
    assert collapse(**collapse_indicators(telling, camera)) is None
    one = telling[:, :1] * torch.ones(8)
    assert "use 1.0 directions" in str(collapse(**collapse_indicators(one, camera)))
    assert collapse_indicators(telling[:15], camera[:15]) == {}


def test_white_becomes_zero_and_tokens_are_gathered_per_image() -> None:
    assert invert_levels(torch.tensor([255, 0, 51], dtype=torch.uint8)).tolist() == pytest.approx([0, 4, 3.2])
    tokens = torch.arange(12.0).reshape(2, 3, 2)
    assert gather_tokens(tokens, torch.tensor([[2], [0]])).tolist() == [[[4.0, 5.0]], [[6.0, 7.0]]]


def test_position_embeddings_are_unique_and_fixed() -> None:
    by_patch = position_embedding(5, 8).unflatten(0, (5, 5))
    turn = torch.arange(5.0)
    expected = torch.stack([turn.sin(), (turn / 100).sin(), turn.cos(), (turn / 100).cos()], dim=1)
    torch.testing.assert_close(by_patch[:, 3, :4], expected)
    torch.testing.assert_close(by_patch[3, :, 4:], expected)
    assert len(position_embedding(16, 8).unique(dim=0)) == 256
    jepa, images = JEPA(SHAPE), torch.rand(2, 1, tiny.SIDE, tiny.SIDE)
    smooth_l1_loss(*jepa(images, torch.tensor([[0], [1]]), torch.tensor([[[2]], [[3]]]))).backward()
    assert jepa.encoder.vit.embeddings.position_embeddings.grad is None
    assert "places" in dict(jepa.predictor.named_buffers())


def test_untrained_layers_preserve_the_scale_of_their_input() -> None:
    """Whatever the width: a token of a narrow network is no fainter than its place."""
    for width in (32, 256):
        encoder = PatchEncoder(replace(SHAPE, width=width))
        weight = encoder.vit.get_parameter("layers.0.mlp.fc1.weight")
        assert float(weight.detach().std()) == pytest.approx(width**-0.5, rel=0.1)


def test_jointnet_refines_its_own_estimate() -> None:
    """A correction of half of what is missing to the first feature: 1/2 of it, 3/4, 7/8, 15/16."""
    network = JointNet(replace(SHAPE, rounds=4), views=2, joints=1)
    correct = torch.nn.Linear(2 * SHAPE.width + 1, 1)
    network.correct = torch.nn.Sequential(correct)
    with torch.no_grad():
        for each in correct.parameters():
            each.zero_()
        correct.weight[0, 0], correct.weight[0, -1] = 0.5, -0.5
    features = torch.rand(4, 2 * SHAPE.width)
    torch.testing.assert_close(network(features), features[:, :1] * 15 / 16)


def test_angles_have_the_unit_of_the_labels() -> None:
    radians = Angles(2)
    radians.adapt(torch.tensor([[1.0, 5.0], [3.0, 5.0]]))
    assert radians(torch.tensor([[1.0, 1.0]])).tolist() == [[3.0, 6.0]]  # a joint that does not vary keeps its scale


def test_tokens_of_both_cameras_are_concatenated() -> None:
    network = AngleTransformer(SHAPE, views=2, joints=2).eval()
    images = torch.randint(0, 256, (3, 2, tiny.SIDE, tiny.SIDE), dtype=torch.uint8)
    _, features = network.read(images)
    one = network.encoder(invert_levels(images[:, :1])).mean(1)
    torch.testing.assert_close(features[:, : SHAPE.width], one)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"patch": 5}, "do not tile"),
        ({"patch": 8}, "at least 4x4"),
        ({"heads": 3}, "the width of the encoder must be a multiple of its 3 heads, got 32"),
        ({"predictor_heads": 3}, "of the predictor"),
        ({"predictor_width": 6}, "the width of the predictor must be a multiple of 4 for its positions, got 6"),
        ({"rounds": 0}, "every width of JointNet must be at least 1"),
    ],
)
def test_incompatible_shapes_raise(change: dict[str, int], line: str) -> None:
    fields = {name: getattr(SHAPE, name) for name in SHAPE.__dataclass_fields__}
    with pytest.raises(ValueError, match=line):
        ViTConfig(**(fields | change))

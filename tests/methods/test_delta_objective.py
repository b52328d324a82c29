"""The losses of causal delta embeddings and of the baselines, against values by hand; and the networks' signs."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from ropes.errors import UserError
from ropes.methods.delta.fit import blocks_of
from ropes.methods.delta.stage import change_outside, contrastive_loss, random_views
from ropes.models.backbones import PoseBackbone, ResNet
from ropes.models.blocks import as_levels
from ropes.models.delta import DeltaNetwork, PairNetwork, Reading, reversed_gradient
from ropes.models.delta_shape import DeltaConfig
from ropes.models.encoder import PoseEncoder
from ropes.models.shapes import EncoderConfig

TINY = DeltaConfig(image_size=16, patch=4, width=8, depth=1, heads=2, widths=(4, 8), latents=6, patches=3)


def images(count: int = 4, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return as_levels(torch.randint(0, 256, (count, 1, 16, 16, 3), dtype=torch.uint8, generator=generator))


def test_contrastive_loss_matches_hand_calculation() -> None:
    deltas = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [0.0, 0.1]])
    # Of each: one positive at cosine 1, two negatives at 0: −log(e^2 / (e^2 + 2)), with temperature ½.
    wanted = math.log((math.exp(2) + 2) / math.exp(2))
    assert float(contrastive_loss(0.5)(deltas, torch.tensor([0, 0, 1, 1]))) == pytest.approx(wanted, rel=1e-5)


def test_contrastive_loss_can_be_summed_over_the_batch() -> None:
    deltas, verbs = torch.randn(6, 4, generator=torch.Generator().manual_seed(0)), torch.tensor([0, 0, 1, 1, 2, 2])
    mean, whole = (contrastive_loss(0.1, summed=summed)(deltas, verbs) for summed in (False, True))
    torch.testing.assert_close(whole, 6 * mean)


def test_contrastive_loss_ignores_the_length_of_deltas() -> None:
    deltas, verbs = torch.randn(8, 5), torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    stretched = deltas * torch.rand(8, 1).add(0.1)
    loss = contrastive_loss(0.1)
    assert float(loss(deltas, verbs)) == pytest.approx(float(loss(stretched, verbs)), rel=1e-4)


def test_change_outside_the_block_of_an_action_is_penalised() -> None:
    before = torch.zeros(2, 4)
    after = torch.tensor([[1.0, 1.0, 0.0, 2.0], [3.0, 0.0, 5.0, 5.0]])
    nothing = torch.zeros(2, 1, 4), torch.zeros(2, 1)
    found = Reading(torch.zeros(2, 1, 2), *nothing, before, after)
    assert float(change_outside(found, torch.tensor([0, 1]), 2)) == pytest.approx((4 + 9) / 8)


def test_antonyms_share_a_block() -> None:
    opposites = {"close": "open", "open": "close"}
    assert blocks_of(("close", "open", "slice"), opposites).tolist() == [0, 0, 1]


def test_both_images_of_a_pair_get_the_same_crop_and_flip() -> None:
    torch.manual_seed(0)
    ramp = torch.arange(16.0).expand(40, 1, 16, 16)
    before, after = random_views(ramp, ramp + 100, 0.25)
    torch.testing.assert_close(after - before, torch.full_like(ramp, 100.0))
    slopes = before[:, 0, 8, 9] - before[:, 0, 8, 7]
    assert 10 < int((slopes < 0).sum()) < 30
    assert float(slopes.abs().min()) < 1.5  # of pixels, where the whole is shown 2
    assert random_views(ramp, ramp, 1.0) == (ramp, ramp)


def test_reversed_gradient_changes_its_sign() -> None:
    values = torch.tensor([2.0], requires_grad=True)
    found = reversed_gradient(values, 0.5)
    (3 * found).sum().backward()
    assert found.tolist() == [2.0]
    assert values.grad is not None
    assert values.grad.tolist() == [-1.5]


@pytest.mark.parametrize("patchwise", [False, True])
def test_delta_changes_sign_with_the_image_order(patchwise: bool) -> None:
    torch.manual_seed(0)
    network = DeltaNetwork(TINY, 3, 5, patchwise=patchwise).eval()
    before, after = images(seed=1), images(seed=2)
    one, other = network(before, after), network(after, before)
    torch.testing.assert_close(one.deltas, -other.deltas)
    assert torch.equal(one.patches, other.patches)
    assert one.logits.shape == (4, 3 if patchwise else 1, 5)
    torch.testing.assert_close(one.shares.sum(1), torch.ones(4))
    same = network(before, before).deltas
    # MKL's AVX2 products may round a row otherwise than its twin; elsewhere the difference is zero to the last bit.
    torch.testing.assert_close(same, torch.zeros_like(same), atol=1e-7, rtol=0)


def test_patches_with_the_largest_change_are_selected() -> None:
    torch.manual_seed(0)
    network = DeltaNetwork(replace(TINY, depth=1), 3, 5, patchwise=True).eval()
    found = network(images(seed=1), images(seed=2))
    every = DeltaNetwork(replace(TINY, patches=16), 3, 5, patchwise=True).eval()
    every.load_state_dict(network.state_dict())
    whole = every(images(seed=1), images(seed=2))
    assert whole.patches.sort(1).values.tolist() == [list(range(16))] * 4
    assert torch.equal(whole.patches[:, :3], found.patches)


def test_patches_can_be_selected_by_features_and_classified_by_mean() -> None:
    torch.manual_seed(0)
    network = DeltaNetwork(replace(TINY, change="features"), 3, 5, patchwise=True).eval()
    before, after = images(seed=1), images(seed=2)
    first, second = network.backbone(torch.cat([before, after]))[1].chunk(2)
    found = network(before, after)
    assert torch.equal(found.patches, (second - first).norm(dim=-1).topk(3, dim=1).indices)
    by_deltas = DeltaNetwork(TINY, 3, 5, patchwise=True).eval()
    by_deltas.load_state_dict(network.state_dict())
    assert not torch.equal(by_deltas(before, after).patches, found.patches)
    together = DeltaNetwork(replace(TINY, aggregate=True), 3, 5, patchwise=True).eval()
    together.load_state_dict(network.state_dict())
    mean = by_deltas(before, after).deltas.mean(1, keepdim=True)
    torch.testing.assert_close(together(before, after).deltas, mean)
    torch.testing.assert_close(together(before, after).logits, network.classify(100 * mean))
    assert together(before, after).patches.shape == (4, 3)


@pytest.mark.parametrize("backbone", ["vit", "resnet"])
def test_pairs_are_classified_by_both_backbones(backbone: Literal["vit", "resnet"]) -> None:
    network = PairNetwork(replace(TINY, backbone=backbone), 3, 5, nouns=4).eval()
    found = network(images(seed=1), images(seed=2))
    assert (found.logits.shape, found.before.shape) == ((4, 1, 5), (4, 6))
    assert network.critic is not None
    assert network.critic(found.deltas[:, 0]).shape == (4, 4)


def test_vit_backbone_is_loaded_from_a_checkpoint(tmp_path: Path) -> None:
    from transformers import ViTConfig, ViTModel

    shape = ViTConfig(
        image_size=8, patch_size=4, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    body = ViTModel(shape, add_pooling_layer=False)
    body.save_pretrained(tmp_path / "vit")
    network = DeltaNetwork(replace(TINY, checkpoint=str(tmp_path / "vit")), 3, 5, patchwise=False)
    mine, theirs = network.backbone.body.state_dict(), body.state_dict()
    assert all(torch.equal(mine[name], value) for name, value in theirs.items())
    assert network.eval()(images(), images()).deltas.shape == (4, 1, 6)  # of another size than it was trained on
    with pytest.raises(UserError, match="needs images of 3 channels, and these have 2"):
        DeltaNetwork(replace(TINY, checkpoint=str(tmp_path / "vit")), 2, 5, patchwise=False)
    with pytest.raises(UserError, match="no backbone can be read from"):
        DeltaNetwork(replace(TINY, checkpoint=str(tmp_path)), 3, 5, patchwise=False)
    with pytest.raises(UserError, match=r"has patches of 4 pixels; give --delta\.image-size 16"):
        DeltaNetwork(replace(TINY, checkpoint=str(tmp_path / "vit"), image_size=18), 3, 5, patchwise=False)
    again = DeltaNetwork(replace(TINY, checkpoint="gone"), 3, 5, patchwise=False, stored=network.backbone.description)
    again.load_state_dict(network.state_dict())  # without the checkpoint


def test_resnet_backbone_is_loaded_from_a_checkpoint(tmp_path: Path) -> None:
    from transformers import ResNetConfig, ResNetModel, ViTConfig, ViTModel

    body = ResNetModel(ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic"))
    body.save_pretrained(tmp_path / "resnet")
    (tmp_path / "resnet" / "preprocessor_config.json").write_text('{"image_mean": [0.1, 0.2, 0.3]}')
    config = replace(TINY, backbone="resnet", checkpoint=str(tmp_path / "resnet"))
    network = PairNetwork(config, 3, 5)
    mine, theirs = network.backbone.body.state_dict(), body.state_dict()
    assert all(torch.equal(mine[name], value) for name, value in theirs.items())
    assert isinstance(network.backbone, ResNet)
    assert network.backbone.mean.flatten().tolist() == pytest.approx([0.1, 0.2, 0.3])
    assert network.backbone.width == 8
    scratch = PairNetwork(replace(TINY, backbone="resnet"), 3, 5)
    assert not {"backbone.mean", "backbone.deviation"} & scratch.state_dict().keys()  # earlier weights lack them
    again = PairNetwork(replace(config, checkpoint="gone"), 3, 5, stored=network.backbone.description)
    again.load_state_dict(network.state_dict())  # without the checkpoint
    before, after = images(seed=1), images(seed=2)
    assert torch.equal(again.eval()(before, after).logits, network.eval()(before, after).logits)
    ViTModel(ViTConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=2)).save_pretrained(tmp_path / "vit")
    with pytest.raises(UserError, match=r"is of type vit; give a ResNet \(resnet\)"):
        PairNetwork(replace(config, checkpoint=str(tmp_path / "vit")), 3, 5)


def test_register_tokens_are_not_patches(tmp_path: Path) -> None:
    from transformers import Dinov2WithRegistersConfig, Dinov2WithRegistersModel

    shape = Dinov2WithRegistersConfig(
        image_size=16, patch_size=4, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, mlp_ratio=2
    )
    body = Dinov2WithRegistersModel(shape)
    body.save_pretrained(tmp_path / "dino")
    network = DeltaNetwork(replace(TINY, checkpoint=str(tmp_path / "dino"), patches=99), 3, 5, patchwise=True).eval()
    assert network.backbone.grid == 4
    assert network(images(), images(seed=1)).patches.shape == (4, 16)


def test_pose_encoder_keeps_its_weights_as_a_backbone() -> None:
    shape = EncoderConfig(
        image_size=16,
        stem=2,
        widths=(4, 6),
        blocks=(1, 1),
        hidden=10,
        window=8,
        window_stem=2,
        window_widths=(4,),
        window_blocks=(1,),
    )
    begun = PoseBackbone(PoseEncoder(shape, views=2, joints=3))
    stored = json.loads(json.dumps(begun.description))
    config = replace(TINY, backbone="pose", checkpoint="run")
    network = DeltaNetwork(config, 2, 5, patchwise=False, stored=stored)
    network.backbone.load_state_dict(begun.state_dict())
    pixels = torch.randint(0, 256, (4, 2, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    whole, patches = network.backbone(as_levels(pixels))
    coordinates, features = begun.body.read(pixels)
    assert torch.equal(whole, torch.cat([coordinates, features], dim=1))
    assert patches.shape == (4, 0, 13)
    network(as_levels(pixels), as_levels(pixels.flip(0))).logits.sum().backward()
    kept = {name for name, p in network.backbone.body.named_parameters() if p.grad is None}
    assert {name.split(".")[0] for name in kept} == {"gaze", "whole"}  # where it looks, and nothing else
    assert not any(name.startswith("whole") for name, p in network.backbone.body.named_parameters() if p.requires_grad)


@pytest.mark.parametrize("patchwise", [False, True])
def test_deltas_keep_full_precision_under_bf16(patchwise: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    network = DeltaNetwork(TINY, 3, 5, patchwise=patchwise).eval()
    first = torch.ones(4, 16, 8)
    features = torch.cat([first, first + 1e-4 * torch.arange(8)])

    monkeypatch.setattr(network.backbone, "forward", lambda images: (features[:, 0], features))
    with torch.autocast("cpu", torch.bfloat16):
        found = network(images(), images())
    # All at once, as the network does: float32's own rounding depends on how many there are.
    before, after = network.project(features if patchwise else features[:, :1]).chunk(2)
    wanted = (after - before)[:, 0]
    assert torch.allclose(found.deltas[:, 0], wanted, rtol=1e-3)
    assert torch.allclose(found.logits[:, 0].float(), network.classify(100 * wanted), rtol=0.02, atol=2e-3)


@pytest.mark.parametrize(("stem", "patch"), [(True, 4), (True, 8), (False, 4), (False, 16)])
def test_convolutional_stem_keeps_the_number_of_patches(stem: bool, patch: int) -> None:
    network = DeltaNetwork(replace(TINY, patch=patch, stem=stem, patches=99), 3, 5, patchwise=True).eval()
    found = network(images(seed=1), images(seed=2))
    assert network.backbone.grid == 16 // patch
    assert found.patches.shape == (4, network.backbone.grid**2)
    assert stem == any(isinstance(module, torch.nn.BatchNorm2d) for module in network.modules())


def test_patchwise_resnet_is_refused() -> None:
    with pytest.raises(UserError, match="backbone resnet has no patches"):
        DeltaNetwork(replace(TINY, backbone="resnet"), 3, 5, patchwise=True)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"patch": 5}, "patches of 5"),
        ({"patch": 6, "image_size": 18}, "patches of 2, 4, 8, … pixels, not 6; or give --delta.no-stem"),
        ({"patch": 1}, "pixels, not 1"),
        ({"heads": 3}, "3 heads"),
        ({"backbone": "pose"}, "give --delta.checkpoint RUN"),
    ],
)
def test_incompatible_shapes_are_refused(change: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        replace(TINY, **change)

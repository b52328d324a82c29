"""The objectives that read images directly, on structural models whose answers are known."""

import math

import pytest
import torch

from ropes.causal.scm import Regime
from ropes.methods.anchored.contrast import (
    attention_loss,
    change_map,
    image_changes,
    mean_differences,
    partial_out_ancestors,
    policy_loss,
    regime_loss,
    targets,
    within_anchor_variance,
)
from ropes.methods.anchored.descendants import estimate_descendants
from tests import tiny
from tests.structural import CHANGE, angles, effects, true_descendants

NOTHING = torch.zeros(6, 6, dtype=torch.bool)


def within(coordinates: torch.Tensor, target: torch.Tensor, excused: torch.Tensor) -> torch.Tensor:
    return within_anchor_variance(coordinates, target, excused, all_of(coordinates)).mean()


def all_of(poses: torch.Tensor) -> torch.Tensor:
    """Every pose of (A, R, ...) is trusted."""
    return torch.ones(poses.shape[:2], dtype=torch.bool)


def test_equal_logits_cost_the_entropy_of_the_regime_shares() -> None:
    shares = torch.tensor([0.5, 0.25, 0.25])
    regime = torch.tensor([0, 0, 1, 2])
    assert float(regime_loss(torch.zeros(4, 3), regime, shares.log())) == pytest.approx(1.5 * math.log(2))


def test_interventions_are_matched_to_joints_by_name() -> None:
    assert targets(tiny.model().regimes, tiny.JOINTS).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="observational regime must come first"):
        targets([Regime("elbow", 1), Regime()], tiny.JOINTS)


def test_mean_shifts_equal_the_total_effects_of_the_model() -> None:
    drawn, target = angles("panda-2c-causal")
    found = mean_differences(drawn, target)
    torch.testing.assert_close(found / found.diagonal()[:, None], effects("panda-2c-causal"), atol=1e-9, rtol=0)


@pytest.mark.parametrize("setting", ["panda-2c-independent", "panda-2c-causal"])
def test_true_angles_have_no_variance_within_an_anchor(setting: str) -> None:
    drawn, target = angles(setting)
    assert float(within_anchor_variance(drawn, target, true_descendants(setting).double(), all_of(drawn)).max()) < 1e-12


def test_noise_loss_is_the_noise_share_of_the_variance() -> None:
    drawn, target = angles("panda-2c-independent", anchors=4000)
    noise = torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0), dtype=drawn.dtype)
    scale = drawn[:, 0].std(0)
    measured = within(drawn + 0.5 * scale * noise, target, NOTHING)
    assert float(measured) == pytest.approx(0.25 / 1.25, rel=0.02)


def test_anchor_loss_is_invariant_to_scale_sign_and_shift() -> None:
    drawn, target = angles("panda-2c-causal")
    noisy = drawn + torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0))
    other = noisy * torch.tensor([2.0, -1, 3, 0.1, 1, -7]) + 5
    before, after = (within(z, target, estimate_descendants(z, target, CHANGE)[0]) for z in (noisy, other))
    torch.testing.assert_close(before, after)


def test_unexcused_effect_raises_the_loss() -> None:
    drawn, target = angles("panda-2c-causal")
    assert float(within(drawn, target, NOTHING)) > 0.01


def test_loss_gradient_does_not_shrink_coordinates() -> None:
    drawn, target = angles("panda-2c-independent")
    noisy = drawn + torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0))
    noisy.requires_grad_()
    within(noisy, target, NOTHING).backward()
    centred = noisy.detach() - noisy.detach().flatten(0, 1).mean(0)
    assert noisy.grad is not None
    along = (noisy.grad * centred).sum((0, 1))
    across = (noisy.grad.square().sum((0, 1)) * centred.square().sum((0, 1))).sqrt()
    assert float((along / across).abs().max()) < 1e-4


def test_policy_loss_uses_only_the_coordinate_of_the_intervened_joint() -> None:
    coordinates = torch.tensor([[7.0, 7.0], [2.0, -9.0], [2.0, 9.0], [-9.0, -1.0], [9.0, 3.0]])
    found = policy_loss(coordinates, torch.tensor([0, 1, 2, 3, 4]), torch.zeros(5))
    softplus = [math.log1p(math.exp(x)) for x in (-2, 2, 1, 3)]
    assert float(found) == pytest.approx(2 * sum(softplus) / 4)


def test_policy_loss_is_zero_without_interventions() -> None:
    assert float(policy_loss(torch.ones(3, 2), torch.zeros(3, dtype=torch.long), torch.zeros(5))) == 0


@pytest.mark.parametrize("share", [0.0, 0.3, -2.0])
def test_responses_of_descendants_are_excused(share: float) -> None:
    drawn, target = angles("panda-2c-independent")
    drawn[..., 5] += share * drawn[..., 2]
    follows = NOTHING.index_put((torch.tensor(2), torch.tensor(5)), torch.tensor(True))
    assert float(within(drawn, target, follows)) < 1e-12
    assert (float(within(drawn, target, NOTHING)) > 1e-3) == (share != 0)


def test_partly_excused_response_has_a_small_loss() -> None:
    drawn, target = angles("panda-2c-independent")
    drawn[..., 5] += 0.1 * drawn[..., 2]
    little, all_of_it = (within(drawn, target, torch.full((6, 6), share)) for share in (0.9, 0.0))
    assert float(little / all_of_it) == pytest.approx(0.01, rel=0.1)


@pytest.mark.parametrize("excused", [0.0, 1.0])
def test_partialling_out_is_exact_under_autocast(excused: float) -> None:
    drawn, target = angles("panda-2c-causal")
    share = torch.full((6, 6), excused)
    plain = partial_out_ancestors(drawn.float(), target, share)[0]
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(partial_out_ancestors(drawn.float(), target, share)[0], plain)


def test_stronger_response_does_not_lower_the_loss() -> None:
    """The variance that noise is a share of must not grow with the response."""
    drawn, target = angles("panda-2c-independent", anchors=1000)
    noisy = drawn + 0.1 * torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0), dtype=drawn.dtype)
    follows = NOTHING.index_put((torch.tensor(2), torch.tensor(5)), torch.tensor(True))
    before = within(noisy, target, follows)
    moved = noisy.clone()
    moved[:, 1:][:, target == 2, 5] += 5 * (drawn[:, 1:][:, target == 2, 2] - drawn[:, :1, 2])
    assert float(within(moved, target, follows)) >= float(before)


def test_scale_under_own_policies_does_not_lower_the_loss() -> None:
    """Otherwise it lies flat everywhere else: what it varies by there would be a small share of so large a variance."""
    drawn, target = angles("panda-2c-causal")
    grown = drawn.clone()
    grown[:, 1:][:, target == 5, 5] *= 10
    assert float(within(grown, target, NOTHING)) == pytest.approx(float(within(drawn, target, NOTHING)))


def scenes() -> torch.Tensor:
    """One anchor, two joints, one view of 4×4: joint 0 darkens six pixels, joint 1 the lower right one."""
    images = torch.full((1, 5, 1, 4, 4), 255, dtype=torch.uint8)
    images[0, 1:3, 0, 0:2, 0:3] = 0
    images[0, 3:5, 0, 3, 3] = 0
    return images


def test_image_change_is_measured_in_grey_levels() -> None:
    every = all_of(scenes())
    torch.testing.assert_close(image_changes(scenes(), every), torch.tensor([6.0, 1.0]) * 255 / 16)
    torch.testing.assert_close(image_changes(scenes()[:, [0, 3, 4, 1, 2]], every), torch.tensor([1.0, 6.0]) * 255 / 16)


def test_change_map_distributes_change_over_the_grid() -> None:
    assert change_map(scenes(), 3, 2).tolist() == [[[[0, 0, 0, 1]]] * 3]
    torch.testing.assert_close(change_map(scenes(), 1, 2)[0, 0, 0], torch.tensor([2 / 3, 1 / 3, 0, 0]))


def test_attention_loss_is_zero_where_the_images_change() -> None:
    gaze = torch.full((1, 5, 1, 2, 2), -50.0)
    gaze[..., 1, 1] = 50
    every = all_of(scenes())
    assert float(attention_loss(gaze, scenes(), 1, every)) == pytest.approx(0, abs=1e-6)
    assert float(attention_loss(torch.zeros_like(gaze), scenes(), 1, every)) == pytest.approx(math.log(4))
    assert float(attention_loss(gaze, scenes(), 0, every)) > 50


def test_class_imbalance_does_not_shift_a_coordinate() -> None:
    coordinates = torch.zeros(10, 1, requires_grad=True)
    regime = torch.tensor([1] * 9 + [2])
    shares = torch.tensor([1.0, 0.9, 0.1])
    policy_loss(coordinates, regime, shares.log()).backward()
    assert coordinates.grad is not None
    assert float(coordinates.grad.sum()) == pytest.approx(0, abs=1e-6)


def test_single_joint_has_no_anchor_loss() -> None:
    drawn = torch.randn(20, 3, 1, generator=torch.Generator().manual_seed(0))
    assert float(within(drawn, torch.tensor([0, 0]), torch.zeros(1, 1, dtype=torch.bool))) == 0


def test_single_anchor_gives_a_finite_loss() -> None:
    drawn, target = angles("panda-2c-independent", anchors=1)
    assert torch.isfinite(within_anchor_variance(drawn, target, NOTHING, all_of(drawn))).all()
    one = drawn[..., :1][:, :3]
    assert float(within_anchor_variance(one, target[:2], torch.zeros(1, 1), all_of(one))) == 0


def test_poses_with_passers_by_are_excluded_from_the_loss() -> None:
    drawn, target = angles("panda-2c-independent", anchors=300)
    trusted = torch.rand(drawn.shape[:2], generator=torch.Generator().manual_seed(0)) < 0.7
    disturbed = torch.where(trusted[..., None], drawn, drawn + 5)
    assert float(within_anchor_variance(disturbed, target, NOTHING, trusted).max()) < 1e-12
    assert float(within(disturbed, target, NOTHING)) > 0.1


@pytest.mark.parametrize("hidden", ["intervention", "observational pose"])
def test_responses_are_partialled_out_of_trusted_poses_alone(hidden: str) -> None:
    drawn, target = angles("panda-2c-causal", anchors=300)
    excused = true_descendants("panda-2c-causal").double()
    trusted = all_of(drawn)
    trusted[:20, 3 if hidden == "intervention" else 0] = False
    disturbed = torch.where(
        trusted[..., None], drawn, drawn + torch.randn(drawn.shape, generator=torch.Generator().manual_seed(1))
    )
    assert float(within_anchor_variance(disturbed, target, excused, trusted).max()) < 1e-12


def test_passers_by_affect_neither_attention_nor_joint_order() -> None:
    anchors = scenes().repeat(2, 1, 1, 1, 1)
    anchors[1, 3, 0, 0:2, 0:2] = 128  # while joint 1 moves, somebody passes at the upper left
    trusted = all_of(anchors)
    trusted[1, 3] = False
    torch.testing.assert_close(image_changes(anchors, trusted), torch.tensor([6.0, 1.0]) * 255 / 16)
    gaze = torch.full((2, 5, 1, 2, 2), -50.0)
    gaze[..., 1, 1] = 50
    assert float(attention_loss(gaze, anchors, 1, trusted)) == pytest.approx(0, abs=1e-6)
    assert float(attention_loss(gaze, anchors, 1, all_of(anchors))) > 1
    assert float(attention_loss(gaze, anchors, 1, torch.zeros_like(trusted))) == 0
    assert torch.isinf(image_changes(anchors, torch.zeros_like(trusted))).all()

"""The objectives that read images directly, on structural models whose answers are known."""

import math

import numpy as np
import pytest
import torch

from ropes.methods.contrast import (
    anchor_loss,
    changed_share,
    followers,
    gaze_loss,
    least_moving,
    policy_loss,
    regime_loss,
    responses,
    targets,
)
from ropes.scm import Regime
from ropes.settings import panda_setting
from tests import tiny


def angles(setting: str, anchors: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    """Angles (A, R, d) in place of coordinates, and the interventions' targets."""
    model = panda_setting(setting).splits["train"]
    drawn = torch.from_numpy(model.sample(np.random.default_rng(0), anchors))
    return drawn, targets(model.regimes, model.joints)


def test_equal_logits_cost_the_entropy_of_the_shares():
    shares = torch.tensor([0.5, 0.25, 0.25])
    regime = torch.tensor([0, 0, 1, 2])
    assert float(regime_loss(torch.zeros(4, 3), regime, shares.log())) == pytest.approx(1.5 * math.log(2))


def test_interventions_are_matched_to_joints_by_name():
    assert targets(tiny.model().regimes, tiny.JOINTS).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="observational regime must come first"):
        targets([Regime("elbow", 1), Regime()], tiny.JOINTS)


def test_responses_are_the_total_effects_of_the_equations():
    drawn, target = angles("panda-2c-causal")
    weights = torch.zeros(6, 6, dtype=drawn.dtype)
    for (parent, child), weight in panda_setting("panda-2c-causal").splits["train"].weights.items():
        names = panda_setting("panda-2c-causal").robot.joints
        weights[names.index(parent), names.index(child)] = weight
    total = torch.linalg.inv(torch.eye(6, dtype=drawn.dtype) - weights)
    torch.testing.assert_close(responses(drawn, target), total, atol=1e-9, rtol=0)


def test_what_is_left_alone_counts_as_no_response():
    drawn, target = angles("panda-2c-causal")
    noise = 0.3 * torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0))
    found = followers(drawn + noise, target, bound=0.1)
    moved = responses(drawn, target).abs() > 1e-9
    assert torch.equal(found != 0, moved)
    assert not followers(drawn * torch.tensor([1, -5, 1, 1, 0.2, 1]), target)[3, :3].any()


@pytest.mark.parametrize("setting", ["panda-2c-independent", "panda-2c-causal"])
def test_the_true_angles_do_not_vary_within_an_anchor(setting):
    drawn, target = angles(setting)
    assert float(anchor_loss(drawn, target, responses(drawn, target))) < 1e-12


def test_noise_is_counted_as_its_share_of_the_variance():
    drawn, target = angles("panda-2c-independent", anchors=4000)
    noise = torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0), dtype=drawn.dtype)
    scale = drawn.flatten(0, 1).std(0)
    measured = anchor_loss(drawn + 0.5 * scale * noise, target, torch.eye(6, dtype=drawn.dtype))
    assert float(measured) == pytest.approx(0.25 / 1.25, rel=0.02)


def test_neither_scale_nor_sign_nor_shift_of_a_coordinate_matters():
    drawn, target = angles("panda-2c-causal")
    noisy = drawn + torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0))
    other = noisy * torch.tensor([2.0, -1, 3, 0.1, 1, -7]) + 5
    before, after = (anchor_loss(z, target, followers(z, target)) for z in (noisy, other))
    torch.testing.assert_close(before, after)


def test_an_effect_that_is_denied_costs():
    drawn, target = angles("panda-2c-causal")
    assert float(anchor_loss(drawn, target, torch.eye(6, dtype=drawn.dtype))) > 0.01


def test_no_coordinate_gains_by_shrinking():
    drawn, target = angles("panda-2c-independent")
    noisy = drawn + torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0))
    noisy.requires_grad_()
    anchor_loss(noisy, target, torch.eye(6, dtype=noisy.dtype)).backward()
    centred = noisy.detach() - noisy.detach().flatten(0, 1).mean(0)
    along = (noisy.grad * centred).sum((0, 1))
    across = (noisy.grad.square().sum((0, 1)) * centred.square().sum((0, 1))).sqrt()
    assert float((along / across).abs().max()) < 1e-4


def test_each_policy_is_told_by_its_own_coordinate_alone():
    coordinates = torch.tensor([[7.0, 7.0], [2.0, -9.0], [2.0, 9.0], [-9.0, -1.0], [9.0, 3.0]])
    found = policy_loss(coordinates, torch.tensor([0, 1, 2, 3, 4]), torch.zeros(5))
    softplus = [math.log1p(math.exp(x)) for x in (-2, 2, 1, 3)]
    assert float(found) == pytest.approx(2 * sum(softplus) / 4)


def test_without_an_intervention_there_is_no_policy_to_tell():
    assert float(policy_loss(torch.ones(3, 2), torch.zeros(3, dtype=torch.long), torch.zeros(5))) == 0


def test_mixing_is_drawn_towards_zero_while_in_doubt():
    drawn, target = angles("panda-2c-independent", anchors=2000)
    mixed = drawn.clone()
    mixed[..., 4] += 0.25 * drawn[..., 5]
    plain, doubted = (followers(mixed, target, doubt=doubt)[5, 4] for doubt in (0.0, 1.0))
    assert float(plain) == pytest.approx(0.25, abs=0.01)
    assert float(doubted) == 0
    half = followers(mixed, target, doubt=0.25)
    assert float(half[5, 4]) == pytest.approx(0.1, abs=0.02)
    torch.testing.assert_close(half.diagonal(), torch.ones(6, dtype=half.dtype))


def scenes() -> torch.Tensor:
    """One anchor, two joints, one view of 4×4: joint 0 darkens six pixels, joint 1 the lower right one."""
    images = torch.ones(1, 5, 1, 4, 4)
    images[0, 1:3, 0, 0:2, 0:3] = 0
    images[0, 3:5, 0, 3, 3] = 0
    return images


def test_the_joint_that_moves_the_fewest_grey_levels_is_found():
    assert least_moving(scenes()) == 1
    assert least_moving(scenes()[:, [0, 3, 4, 1, 2]]) == 0


def test_what_changed_is_shared_out_over_the_grid():
    assert changed_share(scenes(), 3, 2).tolist() == [[[[0, 0, 0, 1]]] * 3]
    torch.testing.assert_close(changed_share(scenes(), 1, 2)[0, 0, 0], torch.tensor([2 / 3, 1 / 3, 0, 0]))


def test_looking_where_the_images_change_costs_nothing():
    gaze = torch.full((1, 5, 1, 2, 2), -50.0)
    gaze[..., 1, 1] = 50
    assert float(gaze_loss(gaze, scenes(), joint=1)) == pytest.approx(0, abs=1e-6)
    assert float(gaze_loss(torch.zeros_like(gaze), scenes(), joint=1)) == pytest.approx(math.log(4))
    assert float(gaze_loss(gaze, scenes(), joint=0)) > 50


def test_unequal_numbers_do_not_shift_a_coordinate():
    coordinates = torch.zeros(10, 1, requires_grad=True)
    regime = torch.tensor([1] * 9 + [2])
    shares = torch.tensor([1.0, 0.9, 0.1])
    policy_loss(coordinates, regime, shares.log()).backward()
    assert float(coordinates.grad.sum()) == pytest.approx(0, abs=1e-6)


def test_a_single_joint_is_left_alone_by_nothing():
    drawn = torch.randn(20, 3, 1, generator=torch.Generator().manual_seed(0))
    assert float(anchor_loss(drawn, torch.tensor([0, 0]), torch.eye(1))) == 0

"""The objectives that read images directly, on structural models whose answers are known."""

import math

import numpy as np
import pytest
import torch

from ropes.methods.contrast import anchor_loss, followers, regime_loss, responses, targets
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

"""The objectives on chains of moves, and the residuals that give their uncertainty."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ropes.methods.anchored.chain_objectives import (
    known_policy_loss,
    move_attention_loss,
    move_changes,
    off_line_variance,
    within_move_variance,
)
from ropes.methods.training.criteria import known_policy_contrasts
from ropes.methods.uncertainty.residuals import chain_residuals
from tests import tiny


def moves(seed: int = 0, count: int = 400) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Coordinates of moves of three joints with one frame on the way each, joint, share and trust."""
    rng = torch.Generator().manual_seed(seed)
    joint = torch.randint(3, (count,), generator=rng)
    before = torch.randn(count, 3, generator=rng)
    after = torch.where(torch.nn.functional.one_hot(joint, 3) > 0, torch.randn(count, 3, generator=rng), before)
    share = torch.rand(count, 1, generator=rng)
    return torch.stack([before, after, before + share * (after - before)], 1), joint, share, torch.ones(count, 3) > 0


def test_true_angles_have_no_invariance_loss() -> None:
    angles, joint, share, trusted = moves()
    assert within_move_variance(angles, joint, trusted).abs().max() < 1e-12
    assert off_line_variance(angles, joint, share, trusted).abs().max() < 1e-12


def test_invariance_losses_are_shares_of_the_variance() -> None:
    angles, joint, share, trusted = moves(count=20_000)
    noise = 0.5 * torch.randn(angles.shape, generator=torch.Generator().manual_seed(1))
    variance = 1 + 0.25
    within = within_move_variance(angles + noise, joint, trusted)
    assert within == pytest.approx(np.full(3, 0.25 / variance), rel=0.06)
    # The frame's own noise, and those of both ends in proportion.
    expected = 0.25 * float((1 + share**2 + (1 - share) ** 2).mean()) / variance
    assert off_line_variance(angles + noise, joint, share, trusted) == pytest.approx(np.full(3, expected), rel=0.06)
    assert within_move_variance(7 * (angles + noise), joint, trusted) == pytest.approx(within.numpy(), rel=1e-4)


def test_poses_without_trust_count_nowhere() -> None:
    angles, joint, share, trusted = moves()
    doubted = torch.rand(trusted.shape, generator=torch.Generator().manual_seed(2)) < 0.3
    spoilt = torch.where(doubted[..., None], torch.tensor(1e3), angles)
    assert within_move_variance(spoilt, joint, ~doubted).abs().max() < 1e-12
    assert off_line_variance(spoilt, joint, share, ~doubted).abs().max() < 1e-12


def test_the_policies_loss_is_least_at_the_log_density_ratio() -> None:
    model, rng = tiny.model(), np.random.default_rng(0)
    policy = rng.integers(1, 3, (20_000, 2))
    drawn = [
        np.where(policy[:, k] == 1, *(tn.sample(rng, len(policy)) for tn in model.interventions[joint]))
        for k, joint in enumerate(model.joints)
    ]
    ratio = np.stack([model.log_density_ratio(j, each) for j, each in zip(model.joints, drawn, strict=True)], axis=1)
    exact, label, none = torch.from_numpy(ratio), torch.from_numpy(policy), torch.zeros(2)
    loss = float(known_policy_loss(exact, label, none))
    assert loss == pytest.approx(sum(model.bayes_floor(joint) for joint in model.joints), abs=0.02)
    others = (0.7 * exact, 1.3 * exact, exact + 0.3)
    assert min(float(known_policy_loss(each, label, none)) for each in others) > loss
    unknown = torch.where(torch.rand(label.shape) < 0.5, 0, label)
    spoilt = torch.where(unknown == 0, torch.tensor(1e3, dtype=torch.float64), exact)
    assert float(known_policy_loss(spoilt, unknown, none)) == pytest.approx(loss, abs=0.03)
    contrasts = known_policy_contrasts(exact, label)
    assert contrasts["contrast_0"] == pytest.approx(model.bayes_floor(model.joints[0]), abs=0.01)


def test_attention_is_on_what_the_least_visible_joint_moves() -> None:
    images = torch.zeros(2, 2, 1, 8, 8, dtype=torch.uint8)
    images[0, 1, 0, :4, :4] = 200  # the move of joint 1 changes one corner
    images[1, 1] = 100
    joint, trusted = torch.tensor([1, 0]), torch.ones(2, 2) > 0
    assert move_changes(images, joint, trusted, 3).tolist() == [100, 50, float("inf")]
    right = torch.full((2, 2, 1, 2, 2), -20.0)
    right[..., 0, 0] = 20
    assert float(move_attention_loss(right, images, joint == 1, trusted)) < 1e-6
    assert float(move_attention_loss(-right, images, joint == 1, trusted)) > 1
    assert float(move_attention_loss(-right, images, joint == 1, ~trusted)) == 0


class LargestTensor(TorchDispatchMode):
    """Bytes of the largest tensor that is made."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor) and not func.is_view:
            self.bytes = max(self.bytes, made.nbytes)
        return made


def test_changes_of_large_images_are_compared_in_parts() -> None:
    rng = torch.Generator().manual_seed(0)
    images = torch.randint(256, (50, 3, 2, 32, 32), generator=rng, dtype=torch.uint8)
    joint, trusted = torch.randint(3, (50,), generator=rng), torch.rand(50, 3, generator=rng) < 0.9
    whole = move_changes(images, joint, trusted, 3)
    chosen = images[(joint == 1) & trusted[:, 0] & trusted[:, 1]].double()
    assert float(whole[1]) == pytest.approx(float((chosen[:, 1] - chosen[:, 0]).abs().mean()), rel=1e-6)
    for number in (1, 7):
        most = number * images[0, :2].nbytes
        with LargestTensor() as largest:
            assert torch.equal(move_changes(images, joint, trusted, 3, most), whole)
        assert largest.bytes <= most  # one image of each pair in 16 bits


def test_residuals_of_chains_are_samples_of_the_whole_error() -> None:
    """Errors that depend on the other joints, in part on all of them, are neither missed nor counted twice."""
    rng, chains, turns, joints = np.random.default_rng(0), 300, 10, 4
    joint = np.tile(np.arange(joints), turns)
    poses = np.repeat(rng.standard_normal((chains, 1, joints)), 1 + len(joint), axis=1)
    for k, moved in enumerate(joint, 1):
        poses[:, k:, moved] = rng.standard_normal((chains, 1))
    angles = poses.reshape(-1, joints)
    others = [np.delete(angles, j, axis=1) for j in range(joints)]
    errors = np.stack([0.3 * each.sum(1) + 0.4 * each.prod(1) for each in others], axis=1)
    before = np.flatnonzero((np.arange(len(angles)) + 1) % (1 + len(joint)))
    residuals, factor = chain_residuals(angles + errors, np.tile(joint, chains), before)
    estimated = np.sqrt(np.nanmean((residuals * factor) ** 2, axis=0))
    assert estimated == pytest.approx(errors.std(0), rel=0.12)
    alone = residuals[1 :: 1 + len(joint), 1]  # joint 1 first moves after these poses
    assert np.isfinite(alone).all()


def test_residuals_of_noise_need_no_factor() -> None:
    rng, joint = np.random.default_rng(1), np.tile(np.arange(3), 200)
    before = np.arange(len(joint))
    residuals, factor = chain_residuals(0.2 * rng.standard_normal((len(joint) + 1, 3)), joint, before)
    assert np.sqrt(np.nanmean(residuals**2, axis=0)) == pytest.approx(np.full(3, 0.2), rel=0.1)
    assert (factor < 1.25).all()

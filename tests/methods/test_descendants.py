"""Which joint follows which, on structural models whose answer is known and in coordinates that mix joints."""

import numpy as np
import pytest
import torch

from ropes.methods.descendants import descendants
from tests.structural import angles, followed


def noisy(coordinates: torch.Tensor, share: float, seed: int = 0) -> torch.Tensor:
    """Coordinates with noise, in shares of their standard deviations."""
    noise = torch.randn(coordinates.shape, generator=torch.Generator().manual_seed(seed), dtype=coordinates.dtype)
    return coordinates + share * coordinates.flatten(0, 1).std(0) * noise


def test_joints_that_follow_are_found_and_no_others() -> None:
    """All but joint 6 that follows joint 5, which hardly varies under the policies on joint 6."""
    drawn, target = angles("panda-2c-causal", anchors=2048)
    read = noisy(drawn * torch.tensor([1, -5, 1, 1, 0.2, 1]), 0.1)
    missed = followed("panda-2c-causal") ^ descendants(read, target)
    assert torch.nonzero(missed).tolist() == [[4, 5]]


def test_independent_joints_follow_none() -> None:
    drawn, target = angles("panda-2c-independent", anchors=2048)
    assert not descendants(noisy(drawn, 0.1), target).any()


@pytest.mark.parametrize(("first", "second"), [(0.0, 0.25), (0.12, 0.16), (0.2, 0.1), (0.2, 0.25), (0.5, 0.16)])
def test_coordinates_that_hold_some_of_each_other_follow_neither_way(first: float, second: float) -> None:
    drawn, target = angles("panda-2c-independent", anchors=2000)
    mixed = drawn.clone()
    mixed[..., 4] += first * drawn[..., 2]
    mixed[..., 2] += second * drawn[..., 4]
    assert not descendants(noisy(mixed, 0.1), target).any()


def test_a_coordinate_that_copies_another_joint_does_not_follow_it() -> None:
    drawn, target = angles("panda-2c-independent", anchors=2000)
    drawn[..., 4] = 0.1 * drawn[..., 4] / drawn[..., 4].std() + drawn[..., 2] / drawn[..., 2].std()
    assert not descendants(noisy(drawn, 0.05), target).any()


@pytest.mark.slow
def test_few_anchors_show_nothing_by_chance() -> None:
    found = 0
    for seed in range(20):
        drawn, target = angles("panda-2c-independent", anchors=50)
        found += int(descendants(noisy(drawn, 0.3, seed), target).any())
    assert found <= 1  # of 20


@pytest.mark.parametrize("causes", [True, False])
def test_an_effect_is_told_from_a_coordinate_that_holds_another_joint(causes: bool) -> None:
    """Coordinate 1 answers alike to interventions on joint 0: as its effect, or since it holds a half of it."""
    rng, target = np.random.default_rng(0), torch.arange(3).repeat_interleave(2)
    anchors = 1500
    own = np.repeat(rng.normal(size=(anchors, 1, 3)), 7, axis=1)  # exogenous terms
    drawn = own.copy()
    for regime, joint in enumerate(target.tolist(), start=1):
        drawn[:, regime, joint] = (1.2 if regime % 2 else -1.2) + 0.5 * rng.normal(size=anchors)
    on_second = target.numpy() == 1
    free = np.concatenate([[True], ~on_second])
    if causes:  # a policy on joint 1 cuts it
        drawn[:, free, 1] += 0.5 * drawn[:, free, 0]
    coordinates = drawn + 0.05 * rng.normal(size=drawn.shape)
    if not causes:
        coordinates[:, :, 1] += 0.5 * drawn[:, :, 0]
    found = descendants(torch.from_numpy(coordinates), target)
    assert found.tolist() == [[False, causes, False], [False] * 3, [False] * 3]


@pytest.mark.parametrize("anchors", [0, 1, 60])
def test_coordinates_of_nothing_follow_nothing(anchors: int) -> None:
    noise = torch.from_numpy(np.random.default_rng(0).normal(size=(anchors, 7, 3)))
    assert not descendants(noise, torch.arange(3).repeat_interleave(2)).any()

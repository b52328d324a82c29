"""Which joint follows which, on structural models whose answer is known and in coordinates that mix joints.

First by the causal graph, then by effects.
"""

import numpy as np
import pytest
import torch

from ropes.methods.anchored import descendants as descendants_module
from ropes.methods.anchored.contrast import mean_differences, targets
from ropes.methods.anchored.descendants import (
    descendants,
    discriminants,
    estimate_descendants,
    predictor_mask,
    standardized_effects,
)
from ropes.simulation.settings import setting_named
from tests.structural import CHANGE, angles, effects, true_descendants


def noisy(coordinates: torch.Tensor, share: float, seed: int = 0) -> torch.Tensor:
    """Coordinates with noise, in shares of their standard deviations."""
    noise = torch.randn(coordinates.shape, generator=torch.Generator().manual_seed(seed), dtype=coordinates.dtype)
    return coordinates + share * coordinates.flatten(0, 1).std(0) * noise


def test_descendants_are_found_without_false_ones() -> None:
    """All but joint 6 that follows joint 5, which hardly varies under the policies on joint 6."""
    drawn, target = angles("panda-2c-causal", anchors=2048)
    read = noisy(drawn * torch.tensor([1, -5, 1, 1, 0.2, 1]), 0.1)
    missed = true_descendants("panda-2c-causal") ^ descendants(read, target)
    assert torch.nonzero(missed).tolist() == [[4, 5]]


def test_independent_joints_have_no_descendants() -> None:
    drawn, target = angles("panda-2c-independent", anchors=2048)
    assert not descendants(noisy(drawn, 0.1), target).any()


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(0.0, 0.25), (0.12, 0.16), (0.2, 0.1), (0.2, 0.25), (0.5, 0.16)])
def test_mutually_mixed_coordinates_are_not_descendants(first: float, second: float) -> None:
    drawn, target = angles("panda-2c-independent", anchors=2000)
    mixed = drawn.clone()
    mixed[..., 4] += first * drawn[..., 2]
    mixed[..., 2] += second * drawn[..., 4]
    assert not descendants(noisy(mixed, 0.1), target).any()


def test_copy_of_another_joint_is_not_a_descendant() -> None:
    drawn, target = angles("panda-2c-independent", anchors=2000)
    drawn[..., 4] = 0.1 * drawn[..., 4] / drawn[..., 4].std() + drawn[..., 2] / drawn[..., 2].std()
    assert not descendants(noisy(drawn, 0.05), target).any()


@pytest.mark.slow
def test_few_anchors_add_few_false_descendants() -> None:
    found = 0
    for seed in range(20):
        drawn, target = angles("panda-2c-independent", anchors=50)
        found += int(descendants(noisy(drawn, 0.3, seed), target).any())
    assert found <= 1  # of 20


@pytest.mark.parametrize("causes", [True, False])
def test_effect_is_distinguished_from_a_mixture(causes: bool) -> None:
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
def test_pure_noise_has_no_descendants(anchors: int) -> None:
    noise = torch.from_numpy(np.random.default_rng(0).normal(size=(anchors, 7, 3)))
    assert not descendants(noise, torch.arange(3).repeat_interleave(2)).any()


def descendant_mask(
    coordinates: torch.Tensor, target: torch.Tensor, change: torch.Tensor, **options: float
) -> torch.Tensor:
    return estimate_descendants(coordinates, target, change, **options)[0]


@pytest.mark.parametrize("setting", ["panda-2c-independent", "panda-2c-causal"])
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_descendant_mask_matches_the_model(setting: str, noise: float) -> None:
    drawn, target = angles(setting)
    generator = torch.Generator().manual_seed(0)
    spread = noise * drawn.flatten(0, 1).std(0) * torch.tensor([1, -5, 1, 1, 0.2, 1])
    read = drawn * torch.tensor([1, -5, 1, 1, 0.2, 1]) + spread * torch.randn(
        drawn.shape, generator=generator, dtype=drawn.dtype
    )
    assert torch.equal(descendant_mask(read, target, CHANGE), true_descendants(setting))


@pytest.mark.parametrize("setting", ["panda-2c-independent", "panda-2c-causal"])
def test_response_sizes_match_the_model_equations(setting: str) -> None:
    drawn, target = angles(setting, anchors=2000)
    own = mean_differences(drawn, target).diagonal()
    true = (effects(setting) * own[:, None] / own).abs()
    found = estimate_descendants(drawn * torch.tensor([1, -5, 1, 1, 0.2, 1]), target, CHANGE)[1]
    torch.testing.assert_close(found, true, atol=0.06, rtol=0.0)


def test_mixture_is_not_a_response() -> None:
    drawn, target = angles("panda-2c-independent", anchors=1000)
    drawn[..., 5] += 0.25 * drawn[..., 4]
    differences = mean_differences(drawn, target)
    assert float(differences[4, 5] / differences[4, 4]) == pytest.approx(0.25, abs=0.01)
    assert not descendant_mask(drawn, target, CHANGE).any()
    assert float(estimate_descendants(drawn, target, CHANGE)[1][4, 5]) < 0.05


@pytest.mark.parametrize(("first", "second"), [(0.12, 0.16), (0.2, 0.1), (0.2, 0.25), (0.3, 0.12), (0.5, 0.16)])
def test_two_mutually_mixed_coordinates_are_not_descendants(first: float, second: float) -> None:
    drawn, target = angles("panda-2c-independent", anchors=2000)
    mixed = drawn.clone()
    mixed[..., 4] += first * drawn[..., 2]
    mixed[..., 2] += second * drawn[..., 4]
    assert not descendant_mask(mixed, target, CHANGE).any()


def test_lost_response_is_excused_only_within_its_uncertainty() -> None:
    drawn, target = angles("panda-2c-causal", anchors=1000)
    drawn[..., 5] -= effects("panda-2c-causal")[4, 5] * drawn[..., 4]
    assert not descendant_mask(drawn, target, CHANGE)[4, 5]
    assert descendant_mask(drawn, target, CHANGE, n_sigma=2.0)[4, 5]


@pytest.mark.parametrize("setting", ["panda-2c-independent", "panda-2c-causal"])
def test_many_anchors_find_all_descendants(setting: str) -> None:
    drawn, target = angles(setting, anchors=2048)
    noise = torch.randn(drawn.shape, generator=torch.Generator().manual_seed(0), dtype=drawn.dtype)
    found = descendant_mask(drawn + 0.2 * drawn[:, 0].std(0) * noise, target, CHANGE, n_sigma=2.0)
    assert (found | ~true_descendants(setting)).all()
    assert int((found & ~true_descendants(setting)).sum()) <= 1


@pytest.mark.slow
def test_standard_errors_match_repeated_samples() -> None:
    model = setting_named("panda-2c-independent").splits["train"]
    target, rng = targets(model.regimes, model.joints), np.random.default_rng(0)
    drawn = [torch.from_numpy(model.sample(rng, 400)) for _ in range(30)]
    seen = [standardized_effects(each, target, predictor_mask(each, target, CHANGE)) for each in drawn]
    found, errors = (torch.stack(each) for each in zip(*seen, strict=True))
    ratio = found.std(0) / errors.mean(0)
    assert 0.6 < float(ratio[~torch.eye(6, dtype=torch.bool)].median()) < 1.1  # rather too large than too small


def beyond(share: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Two joints; coordinate 0 answers to interventions on joint 1 alone, whose angle hardly varies otherwise."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(500, 1, 2, generator=generator).repeat(1, 5, 1) * torch.tensor([1.0, 0.01])
    drawn[:, 1:3, 0] = torch.tensor([2.0, -2.0]) + torch.randn(500, 2, generator=generator)
    drawn[:, 3:5, 1] = torch.tensor([2.0, -2.0]) + torch.randn(500, 2, generator=generator)
    drawn[..., 0] += share * drawn[..., 1]
    return drawn, torch.tensor([0, 0, 1, 1])


def test_response_larger_than_the_image_change_is_not_excused() -> None:
    drawn, target = beyond(0.5)
    assert descendant_mask(drawn, target, torch.tensor([2.0, 1.1])).tolist() == [[False, False], [True, False]]
    assert not descendant_mask(drawn, target, torch.tensor([2.0, 0.9])).any()


def test_uncertainty_never_removes_a_certain_response() -> None:
    drawn, target = beyond(0.5)
    found = descendant_mask(drawn, target, torch.tensor([2.0, 1.1]), n_sigma=2.0)
    assert found.tolist() == [
        [False, False],
        [True, False],
    ]


@pytest.mark.parametrize(("share", "follows"), [(0.9, True), (3.0, False)])
def test_uncertainty_margin_is_bounded_by_the_image_change(share: float, follows: bool) -> None:
    drawn, target = beyond(0.0)
    drawn[:, 1:3, 1] += share * drawn[:, 1:3, 0]
    assert bool(descendant_mask(drawn, target, torch.tensor([1.1, 1.0]), n_sigma=2.0)[0, 1]) == follows


def test_only_one_of_two_joints_is_a_descendant_of_the_other() -> None:
    drawn, target = beyond(0.5)
    drawn[:, 1:3, 1] += 0.2 * drawn[:, 1:3, 0]
    assert descendant_mask(drawn, target, torch.tensor([2.0, 1.1])).tolist() == [[False, True], [False, False]]


@pytest.mark.slow
def test_few_anchors_add_few_descendants_by_chance() -> None:
    found = 0
    for seed in range(10):
        drawn, target = angles("panda-2c-independent", anchors=25)
        noise = torch.randn(drawn.shape, generator=torch.Generator().manual_seed(seed), dtype=drawn.dtype)
        found += int(descendant_mask(drawn + 0.3 * drawn.flatten(0, 1).std(0) * noise, target, CHANGE).sum())
    assert found <= 5  # of 300 pairs


def test_coordinate_that_lost_its_response_is_found_as_descendant() -> None:
    """An encoder that was taught the noise of joint 5's equation instead of its angle."""
    drawn, target = angles("panda-2c-causal", anchors=1000)
    drawn[..., 4] -= effects("panda-2c-causal")[2, 4] * drawn[..., 2]
    assert abs(float(mean_differences(drawn, target)[2, 4])) < 1e-9
    found = descendant_mask(drawn, target, CHANGE)
    assert found[1:3, 4].any()
    assert not (found & ~true_descendants("panda-2c-causal")).any()


def test_descendants_are_not_regressed_out_of_their_ancestor() -> None:
    """A noisy coordinate is predicted better with the help of its descendants, which would then seem to move it."""
    drawn, target = angles("panda-2c-causal", anchors=1000)
    generator = torch.Generator().manual_seed(0)
    noisy = drawn + 0.5 * torch.randn(drawn.shape, generator=generator, dtype=drawn.dtype) * drawn.flatten(0, 1).std(0)
    clear = discriminants(noisy, target, predictor_mask(noisy, target, CHANGE))
    clean, before = (
        mean_differences(read, target)[1, 1] / read[:, 1:][:, target == 1, 1].std() for read in (clear, noisy)
    )
    assert float(clean) == pytest.approx(float(before), rel=1e-3)


def test_descendants_and_effects_share_their_regressions(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, target = angles("panda-2c-causal", anchors=200)
    calls: list[torch.Tensor] = []

    def counted(coordinates: torch.Tensor, target: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        calls.append(mask)
        return discriminants(coordinates, target, mask)

    monkeypatch.setattr(descendants_module, "discriminants", counted)
    estimate_descendants(drawn, target, CHANGE, n_sigma=2.0)
    assert len(calls) == 2  # to find echoes, and without them

"""What coordinates can tell of commanded distributions, and what they cannot, on angles that are drawn."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.causal.scm import TruncatedNormal
from ropes.errors import UserError
from ropes.inference.consistency import Angles, require_consistency
from ropes.inference.policy_distributions import Commanded, Distribution
from ropes.metrics import commanded_calibration

N = 1000


def normal(mean: float, std: float = 0.5) -> TruncatedNormal:
    return TruncatedNormal(mean=mean, variance=std**2, low=mean - 4 * std, high=mean + 4 * std)


#: As of the Panda's joints 4 and 5: policies 1.4 rad apart, .5 rad wide.
TRUE = Commanded(policies=(normal(0.7), normal(-0.7)), observational_mean=0.0)


def told(first: float, second: float, std: float = 0.5, usual: float | None = 0.0) -> Commanded:
    return Commanded(policies=(normal(first, std), normal(second, std)), observational_mean=usual)


def sample(distribution: Distribution, rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return distribution.quantile(rng.random(n))


def require(
    claim: Commanded, noise: float, known: float | None, *, n: int = N, seed: int = 0, true: Commanded = TRUE
) -> None:
    """Draw poses, read them with some noise, and test a claim about them."""
    rng = np.random.default_rng(seed)
    drawn = [sample(each, rng, n) + noise * rng.normal(size=n) for each in (*true.policies, normal(0))]
    slope, intercept = commanded_calibration(drawn[0][:, None], drawn[1][:, None], np.array(claim.means)[:, None])
    first, second, third = (slope * values + intercept for values in drawn)
    error = None if known is None else float(known * abs(slope[0]))
    require_consistency("D", "wrist", claim, Angles(first, second, third, error))


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.2**0.5, 0.6])
@pytest.mark.parametrize(
    ("share", "std"), [(share, std) for share in (0.5, 1.0, None) for std in (0.2, 0.4, 0.5) if share or std > 0.2]
)
def test_correct_distributions_pass_at_any_noise_level(noise: float, share: float | None, std: float) -> None:
    """Errors up to .36 rad², of which anchors see half at least, or, with policies wider than .2 rad, nobody any."""
    true = told(0.7, -0.7, std)
    require(true, noise, None if share is None else share * noise, true=true)


def test_widths_are_those_of_poses_that_the_fit_did_not_use() -> None:
    """A fit memorises the policies of its poses: there their angles are narrow."""
    rng = np.random.default_rng(0)
    half, (one, two) = N // 2, (sample(each, rng, N) for each in TRUE.policies)
    memorised = np.full(N, one.mean()), np.full(N, two.mean())
    mixed = np.concatenate([one[:half], memorised[0][half:]]), np.concatenate([two[:half], memorised[1][half:]])
    unused = np.tile(np.arange(N) < half, (2, 1))
    with pytest.raises(UserError, match="has standard deviation"):
        require_consistency("D", "wrist", told(0.7, -0.7, 1.0), Angles(*mixed, None, 0.0, unused))
    require_consistency("D", "wrist", TRUE, Angles(*mixed, None, 0.0, unused))
    require_consistency("D", "wrist", TRUE, Angles(*memorised, None, 0.0, np.zeros((2, N), dtype=bool)))
    with pytest.raises(UserError, match="has standard deviation"):
        require_consistency("D", "wrist", TRUE, Angles(*memorised, None, 0.0))


ORDER = r"has \d\.\d% of the pairs of its policies' poses in the wrong order where \d\.\d% was commanded"


def width(read: str, commanded: str) -> str:
    expected = rf"where [\d.]+° \({commanded} rad\) was commanded \(or the coordinate is wrong at the"
    return rf"has standard deviation [\d.]+° \({read} rad\) .* {expected}"


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        (told(1.4, -1.4), ORDER + r" \(or the coordinate is noisier than estimated\)"),
        (told(0.7, -0.7, 0.25), ORDER + r" \(or the coordinate is noisier than estimated\)"),
        (told(0.35, -0.35), width(r"0\.2\d", r"0\.50")),
        (told(0.7, -0.7, 1), width(r"0\.5\d", r"1\.00")),
        (
            told(0.7, -0.7, usual=0.5),
            r"has mean -?\d\.\d° \(-?0\.0\d rad\) without .* where 28\.6° \(0\.50 rad\) was",
        ),
        (told(1.4, 0.0), r"has mean \d+\.\d° \(0\.\d\d rad\) without intervention where 0\.0° \(0\.00 rad\) was"),
    ],
)
def test_detectable_contradiction_is_refused(claim: Commanded, line: str) -> None:
    with pytest.raises(UserError, match=f"^D: the commanded distributions contradict the images: joint wrist {line}"):
        require(claim, 0.1, 0.1)


def test_unknown_errors_allow_all_but_gross_contradictions() -> None:
    require(told(1.4, -1.4), 0.1, None)
    with pytest.raises(UserError, match=r"has 3\d\.\d% of the pairs .* \(or the coordinate is mostly noise: fit"):
        require(TRUE, 2.5, None)


@pytest.mark.parametrize(
    "claim",
    [
        told(0.35, -0.35, 0.25),  # everything half as large
        told(-0.7, 0.7),  # the policies exchanged, the observational mean half way between them
        told(1.2, -0.2, usual=0.5),  # everything moved
    ],
)
def test_undetectable_contradiction_passes(claim: Commanded) -> None:
    require(claim, 0.1, 0.1)


def test_swapped_policies_are_detected_with_an_asymmetric_mean() -> None:
    rng = np.random.default_rng(0)
    first, second, usual = (normal(mean).sample(rng, N) for mean in (-0.7, 0.7, 0.3))
    claim = replace(told(-0.7, 0.7), observational_mean=0.3)
    require_consistency("D", "wrist", claim, Angles(first, second, usual, None))
    mirrored = replace(told(0.7, -0.7), observational_mean=-0.3)
    require_consistency("D", "wrist", mirrored, Angles(-first, -second, -usual, None))
    with pytest.raises(UserError, match="has mean -"):
        require_consistency("D", "wrist", claim, Angles(first, second, -usual, None))


def test_a_coordinate_bent_at_its_ends_does_not_contradict() -> None:
    """As joints 5 and 6 in the causal setting: twice as wide after the line, with few errors."""
    rng = np.random.default_rng(0)
    bent = [np.sinh(2.5 * sample(each, rng, N)) for each in TRUE.policies]
    means = np.array(TRUE.means)[:, None]
    slope, intercept = commanded_calibration(bent[0][:, None], bent[1][:, None], means)
    first, second = (slope * values + intercept for values in bent)
    assert np.sqrt((first.var() + second.var()) / 2) > 2 * TRUE.width
    require_consistency("D", "wrist", TRUE, Angles(first, second, None, 0.04))


@pytest.mark.slow
def test_few_poses_of_a_noisy_joint_do_not_contradict_by_chance() -> None:
    for seed in range(200):
        require(TRUE, 0.6, None, n=30, seed=seed)


def test_unknown_observational_mean_is_not_tested() -> None:
    require(told(1.2, -0.2, usual=None), 0.1, 0.1)

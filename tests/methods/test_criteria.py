import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ropes.causal.scm import Regime
from ropes.errors import UserError
from ropes.methods.ropes.codes import Codes, standardise
from ropes.methods.ropes.criteria import held_out_contrasts
from ropes.methods.training.criteria import coordinate_contrast
from tests import tiny

MODEL = tiny.model()
FLOOR = MODEL.bayes_floor("elbow")


def drawn(n: int = 20_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Angles of one joint under both of its policies, and the labels."""
    rng = np.random.default_rng(seed)
    first, second = (policy.sample(rng, n) for policy in MODEL.interventions["elbow"])
    return np.concatenate([first, second]), np.repeat([1.0, 0.0], n)


ANGLES, LABELS = drawn()
BEST = coordinate_contrast(ANGLES, LABELS)


def test_the_true_coordinate_reaches_the_bayes_floor() -> None:
    assert pytest.approx(FLOOR, abs=0.005) == BEST


def test_noise_has_a_contrast_of_one_bit() -> None:
    noise = np.random.default_rng(1).normal(size=len(LABELS))
    assert coordinate_contrast(noise, LABELS) == pytest.approx(math.log(2), abs=0.001)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_mixing_in_another_variable_raises_the_contrast(share: float) -> None:
    other = np.random.default_rng(2).normal(size=len(LABELS))
    assert coordinate_contrast(ANGLES + share * other, LABELS) > FLOOR + 0.02


def test_contrast_falls_with_less_mixing() -> None:
    other = np.random.default_rng(2).normal(size=len(LABELS))
    found = [coordinate_contrast(ANGLES + share * other, LABELS) for share in (1.0, 0.5, 0.2, 0.0)]
    assert found == sorted(found, reverse=True)


scale = st.floats(1e-3, 1e3)


@pytest.mark.slow
@given(scale, st.sampled_from([-1.0, 1.0]), st.floats(-100, 100))
def test_contrast_is_invariant_to_sign_scale_and_origin(factor: float, sign: float, origin: float) -> None:
    few = slice(None, None, 97)
    expected = coordinate_contrast(ANGLES[few], LABELS[few])
    assert coordinate_contrast(sign * factor * ANGLES[few] + origin, LABELS[few]) == pytest.approx(expected, abs=1e-5)


def test_contrast_is_symmetric_in_the_policies() -> None:
    assert coordinate_contrast(ANGLES, 1 - LABELS) == pytest.approx(BEST, abs=1e-6)


def test_constant_coordinate_has_a_contrast_of_one_bit() -> None:
    assert coordinate_contrast(np.full(10, 3.0), np.repeat([1.0, 0.0], 5)) == pytest.approx(math.log(2))


class Reader:
    """Stands for an AE2 whose coordinates are two pixels of the code."""

    def encode(self, codes: torch.Tensor) -> torch.Tensor:
        return codes[:, 0, 0, :2]


def codes_of(anchors: int = 400) -> Codes:
    poses = MODEL.sample(np.random.default_rng(3), anchors)
    values = torch.zeros(anchors * 5, 1, 8, 8)
    values[:, 0, 0, :2] = torch.from_numpy(poses.reshape(-1, 2)).float()
    return Codes(values, np.tile(np.arange(5), anchors), MODEL.regimes)


def test_contrast_uses_poses_of_both_policies_of_a_joint() -> None:
    codes = codes_of()
    values, labels = codes.contrast("wrist").tensors
    assert len(values) == 800
    assert labels.sum() == 400
    assert torch.equal(values[labels == 1], codes.values[codes.regime == MODEL.regimes.index(Regime("wrist", 1))])


def test_others_returns_the_poses_under_neither_policy() -> None:
    codes = codes_of(20)
    own = {MODEL.regimes.index(Regime("wrist", policy)) for policy in (1, 2)}
    assert torch.equal(codes.others("wrist"), codes.values[[k not in own for k in codes.regime]])


def test_coordinates_are_compared_with_their_own_joint() -> None:
    right = held_out_contrasts(Reader(), codes_of(), {"elbow": 0, "wrist": 1})
    wrong = held_out_contrasts(Reader(), codes_of(), {"elbow": 1, "wrist": 0})
    assert list(right) == ["elbow", "wrist"]
    assert max(right.values()) < 0.3
    assert min(wrong.values()) > 0.65


def test_held_out_contrasts_compare_as_many_poses_under_either_policy() -> None:
    codes = codes_of()
    first = codes.regime == MODEL.regimes.index(Regime("wrist", 1))
    kept = ~first | (np.cumsum(first) <= 100)
    fewer = Codes(codes.values[kept], codes.regime[kept], MODEL.regimes)
    assert fewer.first_share("wrist") == pytest.approx(0.2)
    labels = fewer.contrast("wrist", balanced=True).tensors[1]
    assert (len(labels), float(labels.mean())) == (200, 0.5)
    columns = {"elbow": 0, "wrist": 1}
    floor = held_out_contrasts(Reader(), codes, columns)["wrist"]
    assert held_out_contrasts(Reader(), fewer, columns)["wrist"] == pytest.approx(floor, abs=0.06)


def test_policy_without_poses_is_reported() -> None:
    codes = codes_of(3)
    with pytest.raises(UserError, match="no image under elbow/2: this method needs both policies on every joint"):
        Codes(codes.values, np.where(codes.regime == 2, 0, codes.regime), MODEL.regimes).contrast("elbow")
    with pytest.raises(UserError, match="no image under knee/1"):
        codes.contrast("knee")


def test_codes_are_standardised_with_training_statistics() -> None:
    train, held = torch.randn(30, 2, 8, 8) * 3 + 1, torch.randn(10, 2, 8, 8) * 9
    scale, (one, two) = standardise(train, held)
    torch.testing.assert_close(one.mean((0, 2, 3)), torch.zeros(2), atol=1e-5, rtol=0)
    torch.testing.assert_close(two, scale(held))
    assert two.std() > 2


def test_constant_codes_are_refused() -> None:
    with pytest.raises(UserError, match="AE1 has collapsed; fit with another --seed"):
        standardise(torch.ones(4, 1, 8, 8))

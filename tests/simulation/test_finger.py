"""Finger and cube: what is possible, what is seen, and pairs that differ in one factor."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ropes.data.generate_finger import draw_pairs, draw_states, simulate_finger
from ropes.data.layout import open_dataset
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.simulation.finger import HALF_CUBE, FingerScene
from ropes.simulation.finger_setting import (
    FACTORS,
    HELD_OUT_HUES,
    HUE,
    NAMES,
    TRAINED_HUES,
    FingerSetting,
    changed_factor,
    factor_values,
)
from tests import tiny

pytestmark = pytest.mark.pybullet

SETTING = FingerSetting(image_size=64)
MIDDLE = np.array([[factor.count // 2 for factor in FACTORS]])


@pytest.fixture(scope="module")
def scene() -> Iterator[FingerScene]:
    with FingerScene(SETTING) as drawn:
        yield drawn


def picture(scene: FingerScene, domain: int = 0, **numbers: int) -> np.ndarray:
    """The middle of the grid but for some factors, by number."""
    chosen = MIDDLE.copy()
    for name, number in numbers.items():
        chosen[0, NAMES.index(name)] = number
    state = np.column_stack([factor_values(chosen), [domain]])
    return next(scene.render_all(state))[0].astype(int)


def test_factor_grid_matches_table_1() -> None:
    assert [factor.count for factor in FACTORS] == [30] * 5 + [10, 12]
    assert np.prod([factor.count for factor in FACTORS]) * 1e-9 == pytest.approx(2.9, abs=0.1)
    assert set(TRAINED_HUES) | set(HELD_OUT_HUES) == set(range(12))
    assert not set(TRAINED_HUES) & set(HELD_OUT_HUES)
    assert len(TRAINED_HUES) == 8


@pytest.mark.parametrize("name", NAMES)
def test_every_factor_changes_the_image(scene: FingerScene, name: str) -> None:
    last = FACTORS[NAMES.index(name)].count - 1
    differ = np.abs(picture(scene, **{name: 0}) - picture(scene, **{name: last})).max(axis=2)
    assert (differ > 20).sum() >= 8


def test_hue_changes_only_the_cube(scene: FingerScene) -> None:
    red, green = picture(scene, cube_hue=0), picture(scene, cube_hue=4)
    painted = np.ptp(red, axis=2) > 60
    assert 10 < painted.sum() < 600
    assert red[painted, 0].mean() > 2 * red[painted, 1].mean()
    assert green[painted, 1].mean() > 2 * green[painted, 0].mean()
    assert (np.abs(red - green).max(axis=2) > 20).sum() <= 2 * painted.sum()


def test_finger_tip_inside_the_cube_is_infeasible(scene: FingerScene) -> None:
    """The tip just above the floor at y = .12: a cube beneath it is in its way, one on the other side is not."""
    numbers = np.repeat(MIDDLE, 30, axis=0)
    numbers[:, :3], numbers[:, NAMES.index("cube_y")] = [15, 14, 29], np.arange(30)
    states = factor_values(numbers)
    possible = scene.feasible(states)
    blocked = states[~possible, NAMES.index("cube_y")]
    assert possible[0]
    assert 0 < blocked.min() <= blocked.max() < 0.12
    assert np.ptp(blocked) < 4 * HALF_CUBE


def test_the_bowl_is_hollow_to_collisions(scene: FingerScene) -> None:
    """A convex stage would hold every tip below its rim; the paper has 1.52 of 2.92 billion states."""
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.integers(0, factor.count, 1_000) for factor in FACTORS], axis=1)
    assert scene.feasible(factor_values(drawn)).mean() == pytest.approx(1.52 / 2.916, abs=0.1)


def test_finger_tip_below_the_floor_is_infeasible(scene: FingerScene) -> None:
    """Stretched out straight the finger is .32 m long, and mounted .29 m above the floor."""
    straight = factor_values(MIDDLE)
    straight[0, :3] = 0.0
    straight[0, 3:5] = 0.11
    bent = straight.copy()
    bent[0, 1:3] = 0.5, -0.8
    assert scene.feasible(np.concatenate([straight, bent])).tolist() == [False, True]


def test_shifted_domain_looks_different_and_is_deterministic(scene: FingerScene) -> None:
    first, shifted, again = (picture(scene, domain) for domain in (0, 1, 0))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(shifted, picture(scene, 1))
    assert np.abs(first - shifted).mean() > 10


def test_pairs_differ_in_one_uniformly_drawn_factor(scene: FingerScene) -> None:
    rng = np.random.default_rng(0)
    pairs = draw_pairs(scene, SETTING.splits["train"], 350, rng)
    changed = changed_factor(pairs[:, 0], pairs[:, 1])
    assert np.bincount(changed, minlength=7).min() > 25
    assert set(np.unique(pairs[..., HUE])) <= set(TRAINED_HUES)
    assert scene.feasible(factor_values(pairs.reshape(-1, 7))).all()
    held_out = draw_states(scene, SETTING.splits["test-hues"], 50, rng)
    assert set(np.unique(held_out[:, HUE])) <= set(HELD_OUT_HUES)


def test_pairs_that_do_not_differ_in_one_factor_raise() -> None:
    state = np.zeros((2, 7))
    other = state.copy()
    other[0, 1] = 1
    with pytest.raises(ValueError, match="pair 1 differs in no factors, not in one"):
        changed_factor(state, other)
    other[1, :2] = 1
    with pytest.raises(ValueError, match="pair 1 differs in 2 factors"):
        changed_factor(state, other)


@pytest.mark.slow
def test_data_set_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    for name, workers in (("one", 1), ("two", 2)):
        out = tmp_path / name
        simulate_finger(SETTING, out=out, samples=40, test_samples=3, labelled=2, workers=workers, progress=False)
    validate(tmp_path / "one", progress=False)
    one, two = (open_dataset(tmp_path / name) for name in ("one", "two"))
    labelled = dict.fromkeys(("labelled", "labelled-a", "labelled-b", "labelled-c"), 2)
    counts = {"train": 20, "test-id": 3, "test-hues": 3, "test-shifted": 3, **labelled}
    assert {name: len(span) for name, span in one.splits.items()} == counts
    assert one.checksum == two.checksum
    assert one.state_names == NAMES
    assert one.image_shape == (64, 64, 3)
    frames = one.frames("train")
    assert (frames.anchor[::2] == frames.anchor[1::2]).all()
    images = one.read_images(frames.index[:2])
    assert images.shape == (2, 1, 64, 64, 3)
    assert (images[0] != images[1]).any()


@pytest.mark.parametrize("samples", [0, 3])
def test_odd_sample_numbers_are_refused(samples: int, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="an even number of at least 2"):
        simulate_finger(SETTING, out=tmp_path / "d", samples=samples, progress=False)
    assert not (tmp_path / "d").exists()


@pytest.mark.parametrize("said", ["no factors", "2 factors"])
def test_validate_reports_pairs_that_do_not_differ_in_one_factor(said: str, finger_data: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(finger_data, tmp_path / "copy"))

    def change(states: list[list[float]]) -> None:
        if said == "no factors":
            states[7] = list(states[6])
        else:  # one more than the one in which they differ
            same = next(k for k in range(7) if states[6][k] == states[7][k])
            states[7][same] += 0.01

    tiny.change_states(copy, "train", change)
    with pytest.raises(UserError, match=f"training pair 3 differs in {said}, not in one"):
        validate(copy, progress=False)

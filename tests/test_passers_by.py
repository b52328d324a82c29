"""Tests of the benchmark of passers-by."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.figures import filled, simulate
from benchmarks.passers_by import alone, cleaner_shares, visited, written
from ropes.common import files
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.models.cleaner import Cleaner
from ropes.models.registration import Registration

_PAGE = Path(__file__).parents[1] / "docs" / "cameras.md"
_WORDS = "--setting panda-2c-independent --anchors 10 --test-anchors 0 --image-size 32"


def test_page_has_the_stored_figures() -> None:
    found = files.read_json(_PAGE.parents[1] / "results" / "passers-by.json")
    page = _PAGE.read_text(encoding="utf-8")
    assert filled(page, {"passers-by": written(found)}.get) == page
    assert "| test frames | poses with | number | J1 |" in page


@pytest.mark.pybullet
def test_frames_are_the_recorded_ones_where_nobody_passes(tmp_path: Path) -> None:
    for name, more in (("clean", "--seed 1"), ("webcam", "--seed 1 --camera webcam"), ("other", "--seed 2")):
        simulate(f"{_WORDS} {more}", tmp_path / name)
    clean, webcam, other = (open_dataset(tmp_path / name) for name in ("clean", "webcam", "other"))
    recorded, without = alone(webcam, clean, "train", np.arange(130))
    passing = visited(recorded, without)
    assert 0.05 < passing.mean() < 0.5
    same = (recorded == without).all((2, 3))
    assert same.mean() > 0.4
    assert not (same & passing).any()
    shown, of_part = alone(webcam, clean, "train", np.arange(20, 30))
    assert np.array_equal(shown, recorded[20:30])
    assert np.array_equal(of_part, without[20:30])
    with pytest.raises(UserError, match="other poses"):
        alone(webcam, other, "train", np.arange(10))
    with pytest.raises(UserError, match="must have faults"):
        alone(clean, webcam, "train", np.arange(10))


def test_areas_that_a_cleaner_leaves_and_takes() -> None:
    registration = Registration(1, 64)
    registration.adapt(torch.randint(90, 110, (40, 1, 64, 64), dtype=torch.uint8))
    cleaner = Cleaner(registration.background, views=1).eval()
    registration.cleaner = cleaner
    without = cleaner.levels.numpy()[None].repeat(2, axis=0)
    without[:, :, 20:40, 20:40] = 200  # the arm
    recorded = without.copy()
    recorded[0, :, :, 50:] = 20  # somebody
    assert visited(recorded, without).tolist() == [[True], [False]]
    found = {(row["frames"], row["views"]): row for row in cleaner_shares(registration, recorded, without)}
    before = found["registered", "a passer-by"]
    assert before["n"] == 1
    assert before["lost"] == pytest.approx(0, abs=0.01)
    assert before["left"] == pytest.approx(64 * 14 / 400, rel=0.15)
    assert found["registered", "nobody"]["left"] == 0
    assert found["cleaned", "a passer-by"] == before | {"frames": "cleaned"}  # an untrained cleaner removes nothing
    torch.nn.init.constant_(cleaner.detector[-1].bias, 5.0)  # type: ignore[arg-type]
    found = {(row["frames"], row["views"]): row for row in cleaner_shares(registration, recorded, without)}
    assert found["cleaned", "a passer-by"]["left"] == 0
    assert found["cleaned", "nobody"]["lost"] == 1

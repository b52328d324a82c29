"""Real photographs of finger and cube: read as they are given, and refused with a line."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.data.photographs import read_photographs
from ropes.errors import UserError
from ropes.simulation.finger_setting import FACTORS

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3)).astype(np.uint8)
LABELS = np.array([[factor.values[k] for factor in FACTORS] for k in (0, 4, 9)])


def stored(path: Path, **arrays: Any) -> Path:
    np.savez(path / "real.npz", **arrays)
    return path / "real.npz"


def test_images_are_averaged_and_factors_kept(tmp_path: Path) -> None:
    images, factors = read_photographs(stored(tmp_path, images=IMAGES, labels=LABELS), 4)
    assert images.shape == (3, 1, 4, 4, 3)
    blocks = IMAGES.reshape(3, 4, 2, 4, 2, 3).mean(axis=(2, 4))
    assert np.abs(images[:, 0] - blocks).max() <= 1
    np.testing.assert_array_equal(factors, LABELS)
    whole, _ = read_photographs(tmp_path / "real.npz", 8)
    np.testing.assert_array_equal(whole[:, 0], IMAGES)


def test_a_label_just_outside_its_range_is_cut(tmp_path: Path) -> None:
    labels = LABELS.copy()
    labels[0, 3] -= 0.002
    _, factors = read_photographs(stored(tmp_path, images=IMAGES, labels=labels), 8)
    assert factors[0, 3] == FACTORS[3].low


@pytest.mark.parametrize(
    ("arrays", "line"),
    [
        ({"images": IMAGES}, "has no array 'labels'; it has images"),
        ({"images": IMAGES.astype(float), "labels": LABELS}, r"images must be uint8 \(n, S, S, 3\), got float64"),
        ({"images": IMAGES[..., 0], "labels": LABELS}, r"images must be uint8 \(n, S, S, 3\)"),
        ({"images": IMAGES[:, :4, :4], "labels": LABELS}, "images of 4 pixels cannot be resized to 8"),
        ({"images": IMAGES, "labels": LABELS[:2]}, r"labels must be numbers \(3, 7\), got float64 \(2, 7\)"),
        ({"images": IMAGES, "labels": np.full((3, 7), "far")}, r"labels must be numbers \(3, 7\), got <U3 \(3, 7\)"),
        ({"images": IMAGES, "labels": LABELS + 1}, r"labels\[0, 3\] is 0\.89; cube_x goes from -0\.11"),
        ({"images": IMAGES, "labels": LABELS * np.nan}, r"labels\[0, 0\] is nan"),
        ({"images": IMAGES, "labels": LABELS.astype(object)}, "cannot be read as an npz file of plain arrays"),
    ],
)
def test_invalid_files_are_refused(arrays: dict[str, np.ndarray], line: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=line):
        read_photographs(stored(tmp_path, **arrays), 8)


def test_missing_and_invalid_npz_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.npz is missing"):
        read_photographs(tmp_path / "none.npz", 8)
    (tmp_path / "text.npz").write_text("no arrays")
    with pytest.raises(UserError, match="cannot be read as an npz file"):
        read_photographs(tmp_path / "text.npz", 8)

"""A small data set of random images: two joints, two cameras, five regimes."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.causal.scm import Regime
from ropes.data import writer
from ropes.data.layout import Dataset, open_dataset

REGIMES = (Regime(), *(Regime(joint, policy) for joint in ("elbow", "wrist") for policy in (1, 2)))


@dataclass(frozen=True)
class Tiny:
    """A data set and the arrays that went into it."""

    dataset: Dataset
    images: dict[str, Any]
    states: dict[str, Any]

    @property
    def path(self) -> Path:
        return self.dataset.path


MakeTiny = Callable[..., Tiny]


@pytest.fixture
def make_tiny(tmp_path: Path) -> MakeTiny:
    def make(name: str = "tiny", *, anchors: int = 7, tests: int = 9, size: int = 16, **options: Any) -> Tiny:
        rng = np.random.default_rng(0)
        shapes = {"train": (anchors, len(REGIMES)), "test-id": (tests, 1)}
        images = {
            split: rng.integers(0, 256, (*shape, 2, size, size), dtype=np.uint8) for split, shape in shapes.items()
        }
        states = {split: rng.normal(size=(*shape, 2)) for split, shape in shapes.items()}
        given: dict[str, Any] = {
            "images": images,
            "states": states,
            "cameras": ("right", "left"),
            "joints": ("elbow", "wrist"),
            "regimes": REGIMES,
            "images_per_shard": 40,
        }
        writer.write_arrays(tmp_path / name, **(given | options))
        return Tiny(open_dataset(tmp_path / name), images, states)

    return make


@pytest.fixture
def tiny(make_tiny: MakeTiny) -> Tiny:
    return make_tiny()

"""The setting of finger and cube: factors, hues, domains.

Source: Dittadi et al. 2021, Table 1 and Section 4.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.simulation.settings import FINGER_CUBE, Camera

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor of variation and the evenly spaced values that it takes; radians, or metres."""

    name: str
    low: float
    high: float
    count: int

    @property
    def values(self) -> Array:
        """Its values in order, (count,)."""
        return np.linspace(self.low, self.high, self.count)


#: Table 1; hue as the angle of the colour wheel.
FACTORS = (
    Factor(name="upper_joint", low=-0.65, high=0.65, count=30),
    Factor(name="middle_joint", low=-0.5, high=0.5, count=30),
    Factor(name="lower_joint", low=-0.8, high=0.8, count=30),
    Factor(name="cube_x", low=-0.11, high=0.11, count=30),
    Factor(name="cube_y", low=-0.11, high=0.11, count=30),
    Factor(name="cube_rotation", low=0.0, high=math.radians(81), count=10),
    Factor(name="cube_hue", low=0.0, high=math.radians(330), count=12),
)
NAMES = tuple(factor.name for factor in FACTORS)
HUE = NAMES.index("cube_hue")
#: Hues, by their number on the wheel, that no training image has; drawn as the paper's were, but red (0) is kept.
HELD_OUT_HUES = (1, 3, 5, 6)
TRAINED_HUES = tuple(number for number in range(FACTORS[HUE].count) if number not in HELD_OUT_HUES)


#: Where an experiment keeps which states are possible, see `ropes.simulation.feasibility`.
FEASIBILITY_FILE = "feasibility.npz"


@dataclass(frozen=True, kw_only=True)
class Domain:
    """How a scene looks, whatever its factors.

    Attributes:
        camera: from where.
        light: direction that light comes from.
        ambient, diffuse, specular: shares of the light.
        finger, stage, background: colours, RGB in [0, 1].
        blur: deviation of a Gaussian blur, in shares of the image's side.
        noise: deviation of each subpixel's noise, in shares of white.
    """

    camera: Camera
    light: tuple[float, float, float] = (0.5, -0.6, 1.0)
    ambient: float = 0.4
    diffuse: float = 0.6
    specular: float = 0.05
    finger: tuple[float, float, float] = (0.2, 0.2, 0.22)
    stage: tuple[float, float, float] = (0.8, 0.8, 0.8)
    background: tuple[float, float, float] = (1.0, 1.0, 1.0)
    blur: float = 0.0
    noise: float = 0.0


_FRONT = Camera(name="front", target=(0.0, 0.01, 0.07), distance=0.62, yaw=0.0, pitch=-48.0, roll=0.0, fov=38.0)
_MOVED = Camera(name="front", target=(0.006, 0.004, 0.066), distance=0.64, yaw=3.0, pitch=-46.0, roll=1.0, fov=38.0)
SIMULATED = Domain(camera=_FRONT)
#: A stand-in for real photographs, shifted in what a camera shifts.
SHIFTED = Domain(
    camera=_MOVED,
    light=(-0.8, -0.3, 0.7),
    ambient=0.3,
    diffuse=0.65,
    specular=0.2,
    finger=(0.3, 0.3, 0.33),
    stage=(0.7, 0.67, 0.62),
    background=(0.85, 0.86, 0.9),
    blur=0.006,
    noise=0.02,
)


@dataclass(frozen=True, kw_only=True)
class FingerSplit:
    """A split of the data set: which hues, in which domain, and whether regressors learn from it."""

    hues: tuple[int, ...]
    domain: int
    labelled: bool = False


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What regressors learn from, a split of its own, and what they are tested on (Section 5).

    Attributes:
        labelled: the split that they learn from.
        learnt: its hues.
        split, tested: images of this split, of these hues, are tested on.
    """

    labelled: str
    learnt: tuple[int, ...]
    split: str
    tested: tuple[int, ...]


#: The split of all hues of the training that regressors learn from.
LABELLED_SPLIT = "labelled"
#: The encoder is in distribution but for OOD2.  Half the hues are the red end of the wheel, half the violet one.
SCENARIOS = {
    "id": Scenario(labelled=LABELLED_SPLIT, learnt=TRAINED_HUES, split="test-id", tested=TRAINED_HUES),
    "ood1_a": Scenario(labelled="labelled-a", learnt=TRAINED_HUES[:1], split="test-id", tested=TRAINED_HUES[1:]),
    "ood1_b": Scenario(labelled="labelled-b", learnt=TRAINED_HUES[4:], split="test-id", tested=TRAINED_HUES[:4]),
    "ood1_c": Scenario(labelled="labelled-c", learnt=TRAINED_HUES[::2], split="test-id", tested=TRAINED_HUES[1::2]),
    "ood2_a": Scenario(labelled=LABELLED_SPLIT, learnt=TRAINED_HUES, split="test-hues", tested=HELD_OUT_HUES),
    "ood2_b": Scenario(labelled=LABELLED_SPLIT, learnt=TRAINED_HUES, split="test-shifted", tested=TRAINED_HUES),
}


@dataclass(frozen=True, kw_only=True)
class FingerSetting:
    """What is filmed of finger and cube.

    Attributes:
        image_size: side of the images, pixels.
        domains: how the scene can look.
        splits: name → hues and domain; "train" holds pairs, the others single images.
    """

    name: str = FINGER_CUBE
    image_size: int = 128
    domains: tuple[Domain, ...] = (SIMULATED, SHIFTED)
    splits: dict[str, FingerSplit] = field(
        default_factory=lambda: {
            "train": FingerSplit(hues=TRAINED_HUES, domain=0),
            "test-id": FingerSplit(hues=TRAINED_HUES, domain=0),
            "test-hues": FingerSplit(hues=HELD_OUT_HUES, domain=0),
            "test-shifted": FingerSplit(hues=TRAINED_HUES, domain=1),
            **{
                scenario.labelled: FingerSplit(hues=scenario.learnt, domain=0, labelled=True)
                for scenario in SCENARIOS.values()
            },
        }
    )

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description."""
        return {**asdict(self), "factors": [asdict(factor) for factor in FACTORS]}


def factor_values(numbers: NDArray[np.int64], factors: Sequence[Factor] = FACTORS) -> Array:
    """Numbers of grid values (n, f) → the values."""
    return np.stack([factor.values[column] for factor, column in zip(factors, numbers.T, strict=True)], axis=1)


def scaled(factors: Array, low_high: Sequence[Factor] = FACTORS) -> Array:
    """Factors (n, f) in shares of their ranges, [0, 1]."""
    low = np.array([factor.low for factor in low_high])
    shares = (factors - low) / (np.array([factor.high for factor in low_high]) - low)
    return np.clip(shares, 0.0, 1.0)  # what is stored in float32 may lie a rounding outside


def hues_of(factors: Array) -> NDArray[np.int64]:
    """The number of each sample's hue on the wheel, (n,), from factors (n, 7)."""
    step = FACTORS[HUE].values[1]
    return np.round(factors[:, HUE] / step).astype(np.int64)


def changed_factor(first: Array, second: Array) -> NDArray[np.int64]:
    """Which single factor two images of a pair differ in, (n,), from the factors of both, (n, f) each.

    Raises:
        ValueError: a pair differs in none or in several.
    """
    differ = first != second
    counts = differ.sum(axis=1)
    if (counts != 1).any():
        row = int(np.flatnonzero(counts != 1)[0])
        raise ValueError(f"pair {row} differs in {counts[row] or 'no'} factors, not in one")
    return differ.argmax(axis=1)

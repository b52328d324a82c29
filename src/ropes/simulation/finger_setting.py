"""The setting of finger and cube: factors, hues, domains.

Source: Dittadi et al. 2021, Table 1 and Section 4.

Deviation: the intervals of the factors' values are those of arXiv 2010.14407 as we know it; they could not be checked.
Why: the copy at hand has lost them.  Effect: with them 53% of the grid's states are possible; the paper has 52%.

Deviation: the four held-out hues are drawn at random, but not red.  Why: OOD1-A trains on red.  Effect: none on the
scenarios' definitions; the paper does not name its hues.

Deviation: the renderer is PyBullet or MuJoCo; camera, light and colours are ours.  Why: the paper says only that its
images are "realistically rendered".  Effect: not measured; no model learns the cube's rotation here, which many of the
paper's do (docs/disentanglement.md).
"""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats, Ints
from ropes.simulation.backgrounds import RendererName
from ropes.simulation.settings import FINGER_CUBE, Camera, camera_description, default_renderer


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor of variation and its evenly spaced values; radians or metres."""

    name: str
    low: float
    high: float
    count: int

    @property
    def values(self) -> Floats:
        """The values in order, (count,)."""
        return np.linspace(self.low, self.high, self.count)


#: Table 1; the hue is an angle on the colour wheel.
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
#: Numbers of the hues that no training image has; drawn at random as in the paper, except that red (0) is kept.
HELD_OUT_HUES = (1, 3, 5, 6)
TRAINED_HUES = tuple(number for number in range(FACTORS[HUE].count) if number not in HELD_OUT_HUES)
#: File in an experiment's folder with the numbers of possible states, see `finger.write_feasibility`.
FEASIBILITY_FILE = "feasibility.npz"


@dataclass(frozen=True, kw_only=True)
class Domain:
    """The appearance of a scene apart from its factors.

    Attributes:
        camera: the camera.
        light: direction towards the light.
        ambient, diffuse, specular: coefficients of the light.
        finger, stage, background: colours, RGB in [0, 1].
        blur: standard deviation of a Gaussian blur, as a share of the image's side.
        noise: standard deviation of the noise of each subpixel, as a share of white.
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
_TURNED = Camera(name="front", target=(0.006, 0.004, 0.066), distance=0.64, yaw=3.0, pitch=-46.0, roll=1.0, fov=38.0)
SIMULATED = Domain(camera=_FRONT)
#: A substitute for real photographs: view, light, colours, blur and noise differ.
SHIFTED = Domain(
    camera=_TURNED,
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
    """A split of the data set: its hues, its domain, and whether regressors are fitted on it."""

    hues: tuple[int, ...]
    domain: int
    labelled: bool = False


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The images that regressors are fitted on, and those that they are tested on (Section 5).

    Attributes:
        labelled: the split that they are fitted on.
        learnt: its hues.
        split, tested: the split and the hues of the test images.
    """

    labelled: str
    learnt: tuple[int, ...]
    split: str
    tested: tuple[int, ...]


#: The split with all training hues that regressors are fitted on.
LABELLED_SPLIT = "labelled"
#: Only OOD2 is out of distribution for the encoder.  One half of the hues is the red end of the wheel, one the violet.
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
    """A data set of finger and cube.

    Attributes:
        image_size: side of the images, pixels.
        domains: the possible appearances.
        splits: name → hues and domain; "train" holds pairs, the others single images.
        renderer: what draws the images; collisions are always PyBullet's.
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
    renderer: RendererName = field(default_factory=lambda: default_renderer("white"))

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description."""
        content = {**asdict(self), "factors": [asdict(factor) for factor in FACTORS]}
        for domain in content["domains"]:
            domain["camera"] = camera_description(domain["camera"])
        if self.renderer == "pybullet":  # which older descriptions do not name
            del content["renderer"]
        return content


def factor_values(numbers: NDArray[np.int64]) -> Floats:
    """The values at the given grid indices, (n, f)."""
    return np.stack([factor.values[column] for factor, column in zip(FACTORS, numbers.T, strict=True)], axis=1)


def scaled(factors: Floats) -> Floats:
    """Factors (n, f) scaled to [0, 1] by their ranges."""
    low, high = np.array([(factor.low, factor.high) for factor in FACTORS]).T
    shares = (factors - low) / (high - low)
    return np.clip(shares, 0.0, 1.0)  # float32 rounding may leave the range


def hues_of(factors: Floats) -> NDArray[np.int64]:
    """The number of each sample's hue on the colour wheel, (n,), from factors (n, 7)."""
    step = FACTORS[HUE].values[1]
    return np.round(factors[:, HUE] / step).astype(np.int64)


def changed_factor(first: Floats | Ints, second: Floats | Ints) -> Ints:
    """The factor in which the two images of each pair differ, (n,).

    Args:
        first: factors of the first image of each pair, as values or as numbers, (n, f).
        second: the same of the second image of each pair, (n, f).

    Raises:
        ValueError: a pair does not differ in exactly one factor.
    """
    differ = first != second
    counts = differ.sum(axis=1)
    if (counts != 1).any():
        row = int(np.flatnonzero(counts != 1)[0])
        raise ValueError(f"pair {row} differs in {counts[row] or 'no'} factors, not in one")
    return differ.argmax(axis=1)

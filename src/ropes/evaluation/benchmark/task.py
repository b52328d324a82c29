"""The tasks of the benchmark, frozen under a version: settings, test poses, budgets of robot time, tracks of labels.

The true angles are those that `ropes simulate` draws with the seed.  They are stored in `angles.npz`, so scores need
NumPy alone and do not depend on its version, and a checksum of each split tells whether the file is intact.
"""

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Floats
from ropes.errors import UserError, require_name
from ropes.simulation.backgrounds import RendererName, SceneName

if TYPE_CHECKING:
    from ropes.causal.scm import CausalModel

VERSION = "v1"
#: Seed of the data, poses of each test split, side of the images in pixels.
SEED, TEST_POSES, IMAGE_SIZE = 2026, 2_000, 128
SCENE: SceneName = "panda-gym"
RENDERER: RendererName = "pybullet"
MESH = "simplified"
#: Budgets of robot time, hours; an entry with more robot time has an open budget.
HOURS = (2, 4, 8)
#: Share by which an entry may exceed its budget.
TOLERANCE = 0.02
#: Track → largest number of labelled poses; None for any number.
TRACKS: Mapping[str, int | None] = {"no-label": 0, "1000-labels": 1_000, "supervised": None}
#: Task → test split → SHA-256 of the true angles, see `angles_digest`.
DIGESTS: Mapping[str, Mapping[str, str]] = {
    "panda-1c-independent": {"test-id": "334fb6f44704a5017507a7ebc5947e031cf7329e631f96bda6aa7e3ff3805d6f"},
    "panda-2c-independent": {
        "test-id": "017df3a12be94c27f25963f99ba064484a87fa869afd51ffe830123564c9eebe",
        "test-ood": "f83533059aadb459e5f05c8651b74446f76b6d3c19ff848d98b3cf7f4c416a4f",
    },
    "panda-2c-causal": {
        "test-id": "24108a5f8e513f403d8b5344075835d0b4f72322afe04fc4ca8db6a81fd68bf7",
        "test-ood": "f83533059aadb459e5f05c8651b74446f76b6d3c19ff848d98b3cf7f4c416a4f",
    },
}
#: Names of the tasks: those of the settings.
TASKS = tuple(DIGESTS)
#: The true angles: TASK-SPLIT → (poses, joints) radians, and TASK-joints → names of the joints.
ANGLES = Path(__file__).parent / "angles.npz"
#: Task → seconds of robot time of an anchor, by `ropes.data.robot_time` over 1,000 anchors.
ANCHOR_SECONDS = {"panda-1c-independent": 10.1, "panda-2c-independent": 19.2, "panda-2c-causal": 19.0}


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task: estimate the angles of the joints in every test pose from its images.

    Attributes:
        name: name of the setting.
        joints: names in the URDF, in the order of the columns of predictions.
        splits: names of the test splits.
    """

    name: str
    joints: tuple[str, ...]
    splits: tuple[str, ...]

    @property
    def training(self) -> "CausalModel":
        """Causal model of the training poses, with both policies of each joint."""
        from ropes.simulation.panda import panda_setting

        return panda_setting(self.name).splits["train"]

    def angles(self, split: str) -> Floats:
        """True angles of a test split, (poses, joints) radians.

        Raises:
            UserError: the file of true angles is damaged.
        """
        angles = _stored()[f"{self.name}-{split}"]
        if angles_digest(angles) != DIGESTS[self.name][split]:
            raise UserError(_damaged(f"it has other angles of {self.name}, {split}, than benchmark {VERSION}"))
        return angles.copy()


def task_named(name: str) -> Task:
    """The task of that name.

    Raises:
        UserError: no such task, or the file of true angles is damaged.
    """
    require_name(name, TASKS, "task")
    return Task(name=name, joints=tuple(_stored()[f"{name}-joints"].tolist()), splits=tuple(DIGESTS[name]))


def angles_digest(angles: Floats) -> str:
    """SHA-256 of angles (n, d) in whole microradians, little-endian 64-bit, row by row.

    Rounding hides differences in the last bits between processors and versions of SciPy.
    """
    return hashlib.sha256(np.round(angles * 1e6).astype("<i8").tobytes()).hexdigest()


def budget_of(robot_hours: float) -> int | None:
    """The smallest budget in hours that this robot time keeps, within `TOLERANCE`; None where it exceeds all."""
    return next((hours for hours in HOURS if robot_hours <= hours * (1 + TOLERANCE)), None)


@cache
def _stored() -> Mapping[str, NDArray[Any]]:
    """The arrays of `ANGLES`."""
    try:
        with np.load(ANGLES, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(_damaged(error)) from error


def _damaged(reason: object) -> str:
    return f"{ANGLES} is damaged ({reason}); install ropes again"

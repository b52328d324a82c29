"""Chooses images of a data set with known joint angles, and the arm that they show."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ropes.common.arrays import Floats, Images, Ints, evenly
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.inference.hand_eye.moving_parts import small
from ropes.inference.poses import Arm, chosen_arm, recorded_arm
from ropes.inference.prediction import images_of
from ropes.methods.run import warn_if_other_scene

#: Frames whose median is the background, and poses among them that the arm is fitted to or compared with.
BACKGROUND, POSES = 120, 40
#: Each so many-th pose is held out.
_HELD_OUT = 4
#: Fewest poses.
_FEWEST = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class PosedImages:
    """Images of an arm at known angles.

    Attributes:
        arm: the arm.
        cameras: names.
        images: of each camera, uint8 (m, H, W) or (m, H, W, 3), at most 128 pixels long.
        shapes: height and width of each camera's images in the data set.
        angles: (n, d) of the arm's joints at some of the images, radians.
        at: (n,) their places among the m images.
    """

    arm: Arm
    cameras: tuple[str, ...]
    images: tuple[Images, ...]
    shapes: tuple[tuple[int, int], ...]
    angles: Floats
    at: Ints

    @property
    def held_out(self) -> Ints:
        """The poses that no camera is fitted to, (k,)."""
        return np.arange(_HELD_OUT // 2, len(self.at), _HELD_OUT)

    @property
    def fitted(self) -> Ints:
        """The other poses."""
        return np.setdiff1d(np.arange(len(self.at)), self.held_out)


def read_posed_images(
    dataset: Dataset,
    *,
    urdf: Path | None = None,
    estimator: Estimator | None = None,
    cameras: tuple[str, ...] = (),
) -> PosedImages:
    """Read images from all parts of a data set, with angles of some of them.

    Args:
        dataset: with logged angles, or with images that the estimator reads.
        urdf: of the arm; that of the data set if omitted.
        estimator: its angles take the place of logged ones.
        cameras: names; all if empty.

    Raises:
        UserError: there are no angles, too few images, no arm, or no such camera; or the joints do not move.
    """
    if missing := [camera for camera in cameras if camera not in dataset.cameras]:
        raise UserError(f"{dataset.path} has no camera {missing[0]} (it has {', '.join(dataset.cameras)})")
    split = "train" if "train" in dataset.splits else next(iter(dataset.splits), "train")
    rows = dataset.frames(split).index
    if len(rows) < _FEWEST:
        raise UserError(f"{dataset.path} has {len(rows)} images of each camera; finding a camera takes {_FEWEST}")
    chosen = evenly(len(rows), BACKGROUND)
    at = evenly(len(chosen), POSES)
    if estimator is None:
        if not dataset.state_names:
            raise UserError(
                f"{dataset.path} has no joint angles; give a calibrated run with --run RUN, which reads them"
            )
        arm = recorded_arm(dataset, urdf)
        columns = [dataset.state_names.index(joint) for joint in arm.joints]
        angles = dataset.factors(split)[chosen[at]][:, columns]
    else:
        warn_if_other_scene(estimator.run, dataset)
        arm = chosen_arm(estimator.run, urdf, dataset)
        angles = estimator.angles(images_of(estimator.run, dataset, rows[chosen[at]]))
    if not (np.ptp(angles, axis=0) > np.radians(2)).any():
        raise UserError(f"{dataset.path}: no joint moves by more than 2 degrees, so the images do not show the arm")
    read = dict(zip(dataset.cameras, dataset.read_cameras(rows[chosen]), strict=True))
    names = cameras or dataset.cameras
    return PosedImages(
        arm=arm,
        cameras=names,
        images=tuple(small(read[name]) for name in names),
        shapes=tuple((read[name].shape[1], read[name].shape[2]) for name in names),
        angles=angles,
        at=at,
    )

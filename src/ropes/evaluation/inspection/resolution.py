"""Estimates how many pixels a higher resolution adds for the joint that moves the fewest pixels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Ints, evenly
from ropes.data.pictures import letterbox
from ropes.evaluation.inspection.motion import LEVELS, alone_or_all, pairs_with_anchors
from ropes.evaluation.inspection.sample import MOST_ZOOM, Disturbance, Sample
from ropes.evaluation.inspection.verdict import JointReport
from ropes.models.shapes import EncoderConfig

#: Pairs of poses that are measured.
_PAIRS = 100


@dataclass(frozen=True, kw_only=True)
class Resolution:
    """What interventions on the least visible joint change, at the size of `ropes fit` and at a larger one.

    Attributes:
        joint: name of the joint.
        camera: in which it moves the largest share of the pixels.
        image_size: side of the whole images in pixels.
        window_image_size: side of the larger images, which the data set has.
        pixels: pixels that change at `image_size`, mean over poses.
        window_pixels: pixels that change at `window_image_size`, mean over poses.
        lost: share of the energy of the change that the average to `image_size` removes.
    """

    joint: str
    camera: str
    image_size: int
    window_image_size: int
    pixels: float
    window_pixels: float
    lost: float

    @property
    def option(self) -> str:
        """Option of `ropes fit` that cuts windows from the larger images."""
        return f"--encoder.window-image-size {self.window_image_size}"


def resolution(
    sample: Sample,
    joints: Sequence[JointReport],
    regimes: Mapping[str, tuple[int | None, int | None, int | None]],
    cameras: Sequence[str],
    shape: EncoderConfig,
    disturbance: Disturbance | None = None,
) -> Resolution | None:
    """Measure the resolution of the least visible joint.

    Of a recording only changes above the camera's noise count, and frames without passers-by, as in `motion`.

    Args:
        sample: images of all regimes; of a recording registered.
        joints: their reports.
        regimes: joint → numbers of the observational regime and of its two policies; None for missing ones.
        cameras: names of the cameras.
        shape: of the encoder that `ropes fit` trains by default.
        disturbance: of a recording; None for renderings.

    Returns:
        None where the encoder has no window, the images are not at least twice as large as `shape` takes them, or
        poses cannot be compared with their anchors.
    """
    side = min(max(images.shape[1:3]) for images in sample.images)
    zoom = min(side // shape.image_size, MOST_ZOOM)
    shares = {each.joint: each.motion.share for each in joints if each.motion and each.joint in regimes}
    if not shape.window or zoom < 2 or not shares:
        return None
    joint = min(shares, key=lambda name: float(shares[name].max()))
    pose, anchor = pairs_with_anchors(sample, *regimes[joint])
    if not len(pose):
        return None
    view, level = int(shares[joint].argmax()), float(LEVELS)
    if disturbance is not None:
        level, crowd = disturbance.levels[view], disturbance.crowded[:, view]
        alone = alone_or_all(~(crowd[pose] | crowd[anchor]))
        pose, anchor = pose[alone], anchor[alone]
    chosen = evenly(len(pose), _PAIRS)
    pixels, window_pixels, lost = compare_sizes(
        sample.images[view], pose[chosen], anchor[chosen], shape.image_size, zoom * shape.image_size, level
    )
    return Resolution(
        joint=joint,
        camera=cameras[view],
        image_size=shape.image_size,
        window_image_size=zoom * shape.image_size,
        pixels=pixels,
        window_pixels=window_pixels,
        lost=lost,
    )


def compare_sizes(
    images: NDArray[np.uint8], pose: Ints, anchor: Ints, small: int, large: int, level: float = LEVELS
) -> tuple[float, float, float]:
    """Compare what poses change in images of two sizes.

    Args:
        images: of one camera, uint8 (n, H, W), or (n, H, W, 3) in colour.
        pose: rows of poses.
        anchor: rows of the poses that these are compared with.
        small: side of the smaller size in pixels.
        large: side of the larger size, a multiple of it.
        level: smallest change of a changed pixel, grey levels.

    Returns:
        Mean number of changed pixels of a pose at the smaller size and at the larger one, and the share of the change's
        energy that is lost at the smaller size; as in `Resolution`.
    """
    zoom, counts, energies = large // small, np.zeros(2), np.zeros(2)
    for k, rest in zip(pose, anchor, strict=True):
        pair = letterbox(images[[k, rest]], large)
        fine, coarse = _change(pair), _change(letterbox(pair, small)).repeat(zoom, axis=0).repeat(zoom, axis=1)
        mean = np.abs(fine).max(axis=2).reshape(small, zoom, small, zoom).mean(axis=(1, 3))
        area = (mean > level).repeat(zoom, axis=0).repeat(zoom, axis=1)  # where it is more than noise
        changes = coarse[area], fine[area]
        counts += [(np.abs(each).max(axis=1) > level).sum() for each in changes]
        energies += [np.square(each).sum() for each in changes]
    lost = 1 - energies[0] / energies[1] if energies[1] else 0.0
    return float(counts[0] / zoom**2 / len(pose)), float(counts[1] / len(pose)), max(float(lost), 0.0)


def _change(pair: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Difference of two images (2, S, S[, 3]), in levels: (S, S, channels)."""
    return np.subtract(*pair.astype(np.float64)).reshape(*pair.shape[1:3], -1)

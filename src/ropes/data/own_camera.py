"""Detects frames of another camera: they look more like that camera's frames than like those of their own camera."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ropes.common.arrays import Floats, Images, evenly
from ropes.data.recordings.survey import as_grey, block_means

#: Fewest blocks of an image that can tell cameras apart.
_FEWEST_BLOCKS = 24
#: Two cameras are compared if of each three quarters of the frames correlate more with its own reference than with the
#: other's, by this much or more.
_DIFFERENT = 0.2
#: A frame is another camera's if its correlations differ by this share of what three quarters of that camera's do.
_SHARE = 0.75
#: Frames of a camera from which is measured what it sees, and frames that are compared with it.
REFERENCES, COMPARED = 31, 300


class OwnCamera:
    """What each camera sees, as the median of some of its frames; tells whether a frame is another camera's.

    Cameras of other image sizes are not compared, nor are those whose frames look too much alike, such as renderings
    of an arm before white.
    """

    def __init__(self, frames: Mapping[str, Iterable[Images]]) -> None:
        """Look at frames of each camera; a single camera needs none, and no frame is decoded then.

        Args:
            frames: camera → uint8 (H, W), or (H, W, 3) in RGB; those of another size than the first do not count.
        """
        frames = frames if len(frames) > 1 else {}
        self._sizes: dict[str, tuple[int, ...]] = {}
        means = {camera: np.stack(list(self._of_one_size(camera, images))) for camera, images in frames.items()}
        self._references = {camera: np.median(each, axis=0) for camera, each in means.items()}
        # How much more the frames of a camera correlate with its own reference than with another's: lower quartile.
        margin = {
            (camera, other): float(np.quantile(self._nearer(means[camera], camera, other), 0.25))
            for camera in frames
            for other in frames
            if camera != other
            and self._sizes[camera] == self._sizes[other]
            and means[camera].shape[1] >= _FEWEST_BLOCKS
        }
        self._margin = {
            (camera, other): margin[other, camera]
            for camera, other in margin
            if min(margin[camera, other], margin[other, camera]) > _DIFFERENT
        }

    def other(self, camera: str, image: Images) -> str | None:
        """The camera that the image looks like, if it is not `camera`."""
        if image.shape[:2] != self._sizes.get(camera):
            return None
        margins = {other: margin for (own, other), margin in self._margin.items() if own == camera}
        if not margins:
            return None
        means = _centred(image)
        found = {other: float(self._nearer(means, other, camera)) / margin for other, margin in margins.items()}
        likely = max(found, key=lambda other: found[other])
        return likely if found[likely] > _SHARE else None

    def _of_one_size(self, camera: str, images: Iterable[Images]) -> Iterator[Floats]:
        for image in images:
            if image.shape[:2] == self._sizes.setdefault(camera, image.shape[:2]):
                yield _centred(image)

    def _nearer(self, means: Floats, camera: str, other: str) -> Floats:
        """Correlation with a camera's reference minus that with another camera's, of (n, blocks) or (blocks,)."""
        references = np.stack([self._references[name] for name in (camera, other)], axis=1)
        references = references - references.mean(axis=0)
        lengths = np.linalg.norm(means, axis=-1, keepdims=True) * np.linalg.norm(references, axis=0)
        correlation = means @ references / np.maximum(lengths, np.finfo(float).tiny)
        return np.asarray(correlation[..., 0] - correlation[..., 1])


def _centred(image: Images) -> Floats:
    """Means over blocks of the grey image, without their mean, (blocks,)."""
    means = block_means(as_grey(image)).ravel().astype(np.float64)
    return means - means.mean()


def exchanged(frames: Mapping[str, Images]) -> dict[str, tuple[str, float]]:
    """Cameras of which some frames are another camera's: camera → that camera, and their share of the frames.

    Args:
        frames: camera → frames in the order of recording, uint8 (n, H, W), or (n, H, W, 3) in RGB.
    """
    seen = OwnCamera({camera: images[evenly(len(images), REFERENCES)] for camera, images in frames.items()})
    found = {}
    for camera, images in frames.items():
        compared = images[evenly(len(images), COMPARED)]
        others = Counter(filter(None, (seen.other(camera, image) for image in compared)))
        if others:
            found[camera] = (others.most_common(1)[0][0], others.total() / len(compared))
    return found

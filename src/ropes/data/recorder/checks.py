"""Checks the frames of an episode as it comes, and whether cameras were exchanged since the recording began."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from ropes.common.arrays import Floats, Images, Ints
from ropes.data import parquet, schema
from ropes.data.recorder.folder import RecordingFolder
from ropes.data.recorder.protocols import RecordingProtocol
from ropes.data.recorder.stillness import Noise, grey
from ropes.data.recordings.survey import motion
from ropes.errors import UserError

#: An intervention that turns its joint by less than this may show nothing, radians.
_VISIBLE = 0.2
#: A frame is blurred if its steepest edges have less than this share of the usual slope; frames that tell the usual.
_SHARP, _RECENT = 0.5, 200
#: Share of the pixels at 0 or 255 above which a frame is clipped; smallest noise of a real camera, grey levels.
_CLIPPED, _REAL = 0.05, 0.5
#: Cameras are exchanged where the images of each other fit better by this factor than their own.
_BETTER = 2.0
#: Episodes whose images are compared: the arm stands elsewhere in each, and the light changes over the days.
_EPISODES = 4
Means = NDArray[np.float32]


@dataclass(frozen=True)
class Fault:
    """What is wrong with an episode.

    Attributes:
        what: in words, with the pose and numbers.
        kind: in words without them; faults are counted by it.
        again: whether another try can mend it.
    """

    what: str
    kind: str
    again: bool


class EpisodeChecks:
    """Checks episodes; it learns from them how sharp the frames of a camera are.

    Args:
        protocol: what an episode is.
        noise: of each camera.
    """

    def __init__(self, protocol: RecordingProtocol, noise: Mapping[str, Noise]) -> None:
        self._protocol, self._noise = protocol, noise
        self._usual: dict[str, deque[float]] = {name: deque(maxlen=_RECENT) for name in noise}

    def faults(
        self, frames: Mapping[str, Sequence[Images]], poses: Floats, regimes: Ints, still: Sequence[bool]
    ) -> list[Fault]:
        """What is wrong with an episode.

        Args:
            frames: of each camera, one for each pose.
            poses: commanded angles, (poses, joints).
            regimes: number of the regime of each pose, (poses,).
            still: whether successive frames of each pose were equal.

        Raises:
            UserError: a camera shows the same picture in all poses.
        """
        names = [self._protocol.pose_name(place, regime) for place, regime in enumerate(regimes.tolist())]
        kind = "something else moves while the frame of a pose is taken"
        found = [
            Fault(f"something else moves while the frame of {names[k]} is taken", kind, again=True)
            for k in np.flatnonzero(~np.asarray(still)).tolist()[:1]
        ]
        found += self._hidden(frames, poses, regimes, names)
        for name, images in frames.items():
            found += self._blurred(name, images, names)
            clipped = max(float(((image == 0) | (image == 255)).mean()) for image in images)
            if clipped > _CLIPPED and self._noise[name].pixel > _REAL:
                kind = f"camera {name}: many pixels are black or white"
                found.append(Fault(f"camera {name}: {clipped:.0%} of the pixels are black or white", kind, again=False))
        return found

    def _hidden(
        self, frames: Mapping[str, Sequence[Images]], poses: Floats, regimes: Ints, names: Sequence[str]
    ) -> list[Fault]:
        """Interventions that no camera shows, and cameras that show none."""
        before = self._protocol.before
        turned = np.abs(poses - poses[before]).max(axis=1)
        shown, found = np.zeros(len(poses), dtype=bool), list[Fault]()
        for name, images in frames.items():
            means = [grey(image) for image in images]
            changes = [motion(means[one], mean) for one, mean in zip(before, means, strict=True)]
            moved = np.array(changes) > self._noise[name].moved
            if turned.max() >= _VISIBLE and all(np.array_equal(images[0], image) for image in images):
                raise UserError(f"camera {name} shows the same picture in all poses; does it see the arm?")
            if turned.max() >= _VISIBLE and not moved.any():
                what = f"camera {name} shows no motion in any pose"
                found.append(Fault(what, kind=what, again=False))
            shown |= moved
        hidden = np.flatnonzero((turned >= _VISIBLE) & ~shown).tolist()
        for k in hidden:
            kind = f"no camera shows what {self._protocol.model.regimes[regimes[k]].name} moves"
            found.append(Fault(f"no camera shows what {names[k]} moves", kind, again=False))
        return found

    def _blurred(self, name: str, images: Sequence[Images], names: Sequence[str]) -> list[Fault]:
        slopes = [_slope(image) for image in images]
        usual = float(np.median([*self._usual[name], *slopes]))
        blurred = [k for k, slope in enumerate(slopes) if slope < _SHARP * usual]
        self._usual[name] += [slope for k, slope in enumerate(slopes) if k not in blurred]
        kind = f"camera {name}: the frame of a pose is blurred"
        return [Fault(f"camera {name}: the frame of {names[k]} is blurred", kind, again=True) for k in blurred]


def _slope(image: Images) -> float:
    """Slope of the steepest edges, grey levels a pixel."""
    levels = image.astype(np.float32)
    if levels.ndim == 3:
        levels = levels.mean(axis=2)
    return float(np.quantile(np.hypot(*np.gradient(levels)), 0.99))


def require_same_cameras(folder: RecordingFolder, images: Mapping[str, Images]) -> None:
    """Check that each camera shows what it shows in the recorded episodes.

    Cameras with similar images, as in front of a white wall, cannot be distinguished.

    Args:
        folder: the recording.
        images: camera → its image now, turned, cropped and resized as those that are stored.

    Raises:
        UserError: two or more cameras were exchanged.
    """
    shapes = {camera["name"]: tuple(camera["shape"]) for camera in folder.cameras or []}
    if not folder.entries or {name: image.shape for name, image in images.items()} != shapes:
        return
    names, stored = list(images), _stored(folder, shapes)
    differences = np.array([[_difference(images[now], stored[before]) for before in names] for now in names])
    _, matches = linear_sum_assignment(differences)
    moved = np.flatnonzero(matches != np.arange(len(names)))
    if _BETTER * differences[moved, matches[moved]].sum() < differences[moved, moved].sum():
        what = ", ".join(f"{names[k]} shows what {names[matches[k]]} showed" for k in moved)
        raise UserError(f"cameras were exchanged: {what} in {folder.root}; give --cameras as they were")


def _stored(folder: RecordingFolder, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, list[Means]]:
    """Camera → block means of its images in some episodes."""
    whole = [number for number, entry in enumerate(folder.slots) if entry is not None]
    found: dict[str, list[Means]] = {name: [] for name in shapes}
    for number in {whole[k] for k in np.linspace(0, len(whole) - 1, _EPISODES).astype(int)}:
        path = folder.root / schema.data_file(number)
        table = parquet.read_table(path, [schema.IMAGES + name for name in shapes])
        rows = np.arange(table.num_rows)
        for name, shape in shapes.items():
            found[name] += map(grey, parquet.decode_rows(path, table, rows, name, shape))
    return found


def _difference(image: Images, stored: Sequence[Means]) -> float:
    """Mean difference from the most similar stored image, grey levels; infinite for images of other shapes."""
    now = grey(image)
    changes = [now - before for before in stored if before.shape == now.shape]
    return min((float(np.abs(change - np.median(change)).mean()) for change in changes), default=np.inf)

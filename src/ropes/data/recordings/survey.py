"""One pass over the images of each camera: where something moves, and when.

The state is saved every few seconds, so that an interrupted pass can resume.  Memory does not grow with the number of
images.
"""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pictures

from ropes.common import files
from ropes.common.ahead import ahead
from ropes.common.arrays import Images, evenly
from ropes.common.progress import progress as show_progress
from ropes.data.recordings.source import FrameId, Recording
from ropes.data.recordings.views import Box, View
from ropes.errors import UserError

#: File with the state; it ends in .part, as all files of an unfinished import do.
STATE = ".survey.part"
#: Side of the blocks over which images are averaged, so that noise averages out, pixels.
BLOCK = 8
#: Images from which the median is computed.
_SAMPLES = 31
#: Seconds between two saves of the state.
SAVE_INTERVAL = 10.0
#: Share of the blocks that change most, whose mean change is the motion between two images.
_MOST_CHANGED = 0.005
#: A block moves if it varies by more than twice what a still block does, and this many grey levels.
_VARIATION = 6.0
#: Margin around what moves, as a share of its longer side; smallest longer side of a crop, pixels.
_MARGIN, _SMALLEST_CROP = 0.06, 128


@dataclass(eq=False)
class CameraSurvey:
    """What one pass over the images of a camera shows; images are turned, and grey.

    Attributes:
        done: number of images seen.
        pixels: "first" and "last" image, "low" and "high", the darkest and brightest level of each pixel, (H, W).
        means: of blocks: "last" of the last image, "low" and "high", the lowest and highest, (rows, columns).
        motion: mean change of the blocks that change most from each image to the next, grey levels.
        samples: some of the images, uint8 (H, W).
    """

    done: int = 0
    pixels: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    means: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    motion: list[float] = field(default_factory=list)
    samples: list[NDArray[np.uint8]] = field(default_factory=list)

    def add(self, image: Images, *, sample: bool) -> None:
        """Count one image; `sample` keeps it for the median."""
        grey = as_grey(image)
        blocks, pixels, means = block_means(grey), self.pixels, self.means
        if self.done:
            self.motion.append(motion(means["last"], blocks))
        else:
            pixels |= {"first": grey, "low": grey, "high": grey}
            means |= {"low": blocks, "high": blocks}
        pixels |= {
            "low": np.minimum(pixels["low"], grey),
            "high": np.maximum(pixels["high"], grey),
            "last": grey,
        }
        means |= {
            "low": np.minimum(means["low"], blocks),
            "high": np.maximum(means["high"], blocks),
            "last": blocks,
        }
        if sample:
            self.samples.append(grey)
        self.done += 1

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the images, pixels."""
        height, width = self.pixels["low"].shape
        return height, width

    @property
    def spread(self) -> NDArray[np.uint8]:
        """Brightest minus median level of each pixel, or median minus darkest where that is more."""
        median = np.median(np.stack(self.samples), axis=0)
        above, below = self.pixels["high"] - median, median - self.pixels["low"]
        return np.maximum(above, below).round().astype(np.uint8)

    def moving_box(self) -> Box | None:
        """The box of all that moves, with a margin; None where nothing moves, or nearly all of the image does."""
        varies = self.means["high"] - self.means["low"]
        moves = varies > 2 * np.quantile(varies, 0.25) + _VARIATION
        if not moves.any():
            return None
        spans = []
        for axis, length in enumerate(self.size):
            at = np.flatnonzero(moves.any(axis=1 - axis))
            spans.append((int(at[0]) * BLOCK, min(length, (int(at[-1]) + 1) * BLOCK)))
        longest = max(end - begin for begin, end in spans)
        margin = max(BLOCK, round(_MARGIN * longest), (_SMALLEST_CROP - longest + 1) // 2)
        (top, bottom), (left, right) = (
            _widened(begin, end, length, margin) for (begin, end), length in zip(spans, self.size, strict=True)
        )
        if (bottom - top) * (right - left) > 0.9 * self.size[0] * self.size[1]:
            return None
        return left, top, right - left, bottom - top


def _widened(begin: int, end: int, length: int, margin: int) -> tuple[int, int]:
    """A span with a margin on both sides, moved inside 0 to `length`."""
    wanted = min(length, end - begin + 2 * margin)
    begin = min(max(0, begin - margin), length - wanted)
    return begin, begin + wanted


def as_grey(image: Images) -> Images:
    """RGB as grey levels (BT.601), uint8 (H, W); grey images as they are."""
    return np.asarray(Pictures.fromarray(image).convert("L")) if image.ndim == 3 else image


def block_means(grey: Images) -> NDArray[np.float32]:
    """Means over blocks of `BLOCK` pixels, (rows, columns); at the edges the image goes on with its last pixels."""
    height, width = grey.shape
    rows, columns = -(-height // BLOCK), -(-width // BLOCK)
    if (rows * BLOCK, columns * BLOCK) != grey.shape:
        grey = np.pad(grey, [(0, rows * BLOCK - height), (0, columns * BLOCK - width)], mode="edge")
    sums = grey.reshape(rows * BLOCK, columns, BLOCK).sum(axis=2, dtype=np.uint16)
    total = sums.reshape(rows, BLOCK, columns).sum(axis=1, dtype=np.uint16)
    return total.astype(np.float32) / BLOCK**2


def motion(before: NDArray[np.float32], after: NDArray[np.float32]) -> float:
    """Mean change of the blocks that change most, grey levels; see `block_means`."""
    change = after - before
    change = np.abs(change - np.median(change)).ravel()  # without a change of the exposure
    count = min(change.size, max(4, round(_MOST_CHANGED * change.size)))
    return float(np.partition(change, -count)[-count:].mean())


def digest(recording: Recording, frames: Mapping[str, Sequence[FrameId]], views: Mapping[str, View]) -> str:
    """SHA-256 of all that decides what a look at these frames shows; see `survey`."""
    about = [recording.record, {camera: [views[camera].rotate, list(frames[camera])] for camera in frames}]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


def survey(
    recording: Recording,
    frames: Mapping[str, Sequence[FrameId]],
    views: Mapping[str, View],
    *,
    key: str,
    out: Path,
    progress: bool = True,
) -> dict[str, CameraSurvey]:
    """Look at frames of each camera, or go on where an interrupted call stopped.

    Args:
        recording: the recording.
        frames: camera → frames, in ascending order.
        views: camera → view, of which only the rotation counts.
        key: see `digest`.
        out: folder of the data set, for the state.
        progress: show progress.

    Raises:
        UserError: a frame is damaged.
    """
    found = _read(out / STATE, key, list(frames))
    total = sum(map(len, frames.values()))
    with show_progress("looking for what moves, images", total, show=progress) as update:
        saved = time.monotonic()
        for camera, wanted in frames.items():
            state = found.setdefault(camera, CameraSurvey())
            chosen = set(evenly(len(wanted), _SAMPLES).tolist())
            with closing(recording.images(camera, wanted[state.done :])) as stream, closing(ahead(stream)) as images:
                for image in images:
                    turned = views[camera].turned(image)
                    if state.done and turned.shape[:2] != state.size:
                        raise UserError(another_size(recording, camera, wanted[state.done]))
                    state.add(turned, sample=state.done in chosen)
                    if state.done % 20 == 0 or state.done == len(wanted):
                        update(sum(each.done for each in found.values()))
                    if time.monotonic() - saved > SAVE_INTERVAL:
                        _write(out / STATE, key, found)
                        saved = time.monotonic()
    _write(out / STATE, key, found)
    return found


def another_size(recording: Recording, camera: str, frame: FrameId) -> str:
    """The message on a frame whose size differs from that of the frames before it."""
    episode, number = frame
    names = [each.name for each in recording.episodes]
    where = f" of {names[episode]}" if len(names) > 1 else ""
    where += file_of(recording, camera, frame)
    return f"camera {camera}: frame {number}{where} has another size than those before it"


def file_of(recording: Recording, camera: str, frame: FrameId) -> str:
    """The file of a frame in brackets, for messages; empty where frames have no files of their own."""
    files_of = getattr(recording, "frame_file", None)
    path = None if files_of is None else files_of(camera, frame)
    return "" if path is None else f" ({path})"


def _write(path: Path, key: str, found: Mapping[str, CameraSurvey]) -> None:
    arrays: dict[str, NDArray[np.generic]] = {"key": np.array(key)}
    for number, state in enumerate(found.values()):
        if state.done:
            arrays |= {f"{number}/pixels/{name}": value for name, value in state.pixels.items()}
            arrays |= {f"{number}/means/{name}": value for name, value in state.means.items()}
            arrays |= {f"{number}/done": np.array(state.done), f"{number}/motion": np.array(state.motion)}
            arrays |= {f"{number}/samples": np.stack(state.samples)}
    with files.atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez(stream, allow_pickle=False, **arrays)


def _read(path: Path, key: str, cameras: Sequence[str]) -> dict[str, CameraSurvey]:
    """The saved state; empty where there is none, or one of another import."""
    found: dict[str, CameraSurvey] = {}
    with suppress(OSError, ValueError, KeyError, BadZipFile), np.load(path) as stored:
        if str(stored["key"]) != key:
            return {}
        for number, camera in enumerate(cameras):
            if f"{number}/done" in stored:
                found[camera] = CameraSurvey(
                    int(stored[f"{number}/done"]),
                    {name: stored[f"{number}/pixels/{name}"] for name in ("first", "last", "low", "high")},
                    {name: stored[f"{number}/means/{name}"] for name in ("last", "low", "high")},
                    stored[f"{number}/motion"].tolist(),
                    list(stored[f"{number}/samples"]),
                )
    return found

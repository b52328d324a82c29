"""Writes the data set of an import: decodes, turns, crops and encodes images, a few at a time."""

import itertools
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ropes.common import files, png
from ropes.common.arrays import Floats, Images, evenly
from ropes.common.hardware import usable_cores
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.own_camera import OwnCamera
from ropes.data.recordings.calibration import intrinsics
from ropes.data.recordings.look import Looks
from ropes.data.recordings.plan import ImportOptions, Plan, Streams
from ropes.data.recordings.source import FrameId, Recording
from ropes.data.recordings.survey import file_of
from ropes.data.recordings.views import View
from ropes.data.writer import SplitPlan
from ropes.errors import UserError

#: File with the origin of each frame: episode of the recording, time, frame of each camera.
ORIGIN = "meta/origin.parquet"
#: Uncompressed bytes of the images in a data file: memory that an import needs.
BYTES_PER_SHARD = 100_000_000
#: Poses whose frames show what each camera sees.
_REFERENCES = 9


def request_of(
    paths: Sequence[Path], streams: Streams, options: ImportOptions, views: Mapping[str, View]
) -> dict[str, object]:
    """What decides the data set, as far as it is known before any image is decoded.

    Args:
        paths: of the recordings.
        streams: of the recording.
        options: of the import.
        views: camera → view as the options give it.
    """
    asked = {
        camera: view.to_dict() | ({"crop": "motion"} if options.crops_to_motion(camera) else {})
        for camera, view in views.items()
    }
    return {
        **building.versions(),
        "source": {"name": ", ".join(path.name for path in paths), **streams.recording.record},
        "import": {**_described(options, streams), "views": asked},
    }


def write(
    out: Path,
    request: Mapping[str, object],
    streams: Streams,
    made: Plan,
    views: Mapping[str, View],
    looks: Looks,
    progress: bool,
) -> Dataset:
    """Write the data set, or what an interrupted import left out.

    Args:
        out: folder of the data set.
        request: see `request_of`.
        streams: of the recording.
        made: what to write.
        views: camera → view with its crop.
        looks: what the images show.
        progress: show progress.

    Raises:
        UserError: an image is damaged or of another size, a crop lies outside, or `out` holds something else.
    """
    recording, poses = streams.recording, made.poses
    order = np.array([row for rows in made.grouped.episodes for row in rows], dtype=np.int64)
    cameras = [_Camera(recording, made, k, views[name], int(order[0])) for k, name in enumerate(recording.cameras)]
    shapes = {camera.name: camera.shape for camera in cameras}
    if len({len(shape) for shape in shapes.values()}) > 1:
        raise UserError("some cameras are grey and others in colour; give --grey to make all grey")
    some = np.sort(order)[evenly(len(order), _REFERENCES)]
    seen = OwnCamera({camera.name: camera.images(some) for camera in cameras})
    request = {
        **request,
        "dropped": dict(made.dropped),
        "clips": [list(clip) for clip in made.clips],
        "cameras": [camera.record() for camera in cameras],
    }
    numbers = {regime.name: k for k, regime in enumerate(made.regimes)}
    tasks = [tuple(numbers[poses.policies[row]] for row in rows) for rows in made.grouped.episodes]
    # One plan for each run of episodes with the same tasks.
    plans = [SplitPlan(name="train", episodes=len(list(run)), tasks=each) for each, run in itertools.groupby(tasks)]

    def states() -> Mapping[str, Floats]:
        stored = np.empty((len(order), 0)) if poses.positions is None else poses.positions[order]
        return {"train": np.column_stack([stored, order])}

    def images(frames: Floats) -> Iterator[list[bytes]]:
        rows = frames[:, -1].astype(np.int64)
        looks.write(out, views)
        yield from encoded(zip(*(camera.stored(rows, seen) for camera in cameras), strict=True))

    columns = {"episode": poses.episode[order], "time": poses.times[order]}
    columns |= {f"frame.{camera}": poses.frames[order, k] for k, camera in enumerate(recording.cameras)}
    robot = recording.record.get("robot")
    return building.build(
        out,
        request,
        features=schema.features(recording.cameras, shapes, streams.joints or None),
        plans=plans,
        states=states,
        render=images,
        regimes=made.regimes,
        robot_type=robot if isinstance(robot, str) else None,
        progress=progress,
        work="importing, poses",
        images_per_shard=max(1, BYTES_PER_SHARD // max(int(np.prod(shape)) for shape in shapes.values())),
        tables={ORIGIN: pa.table(columns)},
    )


class _Camera:
    """A camera of an import, whose first image has been decoded: size of its images, and shape of those to store."""

    def __init__(self, recording: Recording, made: Plan, k: int, view: View, first: int) -> None:
        self._recording, self._poses, self._k, self._view = recording, made.poses, k, view
        self.name = recording.cameras[k]
        with closing(self.images(np.array([first]))) as stream:
            image = next(stream)
        view.require_inside(self.name, image)
        self._size, self.shape = (image.shape[0], image.shape[1]), view.apply(image).shape

    def _frames(self, rows: NDArray[np.int64]) -> list[FrameId]:
        """Episode and frame of some poses."""
        frames = self._poses.frames[rows, self._k].tolist()
        return list(zip(self._poses.episode[rows].tolist(), frames, strict=True))

    def images(self, rows: NDArray[np.int64]) -> Generator[Images, None, None]:
        """The images of some poses as they were recorded."""
        return self._recording.images(self.name, self._frames(rows))

    def record(self) -> dict[str, object]:
        """Name, view and size of the camera's images; intrinsics and size of the stored ones if it is calibrated."""
        content: dict[str, object] = {"name": self.name, "view": self._view.to_dict(), "source_size": list(self._size)}
        calibration = getattr(self._recording, "calibrations", {}).get(self.name)
        matrix = None if calibration is None else intrinsics(calibration, self._view, self._size)
        if matrix is None:
            return content
        return {**content, "intrinsics": matrix.tolist(), "width": self.shape[1], "height": self.shape[0]}

    def stored(self, rows: NDArray[np.int64], seen: OwnCamera) -> Generator[Images, None, None]:
        """The images of some poses as they are stored; all must have the size of the first one.

        Args:
            rows: of the poses.
            seen: what each camera sees; a frame of another camera is refused.
        """
        frames, shape = self._frames(rows), self.shape
        for (episode, number), image in zip(frames, self._recording.images(self.name, frames), strict=True):
            stored = self._view.apply(image)
            other = seen.other(self.name, image)
            if other is not None or image.shape[:2] != self._size or stored.shape != shape:
                where = f"{self._recording.episodes[episode].name}: frame {number} of camera {self.name}"
                where += file_of(self._recording, self.name, (episode, number))
                if other is not None:
                    raise UserError(f"{where} shows what camera {other} sees; take it out, or exchange the two")
                if stored.ndim != len(shape):
                    own, others = ("RGB" if each > 2 else "grey" for each in (stored.ndim, len(shape)))
                    raise UserError(f"{where} is {own}, and others are {others}; record one kind, or use --grey")
                raise UserError(
                    f"{where} is stored as {stored.shape} from {_pixels(image.shape)}, and others as {shape} from "
                    f"{_pixels(self._size)}; record one size"
                )
            yield stored


def _described(options: ImportOptions, streams: Streams) -> dict[str, object]:
    """The options that decide what a data set holds, as JSON can hold them."""
    calibration = options.streams.calibration
    return {
        "frames": streams.selection,
        "group": options.group,
        "state": options.unit if streams.joints else "none",
        "tolerance": options.tolerance,
        "different_rates": options.different_rates,
        "dwell": options.dwell if streams.selection == "dwell" else None,
        "policies": None if options.policies is None else files.sha256(options.policies),
        "policy_column": options.streams.policy_column,
        "joint_columns": list(options.streams.joint_columns),
        "offset": options.streams.offset,
        **({} if calibration is None else {"lerobot_calibration": files.sha256(calibration)}),
    }


def _pixels(shape: Sequence[int]) -> str:
    return f"{shape[1]}x{shape[0]} pixels"


def encoded(views: Iterator[tuple[Images, ...]]) -> Iterator[list[bytes]]:
    """Encode as PNG, in threads, a few views ahead."""
    waiting: deque[list[Future[bytes]]] = deque()
    with ThreadPoolExecutor(usable_cores()) as pool:
        for images in views:
            waiting.append([pool.submit(png.encode, image) for image in images])
            if len(waiting) > 2 * usable_cores():
                yield [future.result() for future in waiting.popleft()]
        while waiting:
            yield [future.result() for future in waiting.popleft()]

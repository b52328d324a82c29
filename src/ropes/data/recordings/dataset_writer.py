"""Writes the data set of an import: decodes, turns, crops and encodes images, a few at a time."""

import itertools
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ropes.common import files, png
from ropes.common.hardware import usable_cores
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.recordings.calibration import intrinsics
from ropes.data.recordings.look import Looks
from ropes.data.recordings.plan import ImportOptions, Plan, Streams
from ropes.data.recordings.source import Image, Recording
from ropes.data.recordings.views import View
from ropes.data.writer import SplitPlan
from ropes.errors import UserError

Floats = NDArray[np.float64]
#: File with the origin of each frame: episode of the recording, time, frame of each camera.
ORIGIN = "meta/origin.parquet"
#: Uncompressed bytes of the images in a data file: memory that an import needs.
BYTES_PER_SHARD = 100_000_000


def request_of(path: Path, streams: Streams, options: ImportOptions, views: Mapping[str, View]) -> dict[str, object]:
    """What decides the data set, as far as it is known before any image is decoded.

    Args:
        path: of the recording.
        streams: of the recording.
        options: of the import.
        views: camera → view as the options give it.
    """
    asked = {camera: view.to_dict() | {"crop": _asked(camera, view, options)} for camera, view in views.items()}
    return {
        **building.versions(),
        "source": {"name": path.name, **streams.recording.record},
        "import": {**_described(options, streams), "views": asked},
    }


def _asked(camera: str, view: View, options: ImportOptions) -> object:
    """The crop that the options ask for."""
    return "motion" if options.crops_to_motion(camera) else view.to_dict()["crop"]


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
    sizes, shapes = dict[str, tuple[int, int]](), dict[str, tuple[int, ...]]()
    for camera in recording.cameras:
        image = _first(recording, made, camera, views[camera], order)
        sizes[camera], shapes[camera] = (image.shape[0], image.shape[1]), views[camera].apply(image).shape
    kinds = {len(shape) for shape in shapes.values()}
    if len(kinds) > 1:
        raise UserError("some cameras are grey and others in colour; give --grey to make all grey")
    request = {
        **request,
        "dropped": dict(made.dropped),
        "clips": [list(clip) for clip in made.clips],
        "cameras": [
            {
                "name": camera,
                "view": views[camera].to_dict(),
                **_calibrated(recording, camera, views[camera], sizes[camera], shapes[camera]),
            }
            for camera in recording.cameras
        ],
    }
    numbers = {regime.name: k for k, regime in enumerate(made.regimes)}

    def states() -> Mapping[str, Floats]:
        stored = np.empty((len(order), 0)) if poses.positions is None else poses.positions[order]
        return {"train": np.column_stack([stored, order])}

    def images(frames: Floats) -> Iterator[list[bytes]]:
        rows = frames[:, -1].astype(np.int64)
        looks.write(out, views)
        decoded = [
            _checked(recording, camera, k, made, rows, views[camera], sizes[camera], shapes[camera])
            for k, camera in enumerate(recording.cameras)
        ]
        yield from _encoded(zip(*decoded, strict=True))

    robot = recording.record.get("robot")
    dataset = building.build(
        out,
        request,
        features=schema.features(recording.cameras, shapes, streams.joints or None),
        plans=_split_plans([tuple(numbers[poses.policies[row]] for row in rows) for rows in made.grouped.episodes]),
        states=states,
        render=images,
        regimes=made.regimes,
        robot_type=robot if isinstance(robot, str) else None,
        progress=progress,
        work="importing, poses",
        images_per_shard=max(1, BYTES_PER_SHARD // max(int(np.prod(shape)) for shape in shapes.values())),
    )
    columns = {"episode": poses.episode[order], "time": poses.times[order]}
    columns |= {f"frame.{camera}": poses.frames[order, k] for k, camera in enumerate(recording.cameras)}
    with files.atomic_path(out / ORIGIN) as temporary:
        pq.write_table(pa.table(columns), temporary)
    return dataset


def _calibrated(
    recording: Recording, camera: str, view: View, size: tuple[int, int], shape: tuple[int, ...]
) -> dict[str, object]:
    """Intrinsics, width and height of the stored images of a camera whose calibration is known; empty otherwise."""
    calibration = getattr(recording, "calibrations", {}).get(camera)
    matrix = None if calibration is None else intrinsics(calibration, view, size)
    if matrix is None:
        return {}
    return {"intrinsics": matrix.tolist(), "width": shape[1], "height": shape[0]}


def _split_plans(tasks: Sequence[tuple[int, ...]]) -> list[SplitPlan]:
    """Plans of the training split; one for each run of episodes with the same tasks."""
    runs = [(each, len(list(run))) for each, run in itertools.groupby(tasks)]
    return [SplitPlan(name="train", episodes=count, tasks=each) for each, count in runs]


def _described(options: ImportOptions, streams: Streams) -> dict[str, object]:
    """The options that decide what a data set holds, as JSON can hold them."""
    return {
        "frames": streams.selection,
        "group": options.group,
        "state": options.state if streams.joints else "none",
        "tolerance": options.tolerance,
        "different_rates": options.different_rates,
        "dwell": options.dwell if streams.selection == "dwell" else None,
        "policies": None if options.policies is None else files.sha256(options.policies),
        "policy_column": options.streams.policy_column,
        "joint_columns": list(options.streams.joint_columns),
        "offset": options.streams.offset,
    }


def _first(recording: Recording, made: Plan, camera: str, view: View, order: NDArray[np.int64]) -> Image:
    """The first image of a camera, of which its crop keeps something."""
    first, k = int(order[0]), recording.cameras.index(camera)
    frame = int(made.poses.episode[first]), int(made.poses.frames[first, k])
    with closing(recording.images(camera, [frame])) as stream:
        image = next(stream)
    view.require_inside(camera, image)
    return image


def _checked(
    recording: Recording,
    camera: str,
    k: int,
    made: Plan,
    rows: NDArray[np.int64],
    view: View,
    size: tuple[int, int],
    shape: tuple[int, ...],
) -> Generator[Image, None, None]:
    """The images of a camera as they are stored."""
    frames = list(zip(made.poses.episode[rows].tolist(), made.poses.frames[rows, k].tolist(), strict=True))
    for (episode, number), image in zip(frames, recording.images(camera, frames), strict=True):
        stored = view.apply(image)
        if image.shape[:2] != size or stored.shape != shape:
            raise UserError(
                f"{recording.episodes[episode].name}: frame {number} of camera {camera} is stored as {stored.shape} "
                f"from {_pixels(image.shape)}, and others as {shape} from {_pixels(size)}; record one size"
            )
        yield stored


def _pixels(shape: Sequence[int]) -> str:
    return f"{shape[1]}x{shape[0]} pixels"


def _encoded(views: Iterator[tuple[Image, ...]]) -> Iterator[list[bytes]]:
    """Encode as PNG, in threads, a few views ahead."""
    waiting: deque[list[Future[bytes]]] = deque()
    with ThreadPoolExecutor(usable_cores()) as pool:
        for images in views:
            waiting.append([pool.submit(png.encode, image) for image in images])
            if len(waiting) > 2 * usable_cores():
                yield [future.result() for future in waiting.popleft()]
        while waiting:
            yield [future.result() for future in waiting.popleft()]

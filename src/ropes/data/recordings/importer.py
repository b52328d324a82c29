"""Imports a recording: opens it, chooses poses, and writes a data set shard by shard.

An interrupted import leaves complete shards only; the same call goes on.  Bad input leaves nothing.
"""

import itertools
import shutil
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
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
from ropes.data.recordings.plan import ImportOptions, Plan, Streams, dwells_by_positions, plan, read_streams
from ropes.data.recordings.preview import write_preview
from ropes.data.recordings.registry import open_recording
from ropes.data.recordings.source import Image, Recording
from ropes.data.recordings.survey import STATE, CameraSurvey, still_by_images, survey
from ropes.data.recordings.views import View
from ropes.data.writer import SplitPlan
from ropes.errors import UserError

Floats = NDArray[np.float64]
#: File with the origin of each frame: episode of the recording, time, frame of each camera.
ORIGIN = "meta/origin.parquet"
#: Picture of what is kept of a camera.
PREVIEW = "meta/preview-{camera}.png"
#: Uncompressed bytes of the images in a data file: memory that an import needs.
_BYTES_PER_SHARD = 100_000_000


@dataclass(frozen=True, kw_only=True)
class Imported:
    """What was imported; `str` describes it in one line."""

    dataset: Dataset
    plan: Plan
    source: str
    tolerance: float

    def __str__(self) -> str:
        grouped = self.plan.grouped
        frames = sum(map(len, grouped.episodes))
        kind = "anchors" if grouped.anchors else "stretches of a policy, no anchors: fit with --method ldr"
        shapes = (f"{name} {shape[1]}x{shape[0]}" for name, shape in zip(*self._cameras, strict=True))
        dropped = (f"{count} left out: {reason}" for reason, count in self.plan.dropped.items())
        clips = (f"{len(self.plan.clips)} moves between dwells",) if self.plan.clips else ()
        parts = (
            f"{self.source}: {frames:,} poses in {len(grouped.episodes):,} {kind}",
            f"cameras {', '.join(shapes)}",
            f"time stamps within {self.tolerance:g} s",
            *clips,
            *dropped,
            *self.plan.notes,
        )
        return "; ".join(parts)

    @property
    def _cameras(self) -> tuple[Sequence[str], Sequence[tuple[int, ...]]]:
        return self.dataset.cameras, self.dataset.image_shapes


def import_recording(path: Path, *, out: Path, options: ImportOptions, progress: bool = True) -> Imported:
    """Convert a recording into a data set, or resume an interrupted import.

    Args:
        path: a LeRobot folder, a ROS bag, a video, or a folder of videos or frames with a log.
        out: folder of the data set.
        options: see `ImportOptions`.
        progress: show progress.

    Raises:
        UserError: the recording is damaged, lacks a stream or a policy, or `out` holds something else.  Nothing is left
            in `out` then.
    """
    files.require_free(out, schema.PROVENANCE)
    began_empty = not out.exists() or all(entry.name.endswith(".part") for entry in out.iterdir())
    source, recording = open_recording(path, options.streams)
    streams = read_streams(recording, options)
    views = _views(recording, options)
    try:
        made, surveys = _planned(streams, views, options, out, progress)
        if options.crop_to_motion:
            views = {camera: _cropped(view, surveys[camera]) for camera, view in views.items()}
        dataset = _write(path, out, streams, made, views, surveys, options, progress)
        (out / STATE).unlink(missing_ok=True)
    except UserError:
        if began_empty:
            shutil.rmtree(out, ignore_errors=True)
        raise
    return Imported(dataset=dataset, plan=made, source=source, tolerance=options.tolerance)


def _planned(
    streams: Streams, views: Mapping[str, View], options: ImportOptions, out: Path, progress: bool
) -> tuple[Plan, dict[str, CameraSurvey]]:
    """The plan, and what a look at the images shows; without such a look where nothing needs it."""
    cameras = streams.recording.cameras
    if streams.selection == "dwell" and not dwells_by_positions(streams):
        frames = {
            camera: [(number, int(frame)) for number, seen in enumerate(streams.views) for frame in seen.frames[:, k]]
            for k, camera in enumerate(cameras)
        }
        surveys = survey(streams.recording, frames, views, out=out, progress=progress)
        still, parts, begin = still_by_images(surveys.values()), [], 0
        for seen in streams.views:  # the last image of an episode and the first one of the next belong to no dwell
            parts.append(still[begin : begin + max(0, len(seen.times) - 1)])
            begin += len(seen.times)
        return plan(streams, options, parts), surveys
    made = plan(streams, options, None)
    if not (options.crop_to_motion or options.crop):
        return made, {}
    rows = np.sort(np.array([row for each in made.grouped.episodes for row in each], dtype=np.int64))
    frames = {
        camera: list(zip(made.poses.episode[rows].tolist(), made.poses.frames[rows, k].tolist(), strict=True))
        for k, camera in enumerate(cameras)
    }
    return made, survey(streams.recording, frames, views, out=out, progress=progress)


def _cropped(view: View, seen: CameraSurvey) -> View:
    """The view, cropped to what moves unless it has a crop."""
    return view if view.crop is not None else replace(view, crop=seen.moving_box())


def _views(recording: Recording, options: ImportOptions) -> dict[str, View]:
    """Camera → view.

    Raises:
        UserError: an option names a camera that the recording lacks.
    """
    for option, given in (("--rotate", options.rotate), ("--crop", options.crop), ("--image-size", options.size)):
        if unknown := [name for name in given if name is not None and name not in recording.cameras]:
            raise UserError(f"{option}: no camera {unknown[0]!r}; the recording has {', '.join(recording.cameras)}")
    return {
        camera: View(
            rotate=options.rotate.get(camera, options.rotate.get(None, 0)),
            crop=options.crop.get(camera, options.crop.get(None)),
            size=options.size.get(camera, options.size.get(None)),
            grey=options.grey,
        )
        for camera in recording.cameras
    }


def _write(
    path: Path,
    out: Path,
    streams: Streams,
    made: Plan,
    views: Mapping[str, View],
    surveys: Mapping[str, CameraSurvey],
    options: ImportOptions,
    progress: bool,
) -> Dataset:
    """Write the data set, or what an interrupted import left out."""
    recording, poses = streams.recording, made.poses
    order = np.array([row for rows in made.grouped.episodes for row in rows], dtype=np.int64)
    shapes = {camera: _shape(recording, made, camera, views[camera], order) for camera in recording.cameras}
    kinds = {len(shape) for shape in shapes.values()}
    if len(kinds) > 1:
        raise UserError("some cameras are grey and others in colour; give --grey to make all grey")
    request = {
        **building.versions(),
        "source": {"name": path.name, **recording.record},
        "import": _described(options, streams),
        "dropped": dict(made.dropped),
        "clips": [list(clip) for clip in made.clips],
        "cameras": [{"name": camera, "view": views[camera].to_dict()} for camera in recording.cameras],
    }
    numbers = {regime.name: k for k, regime in enumerate(made.regimes)}

    def states() -> Mapping[str, Floats]:
        stored = np.empty((len(order), 0)) if poses.positions is None else poses.positions[order]
        return {"train": np.column_stack([stored, order])}

    def images(frames: Floats) -> Iterator[list[bytes]]:
        rows = frames[:, -1].astype(np.int64)
        for camera, seen in surveys.items():
            write_preview(out / PREVIEW.format(camera=camera), seen, views[camera])
        decoded = [
            _checked(recording, camera, k, made, rows, views[camera], shapes[camera])
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
        images_per_shard=max(1, _BYTES_PER_SHARD // max(int(np.prod(shape)) for shape in shapes.values())),
    )
    columns = {"episode": poses.episode[order], "time": poses.times[order]}
    columns |= {f"frame.{camera}": poses.frames[order, k] for k, camera in enumerate(recording.cameras)}
    with files.atomic_path(out / ORIGIN) as temporary:
        pq.write_table(pa.table(columns), temporary)
    return dataset


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
        "offset": options.streams.offset,
    }


def _shape(recording: Recording, made: Plan, camera: str, view: View, order: NDArray[np.int64]) -> tuple[int, ...]:
    """Shape of the stored images of a camera, from its first frame."""
    first, k = int(order[0]), recording.cameras.index(camera)
    frame = int(made.poses.episode[first]), int(made.poses.frames[first, k])
    with closing(recording.images(camera, [frame])) as stream:
        image = next(stream)
    view.require_inside(camera, image)
    return view.apply(image).shape


def _checked(
    recording: Recording,
    camera: str,
    k: int,
    made: Plan,
    rows: NDArray[np.int64],
    view: View,
    shape: tuple[int, ...],
) -> Generator[Image, None, None]:
    """The images of a camera as they are stored.

    Raises:
        UserError: an image is damaged or has another size than the first one.
    """
    frames = list(zip(made.poses.episode[rows].tolist(), made.poses.frames[rows, k].tolist(), strict=True))
    for (episode, number), image in zip(frames, recording.images(camera, frames), strict=True):
        stored = view.apply(image)
        if stored.shape != shape:
            raise UserError(
                f"{recording.episodes[episode].name}: frame {number} of camera {camera} is stored as {stored.shape}, "
                f"and others as {shape}; record one size"
            )
        yield stored


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

"""Imports a recording: opens it, chooses poses, and writes a data set shard by shard.

An interrupted import leaves complete shards only; the same call resumes it.  Bad input leaves nothing.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ropes.common import files
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.recordings.dataset_writer import request_of, write
from ropes.data.recordings.dwells import doubt, still_by_images
from ropes.data.recordings.joined import open_recordings
from ropes.data.recordings.look import NOTHING, Looks, look
from ropes.data.recordings.plan import ImportOptions, Plan, Streams, dwells_by_positions, plan, read_streams, views_of
from ropes.data.recordings.survey import STATE
from ropes.data.recordings.views import View
from ropes.errors import UserError


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
        sizes = zip(self.dataset.cameras, self.dataset.image_shapes, strict=True)
        shapes = (f"{name} {shape[1]}x{shape[0]}" for name, shape in sizes)
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


def import_recording(*paths: Path, out: Path, options: ImportOptions, progress: bool = True) -> Imported:
    """Convert a recording, or several of one kind, into a data set, or resume an interrupted import.

    Args:
        paths: each a LeRobot folder, a ROS bag, a video, or a folder of videos or frames with a log.
        out: folder of the data set.
        options: see `ImportOptions`.
        progress: show progress.

    Raises:
        UserError: the recording is damaged, lacks a stream or a policy, or `out` holds something else.  Nothing is left
            in `out` then.
    """
    files.require_free(out, schema.PROVENANCE)
    for path in paths:
        if path.is_dir() and out.resolve().is_relative_to(path.resolve()):
            raise UserError(f"--out {out} is inside the recording {path}; choose a folder outside")
    began_empty = not out.exists() or all(map(files.is_temporary, out.iterdir()))
    source, recording = open_recordings(paths, replace(options.streams, progress=progress))
    streams = read_streams(recording, options)
    views = views_of(recording, options)
    request = request_of(paths, streams, options, views)
    is_complete = building.finished(out, request) is not None
    try:
        made, looks = _planned(streams, views, options, out, progress)
        views = {
            camera: replace(view, crop=looks.cameras[camera].box) if options.crops_to_motion(camera) else view
            for camera, view in views.items()
        }
        dataset = write(out, request, streams, made, views, looks, progress)
        (out / STATE).unlink(missing_ok=True)
    except UserError:
        if began_empty:
            shutil.rmtree(out, ignore_errors=True)
        elif is_complete:
            (out / STATE).unlink(missing_ok=True)
        raise
    return Imported(dataset=dataset, plan=made, source=source, tolerance=options.tolerance)


def _planned(
    streams: Streams, views: Mapping[str, View], options: ImportOptions, out: Path, progress: bool
) -> tuple[Plan, Looks]:
    """The plan, and the survey of the images; the survey is empty where the options do not need it."""
    cameras = streams.recording.cameras
    if streams.selection == "dwell" and not dwells_by_positions(streams):
        frames = {
            camera: [(number, int(frame)) for number, seen in enumerate(streams.views) for frame in seen.frames[:, k]]
            for k, camera in enumerate(cameras)
        }
        looks = look(streams.recording, frames, views, out=out, progress=progress)
        still, parts, begin = still_by_images(seen.motion for seen in looks.cameras.values()), [], 0
        for seen in streams.views:  # the last image of an episode and the first one of the next belong to no dwell
            parts.append(still[begin : begin + max(0, len(seen.times) - 1)])
            begin += len(seen.times)
        made = plan(streams, options, parts)
        doubts = (doubt(camera, seen.motion) for camera, seen in looks.cameras.items())
        return replace(made, notes=(*made.notes, *filter(None, doubts))), looks
    made = plan(streams, options, None)
    rows = np.sort(np.array([row for each in made.grouped.episodes for row in each], dtype=np.int64))
    frames = {
        camera: list(zip(made.poses.episode[rows].tolist(), made.poses.frames[rows, k].tolist(), strict=True))
        for k, camera in enumerate(cameras)
        if options.crops_to_motion(camera) or views[camera].crop is not None
    }
    return made, look(streams.recording, frames, views, out=out, progress=progress) if frames else NOTHING

"""Frames of a recording with the logged angles at the same times, as a run reads them.  Policies are not needed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ropes.common.arrays import Floats, Images, Ints, evenly
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.origin import views_of
from ropes.data.recordings.lerobot_units import POSITION
from ropes.data.recordings.plan import ImportOptions
from ropes.data.recordings.registry import open_recording
from ropes.data.recordings.source import Episode, Joints, Recording
from ropes.data.recordings.synchronise import farthest, synchronise
from ropes.data.recordings.units import in_radians, radians_of
from ropes.data.recordings.views import View, for_image, sizes_of_crops, views_as_recorded
from ropes.data.views import Views, joined
from ropes.errors import UserError
from ropes.methods.run import Run

#: Frames that are decoded at a time.
_CHUNK = 64


@dataclass(frozen=True, kw_only=True)
class LoggedFrames:
    """Frames with logged angles, in the order of the recording; cameras and joints in the order of the run.

    Attributes:
        source: name of the format.
        times: seconds from the first frame, without the pauses between episodes, (n,).
        episode: number of the episode of each frame, (n,).
        numbers: frame of each camera in its episode, (n, cameras).
        angles: logged angles, (n, d), radians.
        shifted: the logged angles so many seconds later, (n, d); None where the log has no samples of a motion.
        lag: by how many seconds `angles` were shifted, because the log is so late against the images; negative: early.
        total: number of frames with a logged angle, of which these are drawn.
        dropped: reason → number of frames that were left out.
        recording: the recording.
        views: camera → what happens to its images.
        sources: camera → size of the images that its crop was made for, see `sizes_of_crops`.
        run: the run.
    """

    source: str
    times: Floats
    episode: Ints
    numbers: Ints
    angles: Floats
    shifted: Callable[[float], Floats] | None
    total: int
    dropped: Mapping[str, int]
    recording: Recording
    views: Mapping[str, View]
    sources: Mapping[str, tuple[int, int]]
    run: Run
    lag: float = 0.0

    def __len__(self) -> int:
        return len(self.times)

    def images(self, rows: Ints | None = None) -> Iterator[Views]:
        """Images of the frames in ascending `rows` (all by default), some at a time.

        Raises:
            UserError: an image is damaged, or not of the size or type that the run reads.
        """
        rows = np.arange(len(self)) if rows is None else rows
        with ExitStack() as stack:
            streams = []
            for k, camera in enumerate(self.run.cameras):
                frames = list(zip(self.episode[rows].tolist(), self.numbers[rows, k].tolist(), strict=True))
                streams.append(stack.enter_context(closing(self.recording.images(camera, frames))))
            for start in range(0, len(rows), _CHUNK):
                count = min(_CHUNK, len(rows) - start)
                yield joined([np.stack([self._view(k, next(s)) for _ in range(count)]) for k, s in enumerate(streams)])

    def _view(self, k: int, image: Images) -> Images:
        camera, wanted = self.run.cameras[k], self.run.shapes[k]
        stored = for_image(self.views[camera], camera, self.sources, image).apply(image)
        if stored.shape != wanted:
            raise UserError(
                f"images of camera {camera} have {_described(stored.shape)} pixels, and the run reads "
                f"{_described(wanted)} ones; give --reference DATA, or --crop and --rotate as in its import"
            )
        return stored


def _described(shape: Sequence[int]) -> str:
    return f"{shape[1]}x{shape[0]} {'colour' if len(shape) > 2 else 'grey'}"


def read_frames(
    run: Run, path: Path, *, frames: int, options: ImportOptions, imported: Dataset | None = None
) -> LoggedFrames:
    """Open a recording and choose frames evenly over it.

    Args:
        run: its cameras, joints and sizes of images are those of the frames.
        path: anything that `ropes import` reads, or a data set.
        frames: number of frames at most.
        options: how to read the recording; images are made grey and averaged to the run's size by themselves.
        imported: data set whose rotations and crops apply where the options give none.  Images of a data set of ropes
            are turned and cropped already.

    Raises:
        UserError: the recording is damaged, lacks a camera or a joint, has no angles, has clocks that disagree, or has
            positions that are no angles in the unit of the options.
    """
    records: Mapping[str, Mapping[str, Any]] = run.views
    if is_of_ropes(path):
        open_dataset(path)  # which refuses unfinished ones
        records = {}
    elif imported is not None:
        records = views_of(imported) or run.views
    streams = replace(options.streams, needs_policies=False)
    source, recording = open_recording(path, streams)
    if absent := [camera for camera in run.cameras if camera not in recording.cameras]:
        named = " ".join(name if name in recording.cameras else f"{name}=CAMERA" for name in run.cameras)
        raise UserError(
            f"{path} has no camera {absent[0]} of the run (it has {', '.join(recording.cameras)}); where only the name "
            f"differs, give --cameras {named}"
        )
    parts, positions = [], []
    for number, recorded in enumerate(recording.episodes):
        joints = _joints(run, recorded, path)
        episode = replace(recorded, joints=joints)
        seen = synchronise(episode, run.cameras, options.tolerance, different_rates=options.different_rates)
        seen = in_radians(seen, options.state, joints.scales, f"{path}, {episode.name}", needed=True)
        assert seen.positions is not None  # of `joints`
        positions.append(seen.positions)
        parts.append((number, joints, seen))
    dropped: dict[str, int] = {}
    for *_, seen in parts:
        for reason, count in seen.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    total = sum(len(seen.times) for *_, seen in parts)
    if not total:
        apart = farthest(recording.episodes[0], run.cameras, state=True)
        raise UserError(
            f"{path}: no frame has a logged angle; {apart}: record with one clock, or give a larger --tolerance, or "
            "--offset for the log of a video"
        )
    times, begin = [], 0.0
    for *_, seen in parts:
        if len(seen.times):
            step = float(np.median(np.diff(seen.times))) if len(seen.times) > 1 else 1.0
            times.append(begin + seen.times - seen.times[0])
            begin = float(times[-1][-1]) + step
    rows = evenly(total, frames)
    numbers = np.concatenate([np.full(len(seen.times), number) for number, *_, seen in parts])
    stamps = np.concatenate([seen.times for *_, seen in parts])

    def shifted(lag: float) -> Floats:
        moved = np.empty((len(rows), len(run.joints)))
        for number, joints, _ in parts:
            inside, known = numbers[rows] == number, np.isfinite(joints.positions).all(axis=1)
            if not inside.any():
                continue
            at, times, logged = stamps[rows[inside]] + lag, joints.times[known], joints.positions[known].T
            between = np.stack([np.interp(at, times, column) for column in logged], axis=1)
            moved[inside] = radians_of(between, joints.names, options.unit, joints.scales)
        return moved

    return LoggedFrames(
        source=source,
        times=np.concatenate(times)[rows],
        episode=numbers[rows],
        numbers=np.concatenate([seen.frames for *_, seen in parts])[rows],
        angles=np.concatenate(positions)[rows],
        shifted=shifted if all(joints.are_samples for _, joints, _ in parts) else None,
        total=total,
        dropped=dropped,
        recording=recording,
        views=_views(run, options, records),
        sources=sizes_of_crops(records, options.crop),
        run=run,
    )


def is_of_ropes(path: Path) -> bool:
    """Whether a command of ropes wrote the data set in a folder."""
    return (path / schema.PROVENANCE).exists()


def _joints(run: Run, episode: Episode, path: Path) -> Joints:
    """The log of the run's joints, in their order; names lose LeRobot's end, as data sets of ropes do.

    Raises:
        UserError: no joint positions, or a joint is missing.
    """
    logged = episode.joints
    if logged is None:
        raise UserError(
            f"{path} has no logged joint angles in {episode.name} ({schema.STATE}, sensor_msgs/JointState, or columns "
            "of the --log)"
        )
    names, wanted = ([name.removesuffix(POSITION) for name in each] for each in (logged.names, run.joints))
    if absent := [joint for joint in wanted if joint not in names]:
        raise UserError(
            f"{path} has no joint {absent[0]}, which the run estimates (it has {', '.join(names)}): it is of another "
            "arm, or its joints have other names"
        )
    return replace(logged, names=tuple(wanted), positions=logged.positions[:, [names.index(each) for each in wanted]])


def _views(run: Run, options: ImportOptions, records: Mapping[str, Mapping[str, Any]]) -> dict[str, View]:
    """Camera → what happens to its images: rotation and crop by the options, or as recorded."""
    for option, given in (("--rotate", options.rotate), ("--crop", options.crop)):
        if unknown := [name for name in given if name is not None and name not in run.cameras]:
            raise UserError(f"{option}: no camera {unknown[0]!r}; the run has {', '.join(run.cameras)}")
    shapes = dict(zip(run.cameras, run.shapes, strict=True))
    return views_as_recorded(shapes, records, options.rotate, options.crop)

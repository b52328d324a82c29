"""Writes a LeRobot v3.0 folder shard by shard; an interruption leaves only complete shards.

`plan_shards` assigns frames to files, `write_shard` writes one file, `finish` reads all files back and writes the
metadata.  The result depends on plan and images only, not on the order in which shards are written.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike

from ropes.causal.scm import Regime
from ropes.common import files, png, stores
from ropes.common.arrays import Ints
from ropes.common.cached_files import sha256
from ropes.common.progress import progress as show_progress
from ropes.common.stores import Location
from ropes.data import arrays, parquet, schema
from ropes.data.arrays import SplitImages
from ropes.data.schema import episodes_table, info
from ropes.data.stats import Moments
from ropes.errors import UserError
from ropes.simulation.actions import Action

#: Approximate number of images in a data file.
IMAGES_PER_SHARD = 2000


@dataclass(frozen=True, kw_only=True)
class SplitPlan:
    """A split of `episodes` episodes, each with one frame for every task index in `tasks`, in that order.

    `actions`, one task index per episode, replace the task indices of its frames.
    """

    name: str
    episodes: int
    tasks: tuple[int, ...]
    actions: tuple[int, ...] = ()

    def task_lists(self) -> list[tuple[int, ...]]:
        """Task indices of the frames of each episode."""
        if self.actions:
            return [(action,) * len(self.tasks) for action in self.actions]
        return [self.tasks] * self.episodes


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One data file: complete episodes of one split.

    Attributes:
        number: number of the file.
        split: name of the split.
        first_episode, first_frame: indices in the data set.
        first_row: index of the first frame in the split.
        tasks: task indices of the frames of each episode.
    """

    number: int
    split: str
    first_episode: int
    first_frame: int
    first_row: int
    tasks: tuple[tuple[int, ...], ...]

    @property
    def episodes(self) -> int:
        """Number of episodes in the file."""
        return len(self.tasks)

    @property
    def lengths(self) -> Ints:
        """Number of frames of each episode, (episodes,)."""
        return np.array([len(tasks) for tasks in self.tasks], dtype=np.int64)

    @property
    def task_of_frame(self) -> Ints:
        """Task index of every frame, (frames,)."""
        return np.array([task for tasks in self.tasks for task in tasks], dtype=np.int64)

    @property
    def frames(self) -> int:
        """Number of frames in the file."""
        return int(self.lengths.sum())

    @property
    def path(self) -> str:
        """Path of the file, relative to the data set's folder."""
        return schema.data_file(self.number)


def plan_shards(
    splits: Sequence[SplitPlan], cameras: int, images_per_shard: int = IMAGES_PER_SHARD
) -> tuple[Shard, ...]:
    """Divide the splits, in order, into shards of complete episodes with about `images_per_shard` images each.

    A split whose episodes have different tasks has several plans of its name, one after the other.
    """
    shards: list[Shard] = []
    rows: dict[str, int] = {}
    episode = frame = 0
    for name, plans in itertools.groupby(splits, lambda plan: plan.name):
        for tasks in _filled([each for plan in plans for each in plan.task_lists()], cameras, images_per_shard):
            shard = Shard(
                number=len(shards),
                split=name,
                first_episode=episode,
                first_frame=frame,
                first_row=rows.get(name, 0),
                tasks=tasks,
            )
            shards.append(shard)
            episode, frame = episode + shard.episodes, frame + shard.frames
            rows[name] = shard.first_row + shard.frames
    return tuple(shards)


def _filled(
    episodes: Iterable[tuple[int, ...]], cameras: int, images_per_shard: int
) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Tasks of successive episodes, as many as have at most `images_per_shard` images, but at least one."""
    part, images = list[tuple[int, ...]](), 0
    for tasks in episodes:
        if part and images + len(tasks) * cameras > images_per_shard:
            yield tuple(part)
            part, images = [], 0
        part.append(tasks)
        images += len(tasks) * cameras
    if part:
        yield tuple(part)


def write_shard(
    root: Location,
    shard: Shard,
    features: Mapping[str, Any],
    images: Sequence[Sequence[bytes]],
    states: ArrayLike | None,
) -> None:
    """Write one shard atomically.

    Args:
        root: folder of the data set.
        shard: the frames.
        features: see `schema.features`.
        images: PNG bytes of each camera, for each frame.
        states: joint angles in radians, (frames, joints), where the features have them.
    """
    lengths, frames = shard.lengths, np.arange(shard.frames)
    within = frames - np.repeat(np.cumsum(lengths) - lengths, lengths)
    columns: dict[str, Any] = {
        "timestamp": within / schema.FPS,
        "frame_index": within,
        "episode_index": shard.first_episode + np.repeat(np.arange(shard.episodes), lengths),
        "index": shard.first_frame + frames,
        "task_index": shard.task_of_frame,
    }
    arrow = schema.arrow_schema(features)
    cameras = [name for name in features if name.startswith(schema.IMAGES)]
    for k, name in enumerate(cameras):
        # Hugging Face's image type requires a path; the names are LeRobot's.
        columns[name] = [
            {"bytes": views[k], "path": f"frame-{row:06d}.png"}
            for row, views in zip(shard.first_frame + frames, images, strict=True)
        ]
    if schema.STATE in features:
        angles = np.asarray(states, dtype=np.float32).reshape(shard.frames, -1)
        columns[schema.STATE] = angles[:, 0] if angles.shape[1] == 1 else list(angles)
    table = pa.Table.from_arrays([pa.array(columns[f.name], f.type) for f in arrow], schema=arrow)
    parquet.write_table(root / shard.path, table)


def finish(
    root: Location,
    *,
    shards: Sequence[Shard],
    features: Mapping[str, Any],
    regimes: Sequence[Regime] | Sequence[Action],
    provenance: Mapping[str, Any],
    further: Sequence[str] = (),
    robot_type: str | None = None,
    progress: bool = False,
) -> None:
    """Write the files under `meta/` once all shards are complete; `meta/ropes.json` comes last.

    Args:
        root: folder of the data set.
        shards: all shards.
        features: see `schema.features`.
        regimes: regime or action of each task index.
        provenance: content of `meta/ropes.json` without the checksums.
        further: paths of further files to put among the checksums, relative to the folder.
        robot_type: name of the robot, for LeRobot.
        progress: show progress.
    """
    moments, checksums = Moments(features), {}
    with show_progress("reading back, files", len(shards), show=progress) as update:
        for done, shard in enumerate(shards, 1):
            table = parquet.read_table(root / shard.path)
            moments.add(table)
            checksums[shard.path] = {
                "sha256": sha256(root / shard.path),
                "images_sha256": parquet.images_digest(table),
            }
            update(done)
    names = [regime.name for regime in regimes]
    episodes = schema.EPISODES_PATH.format(chunk_index=0, file_index=0)
    for path, content in ((episodes, episodes_table(shards, names)), (schema.TASKS, schema.tasks_table(names))):
        with files.atomic_path(root / path) as temporary:
            pq.write_table(content, temporary)
    files.write_json(root / schema.INTERVENTIONS, {regime.name: asdict(regime) for regime in regimes})
    files.write_json(root / schema.STATS, moments.to_dict())
    files.write_json(root / schema.INFO, info(shards, features, len(names), robot_type))
    robot = [schema.ROBOT] if stores.is_file(root / schema.ROBOT) else []
    checksums |= {path: {"sha256": sha256(root / path)} for path in (*schema.METADATA, *robot, *further)}
    files.write_json(root / schema.PROVENANCE, {**provenance, "complete": True, "files": checksums})


def write_arrays(
    root: Path,
    *,
    images: Mapping[str, SplitImages],
    states: Mapping[str, ArrayLike] | None,
    cameras: Sequence[str],
    joints: Sequence[str],
    regimes: Sequence[Regime],
    images_per_shard: int = IMAGES_PER_SHARD,
) -> None:
    """Write a data set from arrays: other simulators, recordings, tests.

    Args:
        root: a new or empty folder.
        images: split → uint8 (episodes, frames, cameras, height, width), or (…, height, width, 3) in colour; where the
            cameras' sizes differ, split → camera → uint8 (episodes, frames, height, width), or (…, 3).  An episode has
            one frame, of the first regime, or one for each regime in order.
        states: split → radians (episodes, frames, joints); None for a data set without angles.
        cameras: names of the cameras.
        joints: names of the columns of `states`.
        regimes: regime of each task index.
        images_per_shard: approximate number of images in a data file.

    Raises:
        UserError: the folder holds something, names are missing, repeated or wrong, an angle is not finite, images are
            not 8-bit grey or RGB, or splits or shapes do not match.  Nothing is written then.
    """
    files.require_free(root, schema.PROVENANCE)
    if (root / schema.PROVENANCE).exists():
        raise UserError(f"{root} holds a data set already; choose an empty or new folder")
    arrays.require_names(cameras, joints, regimes)
    parts = arrays.by_camera(images, cameras, len(regimes))
    angles = None if states is None else arrays.states_of(states, parts, joints)
    shapes, plans = arrays.shapes(parts), []
    for name, by_name in parts.items():
        length = by_name[cameras[0]].shape
        plans.append(SplitPlan(name=name, episodes=length[0], tasks=tuple(range(length[1]))))
    files.ensure_output_folder(root, schema.PROVENANCE)
    features = schema.features(cameras, shapes, None if states is None else joints)
    shards = plan_shards(plans, len(cameras), images_per_shard)
    for shard in shards:
        rows = slice(shard.first_row, shard.first_row + shard.frames)
        first = shard.first_row // len(shard.tasks[0])
        episodes = slice(first, first + shard.episodes)
        views = [parts[shard.split][camera][episodes].reshape(-1, *shapes[camera]) for camera in cameras]
        values = None if angles is None else angles[shard.split].reshape(-1, len(joints))[rows]
        encoded = [[png.encode(view) for view in pose] for pose in zip(*views, strict=True)]
        write_shard(root, shard, features, encoded, values)
    provenance = {"schema": 1, "cameras": [{"name": name} for name in cameras]}
    finish(root, shards=shards, features=features, regimes=regimes, provenance=provenance)

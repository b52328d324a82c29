"""Writes a LeRobot v3.0 folder shard by shard; an interruption leaves only complete shards.

`plan_shards` assigns frames to files, `write_shard` writes one file, `finish` reads all files back and writes the
metadata.  The result depends on plan and images only, not on the order in which shards are written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import ArrayLike, NDArray

from ropes.causal.scm import Regime
from ropes.common import files, png
from ropes.common.progress import progress as show_progress
from ropes.data import arrays, parquet, schema
from ropes.data.arrays import SplitImages
from ropes.data.stats import Moments
from ropes.errors import UserError
from ropes.simulation.actions import Action

Ints = NDArray[np.int64]
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


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One data file: complete episodes of one split.

    Attributes:
        number: number of the file.
        split: name of the split.
        first_episode, first_frame: indices in the data set.
        first_row: index of the first frame in the split.
        episodes: number of episodes.
        tasks: task index of each frame of an episode.
        actions: task index of each episode, where its frames share one.
    """

    number: int
    split: str
    first_episode: int
    first_frame: int
    first_row: int
    episodes: int
    tasks: tuple[int, ...]
    actions: tuple[int, ...] = ()

    @property
    def task_of_frame(self) -> Ints:
        """Task index of every frame, (frames,)."""
        if self.actions:
            return np.repeat(self.actions, len(self.tasks))
        return np.tile(self.tasks, self.episodes)

    @property
    def frames(self) -> int:
        """Number of frames in the file."""
        return self.episodes * len(self.tasks)

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
    for split in splits:
        length = len(split.tasks)
        step = max(1, images_per_shard // (length * cameras))
        for start in range(0, split.episodes, step):
            episodes = min(step, split.episodes - start)
            shard = Shard(
                number=len(shards),
                split=split.name,
                first_episode=episode,
                first_frame=frame,
                first_row=rows.get(split.name, 0),
                episodes=episodes,
                tasks=split.tasks,
                actions=split.actions[start : start + episodes],
            )
            shards.append(shard)
            episode, frame = episode + episodes, frame + shard.frames
            rows[split.name] = shard.first_row + shard.frames
    return tuple(shards)


def write_shard(
    root: Path,
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
    length, frames = len(shard.tasks), np.arange(shard.frames)
    columns: dict[str, Any] = {
        "timestamp": frames % length / schema.FPS,
        "frame_index": frames % length,
        "episode_index": shard.first_episode + frames // length,
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
    root: Path,
    *,
    shards: Sequence[Shard],
    features: Mapping[str, Any],
    regimes: Sequence[Regime] | Sequence[Action],
    provenance: Mapping[str, Any],
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
        robot_type: name of the robot, for LeRobot.
        progress: show progress.
    """
    moments, checksums = Moments(features), {}
    with show_progress("reading back, files", len(shards), show=progress) as update:
        for done, shard in enumerate(shards, 1):
            table = parquet.read_table(root / shard.path)
            moments.add(table)
            checksums[shard.path] = {
                "sha256": files.sha256(root / shard.path),
                "images_sha256": parquet.images_digest(table),
            }
            update(done)
    names = [regime.name for regime in regimes]
    episodes = schema.EPISODES_PATH.format(chunk_index=0, file_index=0)
    for path, content in ((episodes, _episodes(shards, names)), (schema.TASKS, schema.tasks_table(names))):
        with files.atomic_path(root / path) as temporary:
            pq.write_table(content, temporary)
    files.write_json(root / schema.INTERVENTIONS, {regime.name: asdict(regime) for regime in regimes})
    files.write_json(root / schema.STATS, moments.to_dict())
    files.write_json(root / schema.INFO, _info(shards, features, len(names), robot_type))
    robot = [schema.ROBOT] if (root / schema.ROBOT).exists() else []
    checksums |= {path: {"sha256": files.sha256(root / path)} for path in (*schema.METADATA, *robot)}
    files.write_json(root / schema.PROVENANCE, {**provenance, "complete": True, "files": checksums})


def _episodes(shards: Iterable[Shard], tasks: Sequence[str]) -> pa.Table:
    rows = []
    for shard in shards:
        length = len(shard.tasks)
        for k, numbers in enumerate(shard.task_of_frame.reshape(-1, length).tolist()):
            start = shard.first_frame + k * length
            row = {
                "episode_index": shard.first_episode + k,
                "tasks": [tasks[number] for number in dict.fromkeys(numbers)],
                "length": length,
                "data/chunk_index": shard.number // schema.CHUNKS_SIZE,
                "data/file_index": shard.number % schema.CHUNKS_SIZE,
                "dataset_from_index": start,
                "dataset_to_index": start + length,
                "meta/episodes/chunk_index": 0,
                "meta/episodes/file_index": 0,
            }
            rows.append(row)
    return pa.Table.from_pylist(rows)


def _info(shards: Sequence[Shard], features: Mapping[str, Any], tasks: int, robot_type: str | None) -> dict[str, Any]:
    starts: dict[str, int] = {}
    for shard in shards:
        starts.setdefault(shard.split, shard.first_episode)
    stops = {shard.split: shard.first_episode + shard.episodes for shard in shards}
    return {
        "codebase_version": schema.CODEBASE_VERSION,
        "robot_type": robot_type,
        "fps": schema.FPS,
        "features": dict(features),
        "splits": {name: f"{start}:{stops[name]}" for name, start in starts.items()},
        "total_episodes": sum(shard.episodes for shard in shards),
        "total_frames": sum(shard.frames for shard in shards),
        "total_tasks": tasks,
        "chunks_size": schema.CHUNKS_SIZE,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 500,
        "data_path": schema.DATA_PATH,
        "video_path": None,
    }


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
        UserError: the folder holds something, an angle is not finite, images are not 8-bit grey or RGB, or shapes do
            not match.
    """
    files.require_free(root, schema.PROVENANCE)
    if (root / schema.PROVENANCE).exists():
        raise UserError(f"{root} holds a data set already; choose an empty or new folder")
    for name, angles in (states or {}).items():
        if not np.isfinite(angles).all():
            raise UserError(f"states of split {name!r} hold an angle that is not a finite number; leave its frames out")
    parts = arrays.by_camera(images, cameras, len(regimes))
    shapes, plans = arrays.shapes(parts), []
    for name, by_name in parts.items():
        length = by_name[cameras[0]].shape
        plans.append(SplitPlan(name=name, episodes=length[0], tasks=tuple(range(length[1]))))
    files.ensure_output_folder(root, schema.PROVENANCE)
    features = schema.features(cameras, shapes, None if states is None else joints)
    shards = plan_shards(plans, len(cameras), images_per_shard)
    for shard in shards:
        rows = slice(shard.first_row, shard.first_row + shard.frames)
        first = shard.first_row // len(shard.tasks)
        episodes = slice(first, first + shard.episodes)
        views = [parts[shard.split][camera][episodes].reshape(-1, *shapes[camera]) for camera in cameras]
        values = None if states is None else np.reshape(states[shard.split], (-1, len(joints)))[rows]
        encoded = [[png.encode(view) for view in pose] for pose in zip(*views, strict=True)]
        write_shard(root, shard, features, encoded, values)
    provenance = {"schema": 1, "cameras": [{"name": name} for name in cameras]}
    finish(root, shards=shards, features=features, regimes=regimes, provenance=provenance)

"""From a setting to a data set on disk: draw the poses, film them, write them shard by shard.

The seed fixes every pose and the plan fixes every shard before the first image is made.  An interrupted run
leaves whole shards; the same command renders what is missing, and the folder ends up the same to the byte
whatever was interrupted and however many workers there were.  So does a whole data set that lost a file: its
checksums tell which, and only that is made again.
"""

import itertools
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import ropes
from ropes import files
from ropes.data import parquet, schema, writer
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.progress import progress as show_progress
from ropes.seeds import generator
from ropes.settings import Setting
from ropes.simulate import cameras
from ropes.simulate.mesh import arm_digest
from ropes.simulate.urdf import locate
from ropes.simulate.workers import render_poses

#: Of the content of `meta/ropes.json`.
SCHEMA = 1
#: Their versions may show in the bytes, so a data set is never gone on with under others.
_LIBRARIES = ("fast-simplification", "numpy", "pillow", "pyarrow", "pybullet", "scipy")


def simulate(
    setting: Setting,
    *,
    out: Path | str,
    anchors: int,
    test_anchors: int = 2000,
    seed: int = 0,
    workers: int | None = None,
    mesh: Literal["simplified", "full"] = "simplified",
    state: bool = True,
    progress: bool = True,
) -> Dataset:
    """Simulate a data set, or go on with one that was interrupted or lost a file (ROPES Section 4).

    A training episode is an anchor: one frame under each regime, twin-sampled.  A test episode is one
    observational pose, drawn independently of the anchors.

    Args:
        setting: robot, cameras, and the causal model of each split.
        out: folder of the data set.
        anchors: training episodes.
        test_anchors: episodes of each test split; none of them with 0.
        seed: the same seed gives the same bytes.
        workers: processes that render; one for each core when None.
        mesh: "simplified" or "full" visual meshes.
        state: store the joint angles too.
        progress: show progress.

    Raises:
        UserError: an option out of range, or `out` holds something else.
    """
    if anchors < 1 or test_anchors < 0:
        raise UserError(f"{anchors} anchors and {test_anchors} test anchors: there must be at least 1 and 0")
    root, model = Path(out), setting.splits["train"]
    request = {
        "schema": SCHEMA,
        "version": ropes.__version__,
        "libraries": {name: version(name) for name in _LIBRARIES},
        "state": state,
        "seed": seed,
        "anchors": anchors,
        "test_anchors": test_anchors,
        "mesh": mesh,
        "setting": setting.to_dict(),
        "arm_sha256": arm_digest(locate(setting.robot.urdf)),
        "cameras": [{"name": camera.name, **cameras.record(camera, setting.image_size)} for camera in setting.cameras],
    }
    names = tuple(camera.name for camera in setting.cameras)
    features = schema.features(names, (setting.image_size,) * 2, model.joints if state else None)
    shards = writer.plan_shards(_splits(setting, anchors, test_anchors), len(names), writer.IMAGES_PER_SHARD)
    if (finished := _finished(root, request)) is not None:
        if not (damaged := _damaged(root, [shard.path for shard in shards], finished)):
            return open_dataset(root)
        for name in damaged:
            (root / name).unlink(missing_ok=True)
        files.write_json(root / schema.PROVENANCE, {**request, "complete": False})
    missing = [shard for shard in shards if not parquet.is_whole(root / shard.path, shard.frames)]
    poses = _poses(setting, anchors, test_anchors, seed)
    angles = [poses[shard.split][shard.first_row : shard.first_row + shard.frames] for shard in missing]
    frames: Iterator[list[bytes]] = iter(())
    if missing:  # The poses are checked here, before anything is written.
        frames = render_poses(
            setting.robot,
            setting.cameras,
            setting.image_size,
            mesh,
            model.joints,
            np.concatenate(angles),
            workers,
        )
    files.claim_folder(root, schema.PROVENANCE)
    if not (root / schema.PROVENANCE).exists():
        files.write_json(root / schema.PROVENANCE, {**request, "complete": False})
    with closing(_counted(frames, sum(shard.frames for shard in missing), progress)) as stream:
        for shard, states in zip(missing, angles, strict=True):
            images = list(itertools.islice(stream, shard.frames))
            writer.write_shard(root, shard, features, images, states)
    for leftover in root.rglob(".*.part"):  # of a run that was killed while writing
        leftover.unlink()
    writer.finish(
        root,
        shards=shards,
        features=features,
        regimes=model.regimes,
        provenance=request,
        robot_type=Path(setting.robot.urdf).stem,
        progress=progress,
    )
    return open_dataset(root)


def _finished(root: Path, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """The record of the folder's files if this very data set was finished in it; raises where it holds another."""
    if not root.exists():
        return None
    where = root / schema.PROVENANCE
    if where.parent.is_dir() and not where.exists():  # killed before the very first file was in place
        for leftover in where.parent.glob(".*.part"):
            leftover.unlink()
        if not any(where.parent.iterdir()):
            where.parent.rmdir()
    files.claim_folder(root, schema.PROVENANCE)
    if not where.exists():
        return None
    found = files.read_json(where)
    if not isinstance(found, dict):
        raise UserError(f"{where} is damaged; choose an empty or new folder")
    for key, value in files.as_json(request).items():
        if found.get(key) != value:
            plain = not isinstance(value, dict | list)
            recorded = f"no {key} recorded" if found.get(key) is None else f"{key} {found[key]}, not {value}"
            what = recorded if plain else f"another {key}"
            raise UserError(f"{root} holds something else, a data set with {what}; choose an empty or new folder")
    if not found.get("complete"):
        return None
    checksums = found.get("files")
    if not isinstance(checksums, dict):
        raise UserError(f"{where} is damaged; choose an empty or new folder")
    return checksums


def _damaged(root: Path, shards: Sequence[str], recorded: Mapping[str, Any]) -> list[str]:
    """The files that are missing or not as recorded; hashing takes a small part of the time of rendering."""
    return [
        name
        for name in (*shards, *schema.METADATA)
        if not (root / name).is_file() or recorded.get(name, {}).get("sha256") != files.sha256(root / name)
    ]


def _splits(setting: Setting, anchors: int, test_anchors: int) -> list[SplitPlan]:
    regimes = tuple(range(len(setting.splits["train"].regimes)))
    tests = [name for name in setting.splits if name != "train"]
    return [
        SplitPlan(name="train", episodes=anchors, tasks=regimes),
        *(SplitPlan(name=name, episodes=test_anchors, tasks=(0,)) for name in tests),
    ]


def _poses(setting: Setting, anchors: int, test_anchors: int, seed: int) -> dict[str, NDArray[np.float64]]:
    """Split → joint angles of its frames in order, (frames, joints) radians."""
    poses = {}
    for name, model in setting.splits.items():
        rng = generator(seed, name)
        if name == "train":
            poses[name] = model.sample(rng, anchors).reshape(-1, len(model.joints))
        else:
            poses[name] = model.sample_observational(rng, test_anchors)
    return poses


def _counted(frames: Iterator[list[bytes]], total: int, progress: bool) -> Generator[list[bytes], None, None]:
    """The same frames, with their number shown; closing it closes what makes them."""
    try:
        with show_progress("rendering, poses", total, show=progress) as update:
            for done, views in enumerate(frames, 1):
                if done % 20 == 0 or done == total:
                    update(done)
                yield views
    finally:
        if isinstance(frames, Generator):
            frames.close()

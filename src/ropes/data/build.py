"""Builds a data set shard by shard from known states and renders only what is missing.

The request fixes every state and the plan fixes every shard before the first image is made.  An interrupted run
leaves whole shards; the same call renders what is missing, and the folder ends up the same to the byte
whatever was interrupted and however many workers there were.  So does a whole data set that lost a file: its
checksums tell which, and only that is made again.
"""

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import ropes
from ropes.causal.scm import Regime
from ropes.common import files
from ropes.common.progress import progress as show_progress
from ropes.data import parquet, schema, writer
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.writer import Shard
from ropes.errors import UserError
from ropes.simulation.actions import Action
from ropes.simulation.settings import Setting
from ropes.simulation.urdf import kinematics_of

Floats = NDArray[np.float64]
#: Of the content of `meta/ropes.json`.
SCHEMA = 1
#: Their versions may show in the bytes, so a data set is never gone on with under others.
_LIBRARIES = ("fast-simplification", "numpy", "pillow", "pyarrow", "pybullet", "scipy")


def versions() -> dict[str, Any]:
    """What every request begins with: of what the bytes depend on beside it."""
    return {
        "schema": SCHEMA,
        "version": ropes.__version__,
        "libraries": {name: version(name) for name in _LIBRARIES if name != "pybullet" or find_spec(name)},
    }


def described(setting: Setting) -> dict[str, Any]:
    """As `Setting.to_dict`; of a URDF file outside pybullet_data its name alone, wherever on this machine it lies."""
    content = setting.to_dict()
    if Path(setting.robot.urdf).is_absolute():
        content["robot"]["urdf"] = Path(setting.robot.urdf).name
    return content


def build(
    root: Path,
    request: Mapping[str, Any],
    *,
    features: Mapping[str, Any],
    shards: Sequence[Shard],
    states: Callable[[], Mapping[str, Floats]],
    render: Callable[[Floats], Iterator[list[bytes]]],
    regimes: Sequence[Regime] | Sequence[Action],
    robot_type: str,
    progress: bool,
    urdf: Path | None = None,
) -> Dataset:
    """Make a data set, or go on with one that was interrupted or lost a file.

    Args:
        root: its folder.
        request: what it depends on, as it goes into `meta/ropes.json`.
        features: as of `schema.features`.
        shards: all of them.
        states: draws split → states of its frames in order, (frames, values); as many of the first values as
            `observation.state` has names are stored.
        render: states → PNG bytes of each camera for each; raises at once, before anything is written.
        regimes: the regime, or the action, that each task index stands for.
        robot_type: name of the robot, for LeRobot.
        progress: show progress.
        urdf: of the arm; its links and joints go into `meta/robot.urdf`.

    Raises:
        UserError: `root` holds something else.
    """
    written = [shard.path for shard in shards] + ([] if urdf is None else [schema.ROBOT])
    if (finished := _finished(root, request)) is not None:
        if not (damaged := _damaged(root, written, finished)):
            return open_dataset(root)
        for name in damaged:
            (root / name).unlink(missing_ok=True)
        files.write_json(root / schema.PROVENANCE, {**request, "complete": False})
    missing = [shard for shard in shards if not parquet.is_whole(root / shard.path, shard.frames)]
    drawn = states() if missing else {}
    wanted = [drawn[shard.split][shard.first_row : shard.first_row + shard.frames] for shard in missing]
    frames = render(np.concatenate(wanted)) if missing else iter(())
    files.claim_folder(root, schema.PROVENANCE)
    if not (root / schema.PROVENANCE).exists():
        files.write_json(root / schema.PROVENANCE, {**request, "complete": False})
    stored = len(features[schema.STATE]["names"]) if schema.STATE in features else 0
    with closing(_counted(frames, sum(shard.frames for shard in missing), progress)) as stream:
        for shard, values in zip(missing, wanted, strict=True):
            images = list(itertools.islice(stream, shard.frames))
            writer.write_shard(root, shard, features, images, values[:, :stored])
    for leftover in root.rglob(".*.part"):  # of a run that was killed while writing
        leftover.unlink()
    if urdf is not None:
        files.write_text(root / schema.ROBOT, kinematics_of(urdf))
    writer.finish(
        root,
        shards=shards,
        features=features,
        regimes=regimes,
        provenance=request,
        robot_type=robot_type,
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
        if _content(key, found.get(key)) != _content(key, value):
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


def _content(key: str, value: Any) -> Any:
    """What a request has to agree with: of a robot not the name of its file, whose checksum is compared instead."""
    if key != "setting" or not isinstance(value, dict) or not isinstance(value.get("robot"), dict):
        return value
    return {**value, "robot": {name: part for name, part in value["robot"].items() if name != "urdf"}}


def _damaged(root: Path, written: Sequence[str], recorded: Mapping[str, Any]) -> list[str]:
    """The files that are missing or not as recorded; hashing takes a small part of the time of rendering."""
    return [
        name
        for name in (*written, *schema.METADATA)
        if not (root / name).is_file() or recorded.get(name, {}).get("sha256") != files.sha256(root / name)
    ]


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

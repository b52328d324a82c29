"""Builds a data set shard by shard; resumes interrupted builds and repairs damaged data sets.

States and shards are determined before the first image is rendered.  An interrupted build leaves complete shards, and
the same call renders the missing ones.  A complete data set is checked against its checksums, and only damaged files
are made again.  The result is bit-identical for any interruption and any number of workers.
"""

import itertools
import shutil
import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa

import ropes
from ropes.causal.scm import Regime
from ropes.common import files, stores
from ropes.common.arrays import Floats
from ropes.common.cached_files import sha256
from ropes.common.cluster import Cluster
from ropes.common.progress import progress as show_progress
from ropes.common.stores import Location
from ropes.data import parquet, schema, writer
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError, one_of
from ropes.simulation.actions import Action
from ropes.simulation.availability import pybullet_missing
from ropes.simulation.backgrounds import RendererName
from ropes.simulation.off_screen import graphics
from ropes.simulation.pinhole import Pinhole
from ropes.simulation.settings import Camera, Setting
from ropes.simulation.urdf import kinematics_of
from ropes.simulation.workers import Workers

#: Version of the content of `meta/ropes.json`.
SCHEMA = 1
#: Libraries whose version may change the bytes of a data set.
_LIBRARIES = ("fast-simplification", "numpy", "pillow", "pyarrow", "pybullet", "scipy")


def versions() -> dict[str, Any]:
    """Versions of the schema, of ropes and of its libraries: the first entries of every request."""
    return {
        "schema": SCHEMA,
        "version": ropes.__version__,
        "libraries": {name: version(name) for name in _LIBRARIES if name != "pybullet" or find_spec(name)},
    }


def renderer_record(renderer: RendererName, workers: Workers = None) -> dict[str, Any]:
    """The entry of a request that names the renderer; empty for PyBullet, whose version is among the libraries.

    Raises:
        UserError: PyBullet, or MuJoCo or its OpenGL, is missing; or a node of the cluster draws by another OpenGL.
    """
    if isinstance(workers, Cluster):
        workers.require_same(partial(renderer_record, renderer), "renderer or OpenGL")
    if renderer == "pybullet":
        if not find_spec("pybullet"):
            raise pybullet_missing()
        return {}
    drawn_by = graphics()
    return {"renderer": {"name": renderer, "version": version("mujoco"), "graphics": drawn_by}}


def begun_renderer(out: Location | str) -> RendererName | None:
    """The renderer of a simulated data set that is begun or finished in a folder; None where there is none.

    Raises:
        UserError: its description is damaged.
    """
    path = stores.location(out) / schema.PROVENANCE
    stores.require_answer(path)
    content = files.read_json(path) if stores.is_file(path) else None
    if not isinstance(content, dict) or "setting" not in content or "recorder" in content:
        return None
    record = content.get("renderer")
    name = record.get("name") if isinstance(record, dict) else "pybullet"
    return one_of(get_args(RendererName), name, "renderer")


def described(setting: Setting) -> dict[str, Any]:
    """`Setting.to_dict`, with the folder removed from an absolute URDF path."""
    content = setting.to_dict()
    if Path(setting.robot.urdf).is_absolute():
        content["robot"]["urdf"] = Path(setting.robot.urdf).name
    return content


def camera_records(cameras: Iterable[Camera], image_size: int) -> list[dict[str, Any]]:
    """Name, view and intrinsics of each camera."""
    return [Pinhole.of(camera, image_size).to_record() for camera in cameras]


def build(
    out: Location | str,
    request: Mapping[str, Any],
    *,
    features: Mapping[str, Any],
    plans: Sequence[SplitPlan],
    states: Callable[[], Mapping[str, Floats]],
    render: Callable[[Floats], Iterator[list[bytes]]],
    regimes: Sequence[Regime] | Sequence[Action],
    robot_type: str | None,
    progress: bool,
    urdf: Path | None = None,
    work: str = "rendering, poses",
    images_per_shard: int | None = None,
    tables: Mapping[str, pa.Table] | None = None,
    announcement: str = "",
) -> Dataset:
    """Make a data set, resume an interrupted build, or repair a damaged data set.

    Args:
        out: folder of the data set, or the URL of one on an object store.
        request: everything that determines the data set; stored in `meta/ropes.json`.
        features: see `schema.features`.
        plans: plan of each split.
        states: draws the states: split → (frames, values).  The first values are stored, one for each name of
            `observation.state`.
        render: states → PNG bytes of each camera, for each state.  Raises errors before anything is written.
        regimes: regime or action of each task index.
        robot_type: name of the robot, for LeRobot; None if unknown.
        progress: show progress.
        urdf: URDF file of the arm; `meta/robot.urdf` stores its links and joints.
        work: name of the work in the display of progress.
        images_per_shard: approximate number of images in a data file; that of the writer if None.
        tables: path of a further file, relative to the data set's folder → its table.
        announcement: with `progress`, line on standard error before images are made, if some are missing.

    Raises:
        UserError: `out` holds something else.
    """
    root, cameras = stores.location(out), sum(name.startswith(schema.IMAGES) for name in features)
    shards = writer.plan_shards(plans, cameras, images_per_shard or writer.IMAGES_PER_SHARD)
    tables = tables or {}
    paths = [*(shard.path for shard in shards), *tables, *([] if urdf is None else [schema.ROBOT])]
    if (checksums := finished(root, request)) is not None:
        if not (damaged := _damaged(root, paths, checksums)):
            return open_dataset(root)
        for name in damaged:
            stores.remove(root / name)
        files.write_json(root / schema.PROVENANCE, {**request, "complete": False})
    missing = [shard for shard in shards if not parquet.is_complete(root / shard.path, shard.frames)]
    of_split = states() if missing else {}
    of_shard = [of_split[shard.split][shard.first_row : shard.first_row + shard.frames] for shard in missing]
    frames = render(np.concatenate(of_shard)) if missing else iter(())
    files.ensure_output_folder(root, schema.PROVENANCE)
    if not stores.is_file(root / schema.PROVENANCE):
        files.write_json(root / schema.PROVENANCE, {**request, "complete": False})
    if missing and announcement and progress:
        print(f"ropes: {announcement}", file=sys.stderr)
    stored = len(features[schema.STATE]["names"]) if schema.STATE in features else 0
    with closing(_with_progress(frames, sum(shard.frames for shard in missing), work, progress)) as stream:
        for shard, values in zip(missing, of_shard, strict=True):
            images = list(itertools.islice(stream, shard.frames))
            writer.write_shard(root, shard, features, images, values[:, :stored])
    if isinstance(root, Path):
        for left in root.rglob(".*.part"):  # by a killed process
            left.unlink()
    for name, table in tables.items():
        parquet.write_table(root / name, table)
    if urdf is not None:
        files.write_text(root / schema.ROBOT, kinematics_of(urdf))
    writer.finish(
        root,
        shards=shards,
        features=features,
        regimes=regimes,
        provenance=request,
        further=tuple(tables),
        robot_type=robot_type,
        progress=progress,
    )
    return open_dataset(root)


@contextmanager
def nothing_left(out: Path) -> Iterator[None]:
    """Remove what was written to `out` if the data are refused; a folder that had content before stays."""
    began_empty = not out.exists() or all(map(files.is_temporary, out.iterdir()))
    try:
        yield
    except UserError:
        if began_empty:
            shutil.rmtree(out, ignore_errors=True)
        raise


def finished(root: Location, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Checksums of the data set in `root`; None where it is unfinished or absent.

    Args:
        root: folder of the data set.
        request: see `build`, or a part of it.

    Raises:
        UserError: `root` holds something else.
    """
    path = root / schema.PROVENANCE
    if isinstance(root, Path):
        if not root.exists():
            return None
        _remove_empty_meta((root / schema.PROVENANCE).parent)
    files.ensure_output_folder(root, schema.PROVENANCE)
    if not stores.is_file(path):
        return None
    content = files.read_json(path)
    if not isinstance(content, dict):
        raise UserError(f"{path} is damaged; choose an empty or new folder")
    for key, value in files.as_json(request).items():
        stored = content.get(key)
        if key == "libraries" and isinstance(stored, dict):
            stored, value = _comparable_libraries(stored, value, request)
        if _comparable(key, stored) != _comparable(key, value):
            difference = f"no {key} recorded" if stored is None else f"{key} {stored}, not {value}"
            if isinstance(value, dict | list):
                difference = f"another {key}{_detail(_comparable(key, stored), _comparable(key, value))}"
            raise UserError(f"{root} holds something else, a data set with {difference}; choose an empty or new folder")
    if not content.get("complete"):
        return None
    checksums = content.get("files")
    if not isinstance(checksums, dict):
        raise UserError(f"{path} is damaged; choose an empty or new folder")
    return checksums


def _detail(stored: Any, value: Any, name: str = "") -> str:
    """The first entry in which two mappings differ, in brackets; empty where there is none to name."""
    if isinstance(stored, dict) and isinstance(value, dict):
        key = next(key for key in (*value, *stored) if stored.get(key) != value.get(key))
        return _detail(stored.get(key), value.get(key), f"{name}.{key}" if name else str(key))
    if not name:
        return ""
    return f" ({name})" if isinstance(stored, list) and isinstance(value, list) else f" ({name} {stored}, not {value})"


def _remove_empty_meta(folder: Path) -> None:
    """Remove the folder of the metadata if a process was killed while it wrote the first file there."""
    if folder.is_dir() and not (folder.parent / schema.PROVENANCE).exists():
        for partial in folder.glob(".*.part"):
            partial.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()


def _comparable(key: str, value: Any) -> Any:
    """A value of the request, without what follows from others: name of the robot's file, sizes of a source's images.

    Earlier versions did not record these sizes.
    """
    if key == "cameras" and isinstance(value, list):
        return [{**camera, "source_size": None} if isinstance(camera, dict) else camera for camera in value]
    if key != "setting" or not isinstance(value, dict) or not isinstance(value.get("robot"), dict):
        return value
    return {**value, "robot": {name: part for name, part in value["robot"].items() if name != "urdf"}}


def _comparable_libraries(
    stored: Mapping[str, Any], now: Mapping[str, Any], request: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both without PyBullet where it draws nothing: MuJoCo does, or it was installed or removed in between."""
    unused = {"pybullet"} if "renderer" in request or ("pybullet" in stored) != ("pybullet" in now) else set()
    one, other = ({name: each[name] for name in each if name not in unused} for each in (stored, now))
    return one, other


def _damaged(root: Location, paths: Sequence[str], checksums: Mapping[str, Any]) -> list[str]:
    """The files that are missing or differ from their checksum."""
    return [
        name
        for name in (*paths, *schema.METADATA)
        if not stores.is_file(root / name) or checksums.get(name, {}).get("sha256") != sha256(root / name)
    ]


def _with_progress(
    frames: Iterator[list[bytes]], total: int, work: str, progress: bool
) -> Generator[list[bytes], None, None]:
    """Yields the frames and shows their number; closing it closes `frames`."""
    try:
        with show_progress(work, total, show=progress) as update:
            for done, views in enumerate(frames, 1):
                if done % 20 == 0 or done == total:
                    update(done)
                yield views
    finally:
        if isinstance(frames, Generator):
            frames.close()

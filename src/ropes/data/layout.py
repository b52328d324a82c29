"""Opens a LeRobot v3.0 folder, copies a data set without joint angles, and exports images."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from ropes.common import files, png, stores
from ropes.common.cached_files import fetched, sha256
from ropes.common.stores import Location
from ropes.data import parquet, schema
from ropes.data.dataset import Dataset, Frames
from ropes.errors import UserError

__all__ = ["EXPORT_FILE", "Dataset", "Frames", "copy_without_labels", "dataset_folder", "export_images", "open_dataset"]
#: Records data set, split and count, so that two exports do not mix.
EXPORT_FILE = "export.json"
#: Files that a copy without labels takes over as they are, where they exist; it writes all others anew, or lacks them.
_COPIED = (schema.TASKS, schema.INTERVENTIONS, schema.STATS, schema.ROBOT)


def dataset_folder(data: Dataset | Location | str) -> Location:
    """The folder of a data set, opened or not.

    Raises:
        UserError: `data` is neither a `Dataset` nor a path nor a URL.
    """
    if isinstance(data, Dataset):
        return data.path
    if not stores.is_location(data):
        raise UserError(f"give a data set as its folder or a Dataset, not as {type(data).__name__}")
    return stores.location(data)


def is_dataset_folder(path: Location | str) -> bool:
    """Whether a folder has the description of a data set."""
    return stores.is_file(stores.location(path) / schema.INFO)


def open_dataset(path: Dataset | Location | str) -> Dataset:
    """Open the data set in the folder `path`. An open `Dataset` is returned as it is.

    Args:
        path: a local folder, a URL such as s3://bucket/folder, or a `upath.UPath` with options of its store.

    Raises:
        UserError: the folder is no LeRobot v3.0 data set with images, or is unfinished, or its store does not answer.
    """
    if isinstance(path, Dataset):
        return path
    path, provenance = dataset_folder(path), None
    stores.require_answer(path / schema.INFO)
    if stores.is_file(path / schema.PROVENANCE):
        provenance = _read_object(path, schema.PROVENANCE)
        if not provenance.get("complete"):
            command = "record" if "recorder" in provenance else "import" if "source" in provenance else "simulate"
            look = ", or ropes inspect to see what is there" if command == "record" else ""
            raise UserError(f"{path} is unfinished; run the same ropes {command} command again to resume{look}")
        if (fault := _provenance_fault(provenance)) is not None:
            raise UserError(f"{path / schema.PROVENANCE}: {fault}; restore it or create the data set again")
    info = _read_object(path, schema.INFO)
    version = info.get("codebase_version")
    if version != schema.CODEBASE_VERSION:
        raise UserError(
            f"{path / schema.INFO}: LeRobot layout {version}, not {schema.CODEBASE_VERSION}; convert it first"
        )
    if absent := [key for key in ("features", "splits", "total_frames", "total_episodes") if key not in info]:
        raise UserError(f"{path / schema.INFO} lacks {absent[0]!r}; restore it or create the data set again")
    if (fault := _info_fault(info)) is not None:
        raise UserError(f"{path / schema.INFO}: {fault}; restore it or create the data set again")
    dataset = Dataset(cast(Path, path), info, provenance)
    if not dataset.cameras:
        raise UserError(f"{path} has no feature {schema.IMAGES}CAMERA of dtype image; videos are not supported")
    return dataset


def _provenance_fault(content: Mapping[str, Any]) -> str | None:
    """The first invalid value of `meta/ropes.json`, in words; None where all are valid."""
    cameras, checksums = content.get("cameras"), content.get("files")
    if not isinstance(cameras, list) or not all(isinstance(_get(camera, "name"), str) for camera in cameras):
        return "'cameras' is no list of objects with a 'name'"
    entries = checksums.values() if isinstance(checksums, dict) else [None]
    if not all(isinstance(_get(entry, "sha256"), str) for entry in entries):
        return "'files' is no object of objects with a 'sha256'"
    setting = content.get("setting", {})
    if not isinstance(setting, dict) or not isinstance(setting.get("splits", {}), dict):
        return "'setting' is no object with 'splits'"
    return None


def _get(entry: object, key: str) -> object:
    return entry.get(key) if isinstance(entry, dict) else None


def _read_object(root: Location, name: str) -> dict[str, Any]:
    content = files.read_json(root / name, folder=root)
    if not isinstance(content, dict):
        raise UserError(f"{root / name} is not a JSON object; restore it or create the data set again")
    return content


def _info_fault(info: Mapping[str, Any]) -> str | None:
    """The first invalid value of `meta/info.json`, in words; None where all are valid."""
    for key in ("features", "splits"):
        if not isinstance(info[key], dict):
            return f"{key!r} is not an object"
    for key in ("total_frames", "total_episodes", "total_tasks"):
        if key in info and not _is_count(info[key]):
            return f"{key!r} is {info[key]!r}, not a count"
    fps = info.get("fps", schema.FPS)
    if isinstance(fps, bool) or not isinstance(fps, int | float) or not fps > 0:
        return f"'fps' is {fps!r}, not a rate"
    for name, feature in info["features"].items():
        if not isinstance(feature, dict):
            return f"feature {name!r} is not an object"
        if not isinstance(feature.get("dtype"), str):
            return f"feature {name!r} has no 'dtype'"
        shape = feature.get("shape")
        if not isinstance(shape, list) or not all(_is_count(side) for side in shape):
            return f"feature {name!r} has no 'shape', a list of numbers"
        if feature["dtype"] == "image" and (len(shape) < 2 or 0 in shape):
            return f"feature {name!r} has 'shape' {shape}, not height, width, channels"
    return None


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def copy_without_labels(source: Location | str, target: Path | str) -> Dataset:
    """Copy a data set without joint angles; the training input stays the same.

    Commanded positions (`action`) and the seed are removed as well: the seed reproduces the angles.  The policies'
    distributions stay, because Bayes floors are computed from them.  With these, a small seed can be guessed.  Further
    files under `meta/`, such as DREAM's keypoints or a recorder's log, are left out: angles may follow from them.

    Args:
        source: folder of the data set.
        target: a new or empty folder; it appears when the copy is complete.

    Raises:
        UserError: the source is no data set, or the target holds something.
    """
    dataset, target = open_dataset(source), Path(target).absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError(f"{target} holds something already; choose an empty or new folder")
    partial = target.with_name(f".{target.name}.part")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        _copy_without_states(dataset, partial)
        if target.exists():
            target.rmdir()
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return open_dataset(target)


def _copy_without_states(dataset: Dataset, target: Path) -> None:
    (target / schema.INFO).parent.mkdir(parents=True)
    for name in _COPIED:
        if stores.is_file(dataset.path / name):
            with fetched(dataset.path / name) as local:
                shutil.copyfile(local, target / name)
    features = {name: feature for name, feature in dataset.info["features"].items() if not schema.holds_angles(name)}
    files.write_json(target / schema.INFO, {**dataset.info, "features": features})
    if (target / schema.STATS).exists():
        stats = files.read_json(target / schema.STATS)
        files.write_json(target / schema.STATS, {k: v for k, v in stats.items() if not schema.holds_angles(k)})
    # In data sets not written by ropes, episode tables hold statistics of each feature.
    for path in [*dataset.data_files, *sorted(stores.glob(dataset.path, "meta/episodes/**/*.parquet"))]:
        table = _without_states(parquet.read_table(path))
        parquet.write_table(target / dataset.name_of(path), table)
    if dataset.provenance is not None:
        checksums = {
            name: {**recorded, "sha256": sha256(target / name)}
            for name, recorded in dataset.provenance["files"].items()
            if (target / name).is_file()
        }
        # `ropes simulate` compares these values, and does not take the copy for the original.
        changes = {"state": False, "files": checksums} | ({"seed": None} if "seed" in dataset.provenance else {})
        files.write_json(target / schema.PROVENANCE, dataset.provenance | changes)


def _without_states(table: pa.Table) -> pa.Table:
    names = [n for n in table.column_names if schema.holds_angles(n.removeprefix("stats/").partition("/")[0])]
    table, metadata = table.drop_columns(names), dict(table.schema.metadata or {})
    if b"huggingface" in metadata:
        content = json.loads(metadata[b"huggingface"])
        for name in names:
            content.get("info", {}).get("features", {}).pop(name, None)
        metadata[b"huggingface"] = json.dumps(content).encode()
    return table.replace_schema_metadata(metadata or None)


def export_images(data: Location | str, split: str, count: int, out: Path | str) -> None:
    """Write the first images of a split as `out`/CAMERA/INDEX.png, 8-bit; INDEX is the row in the data set.

    Args:
        data: folder of the data set.
        split: name of the split.
        count: number of poses, each with one image per camera.
        out: a new or empty folder, or that of the same export, interrupted.

    Raises:
        UserError: no such data set or split, fewer poses than `count`, or `out` holds something else.
    """
    dataset, out = open_dataset(data), Path(out)
    frames = dataset.frames(split)
    if len(frames) < count:
        raise UserError(f"{dataset.path}: split {split!r} has {len(frames)} poses, fewer than --count {count}")
    if invalid := [camera for camera in dataset.cameras if Path(camera).name != camera]:
        raise UserError(f"{dataset.path}: camera {invalid[0]!r} cannot name a folder; rename it in the data set")
    record = {"data": dataset.checksum, "split": split, "count": count}
    files.ensure_output_folder(out, EXPORT_FILE)
    files.check_manifest(out / EXPORT_FILE, record, "holds another export; choose an empty or new folder")
    for row in frames.index[:count]:
        for camera, pixels in zip(dataset.cameras, dataset.read_cameras([row]), strict=True):
            with files.atomic_path(out / camera / f"{row:06d}.png") as temporary:
                temporary.write_bytes(png.encode(pixels[0]))

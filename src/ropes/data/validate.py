"""Validates a data set, from metadata to each image; a fault names file and row.

Data sets written by ropes are compared with their checksums.  Of other data sets, every image is decoded.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ropes.common import png, stores
from ropes.common.arrays import evenly
from ropes.common.cached_files import sha256
from ropes.common.progress import progress as show_progress
from ropes.common.stores import Location
from ropes.data import parquet, schema
from ropes.data.dataset import Dataset
from ropes.data.interventions import single_interventions
from ropes.data.layout import open_dataset
from ropes.data.moves import move_fault
from ropes.data.own_camera import COMPARED, REFERENCES, OwnCamera
from ropes.data.pairs import pair_fault
from ropes.data.stats import vectors
from ropes.errors import UserError
from ropes.simulation.actions import split_fault
from ropes.simulation.finger_setting import NAMES, changed_factor
from ropes.simulation.settings import MPI3D_FACTORS


@dataclass(frozen=True)
class Fault:
    """A fault: file, relative to the data set, row if the fault is in one, and description."""

    file: str
    row: int | None
    what: str

    def __str__(self) -> str:
        return f"{self.file}{'' if self.row is None else f', row {self.row}'}: {self.what}"


def validate(path: Location | str, *, progress: bool = True) -> str:
    """Check the data set in the folder `path`; one line that describes it.

    Raises:
        UserError: names the first fault and counts the others.
    """
    dataset = open_dataset(path)
    if every := list(faults(dataset, progress=progress)):
        more = f" (and {len(every) - 1} more)" if len(every) > 1 else ""
        raise UserError(f"{dataset.path}: {every[0]}{more}; restore the file or create the data set again")
    frames, episodes = int(dataset.starts[-1]), dataset.info["total_episodes"]
    splits = ", ".join(f"{name} {len(span):,}" for name, span in dataset.splits.items())
    joints = dataset.joints if stores.is_file(dataset.path / schema.INTERVENTIONS) else ()
    angles = "without angles" if dataset.state_names is None else "with angles"
    about = f"joints {', '.join(joints) or 'no interventions'}, {angles}"
    if dataset.actions:
        names = ", ".join(action.name for action in dataset.actions[:3])
        about = f"{len(dataset.actions)} actions ({names}, …)"
    parts = (
        f"{dataset.path}: valid",
        f"{frames * len(dataset.cameras):,} images in {frames:,} frames of {episodes:,} episodes ({splits})",
        f"cameras {', '.join(dataset.cameras)}",
        about,
        "no checksums recorded; every image decoded" if dataset.provenance is None else "every checksum agrees",
    )
    return "; ".join(parts)


def faults(dataset: Dataset, *, progress: bool = True) -> Iterator[Fault]:
    """All faults, file by file."""
    recorded = (dataset.provenance or {}).get("files", {})
    if dataset.provenance is not None:
        names = [dataset.name_of(path) for path in dataset.data_files]
        for name in (*names, *schema.METADATA):
            if name not in recorded:
                yield Fault(schema.PROVENANCE, None, f"no checksum of {name}")
    changed = set()
    for name, checksum in recorded.items():
        if not stores.is_file(dataset.path / name):
            yield Fault(name, None, "missing")
        elif sha256(dataset.path / name) != checksum["sha256"]:
            changed.add(name)
            if not name.startswith("data/"):
                yield Fault(name, None, "changed since it was written (checksum differs)")
    try:
        yield from _metadata_faults(dataset)
    except UserError as error:
        yield Fault("meta", None, str(error))
        return
    in_data = list(_data_faults(dataset, recorded, changed, progress))
    yield from in_data
    if not in_data:
        yield from (_action_faults(dataset) if dataset.actions else factor_pair_faults(dataset))
        yield from _camera_faults(dataset)
        if what := move_fault(dataset):
            yield Fault(schema.INFO, None, what)


def factor_pair_faults(dataset: Dataset) -> Iterator[Fault]:
    """Faults of training pairs of finger and cube, or of MPI3D, whose images do not differ in exactly one factor.

    Args:
        dataset: any data set; one of other pairs, or of no pairs, has none of these faults.
    """
    named = (dataset.provenance or {}).get("setting", {}).get("name") == MPI3D_FACTORS
    if dataset.state_names is None or not (named or dataset.state_names == NAMES) or "train" not in dataset.splits:
        return
    _, first, counts = np.unique(dataset.frames("train").anchor, return_index=True, return_counts=True)
    pairs = first[counts == 2]
    if not len(pairs):
        return
    factors = dataset.factors("train")
    try:
        changed_factor(factors[pairs], factors[pairs + 1])
    except ValueError as error:
        yield Fault("data", None, f"training {error}")


def _camera_faults(dataset: Dataset) -> Iterator[Fault]:
    """Frames that show what another camera sees, among some hundred from all parts of the data set.

    Every frame would have to be decoded, which takes longer than the comparison of the checksums.
    """
    total = int(dataset.starts[-1])
    if len(dataset.cameras) < 2 or not total:
        return
    some = dataset.read_cameras(evenly(total, REFERENCES))
    seen = OwnCamera(dict(zip(dataset.cameras, some, strict=True)))
    for rows in np.array_split(evenly(total, COMPARED), -(-COMPARED // REFERENCES)):
        for camera, images in zip(dataset.cameras, dataset.read_cameras(rows), strict=True):
            others = [seen.other(camera, image) for image in images]
            for path, start, positions in dataset.by_file(rows):
                for k in positions:
                    if (other := others[k]) is not None:
                        what = f"camera {camera}: shows what camera {other} sees"
                        yield Fault(dataset.name_of(path), int(rows[k]) - start, what)


def _action_faults(dataset: Dataset) -> Iterator[Fault]:
    """Checks that episodes are pairs of one action, and that the splits hold out the right actions."""
    actions = {}
    for split in dataset.splits:
        frames = dataset.frames(split)
        if (what := pair_fault(frames.anchor, frames.regime)) is not None:
            yield Fault("data", None, f"split {split!r}: {what}")
        actions[split] = [dataset.actions[task] for task in frames.regime]
    if (what := split_fault(actions)) is not None:
        yield Fault(schema.INFO, None, what)


def _data_faults(
    dataset: Dataset, recorded: Mapping[str, Any], changed: Collection[str], progress: bool
) -> Iterator[Fault]:
    counts: Counter[tuple[str, int]] = Counter()
    names = {dataset.name_of(path) for path in dataset.data_files}
    complete = all(name in names for name in recorded if name.startswith("data/"))
    first = 0
    with show_progress("validating, files", len(dataset.data_files), show=progress) as update:
        for done, path in enumerate(dataset.data_files, 1):
            name = dataset.name_of(path)
            try:
                table = parquet.read_table(path)
            except UserError as error:
                yield Fault(name, None, str(error).removeprefix(f"{path} is ").partition(";")[0])
                complete = False
                continue
            if not complete and "index" in table.column_names and len(table):
                first = int(table["index"][0].as_py())  # after a missing file, count from the file's own first row
            unchanged = name in recorded and name not in changed
            in_shard = list(_shard_faults(dataset, name, table, first, unchanged, counts))
            if name in changed and not in_shard:
                in_shard = [Fault(name, None, "changed since it was written (checksum differs)")]
            if unchanged and not in_shard and recorded[name].get("images_sha256") != parquet.images_digest(table):
                in_shard = [Fault(schema.PROVENANCE, None, f"the checksum of the images of {name} differs")]
            yield from in_shard
            first += len(table)
            update(done)
    if not complete:
        return
    if first != (total := dataset.info["total_frames"]):
        yield Fault(schema.INFO, None, f"{total} frames, but the data files hold {first}")
    if "train" in dataset.splits and not dataset.actions:  # training holds out actions, but no regime
        for number, task in enumerate(dataset.tasks):
            if not counts["train", number]:
                yield Fault(schema.TASKS, number, f"regime {task!r} has no images in split 'train'")


def _metadata_faults(dataset: Dataset) -> Iterator[Fault]:
    episodes = dataset.info["total_episodes"]
    stop = 0
    for split, span in dataset.splits.items():
        if span.start < stop or span.stop > episodes or span.stop < span.start:
            what = f"split {split!r} is {span.start}:{span.stop}, of {episodes} episodes, after {stop}"
            yield Fault(schema.INFO, None, what)
        stop = span.stop
    for camera in (dataset.provenance or {}).get("cameras", []):
        if camera["name"] not in dataset.cameras:
            yield Fault(schema.INFO, None, f"camera {camera['name']!r} is missing")
    if len(dataset.tasks) != dataset.info.get("total_tasks", len(dataset.tasks)):
        yield Fault(schema.TASKS, None, f"{len(dataset.tasks)} tasks, not {dataset.info['total_tasks']}")
    tables = [parquet.read_table(path) for path in sorted(stores.glob(dataset.path, "meta/episodes/**/*.parquet"))]
    rows = sum(len(table) for table in tables)
    if rows != episodes:
        yield Fault("meta/episodes", None, f"{rows} episodes, not the {episodes} of {schema.INFO}")
    if not all("length" in table.column_names for table in tables):
        yield Fault("meta/episodes", None, "lacks the column 'length'")
    elif (lengths := sum(sum(table["length"].to_pylist()) for table in tables)) != dataset.info["total_frames"]:
        yield Fault("meta/episodes", None, f"{lengths} frames, not the {dataset.info['total_frames']} in all")
    _ = dataset.image_shapes
    recorded = stores.is_file(dataset.path / schema.INTERVENTIONS) and not dataset.actions
    if recorded and not single_interventions(dataset.regimes):
        policies = Counter(regime.joint for regime in dataset.regimes if regime.joint is not None)
        for regime in dataset.regimes:
            if regime.joint is not None and policies[regime.joint] == 1:
                what = f"joint {regime.joint} has only one of its two interventions ({regime.name})"
                yield Fault(schema.INTERVENTIONS, None, what)


def _shard_faults(
    dataset: Dataset,
    name: str,
    table: pa.Table,
    first: int,
    unchanged: bool,
    counts: "Counter[tuple[str, int]]",
) -> Iterator[Fault]:
    """Faults of one data file, whose first row should be row `first` of the data set; adds its frames to `counts`.

    Of a file that is `unchanged` since it was written, only the headers of the images are checked.
    """
    for column in dataset.info["features"]:
        if column not in table.column_names and dataset.info["features"][column]["dtype"] != "video":
            kind = "camera" if column.startswith(schema.IMAGES) else "column"
            yield Fault(name, None, f"lacks the {kind} {column.removeprefix(schema.IMAGES)!r}")
    yield from _index_faults(dataset, name, table, first, counts)
    if schema.STATE in table.column_names and dataset.state_names is not None:
        yield from _state_faults(name, table, len(dataset.state_names))
    for camera, shape in zip(dataset.cameras, dataset.image_shapes, strict=True):
        if schema.IMAGES + camera in table.column_names:
            images = table[schema.IMAGES + camera].combine_chunks().field("bytes")
            for row, data in enumerate(images):
                if what := _image_fault(data.as_py(), shape, unchanged):
                    yield Fault(name, row, f"camera {camera}: {what}")


def _index_faults(
    dataset: Dataset, name: str, table: pa.Table, first: int, counts: "Counter[tuple[str, int]]"
) -> Iterator[Fault]:
    if not set(schema.INDEX_COLUMNS) <= set(table.column_names):
        return
    columns = {column: table[column].to_numpy() for column in schema.INDEX_COLUMNS}
    frame, episode, task = (columns[key] for key in ("frame_index", "episode_index", "task_index"))
    same = np.concatenate([[False], episode[1:] == episode[:-1]]) if len(table) else np.empty(0, bool)
    previous = np.concatenate([[-1], frame[:-1]])[: len(table)]
    fps, episodes, tasks = dataset.info.get("fps", schema.FPS), dataset.info["total_episodes"], len(dataset.tasks)
    checks: dict[str, Any] = {
        f"index is not {first} plus the row": columns["index"] == first + np.arange(len(table)),
        "frame_index does not count up from 0 in its episode": frame == np.where(same, previous + 1, 0),
        "timestamp is not frame_index / fps": np.isclose(columns["timestamp"], frame / fps, atol=1e-3),
        f"episode_index is not below {episodes}": (episode >= 0) & (episode < episodes),
        f"task_index is not below {tasks}": (task >= 0) & (task < tasks),
    }
    for what, valid in checks.items():
        if not np.all(valid):
            yield Fault(name, int(np.flatnonzero(~valid)[0]), what)
    for split, span in dataset.splits.items():
        inside = task[(episode >= span.start) & (episode < span.stop)]
        for number, count in zip(*np.unique(inside, return_counts=True), strict=True):
            counts[split, int(number)] += int(count)


def _state_faults(name: str, table: pa.Table, width: int) -> Iterator[Fault]:
    try:
        angles = vectors(table[schema.STATE].combine_chunks())
    except ValueError as error:
        yield Fault(name, None, f"{schema.STATE} has {error}")
        return
    if angles.shape[1] != width:
        yield Fault(name, None, f"{schema.STATE} has {angles.shape[1]} values, not {width}")
    for row in np.flatnonzero(~np.isfinite(angles).all(axis=1))[:1]:
        yield Fault(name, int(row), f"{schema.STATE} holds an angle that is not a finite number")


def _image_fault(data: bytes | None, shape: png.Shape, unchanged: bool) -> str | None:
    try:
        png.check_header(data, shape)
        if not unchanged and data is not None:
            png.decode(data, shape)
    except png.NotAnImage as error:
        return str(error)
    return None

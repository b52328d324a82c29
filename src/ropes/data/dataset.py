"""A data set on disk: frames with regimes, images and, optionally, joint angles.

An episode is an anchor, a task is a regime.  Opening a data set reads its metadata only.  Every read checks the file
and raises `UserError` where it is damaged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.causal.scm import Regime
from ropes.common import stores
from ropes.common.arrays import Ints
from ropes.common.cached_files import fetched
from ropes.common.stores import Location
from ropes.data import interventions, parquet, schema
from ropes.data.checksum import training_checksum
from ropes.data.stats import vectors
from ropes.errors import UserError
from ropes.simulation.actions import Action
from ropes.simulation.finger_setting import NAMES


@dataclass(frozen=True)
class Frames:
    """The frames of a split: row in the data set, anchor (episode) and regime (task index), each (n,)."""

    index: Ints
    anchor: Ints
    regime: Ints

    def __len__(self) -> int:
        return len(self.index)


@dataclass(frozen=True)
class Dataset:
    """A data set on disk; `layout.open_dataset` makes one.

    Attributes:
        path: folder; on an object store a `upath.UPath`, which has a path's methods.
        info: content of `meta/info.json`.
        provenance: content of `meta/ropes.json`; None for data sets not written by ropes.
    """

    path: Path
    info: dict[str, Any]
    provenance: dict[str, Any] | None

    def __repr__(self) -> str:
        """Folder, number of episodes of each split, cameras, and joints with interventions."""
        episodes = {split: len(numbers) for split, numbers in self.splits.items()}
        return f"Dataset({str(self.path)!r}, {episodes=}, cameras={list(self.cameras)}, joints={list(self.joints)})"

    @property
    def urdf(self) -> Path | None:
        """The arm's URDF without shapes, or a local copy; None where the data set has none."""
        try:
            with fetched(self.path / schema.ROBOT) as path:
                return path if path.is_file() else None
        except FileNotFoundError:
            return None

    @cached_property
    def cameras(self) -> tuple[str, ...]:
        """Names of the cameras, in the order of the views."""
        order = [camera["name"] for camera in (self.provenance or {}).get("cameras", [])]
        names = [
            name.removeprefix(schema.IMAGES)
            for name, feature in self.info["features"].items()
            if name.startswith(schema.IMAGES) and feature["dtype"] == "image"
        ]
        return tuple(sorted(names, key=lambda name: order.index(name) if name in order else -1))

    @cached_property
    def image_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shape of each camera's images: (height, width) in pixels, or (height, width, 3) in colour.

        Raises:
            UserError: some cameras are grey and others in colour.
        """
        given = (self.info["features"][schema.IMAGES + camera]["shape"] for camera in self.cameras)
        shapes = tuple((int(y), int(x), 3) if channels == [3] else (int(y), int(x)) for y, x, *channels in given)
        if len({len(shape) for shape in shapes}) > 1:
            kinds = ("grey" if len(shape) == 2 else "in colour" for shape in shapes)
            each = ", ".join(f"{camera} {kind}" for camera, kind in zip(self.cameras, kinds, strict=True))
            raise UserError(f"{self.path}: cameras are {each}; make all grey or all colour")
        return shapes

    @property
    def image_shape(self) -> tuple[int, ...]:
        """The shape that all cameras' images have.

        Raises:
            UserError: shapes differ.
        """
        if len(set(self.image_shapes)) > 1:
            raise UserError(f"{self.path}: the cameras' images differ in shape: {sorted(set(self.image_shapes))}")
        return self.image_shapes[0]

    @property
    def image_size(self) -> tuple[int, int]:
        """Height and width of `image_shape`, pixels."""
        return self.image_shape[0], self.image_shape[1]

    @cached_property
    def splits(self) -> dict[str, range]:
        """Split → range of episodes."""
        spans = {}
        for name, text in self.info.get("splits", {}).items():
            start, _, stop = str(text).partition(":")
            if not (start.isdecimal() and stop.isdecimal()):
                raise UserError(f"{self.path / schema.INFO}: split {name!r} is {text!r}, not START:STOP episodes")
            spans[name] = range(int(start), int(stop))
        return dict(sorted(spans.items(), key=lambda item: item[1].start))

    @cached_property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks, by task index."""
        table = parquet.read_table(self.path / schema.TASKS)
        texts = "task" if "task" in table.column_names else "__index_level_0__"
        if not {"task_index", texts} <= set(table.column_names):
            raise UserError(f"{self.path / schema.TASKS} has no column task_index or task; restore it")
        rows = sorted(zip(table["task_index"].to_pylist(), table[texts].to_pylist(), strict=True))
        if [number for number, _ in rows] != list(range(len(rows))):
            raise UserError(f"{self.path / schema.TASKS}: task indices are not 0 to {len(rows) - 1}")
        return tuple(task for _, task in rows)

    @cached_property
    def regimes(self) -> tuple[Regime, ...]:
        """Regime of each task index.

        Raises:
            UserError: `meta/interventions.json` is missing or wrong, or tasks are actions.
        """
        if self.actions:
            raise UserError(f"{self.path} has actions and no policies; methods cde-global and cde-patch learn from it")
        return interventions.read_regimes(self.path, self.tasks)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """Action of each task index; empty where tasks are not actions.

        Raises:
            UserError: only some of the tasks are actions.
        """
        return interventions.read_actions(self.path, self.tasks)

    @cached_property
    def antonyms(self) -> dict[str, str]:
        """Verb → opposite verb; empty where the data set records none."""
        antonyms = (self.provenance or {}).get("antonyms", {})
        return dict(antonyms) if isinstance(antonyms, dict) else {}

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints under intervention, in the order of the tasks; empty where tasks are actions."""
        regimes = () if self.actions else self.regimes
        return tuple(dict.fromkeys(regime.joint for regime in regimes if regime.joint is not None))

    @property
    def labelled_joints(self) -> tuple[str, ...]:
        """Joints with angles to learn or evaluate: `joints`, or of an arm without interventions all of its state."""
        return self.joints or (() if self.actions or self.state_names == NAMES else self.state_names or ())

    @cached_property
    def state_names(self) -> tuple[str, ...] | None:
        """Names of the columns of `observation.state`; None without this feature."""
        if schema.STATE not in self.info["features"]:
            return None
        names = self.info["features"][schema.STATE].get("names") or []
        groups = list(names.values()) if isinstance(names, dict) else [names]  # {"motors": [...]} in some recordings
        if not all(isinstance(group, list) and all(isinstance(name, str) for name in group) for group in groups):
            raise UserError(f"{self.path / schema.INFO}: 'names' of {schema.STATE!r} are no list of joint names")
        return tuple(name for group in groups for name in group)

    @cached_property
    def data_files(self) -> tuple[Path, ...]:
        """Paths of the data files, in order."""
        files = stores.glob(self.path, "data/chunk-*/file-*.parquet")
        return tuple(sorted(files, key=schema.file_order))

    def name_of(self, path: Location) -> str:
        """The path of one of the data set's files in its folder, with /."""
        return str(path).removeprefix(f"{self.path}/")

    @cached_property
    def starts(self) -> Ints:
        """First row of each data file, then the total number of rows; (files + 1,)."""
        counts = stores.each(lambda path: parquet.read_metadata(path).num_rows, self.data_files)
        return np.cumsum([0, *counts], dtype=np.int64)

    @cached_property
    def _index(self) -> dict[str, Ints]:
        names = ["index", "episode_index", "task_index"]
        tables = stores.each(lambda path: parquet.read_table(path, names), self.data_files)
        columns = {
            name: np.concatenate([table[name].to_numpy() for table in tables] or [np.empty(0, np.int64)])
            for name in names
        }
        expected = self.info["total_frames"]
        if not np.array_equal(columns["index"], np.arange(expected)):
            raise UserError(
                f"{self.path}: the data files do not hold the {expected} frames of {schema.INFO} in order; "
                "a file is missing or changed (run ropes validate to find it)"
            )
        return columns

    def frames(self, split: str) -> Frames:
        """The frames of a split, in the order on disk.

        Raises:
            UserError: no such split, or data files and metadata disagree.
        """
        if split not in self.splits:
            raise UserError(f"{self.path} has no split {split!r}; it has {', '.join(self.splits) or 'none'}")
        span, columns = self.splits[split], self._index
        anchors = columns["episode_index"]
        rows = np.flatnonzero((anchors >= span.start) & (anchors < span.stop))
        return Frames(rows, anchors[rows], columns["task_index"][rows])

    def states(self, split: str) -> NDArray[np.float64]:
        """Angles of `labelled_joints` for the frames of a split, (frames, joints), radians; raises as `factors`."""
        return self._values(split, self.labelled_joints)

    def factors(self, split: str) -> NDArray[np.float64]:
        """`observation.state` for the frames of a split, (frames, values) in the order of `state_names`.

        Raises:
            UserError: the data set has no such feature, lacks a joint, or has a value that is not finite.
        """
        return self._values(split, self.state_names or ())

    def _values(self, split: str, names: Sequence[str]) -> NDArray[np.float64]:
        if self.state_names is None:
            raise UserError(f"{self.path} has no joint angles ({schema.STATE}); give a labelled data set")
        if absent := [name for name in names if name not in self.state_names]:
            raise UserError(f"{self.path}: {schema.STATE} has no joint {absent[0]} (it has {self.state_names})")
        columns = [self.state_names.index(name) for name in names]
        rows, parts = self.frames(split).index, []
        for path, start, positions in self.by_file(rows):
            try:
                angles = vectors(parquet.read_table(path, [schema.STATE])[schema.STATE].combine_chunks())
            except ValueError as error:
                raise UserError(f"{path}: {schema.STATE} has {error}") from error
            part = angles[rows[positions] - start][:, columns].astype(np.float64)
            if not np.isfinite(part).all():
                row = int(rows[positions][~np.isfinite(part).all(axis=1)][0] - start)
                raise UserError(f"{path}, row {row}: a joint angle is not a finite number")
            parts.append(part)
        return np.concatenate(parts) if parts else np.empty((0, len(columns)))

    def by_file(self, rows: Ints) -> Iterator[tuple[Path, int, Ints]]:
        """For each data file with some of `rows`: path, first row, and positions of these rows in `rows`."""
        numbers = np.searchsorted(self.starts, rows, side="right") - 1
        for number in np.unique(numbers):
            yield self.data_files[number], int(self.starts[number]), np.flatnonzero(numbers == number)

    def read_images(self, indices: ArrayLike) -> NDArray[np.uint8]:
        """Decode the images of some frames.

        Args:
            indices: rows in the whole data set, in any order (`Frames.index`).

        Returns:
            uint8 (n, cameras, height, width), or (n, cameras, height, width, 3) in colour.

        Raises:
            UserError: a file is damaged, a camera is missing, an image has another size or type, or the cameras' sizes
                differ; see `read_cameras`.
        """
        _ = self.image_shape
        return np.stack(self.read_cameras(indices), axis=1)

    def read_cameras(self, indices: ArrayLike) -> list[NDArray[np.uint8]]:
        """As `read_images`, one array per camera: uint8 (n, height, width), or (n, height, width, 3) in colour."""
        rows = np.asarray(indices, dtype=np.int64).reshape(-1)
        total = int(self.starts[-1])
        if rows.size and not 0 <= rows.min() <= rows.max() < total:
            raise UserError(f"{self.path} has frames 0 to {total - 1}, not {rows.min()} to {rows.max()}")
        pixels = [np.empty((len(rows), *shape), np.uint8) for shape in self.image_shapes]
        columns = [schema.IMAGES + camera for camera in self.cameras]
        for path, start, positions in self.by_file(rows):
            table, local = parquet.read_rows(path, columns, rows[positions] - start)
            for camera, images in zip(self.cameras, pixels, strict=True):
                images[positions] = parquet.decode_rows(path, table, local, camera, images.shape[1:])
        return pixels

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of the input of label-free training: images, cameras, regimes and splits, without angles.

        Regimes enter by name.  Task names enter in their place where there are actions or no `meta/interventions.json`.
        """
        return training_checksum(self)

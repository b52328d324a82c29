"""Minimum, maximum, mean and standard deviation of each feature, for `meta/stats.json`.

Shards are added in file order, so an interrupted and resumed simulation gives the same statistics.
As in LeRobot, images are subsampled: evenly spaced frames of each shard, scaled to [0, 1].
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ropes.common import png
from ropes.common.arrays import evenly

_IMAGES_PER_SHARD = 16


class Moments:
    """Accumulates the statistics of each feature over the shards."""

    def __init__(self, features: Mapping[str, Any]) -> None:
        self._features = features
        self._sums: dict[str, dict[str, NDArray[np.float64]]] = {}

    def add(self, table: pa.Table) -> None:
        """Add the rows of a shard."""
        for name, feature in self._features.items():
            column = table[name].combine_chunks()
            if feature["dtype"] == "image":
                *sides, channels = feature["shape"]
                shape = (*sides, channels) if channels == 3 else tuple(sides)
                rows = evenly(len(column), _IMAGES_PER_SHARD)
                data = column.field("bytes").take(pa.array(rows)).to_pylist()
                pixels = np.stack([png.decode(image, shape) for image in data])
                self._count(name, pixels.reshape(-1, channels).astype(np.float64) / 255, len(rows))
            else:
                self._count(name, vectors(column).astype(np.float64), len(column))

    def _count(self, name: str, values: NDArray[np.float64], rows: int) -> None:
        new = {
            "min": values.min(axis=0),
            "max": values.max(axis=0),
            "sum": values.sum(axis=0),
            "squares": np.square(values).sum(axis=0),
            "values": np.array(len(values)),
            "count": np.array(rows),
        }
        old = self._sums.get(name)
        if old is not None:
            combine = {"min": np.minimum, "max": np.maximum}
            new = {key: combine.get(key, np.add)(old[key], value) for key, value in new.items()}
        self._sums[name] = new

    def to_dict(self) -> dict[str, Any]:
        """Feature → min, max, mean, std and count; angles in radians, images per channel in [0, 1]."""
        content = {}
        for name, sums in self._sums.items():
            mean = sums["sum"] / sums["values"]
            std = np.sqrt(np.maximum(sums["squares"] / sums["values"] - mean**2, 0))
            shape = (-1, 1, 1) if self._features[name]["dtype"] == "image" else (-1,)
            moments = {"min": sums["min"], "max": sums["max"], "mean": mean, "std": std}
            content[name] = {key: value.reshape(shape).tolist() for key, value in moments.items()}
            content[name]["count"] = [int(sums["count"])]
        return content


def vectors(column: pa.Array) -> NDArray[Any]:
    """A numeric column as an array (rows, values); scalar columns have one value.

    Raises:
        ValueError: lists of different lengths, or missing values.
    """
    flat = column.flatten() if pa.types.is_nested(column.type) else column
    if column.null_count or flat.null_count:
        raise ValueError("missing values")
    if pa.types.is_list(column.type) and len(column.value_lengths().unique()) > 1:
        raise ValueError("lists of different lengths")
    values: NDArray[Any] = flat.to_numpy(zero_copy_only=False)
    return values.reshape(len(column), -1)

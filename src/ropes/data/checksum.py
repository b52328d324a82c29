"""The checksum of what label-free training reads."""

import hashlib
import json
from typing import TYPE_CHECKING

from ropes.common import stores
from ropes.data import parquet, schema

if TYPE_CHECKING:
    from ropes.data.dataset import Dataset


def training_checksum(dataset: "Dataset") -> str:
    """SHA-256 of images, cameras, regimes and splits, see `Dataset.checksum`."""
    has_regimes = stores.is_file(dataset.path / schema.INTERVENTIONS) and not dataset.actions
    regimes = [regime.name for regime in dataset.regimes] if has_regimes else list(dataset.tasks)
    recorded = (dataset.provenance or {}).get("files", {})
    digests = [
        recorded.get(dataset.name_of(path), {}).get("images_sha256") or parquet.images_digest(parquet.read_table(path))
        for path in dataset.data_files
    ]
    spans = {name: [span.start, span.stop] for name, span in dataset.splits.items()}
    # One shape for all cameras, as earlier versions had it, keeps the checksums of their data sets.
    shapes = dataset.image_shapes[0] if len(set(dataset.image_shapes)) == 1 else dataset.image_shapes
    content = [digests, dataset.cameras, shapes, regimes, spans]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

"""Converts Causal Triplet's recorded image pairs into a data set with the layout of simulated ones."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.common import png
from ropes.common.files import sha256
from ropes.data import build as building
from ropes.data import schema
from ropes.data.causal_triplet import RECORDED_ANTONYMS, RecordedPair, picture, read_pairs, split_pairs
from ropes.data.dataset import Dataset
from ropes.data.pair_checks import MANIFEST, read_manifest, require_valid, write_manifest
from ropes.data.writer import SplitPlan
from ropes.simulation.settings import RECORDED_PAIRS, RECORDED_SCENES

Floats = NDArray[np.float64]
_CAMERA = "front"


def read_and_split(
    folder: Path, manifest: Path | None = None, seed: int = 0
) -> tuple[tuple[RecordedPair, ...], dict[str, list[int]]]:
    """All pairs of a folder, with checked images, and split → indices into them; see `import_pairs`.

    Raises:
        UserError: a table, an image or the manifest is wrong, or there are too few scenes or verbs.
    """
    pairs = read_pairs(folder)
    require_valid(folder, pairs)
    if manifest is None and (folder / MANIFEST).exists():
        manifest = folder / MANIFEST
    return pairs, split_pairs(pairs, seed)[0] if manifest is None else read_manifest(manifest, pairs)


def import_pairs(
    folder: Path,
    *,
    out: Path,
    image_size: int = 64,
    manifest: Path | None = None,
    boxes: bool = True,
    seed: int = 0,
    progress: bool = True,
) -> Dataset:
    """Convert a folder in Causal Triplet's layout into a data set, or resume an interrupted conversion.

    Args:
        folder: see `ropes.data.causal_triplet`.
        out: folder of the data set.
        image_size: side of the images, pixels.
        manifest: JSON file with the pairs of each split.  Without it, the folder's manifest.json; without that, splits
            drawn by the rules of Causal Triplet.  The data set stores the splits as meta/manifest.json.
        boxes: crop images to the object's bounding box where there is one, or keep the whole scene.
        seed: seed of drawn splits.
        progress: show progress.

    Raises:
        UserError: a table, an image or the manifest is wrong, or `out` holds something else.
    """
    pairs, splits = read_and_split(folder, manifest, seed)
    actions = tuple(sorted({pair.action for pair in pairs}))
    splits = {split: indices for split, indices in splits.items() if indices}
    request = {
        **building.versions(),
        "seed": seed,
        "setting": {"name": RECORDED_PAIRS if boxes else RECORDED_SCENES, "image_size": image_size, "boxes": boxes},
        "antonyms": RECORDED_ANTONYMS,
        "tables": {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(folder.rglob("*.csv"))},
        "manifest": {split: [pairs[index].name for index in indices] for split, indices in splits.items()},
        "cameras": [{"name": _CAMERA}],
    }

    def states() -> Mapping[str, Floats]:
        return {
            split: np.column_stack([np.repeat(indices, 2), np.tile([0, 1], len(indices))]).astype(np.float64)
            for split, indices in splits.items()
        }

    def images(frames: Floats) -> Iterator[list[bytes]]:
        for index, after in frames.astype(np.int64):
            pair = pairs[int(index)]
            image = picture(folder, pair.after if after else pair.before, pair.box if boxes else None, image_size)
            yield [png.encode(image)]

    plans = [
        SplitPlan(
            name=split,
            episodes=len(indices),
            tasks=(0, 0),
            actions=tuple(actions.index(pairs[index].action) for index in indices),
        )
        for split, indices in splits.items()
    ]
    dataset = building.build(
        out,
        request,
        features=schema.features((_CAMERA,), (image_size, image_size, 3), None),
        plans=plans,
        states=states,
        render=images,
        regimes=actions,
        robot_type="recorded",
        progress=progress,
    )
    write_manifest(out / "meta" / MANIFEST, pairs, splits)
    return dataset

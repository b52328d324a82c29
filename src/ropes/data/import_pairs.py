"""Imports recorded image pairs as a data set with the layout of simulated ones."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes.common import png
from ropes.common.files import sha256
from ropes.data import build as building
from ropes.data import schema, writer
from ropes.data.causal_triplet import RECORDED_ANTONYMS, RecordedPair, picture, read_pairs, split_pairs
from ropes.data.dataset import Dataset
from ropes.data.pair_checks import MANIFEST, read_manifest, require_sound, write_manifest
from ropes.data.writer import SplitPlan
from ropes.simulation.settings import RECORDED_PAIRS, RECORDED_SCENES

Floats = NDArray[np.float64]
_CAMERA = "front"


def read_and_split(
    folder: Path, manifest: Path | None = None, seed: int = 0
) -> tuple[tuple[RecordedPair, ...], dict[str, list[int]]]:
    """Every pair of a folder, whose images are checked, and split → places of its pairs; as of `import_pairs`.

    Raises:
        UserError: a table, an image or the manifest is wrong, or there are too few scenes or verbs.
    """
    pairs = read_pairs(folder)
    require_sound(folder, pairs)
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
    """Take over a folder in Causal Triplet's own layout, or go on with that.

    Args:
        folder: see `ropes.data.causal_triplet`.
        out: folder of the data set.
        image_size: side of the images, pixels.
        manifest: which pair is in which split; None for the folder's own manifest.json, or, where it has none, for
            splits drawn by the rules of Causal Triplet.  The data set keeps them as meta/manifest.json.
        boxes: cut out the thing, where its box is known (single objects), or keep the whole scene.
        seed: of the splits, where they are drawn.
        progress: show progress.

    Raises:
        UserError: a table, an image or the manifest is wrong, or `out` holds something else.
    """
    pairs, splits = read_and_split(folder, manifest, seed)
    actions = tuple(sorted({pair.action for pair in pairs}))
    kept = {split: places for split, places in splits.items() if places}
    request = {
        **building.versions(),
        "seed": seed,
        "setting": {"name": RECORDED_PAIRS if boxes else RECORDED_SCENES, "image_size": image_size, "boxes": boxes},
        "antonyms": RECORDED_ANTONYMS,
        "tables": {path.relative_to(folder).as_posix(): sha256(path) for path in sorted(folder.rglob("*.csv"))},
        "manifest": {split: [pairs[place].name for place in places] for split, places in kept.items()},
        "cameras": [{"name": _CAMERA}],
    }

    def states() -> Mapping[str, Floats]:
        frames = {split: np.array(places, np.float64) for split, places in kept.items()}
        return {
            split: np.column_stack([np.repeat(places, 2), np.tile([0, 1], len(places))])
            for split, places in frames.items()
        }

    def pictures(wanted: Floats) -> Iterator[list[bytes]]:
        for place, after in wanted.astype(np.int64):
            pair = pairs[int(place)]
            image = picture(folder, pair.after if after else pair.before, pair.box if boxes else None, image_size)
            yield [png.encode(image)]

    plans = [
        SplitPlan(
            name=split,
            episodes=len(places),
            tasks=(0, 0),
            actions=tuple(actions.index(pairs[place].action) for place in places),
        )
        for split, places in kept.items()
    ]
    dataset = building.build(
        out,
        request,
        features=schema.features((_CAMERA,), (image_size, image_size, 3), None),
        shards=writer.plan_shards(plans, 1, writer.IMAGES_PER_SHARD),
        states=states,
        render=pictures,
        regimes=actions,
        robot_type="recorded",
        progress=progress,
    )
    write_manifest(out / "meta" / MANIFEST, pairs, kept)
    return dataset

"""Checks Causal Triplet's recorded image pairs, and converts them into a data set with the layout of simulated ones."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from ropes.common import files, png
from ropes.common.arrays import Floats
from ropes.common.files import sha256
from ropes.data import build as building
from ropes.data import schema
from ropes.data.causal_triplet import RECORDED_ANTONYMS, RecordedPair, picture, read_pairs, split_pairs
from ropes.data.dataset import Dataset
from ropes.data.writer import SplitPlan
from ropes.errors import UserError
from ropes.simulation.actions import SPLITS, TRAIN, split_fault
from ropes.simulation.settings import RECORDED_PAIRS, RECORDED_SCENES

MANIFEST = "manifest.json"
_CAMERA = "front"


def validate_pairs(folder: Path) -> str:
    """One line that describes the pairs of a valid folder.

    Raises:
        UserError: names the first fault and counts the others.
    """
    pairs = read_pairs(folder)
    require_valid(folder, pairs)
    verbs, nouns = (Counter(getattr(pair.action, word) for pair in pairs) for word in ("verb", "noun"))
    scenes = len({pair.scene for pair in pairs})
    counts = ", ".join(f"{verb} {count:,}" for verb, count in verbs.most_common())
    return f"{folder}: valid; {len(pairs):,} pairs of {len(nouns)} nouns in {scenes:,} scenes; verbs {counts}"


def require_valid(folder: Path, pairs: Sequence[RecordedPair]) -> None:
    """Check all images.

    Raises:
        UserError: names the first fault and counts the others.
    """
    if lines := list(faults(folder, pairs)):
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        raise UserError(f"{folder}: {lines[0]}{more}; restore the file, or remove the row from the table")


def faults(folder: Path, pairs: Sequence[RecordedPair]) -> Iterator[str]:
    """Faults of the images, and of the folder's manifest where there is one."""
    for pair in pairs:
        sizes = []
        for name in (pair.before, pair.after):
            try:
                with Image.open(folder / name) as image:
                    sizes.append(image.size)
            except FileNotFoundError:
                yield f"{pair.row}: {name} is missing"
            except (OSError, UnidentifiedImageError):
                yield f"{pair.row}: {name} is no image that can be read"
        if len(sizes) == 2 and sizes[0] != sizes[1]:
            (a, b), (c, d) = sizes
            yield f"{pair.row}: {pair.before} is {a}x{b} and {pair.after} {c}x{d}; a pair has one size"
        if len(sizes) == 2 and pair.box is not None:
            (width, height), (xmin, ymin, xmax, ymax) = sizes[0], pair.box
            if not (0 <= xmin < xmax <= width and 0 <= ymin < ymax <= height):
                yield f"{pair.row}: box {pair.box} is empty, or leaves the image of {width}x{height}"
    if (folder / MANIFEST).exists():
        try:
            read_manifest(folder / MANIFEST, pairs)
        except UserError as error:
            yield str(error)


def write_manifest(path: Path, pairs: Sequence[RecordedPair], splits: Mapping[str, Sequence[int]]) -> None:
    """Write a manifest: split → names of its pairs."""
    files.write_json(path, {split: [pairs[index].name for index in indices] for split, indices in splits.items()})


def read_manifest(path: Path, pairs: Sequence[RecordedPair]) -> dict[str, list[int]]:
    """Split → indices into `pairs`, from a manifest.

    Raises:
        UserError: the file is no manifest, a pair is unknown or repeated, or training has an action that is held out
            for the tests under shift.
    """
    content: Any = files.read_json(path)
    is_manifest = isinstance(content, dict) and all(
        split in SPLITS and isinstance(names, list) and all(isinstance(name, str) for name in names)
        for split, names in content.items()
    )
    if not is_manifest:
        raise UserError(f"{path} is no manifest: an object of lists of second images for {', '.join(SPLITS)}")
    if TRAIN not in content:
        raise UserError(f"{path} has no split {TRAIN}")
    index_of = {pair.name: index for index, pair in enumerate(pairs)}
    split_of: dict[str, str] = {}
    for split, names in content.items():
        for name in names:
            if name not in index_of:
                raise UserError(f"{path}: split {split} names {name}, which is missing")
            if name in split_of:
                raise UserError(f"{path}: {name} is in split {split_of[name]} and in split {split}")
            split_of[name] = split
    splits = {split: [index_of[name] for name in content.get(split, [])] for split in SPLITS}
    actions = {split: [pairs[index].action for index in indices] for split, indices in splits.items()}
    if (fault := split_fault(actions)) is not None:
        raise UserError(f"{path}: {fault}")
    return splits


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

"""Checks recorded image pairs, and reads and writes the manifests of their splits."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from ropes.common import files
from ropes.data.causal_triplet import RecordedPair, read_pairs
from ropes.errors import UserError
from ropes.simulation.actions import SPLITS, TRAIN, split_fault

MANIFEST = "manifest.json"


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

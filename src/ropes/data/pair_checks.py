"""Checks recorded pairs, and reads and writes the manifests that fix their splits."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, UnidentifiedImageError

from ropes.common import files
from ropes.data.causal_triplet import RecordedPair, read_pairs
from ropes.errors import UserError
from ropes.simulation.actions import SPLITS, TRAIN, shift_fault

MANIFEST = "manifest.json"


def validate_pairs(folder: Path) -> str:
    """What a folder holds, in a line.

    Raises:
        UserError: the first fault, and how many there are beside it.
    """
    pairs = read_pairs(folder)
    require_sound(folder, pairs)
    verbs, nouns = (Counter(getattr(pair.action, word) for pair in pairs) for word in ("verb", "noun"))
    scenes = len({pair.scene for pair in pairs})
    told = ", ".join(f"{verb} {count:,}" for verb, count in verbs.most_common())
    return f"{folder}: valid; {len(pairs):,} pairs of {len(nouns)} nouns in {scenes:,} scenes; verbs {told}"


def require_sound(folder: Path, pairs: Sequence[RecordedPair]) -> None:
    """Check all images.

    Raises:
        UserError: the first fault, and how many there are beside it.
    """
    if found := list(faults(folder, pairs)):
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise UserError(f"{folder}: {found[0]}{more}; restore the file, or take the row out of the table")


def faults(folder: Path, pairs: Sequence[RecordedPair]) -> Iterator[str]:
    """What is wrong with the pairs' images, and with the folder's manifest where there is one."""
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
        if len(sizes) == 2 and pair.box is not None and not _inside(pair.box, sizes[0]):
            yield f"{pair.row}: box {pair.box} is empty, or leaves the image of {sizes[0][0]}x{sizes[0][1]}"
    if (folder / MANIFEST).exists():
        try:
            read_manifest(folder / MANIFEST, pairs)
        except UserError as error:
            yield str(error)


def write_manifest(path: Path, pairs: Sequence[RecordedPair], splits: Mapping[str, Sequence[int]]) -> None:
    """Freeze splits: split → names of its pairs."""
    files.write_json(path, {split: [pairs[place].name for place in places] for split, places in splits.items()})


def read_manifest(path: Path, pairs: Sequence[RecordedPair]) -> dict[str, list[int]]:
    """Split → places of its pairs, of a manifest.

    Raises:
        UserError: it is no manifest, names a pair that there is not, names one twice, or tests under shift what it
            trains.
    """
    content: Any = files.read_json(path)
    named = isinstance(content, dict) and all(
        split in SPLITS and isinstance(names, list) and all(isinstance(name, str) for name in names)
        for split, names in content.items()
    )
    if not named:
        raise UserError(f"{path} is no manifest: an object of lists of second images for {', '.join(SPLITS)}")
    if TRAIN not in content:
        raise UserError(f"{path} has no split {TRAIN}")
    places = {pair.name: place for place, pair in enumerate(pairs)}
    split_of: dict[str, str] = {}
    for split, names in content.items():
        for name in names:
            if name not in places:
                raise UserError(f"{path}: split {split} names {name}, which is missing")
            if name in split_of:
                raise UserError(f"{path}: {name} is in split {split_of[name]} and in split {split}")
            split_of[name] = split
    found = {split: [places[name] for name in content.get(split, [])] for split in SPLITS}
    if (fault := shift_fault({split: [pairs[k].action for k in own] for split, own in found.items()})) is not None:
        raise UserError(f"{path}: {fault}")
    return found


def _inside(box: tuple[int, int, int, int], size: tuple[int, int]) -> bool:
    xmin, ymin, xmax, ymax = box
    return 0 <= xmin < xmax <= size[0] and 0 <= ymin < ymax <= size[1]

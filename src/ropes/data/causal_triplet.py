"""Reads the Causal Triplet data sets: recorded image pairs before and after an action.

ProcTHOR: SCENE/annotations.csv without a header (scene, number, figure, noun, verb, xmin, ymin, xmax, ymax), or one
table for all scenes, with a header; images SCENE/color/NNNNN_first.png and SCENE/color/FIGURE.png, where FIGURE is
NNNNN_second_NOUN_verb.  Epic-Kitchens: EPIC_100_train.csv and EPIC_100_validation.csv with columns participant_id,
video_id, start_frame, stop_frame, verb, noun; images PARTICIPANT/rgb_frames/VIDEO/frame_0000000123.jpg.

Source: Liu et al. 2023.
"""

import csv
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from ropes.common.seeds import generator
from ropes.errors import UserError
from ropes.simulation.actions import (
    COMPOSITIONAL,
    IID,
    SPLITS,
    TRAIN,
    VALIDATION,
    Action,
    HeldOut,
    hold_out,
    symmetric_antonyms,
)

#: Pairs of opposite verbs, of both data sets.
RECORDED_ANTONYMS = symmetric_antonyms(
    [("turnon", "turnoff"), ("clean", "dirty"), ("open", "close"), ("add", "remove")]
)
#: ProcTHOR verbs that Causal Triplet leaves out.
_EXCLUDED_VERBS = ("none", "cook")
#: Epic-Kitchens verbs that change an object, as in Causal Triplet.
_EPIC_VERBS = frozenset(
    "add adjust attach bend break close cut divide empty fill flatten flip fold hang increase lift move open peel pull "  # noqa: SIM905
    "remove roll sharpen stretch wrap".split()
)
_TABLE, _EPIC = "annotations.csv", ("EPIC_100_train.csv", "EPIC_100_validation.csv")
_COLUMNS = ("scene", "idx", "figure", "noun_class", "verb_class", "xmin", "ymin", "xmax", "ymax")
#: Shares of the scenes for the test in distribution and for validation.
_TEST_SHARE, _VALIDATION_SHARE = 0.15, 0.1


@dataclass(frozen=True, kw_only=True)
class RecordedPair:
    """Two images, before and after an action.

    Attributes:
        before, after: image paths, relative to the folder.
        action: verb and noun.
        scene: name of the scene; images of one scene look alike.
        box: bounding box of the object, (xmin, ymin, xmax, ymax) in pixels; None for Epic-Kitchens.
        row: table and row, for error messages.
    """

    before: str
    after: str
    action: Action
    scene: str
    box: tuple[int, int, int, int] | None
    row: str

    @property
    def name(self) -> str:
        """Name in manifests: the second image; in Epic-Kitchens, where segments overlap, both images and the action."""
        return self.after if self.box is not None else f"{self.before} {self.after} {self.action.name}"


def read_pairs(folder: Path) -> tuple[RecordedPair, ...]:
    """All pairs of a folder in either layout, in the order of the tables.

    Raises:
        UserError: no table, or a row is wrong.
    """
    if not folder.is_dir():
        raise UserError(f"{folder} is no folder")
    if epic_tables := _epic_tables(folder):
        pairs = [pair for table in epic_tables for pair in _epic(table)]
    else:
        tables = _procthor_tables(folder)
        if not tables:
            raise UserError(f"{folder} has no {_TABLE}, in it or in its scenes, and no {_EPIC[0]}")
        pairs = [pair for table in tables for pair in _procthor(table)]
    if not pairs:
        raise UserError(f"{folder}: its tables have no pairs")
    return tuple({pair.name: pair for pair in reversed(pairs)}.values())[::-1]  # without repeated rows


def holds_pairs(folder: Path) -> bool:
    """Whether a folder has the tables of either layout."""
    return bool(_epic_tables(folder) or _procthor_tables(folder))


def _epic_tables(folder: Path) -> list[Path]:
    return [folder / name for name in _EPIC if (folder / name).exists()]


def _procthor_tables(folder: Path) -> list[Path]:
    return [folder / _TABLE] if (folder / _TABLE).exists() else sorted(folder.glob(f"*/{_TABLE}"))


def split_pairs(pairs: Sequence[RecordedPair], seed: int = 0) -> tuple[dict[str, list[int]], HeldOut]:
    """Split → indices into `pairs`, and the actions held out from training.

    A verb with fewer than two training pairs is in no split: it can be neither contrasted nor predicted.  Nor is a
    held-out combination without a training pair of its antonym on the same noun, or of its verb on another noun; all of
    these pairs may be in scenes of validation and test.

    Deviation: training and the test in distribution share no scene (training and the tests under shift may); verbs are
    not balanced; numbers of held-out nouns are rounded, not truncated.  Why: pairs of one scene look similar.
    Effect: the test in distribution is harder than the reference's.

    Args:
        pairs: all pairs of the data set.
        seed: seed of the held-out actions and of the order of the scenes.

    Raises:
        UserError: too few scenes or verbs.
    """
    counts = Counter(pair.action for pair in pairs)
    held_out = hold_out(counts, RECORDED_ANTONYMS, generator(seed, "held-out actions"))
    splits: dict[str, list[int]] = {split: [] for split in SPLITS}
    scenes = sorted({pair.scene for pair in pairs})
    if len(scenes) < 3:
        raise UserError(f"{len(scenes)} scenes cannot be split into training, validation and test; give at least 3")
    order = [scenes[k] for k in generator(seed, "scenes").permutation(len(scenes))]
    tests, validations = (max(1, round(share * len(order))) for share in (_TEST_SHARE, _VALIDATION_SHARE))
    of_scene = {
        scene: IID if k < tests else VALIDATION if k < tests + validations else TRAIN for k, scene in enumerate(order)
    }
    of_pair = [held_out.split_of(pair.action) or of_scene[pair.scene] for pair in pairs]
    trained = Counter(pair.action for pair, split in zip(pairs, of_pair, strict=True) if split == TRAIN)
    training_verbs = Counter(action.verb for action in trained.elements())
    for index, (pair, split) in enumerate(zip(pairs, of_pair, strict=True)):
        if training_verbs[pair.action.verb] < 2 or (split == COMPOSITIONAL and not _composed(pair.action, trained)):
            continue
        splits[split].append(index)
    return splits, held_out


def _composed(action: Action, trained: Collection[Action]) -> bool:
    """Whether training has the antonym of an action on the same noun, and its verb on another noun."""
    opposite = RECORDED_ANTONYMS.get(action.verb)
    elsewhere = any(other.verb == action.verb and other.noun != action.noun for other in trained)
    return elsewhere and opposite is not None and Action(opposite, action.noun) in trained


def picture(folder: Path, name: str, box: tuple[int, int, int, int] | None, size: int) -> np.ndarray:
    """An image, cropped to `box` where given and resized, uint8 (size, size, 3).

    Raises:
        UserError: the image is missing or cannot be read.
    """
    try:
        with Image.open(folder / name) as image:
            crop = image.convert("RGB") if box is None else image.convert("RGB").crop(box)
            return np.asarray(crop.resize((size, size), Image.Resampling.BILINEAR), dtype=np.uint8)
    except FileNotFoundError as error:
        raise UserError(f"{folder / name} is missing; restore it, or remove its row from the table") from error
    except (OSError, UnidentifiedImageError) as error:
        raise UserError(f"{folder / name} is no image that can be read ({error})") from error


def _procthor(table: Path) -> Iterator[RecordedPair]:
    for number, row in enumerate(_rows(table), 1):
        where = f"{Path(table.parent.name, table.name)}, row {number}"
        if number == 1 and tuple(row[:3]) == _COLUMNS[:3]:
            continue
        if len(row) != len(_COLUMNS):
            raise UserError(f"{where} has {len(row)} columns, not the {len(_COLUMNS)} of {', '.join(_COLUMNS)}")
        scene, _, figure, noun, verb, *corners = (text.strip() for text in row)
        if verb in _EXCLUDED_VERBS:
            continue
        first, second, _ = figure.partition("second")
        if not second:
            raise UserError(f"{where}: figure {figure!r} is not NNNNN_second_NOUN_verb")
        try:
            xmin, ymin, xmax, ymax = (round(float(text)) for text in corners)
        except (ValueError, OverflowError) as error:  # the latter for infinite corners
            raise UserError(f"{where}: box {', '.join(corners)} is not four numbers") from error
        yield RecordedPair(
            before=f"{scene}/color/{first}first.png",
            after=f"{scene}/color/{figure}.png",
            action=Action(verb, noun),
            scene=scene,
            box=(xmin, ymin, xmax, ymax),
            row=where,
        )


def _epic(table: Path) -> Iterator[RecordedPair]:
    """The pairs of an Epic-Kitchens table: first and last frame of each segment.

    Deviation: no segment is filtered out, and `add` and `remove` are antonyms too.  Why: the published tables lack the
    scores by which the reference filters segments.  Effect: pairs are noisier than the reference's; the recordings
    themselves were not available.
    """
    rows = _rows(table)
    header = next(rows, [])
    columns = ("participant_id", "video_id", "start_frame", "stop_frame", "verb", "noun")
    if missing := [name for name in columns if name not in header]:
        raise UserError(f"{table} has no column {missing[0]} (it needs {', '.join(columns)})")
    for number, row in enumerate(rows, 2):
        where = f"{table.name}, row {number}"
        if len(row) != len(header):
            raise UserError(f"{where} has {len(row)} columns, and the header {len(header)}")
        entry = dict(zip(header, row, strict=True))
        if entry["verb"] not in _EPIC_VERBS:
            continue
        try:
            frames = [int(entry[name]) for name in ("start_frame", "stop_frame")]
        except ValueError as error:
            raise UserError(f"{where}: start_frame and stop_frame must be whole numbers") from error
        base = f"{entry['participant_id']}/rgb_frames/{entry['video_id']}"
        before, after = (f"{base}/frame_{frame:010d}.jpg" for frame in frames)
        action = Action(entry["verb"], entry["noun"])
        yield RecordedPair(before=before, after=after, action=action, scene=entry["video_id"], box=None, row=where)


def _rows(table: Path) -> Iterator[list[str]]:
    try:
        with table.open(newline="", encoding="utf-8-sig") as stream:  # spreadsheets begin with a mark
            yield from (row for row in csv.reader(stream) if row)
    except (UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{table} is no CSV file ({error})") from error

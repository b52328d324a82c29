"""Causal Triplet's own files: read, checked, split by its rules, taken over as a data set."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ropes.data.causal_triplet import RECORDED_ANTONYMS, RecordedPair, read_pairs, split_pairs
from ropes.data.import_pairs import import_pairs, read_manifest, validate_pairs, write_manifest
from ropes.data.pairs import ActionPairs
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.simulation.actions import COMPOSITIONAL, IID, SPLITS, SYSTEMATIC, TRAIN, VALIDATION, Action

SIDE = 20
VERBS = ("open", "close", "turnon", "turnoff", "break")


def save(path: Path, level: int, size: tuple[int, int] = (SIDE, SIDE)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((*size[::-1], 3), level, np.uint8)).save(path)


@pytest.fixture
def procthor(tmp_path: Path) -> Path:
    """Ten scenes with six things, everything done to each of them, one table a scene."""
    folder = tmp_path / "procthor"
    for scene in range(10):
        rows = []
        for number, (noun, verb) in enumerate((n, v) for n in "ABCDEF" for v in (*VERBS, "cook")):
            figure = f"{number:05d}_second_{noun}_{verb}"
            rows.append(f"proc_{scene},{number},{figure},{noun},{verb},2,3,12,18")
            save(folder / f"proc_{scene}" / "color" / f"{number:05d}_first.png", 10 * scene)
            save(folder / f"proc_{scene}" / "color" / f"{figure}.png", 10 * scene + 100)
        (folder / f"proc_{scene}" / "annotations.csv").write_text("\n".join(rows) + "\n")
    return folder


def test_all_rows_except_dropped_ones_are_read(procthor: Path) -> None:
    pairs = read_pairs(procthor)
    assert len(pairs) == 10 * 6 * len(VERBS)
    first = pairs[0]
    assert (first.before, first.after) == ("proc_0/color/00000_first.png", "proc_0/color/00000_second_A_open.png")
    assert (first.action, first.scene, first.box) == (Action("open", "A"), "proc_0", (2, 3, 12, 18))
    assert validate_pairs(procthor).endswith(
        "valid; 300 pairs of 6 nouns in 10 scenes; verbs open 60, close 60, turnon 60, turnoff 60, break 60"
    )


def test_single_table_with_a_header_is_read(procthor: Path) -> None:
    tables = [path.read_text() for path in sorted(procthor.glob("*/annotations.csv"))]
    header = "scene,idx,figure,noun_class,verb_class,xmin,ymin,xmax,ymax\n"
    for mark in ("", "\ufeff"):  # with which spreadsheets begin
        (procthor / "annotations.csv").write_text(mark + header + "".join(tables), encoding="utf-8")
        assert len(read_pairs(procthor)) == 300


def test_epic_kitchens_pairs_are_read_by_frame(tmp_path: Path) -> None:
    columns = "narration_id,participant_id,video_id,start_frame,stop_frame,verb,noun"
    (tmp_path / "EPIC_100_train.csv").write_text(f"{columns}\nx,P01,P01_02,12,345,open,door\n")
    for frame in (12, 345):
        save(tmp_path / f"P01/rgb_frames/P01_02/frame_{frame:010d}.jpg", 90)
    (pair,) = read_pairs(tmp_path)
    assert pair.after == "P01/rgb_frames/P01_02/frame_0000000345.jpg"
    assert (pair.action, pair.scene, pair.box) == (Action("open", "door"), "P01_02", None)
    assert "1 pairs of 1 nouns" in validate_pairs(tmp_path)
    (tmp_path / "EPIC_100_train.csv").write_text(f"{columns}\nx,P01,P01_02,12,345,walk,door\n")
    with pytest.raises(UserError, match="its tables have no pairs"):
        read_pairs(tmp_path)
    (tmp_path / "EPIC_100_train.csv").write_text(f"{columns}\nx,P01,P01_02,12\n")
    with pytest.raises(UserError, match="row 2 has 4 columns, and the header 7"):
        read_pairs(tmp_path)
    (tmp_path / "EPIC_100_train.csv").write_text("participant_id,verb\nP01,open\n")
    with pytest.raises(UserError, match="has no column video_id"):
        read_pairs(tmp_path)


def test_splits_are_disjoint_and_by_scene(procthor: Path) -> None:
    pairs = read_pairs(procthor)
    splits, held_out = split_pairs(pairs, seed=3)
    places = [place for split in SPLITS for place in splits[split]]
    assert sorted(places) == list(range(len(pairs)))
    assert {pairs[k].action.noun for k in splits[SYSTEMATIC]} == set(held_out.nouns)
    assert {pairs[k].action for k in splits[COMPOSITIONAL]} == set(held_out.combinations)
    scenes = [{pairs[k].scene for k in splits[split]} for split in (TRAIN, VALIDATION, IID)]
    assert not scenes[0] & scenes[1]
    assert not scenes[0] & scenes[2]
    assert split_pairs(pairs, seed=3)[0] == splits


def test_folder_is_imported_as_a_data_set(procthor: Path, tmp_path: Path, cache_home: Path) -> None:
    dataset = import_pairs(procthor, out=tmp_path / "data", image_size=16, progress=False)
    assert set(dataset.splits) <= set(SPLITS)
    assert "valid" in validate(tmp_path / "data", progress=False)
    pairs = ActionPairs(dataset, TRAIN, 16, progress=False)
    images = pairs.pixels(np.arange(len(pairs)))
    assert images.shape[1:] == (2, 1, 16, 16, 3)
    assert (images[:, 1].astype(int) - images[:, 0] == 100).all()
    assert dataset.antonyms["turnon"] == "turnoff"
    frozen = read_manifest(tmp_path / "data" / "meta" / "manifest.json", read_pairs(procthor))
    assert {name: len(places) for name, places in frozen.items() if places} == {
        name: len(span) for name, span in dataset.splits.items()
    }


def test_verbs_with_a_single_pair_are_in_no_split(procthor: Path) -> None:
    table = procthor / "proc_4" / "annotations.csv"
    table.write_text(table.read_text().replace(",break,", ",use,", 1))
    pairs = read_pairs(procthor)
    splits, _ = split_pairs(pairs)
    assert "use" in {pair.action.verb for pair in pairs}
    assert "use" not in {pairs[k].action.verb for places in splits.values() for k in places}


def test_held_out_combinations_have_their_antonym_and_their_verb_in_training() -> None:
    """Nouns of few scenes may lie in validation and test alone, whatever the table as a whole has."""
    lost = 0
    for seed in range(6):
        rng, pairs = np.random.default_rng(seed), []
        for scene, noun in ((scene, noun) for scene in range(12) for noun in rng.choice(10, 3, replace=False)):
            for verb in VERBS[:4]:
                name, action = f"{scene}/{noun}-{verb}.png", Action(verb, f"n{noun}")
                pairs.append(
                    RecordedPair(before=name, after=name, action=action, scene=str(scene), box=(0, 0, 1, 1), row="")
                )
        splits, held_out = split_pairs(pairs, seed)
        trained = {pairs[k].action for k in splits[TRAIN]}
        for action in {pairs[k].action for k in splits[COMPOSITIONAL]}:
            assert Action(RECORDED_ANTONYMS[action.verb], action.noun) in trained
            assert any(other.verb == action.verb and other.noun != action.noun for other in trained)
        lost += len(held_out.combinations) - len({pairs[k].action for k in splits[COMPOSITIONAL]})
    assert lost > 0


def test_a_manifest_freezes_splits_and_is_checked(procthor: Path, tmp_path: Path) -> None:
    pairs = read_pairs(procthor)
    splits, _ = split_pairs(pairs)
    path = tmp_path / "manifest.json"
    write_manifest(path, pairs, splits)
    assert read_manifest(path, pairs) == splits
    dataset = import_pairs(procthor, out=tmp_path / "data", image_size=16, manifest=path, progress=False)
    assert {name: len(span) for name, span in dataset.splits.items()} == {k: len(v) for k, v in splits.items() if v}

    content = json.loads(path.read_text())
    for change, word in (
        (lambda found: found[TRAIN].append("nowhere.png"), "names nowhere.png, which is missing"),
        (lambda found: found[IID].append(found[TRAIN][0]), "is in split test-iid and in split train"),
        (lambda found: found.pop(TRAIN), "has no split train"),
        (
            lambda found: found[TRAIN].append(found[SYSTEMATIC].pop()),
            "of split test-syst is in train or validation too",
        ),
        (lambda found: found.update(other=[]), "is no manifest"),
    ):
        wrong = json.loads(json.dumps(content))
        change(wrong)
        path.write_text(json.dumps(wrong))
        with pytest.raises(UserError, match=word):
            read_manifest(path, pairs)
    (procthor / "manifest.json").write_text(json.dumps({TRAIN: ["nowhere.png"]}))
    with pytest.raises(UserError, match=r"names nowhere\.png, which is missing"):
        validate_pairs(procthor)


@pytest.mark.parametrize(
    ("spoil", "word"),
    [
        (lambda f: (f / "proc_0/color/00000_first.png").unlink(), r"row 1: proc_0/color/00000_first.png is missing"),
        (lambda f: save(f / "proc_0/color/00000_first.png", 0, (9, 7)), "is 9x7 and .* 20x20; a pair has one size"),
        (lambda f: (f / "proc_0/color/00000_first.png").write_text("no"), "is no image that can be read"),
        (lambda f: (f / "proc_0/annotations.csv").write_text("a,b\n"), "has 2 columns, not the 9"),
        (lambda f: (f / "proc_0/annotations.csv").write_text("s,1,fig,n,open,1,2,3,4\n"), "is not NNNNN_second"),
        (lambda f: (f / "proc_0/annotations.csv").write_text("s,1,0_second_n_open,n,open,1,2,3,x\n"), "four numbers"),
        (lambda f: (f / "proc_0/annotations.csv").write_text("s,1,0_second_n_open,n,open,1,2,3,inf\n"), "four numbers"),
        (
            lambda f: (f / "proc_0/annotations.csv").write_text("proc_0,0,00000_second_A_open,A,open,5,5,30,9\n"),
            "leaves the image of 20x20",
        ),
    ],
)
def test_invalid_pairs_are_reported(procthor: Path, tmp_path: Path, spoil: Callable[[Path], None], word: str) -> None:
    spoil(procthor)
    with pytest.raises(UserError, match=word):
        validate_pairs(procthor)
    with pytest.raises(UserError, match=word):
        import_pairs(procthor, out=tmp_path / "data", image_size=16, progress=False)
    assert not (tmp_path / "data").exists()


def test_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"has no annotations\.csv, in it or in its scenes"):
        read_pairs(tmp_path)
    with pytest.raises(UserError, match="is no folder"):
        read_pairs(tmp_path / "nowhere")

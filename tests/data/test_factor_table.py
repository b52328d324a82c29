"""Data sets of images with factors: tables as those of CausalVerse, and folders of the causal chambers."""

import csv
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from ropes.causal.scm import Regime
from ropes.data.chambers import FACTORS, experiments, holds_chambers, read_chambers
from ropes.data.factor_table import Columns, FactorImages, find_table, read_factor_table
from ropes.data.import_factor_images import import_factor_images
from ropes.data.layout import open_dataset
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.evaluation.factors import evaluate_factors
from ropes.evaluation.joints import evaluate
from ropes.methods.fit import fit
from ropes.methods.training.registration import has_one_background
from tests import factor_files, tiny

CHAMBERS = Path(__file__).parents[1] / "fixtures" / "chambers"
ABOVE = Columns(folder=Path(".."))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return factor_files.write(tmp_path / "image", factor_files.poses(10))


def change(path: Path, edit: Callable[[list[list[str]]], object]) -> None:
    """Change the rows of a CSV file, with the header first."""
    with path.open(newline="") as stream:
        rows = list(csv.reader(stream))
    edit(rows)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)


def test_table_without_regimes_becomes_images_of_known_factors(table: Path, tmp_path: Path) -> None:
    source = read_factor_table(table, ABOVE)
    assert source.names == tiny.JOINTS  # the view is the same in all images, and the material no number
    made = import_factor_images(source, out=tmp_path / "data", progress=False)
    assert str(made) == (
        "images: train 8, test-id 2; factors elbow, wrist; camera front 16x16; no policies: fit with --method "
        "beta-vae, cnn or jointnet"
    )
    dataset = open_dataset(tmp_path / "data")
    assert (dataset.joints, dataset.labelled_joints, dataset.regimes) == ((), tiny.JOINTS, (Regime(),))
    assert not has_one_background(dataset)
    angles, images = factor_files.poses(10), tiny.draw(factor_files.poses(10))[:, 0]
    seen = set()
    for split in ("train", "test-id"):
        frames, factors = dataset.frames(split), dataset.factors(split)
        rows = [int(np.abs(angles - each).sum(axis=1).argmin()) for each in factors]
        assert np.abs(angles[rows] - factors).max() < 1e-6
        assert np.array_equal(dataset.read_images(frames.index)[:, 0], images[rows])
        assert len(np.unique(frames.anchor)) == len(frames)
        seen |= set(rows)
    assert seen == set(range(10))
    validate(tmp_path / "data", progress=False)


def test_parquet_table_in_a_folder_is_read_as_the_csv_file(table: Path) -> None:
    expected = read_factor_table(table, ABOVE)
    with table.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    content = {name: [row[name] for row in rows] for name in rows[0]}
    numbers = {name: [float(cell) for cell in content[name]] for name in (*tiny.JOINTS, "view")}
    pq.write_table(pa.table(content | numbers), table.with_suffix(".parquet"))
    table.unlink()
    found = read_factor_table(find_table(table.parent), ABOVE)
    assert (found.names, found.images, found.regimes) == (expected.names, expected.images, expected.regimes)
    assert np.array_equal(found.factors, expected.factors)


@pytest.mark.parametrize(
    ("policies", "single"),
    [
        (["observational", "elbow/1", "elbow/2", "wrist/1", "wrist/2"] * 2, False),
        (["observational", "elbow/1", "wrist/1", "observational", "observational"] * 2, True),
    ],
)
def test_column_of_regimes_is_read(policies: list[str], single: bool, tmp_path: Path) -> None:
    table = factor_files.write(tmp_path / "image", factor_files.poses(10), {"regime": policies})
    source = read_factor_table(table, replace(ABOVE, policy="regime"))
    made = import_factor_images(source, out=tmp_path / "data", test_share=0.5, progress=False)
    assert ("one intervention a factor on elbow, wrist" in str(made)) == single
    dataset = made.dataset
    assert [regime.name for regime in dataset.regimes] == sorted(set(policies), key=lambda name: (name[0] != "o", name))
    tested = dataset.frames("test-id")
    assert len(tested) == policies.count("observational") // 2
    assert {dataset.regimes[number] for number in tested.regime} == {Regime()}
    # Each image keeps its regime.
    angles, train = factor_files.poses(10), dataset.frames("train")
    for factors, number in zip(dataset.factors("train"), train.regime, strict=True):
        assert dataset.regimes[number].name == policies[int(np.abs(angles - factors).sum(axis=1).argmin())]


def test_images_are_cropped_resized_and_opaque_alpha_is_dropped(table: Path, tmp_path: Path) -> None:
    for path in table.parent.glob("*.png"):
        with Image.open(path) as image:
            image.convert("RGBA").save(path)
    source = read_factor_table(table, ABOVE)
    dataset = import_factor_images(source, out=tmp_path / "data", progress=False).dataset
    assert dataset.image_shape == (16, 16, 3)
    with Image.open(source.images[3]) as image:
        image.putalpha(128)
        image.save(source.images[3])
    with pytest.raises(UserError, match="RGBA image; images must be 8-bit grey or RGB"):
        import_factor_images(source, out=tmp_path / "other", progress=False)
    assert not (tmp_path / "other").exists()


def test_import_again_changes_nothing_and_another_draw_is_refused(table: Path, tmp_path: Path) -> None:
    source, out = read_factor_table(table, ABOVE), tmp_path / "data"
    import_factor_images(source, out=out, progress=False)
    before = tiny.tree(out)
    import_factor_images(source, out=out, progress=False)
    assert tiny.tree(out) == before
    with pytest.raises(UserError, match="holds something else, a data set with another import"):
        import_factor_images(source, out=out, seed=1, progress=False)
    assert tiny.tree(out) == before


def set_cell(row: int, column: str, text: str) -> Callable[[list[list[str]]], object]:
    return lambda rows: rows[row].__setitem__(rows[0].index(column), text)


@pytest.mark.parametrize(
    ("edit", "columns", "line"),
    [
        (set_cell(3, "render_path", "BLOBS/no.png"), ABOVE, r"BLOBS.csv, row 4: image BLOBS/no.png is missing in"),
        (set_cell(3, "render_path", ""), replace(ABOVE, image="render_path"), "row 4: render_path '' is empty"),
        (set_cell(1, "render_path", "/no.png"), ABOVE, "row 2: render_path '/no.png' is absolute; give a path"),
        (set_cell(2, "wrist", "nan"), replace(ABOVE, factors=("wrist",)), "row 3: wrist 'nan' is not a finite number"),
        (set_cell(2, "wrist", ""), replace(ABOVE, factors=("wrist",)), "row 3: wrist '' is not a finite number"),
        (None, replace(ABOVE, factors=("thumb",)), "has no column 'thumb'; it has elbow, wrist, view, material"),
        (None, replace(ABOVE, image="photo"), "has no column 'photo'; it has elbow"),
        (None, replace(ABOVE, image="material"), "row 2: image oak is missing in"),
        (None, replace(ABOVE, policy="material"), "row 2: material 'oak' is no policy"),
        (None, replace(ABOVE, policy="regime"), "has no column 'regime'"),
        (lambda rows: rows.__delitem__(slice(1, None)), ABOVE, "BLOBS.csv has no rows"),
        (lambda rows: [row.pop() for row in rows], ABOVE, "has no column with names of images; it has elbow"),
        (
            lambda rows: [row.append("a.png") for row in rows],
            ABOVE,
            r"several columns with names of images \(render_path, a.png\); name the column by --image-column",
        ),
        (lambda rows: [row.__delitem__(slice(0, 2)) for row in rows], ABOVE, "has no column of numbers that vary"),
    ],
)
def test_wrong_table_is_refused(
    edit: Callable[[list[list[str]]], object] | None, columns: Columns, line: str, table: Path
) -> None:
    if edit is not None:
        change(table, edit)
    with pytest.raises(UserError, match=line):
        read_factor_table(table, columns)


def damage(source: FactorImages, out: Path) -> FactorImages:
    source.images[4].write_bytes(b"nothing")
    return source


def enlarge(source: FactorImages, out: Path) -> FactorImages:
    Image.new("L", (32, 16)).save(source.images[4])
    return source


def colour(source: FactorImages, out: Path) -> FactorImages:
    Image.new("RGB", (16, 16)).save(source.images[4])
    return source


def truncate(source: FactorImages, out: Path) -> FactorImages:
    content = source.images[4].read_bytes()
    source.images[4].write_bytes(content[: len(content) - 30])
    return source


def under(*names: str) -> Callable[[FactorImages, Path], FactorImages]:
    regimes = tuple(Regime.parse(name) for name in names)
    return lambda source, out: replace(source, regimes=(regimes * 10)[:10])


@pytest.mark.parametrize(
    ("spoil", "share", "line"),
    [
        (damage, 0.2, "000004.png is no image that can be read"),
        (truncate, 0.2, "000004.png is no image that can be read"),
        (enlarge, 0.2, "000004.png has 32x16 pixels, and 000000.png 16x16; import images of one size"),
        (colour, 0.2, "000004.png is in colour, and 000000.png grey; make all alike, or give --grey"),
        (under("observational", "thumb/1"), 0.2, r"policy thumb/1 is of no factor \(elbow, wrist\)"),
        (under("elbow/1", "wrist/1"), 0.2, "factor elbow has policy 1 alone; give two policies on each factor"),
        (under("observational", "elbow/1", "elbow/2", "wrist/1"), 0.2, "factor wrist has policy 1 alone"),
        (under("observational", "elbow/2"), 0.2, "factor elbow has policy 2 alone"),
        (under("observational", "elbow/1"), 1.0, "--test-share 1 leaves no training image without intervention"),
        (under("observational"), 1.5, "--test-share is 1.5; it must be from 0 to 1"),
        (under("observational"), float("nan"), "--test-share is nan; it must be from 0 to 1"),
    ],
)
def test_images_that_do_not_suit_leave_nothing(
    spoil: Callable[[FactorImages, Path], FactorImages], share: float, line: str, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "data"
    source = spoil(read_factor_table(table, ABOVE), out)
    with pytest.raises(UserError, match=line):
        import_factor_images(source, out=out, test_share=share, progress=False)
    assert not out.exists()


def test_experiments_of_the_chambers_are_found() -> None:
    assert holds_chambers(CHAMBERS)
    assert not holds_chambers(CHAMBERS / "uniform")
    found = experiments(CHAMBERS)
    assert list(found) == ["buchholz_1", "uniform"]
    assert set(found["buchholz_1"]) == {Regime(), *(Regime(factor, 1) for factor in FACTORS)}
    assert set(found["uniform"]) == {Regime()}


def test_synthetic_and_reference_experiments_are_told_apart(tmp_path: Path) -> None:
    root = tmp_path / "lt_crl_benchmark_v1"
    names = {"buchholz_1_red": "buchholz_1_red_synth_det", "buchholz_1_obs": "scm_5_reference", "uniform": "citris_1"}
    for old, new in names.items():
        shutil.copytree(CHAMBERS / old, root / new)
        (root / new / f"{old}.csv").rename(root / new / f"{new}.csv")
    found = {name: [regime.name for regime in tables] for name, tables in experiments(root).items()}
    assert found == {"buchholz_1_synth_det": ["red/1"], "citris_1": ["observational"], "scm_5": ["observational"]}


def test_experiment_has_one_intervention_a_factor(tmp_path: Path) -> None:
    source = read_chambers(CHAMBERS, "buchholz_1", Columns())
    dataset = import_factor_images(source, out=tmp_path / "data", progress=False).dataset
    assert dataset.joints == dataset.state_names == FACTORS
    assert (dataset.image_shape, len(dataset.frames("train")), len(dataset.frames("test-id"))) == ((64, 64, 3), 46, 2)
    validate(tmp_path / "data", progress=False)
    with (CHAMBERS / "buchholz_1_red" / "buchholz_1_red.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    red = dataset.frames("train").regime == dataset.regimes.index(Regime("red", 1))
    stored = dataset.factors("train")[red]
    assert np.allclose(stored, [[float(row[name]) for name in FACTORS] for row in rows])
    with Image.open(CHAMBERS / "buchholz_1_red" / "images_64" / rows[0]["image_file"]) as image:
        assert np.array_equal(dataset.read_images(dataset.frames("train").index[red][:1])[0, 0], np.asarray(image))


@pytest.mark.parametrize(
    ("experiment", "columns", "line"),
    [
        (None, Columns(), "has experiments buchholz_1, uniform; choose one by --experiment"),
        ("citris_1", Columns(), "has no experiment 'citris_1'; it has buchholz_1, uniform"),
        ("uniform", Columns(factors=("red", "shade")), "has no column 'shade'"),
        ("uniform", Columns(folder=Path("images_500")), "image uniform_000000.png is missing in"),
    ],
)
def test_wrong_experiment_is_refused(experiment: str | None, columns: Columns, line: str) -> None:
    with pytest.raises(UserError, match=line):
        read_chambers(CHAMBERS, experiment, columns)


def test_several_sizes_need_a_choice(tmp_path: Path) -> None:
    root = tmp_path / "chambers"
    shutil.copytree(CHAMBERS / "uniform", root / "uniform")
    shutil.copytree(root / "uniform" / "images_64", root / "uniform" / "images_500")
    with pytest.raises(UserError, match="has images images_500, images_64; choose one by --image-folder"):
        read_chambers(root, None, Columns())
    assert len(read_chambers(root, None, Columns(folder=Path("images_500")))) == 4


@pytest.mark.slow
def test_factors_of_colour_images_without_regimes_are_learnt_and_measured(tmp_path: Path) -> None:
    table = factor_files.write(tmp_path / "image", factor_files.poses(500))
    for path in table.parent.glob("*.png"):
        with Image.open(path) as image:
            image.convert("RGB").save(path)
    data = tmp_path / "data"
    import_factor_images(read_factor_table(table, ABOVE), out=data, test_share=0.4, progress=False)
    fit(data, tmp_path / "vae", tiny.vae_recipe(), 0, method="beta-vae", show=False)
    fit(data, tmp_path / "cnn", tiny.cnn_recipe(), 0, method="cnn", show=False)
    results = evaluate_factors(tmp_path / "cnn", data, tmp_path / "evaluation")
    scores = results.model_rows[0].scores
    assert scores["mcc"] is not None
    assert scores["mcc"] > 0.9
    with pytest.raises(UserError, match="factors in the unit of an imported table"):
        evaluate(tmp_path / "cnn", data, tmp_path / "joints")

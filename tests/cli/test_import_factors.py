"""`ropes import` of images with factors through the command line."""

from pathlib import Path

import pytest

from ropes.cli import entry as cli
from ropes.data.layout import open_dataset
from tests import factor_files
from tests.command_line import refusal

CHAMBERS = Path(__file__).parents[1] / "fixtures" / "chambers"
ABOVE = "--image-folder .."


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with more columns of numbers than factors."""
    root = tmp_path_factory.mktemp("causalverse") / "image"
    policies = ["observational", "elbow/1", "elbow/2", "wrist/1", "wrist/2"] * 2
    return factor_files.write(root, factor_files.poses(10), {"number": list(range(10)), "regime": policies})


def test_options_of_a_table_are_passed_on(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "data"
    words = (
        f"import {table.parent} --image-column render_path {ABOVE} --factor-columns wrist elbow --policy-column regime "
        f"--test-share 0.5 --seed 3 --crop none --image-size 16 --out {out}"
    )
    assert cli.main(words.split()) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("images: train 9, test-id 1; factors wrist, elbow; camera front 16x16; policies on wrist")
    assert said[1] == f"wrote {out}"
    dataset = open_dataset(out)
    assert (dataset.state_names, dataset.joints) == (("wrist", "elbow"), ("wrist", "elbow"))
    assert dataset.provenance is not None
    stored = {name: dataset.provenance["import"][name] for name in ("factors", "test_share", "seed")}
    assert stored == {"factors": ["wrist", "elbow"], "test_share": 0.5, "seed": 3}
    assert (tmp_path / "data.options.yaml").is_file()


def test_experiment_of_the_chambers_is_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = f"import {CHAMBERS} --experiment buchholz_1 --image-size 32 --grey --out {tmp_path / 'data'}"
    assert cli.main(words.split()) == 0
    assert "train 46, test-id 2" in capsys.readouterr().out
    assert open_dataset(tmp_path / "data").image_shape == (32, 32)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("{table}", "image BLOBS/000000.png is missing in"),
        ("{table} --image-folder .. --factor-columns thumb", "has no column 'thumb'"),
        ("{table} --image-folder .. --factor-columns elbow elbow", "--factor-columns has elbow twice"),
        ("{table} --image-folder .. --policy-column number", "number '0' is no policy"),
        ("{table} --image-folder .. --crop left=none", "no camera 'left'; the camera of images with factors is front"),
        ("{table} --image-folder .. --crop 0,0,20,20", "is not inside the image of 16x16 pixels"),
        ("{table} --image-folder .. --test-share 2", "--test-share is 2; it must be from 0 to 1"),
        ("{table} --image-folder .. --experiment a", "--experiment goes with the causal chambers; leave it out"),
        ("{table} --image-folder .. --rotate 90", "--rotate goes with recordings of arms; leave it out"),
        (
            "{table} --image-folder .. --cameras a",
            "--cameras goes with recordings of arms, a folder of DREAM and MPI3D",
        ),
        ("{chambers}", "has experiments buchholz_1, uniform; choose one by --experiment"),
        ("{chambers} --policy-column flag", "--policy-column goes with recordings of arms and a table of factors"),
        ("{chambers} --urdf a.urdf", "--urdf goes with a folder of DREAM; leave it out"),
        ("{empty} --image-column a", "needs one table, CSV or Parquet, and has none; give the path of a table"),
        ("{empty} --image-folder a", "--image-folder goes with a table of factors and the causal chambers; leave it"),
    ],
)
def test_invalid_import_of_factors_is_refused_in_one_line(
    words: str, line: str, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    given = words.format(table=table, chambers=CHAMBERS, empty=tmp_path / "empty")
    assert line in refusal(capsys, "import", *given.split(), "--out", str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_factor_with_an_empty_cell_does_not_vanish(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = [3.5, "", 4, 1, 5, 9, 2, 6, 5, 3]
    gap = factor_files.write(tmp_path / "image", factor_files.poses(10), {"weight": weights})
    words = f"import {gap} {ABOVE} --out {tmp_path / 'out'}"
    assert refusal(capsys, *words.split()) == (
        "BLOBS.csv, row 3: weight is '', which is no number; mend the cell, remove the row, or name the factors by "
        "--factor-columns"
    )
    assert not (tmp_path / "out").exists()
    assert cli.main([*words.split(), "--factor-columns", "elbow", "wrist"]) == 0

"""Results as one flat CSV: every figure once, with its conditions, and nothing else."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.cli import entry as cli
from ropes.evaluation import results
from ropes.evaluation.flat import COLUMNS, figures
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import ActionRow, CoverageRow, FitRow, FreedRow, ModelRow

COMMITTED = Path(__file__).parents[2] / "results"
PLACE: dict[str, Any] = {"setup": "panda-2c-independent", "method": "anchored", "seed": 3}


@pytest.fixture
def found() -> Results:
    return Results(
        name="demo",
        preset="compact",
        device="2 cores",
        version="1",
        seconds=1.0,
        rows=(Row.measured(**PLACE, split="id", occlusion=16, joint="j1", mcc=(0.9, 0.1), mse=(0.02, 0.01)),),
        trust_rows=(
            CoverageRow(
                **PLACE,
                split="ood",
                occlusion=0,
                joint="j1",
                intervals="anchors",
                level=0.9,
                calibration_labels=100,
                coverage=0.88,
                width=0.3,
                auroc=None,
                flagged=0.05,
            ),
        ),
        model_rows=(
            ModelRow(
                **PLACE,
                seconds=7.0,
                settings={"beta": 2.0},
                scores={"dci": 0.5, "beta_vae": None, "elbo": -900.0},
                reasons={"beta_vae": "dependent"},
                informativeness={"hue": 0.7},
                errors={"trees_id": {"hue": 0.2}},
                sizes={"tested": 100},
            ),
        ),
        action_rows=(
            ActionRow(
                **PLACE,
                seconds=8.0,
                accuracy={"iid": 0.8},
                pairs={"iid": 10},
                recall={"iid": {"open": 0.6}},
                cosines={"antonyms": -0.4},
                moves={"j1": {"monotone": 0.9, "linear": None}},
                active=0.2,
            ),
        ),
        fit_rows=(FitRow(**PLACE, weights="ab", data_checksum="cd", version="1"),),
        freed_rows=(FreedRow(**PLACE, joint="j1", correlations={"j1": 0.8, "j2": 0.3}, own=0.6, every=0.7),),
    )


def test_every_figure_has_one_row_with_its_conditions(found: Results) -> None:
    rows = list(figures(found))
    assert all(set(row) <= set(COLUMNS) for row in rows)
    assert all((row["experiment"], row["setting"], row["seed"]) == ("demo", "panda-2c-independent", 3) for row in rows)
    short = {
        (row["kind"], row.get("split", ""), row.get("target", ""), row["metric"]): (row["value"], row["unit"])
        for row in rows
    }
    assert len(short) == len(rows)
    assert short == {
        ("joint", "id", "j1", "mcc_mean"): (0.9, "1"),
        ("joint", "id", "j1", "mcc_std"): (0.1, "1"),
        ("joint", "id", "j1", "rms_deg"): (pytest.approx(8.103, abs=1e-3), "°"),
        ("joint", "id", "j1", "mse_mean"): (0.02, "rad²"),
        ("joint", "id", "j1", "mse_std"): (0.01, "rad²"),
        ("trust", "ood", "j1", "coverage"): (0.88, "1"),
        ("trust", "ood", "j1", "width"): (0.3, "rad"),
        ("trust", "ood", "j1", "flagged"): (0.05, "1"),
        ("model", "", "", "seconds"): (7.0, "s"),
        ("model", "", "", "settings.beta"): (2.0, "1"),
        ("model", "", "", "dci"): (0.5, "1"),
        ("model", "", "", "elbo"): (-900.0, "nat"),
        ("model", "", "hue", "informativeness"): (0.7, "1"),
        ("model", "", "hue", "trees_id"): (0.2, "1"),
        ("model", "", "", "sizes.tested"): (100, "1"),
        ("action", "", "", "seconds"): (8.0, "s"),
        ("action", "iid", "", "accuracy"): (0.8, "1"),
        ("action", "iid", "", "pairs"): (10, "1"),
        ("action", "iid", "open", "recall"): (0.6, "1"),
        ("action", "", "", "cosines.antonyms"): (-0.4, "1"),
        ("action", "", "j1", "moves.monotone"): (0.9, "1"),
        ("action", "", "", "active"): (0.2, "1"),
        ("freed", "", "j1", "correlations.j1"): (0.8, "1"),
        ("freed", "", "j1", "correlations.j2"): (0.3, "1"),
        ("freed", "", "j1", "own"): (0.6, "1"),
        ("freed", "", "j1", "every"): (0.7, "1"),
    }
    trust = next(row for row in rows if row["kind"] == "trust")
    assert (trust["intervals"], trust["level"], trust["calibration_labels"]) == ("anchors", 0.9, 100)


def test_the_command_writes_one_file_of_several_results(
    found: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "other"):
        results.write(tmp_path / name / "results.json", found)
    one = tmp_path / "one" / "results.csv"
    assert cli.main(["csv", str(tmp_path / "one")]) == 0
    assert f"wrote {one}: 26 figures" in capsys.readouterr().out
    with one.open(encoding="utf-8", newline="") as stream:
        read = list(csv.DictReader(stream))
    assert tuple(read[0]) == COLUMNS
    assert (read[0]["source"], read[0]["hiding"], read[0]["scene"], read[0]["mesh"]) == (
        str(tmp_path / "one" / "results.json"),
        "",
        "",
        "",
    )
    assert (read[0]["target"], read[0]["metric"], read[0]["value"], read[0]["renderer"]) == (
        "j1",
        "mcc_mean",
        "0.9",
        "",
    )
    both = ["csv", str(tmp_path / "one"), str(tmp_path / "other" / "results.json")]
    assert cli.main([*both, "--out", str(tmp_path / "both.csv")]) == 0
    assert len((tmp_path / "both.csv").read_text(encoding="utf-8").splitlines()) == 53
    assert cli.main(both) == 2
    assert "2 results need the name of one file; give --out" in capsys.readouterr().err


def test_conditions_of_the_whole_results_tell_figures_apart(found: Results, tmp_path: Path) -> None:
    paths = []
    for hiding in ("square", "object"):
        paths.append(tmp_path / hiding / "results.json")
        results.write(paths[-1], replace(found, hiding=hiding, scene="panda-gym", mesh="full"))
    assert cli.main(["csv", *map(str, paths), "--out", str(tmp_path / "both.csv")]) == 0
    with (tmp_path / "both.csv").open(encoding="utf-8", newline="") as stream:
        read = list(csv.DictReader(stream))
    assert {(row["hiding"], row["scene"], row["mesh"], row["source"]) for row in read} == {
        (path.parent.name, "panda-gym", "full", str(path)) for path in paths
    }


def test_folders_without_results_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["csv", str(tmp_path)]) == 2
    assert "results.json" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_csv_never_replaces_results(tmp_path: Path, found: Results, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    results.write(path, found)
    before = path.read_bytes()
    for words, message in (
        ([], "needs a folder with results.json"),
        ([str(path), "--out", str(path)], "is one of the results"),
        ([str(path), "--out", str(tmp_path)], "is a folder"),
        ([str(path), str(tmp_path), "--out", str(tmp_path / "a.csv")], "named twice"),
    ):
        assert cli.main(["csv", *words]) == 2
        assert message in capsys.readouterr().err
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", sorted(COMMITTED.glob("*-compact.json")), ids=lambda path: path.stem)
def test_figures_of_committed_results_differ_in_their_conditions(path: Path) -> None:
    rows = [{name: value for name, value in row.items() if name != "value"} for row in figures(results.read(path))]
    assert rows
    assert len({tuple(sorted(row.items())) for row in rows}) == len(rows)

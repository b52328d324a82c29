"""The table of MPI3D's axes: a line for each method, what it is asked to find, and what the points are."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ropes.evaluation import results
from ropes.evaluation.results import Results, read, write
from ropes.evaluation.rows.kinds import ModelRow
from ropes.report import stills
from ropes.report.axes import axes_markdown
from ropes.report.html import write_report
from ropes.report.mpi3d_published import R2_OF_AXES, SCORES
from ropes.report.terminal import print_table

_SCORES = ("dci", "completeness", "informativeness", "mig", "sap", "explicitness", "mcc", "infoe")


def row(method: str, seed: int, dci: float, photographs: int) -> ModelRow:
    return ModelRow(
        setup="mpi3d-grid",
        method=method,
        seed=seed,
        seconds=1.0,
        settings={"photographs": photographs},
        scores={**dict.fromkeys(_SCORES, 0.5), "dci": dci, "infoc": None, "tmex": 2.0},
        reasons={"infoc": "fewer than two latents vary"},
        informativeness={"horizontal_axis": 0.5, "vertical_axis": 0.5},
        sizes={"tested": 2_000},
    )


@pytest.fixture
def found() -> Results:
    rows = [row("anchored", seed, 0.8 + 0.1 * seed, 3) for seed in (0, 1)] + [row("beta-vae", 0, 0.25, 1)]
    about: dict[str, Any] = {"name": "mpi3d", "preset": "compact", "device": "2 cores", "version": "0.1.0"}
    return Results(**about, seconds=600.0, rows=(), axes_rows=tuple(rows))


def test_each_method_has_a_line_that_says_what_it_is_asked_to_find(found: Results) -> None:
    title, _, head, _, anchored, vae, *rest = axes_markdown(found).splitlines()
    assert title == "**Both axes, by every method**"
    assert head.startswith("| method | asked to find | photographs a point | seeds | DCI | completeness | R² (")
    assert anchored.startswith("| anchored | both axes, by interventions | 3 | 2 | 0.850 (0.800 to 0.900) | 0.500 (")
    assert vae.startswith("| beta-vae | all seven factors, without supervision | 1 | 1 | 0.250 | 0.500 |")
    assert vae.endswith("| 0.500 | – | 0.500 | 2.000 |")  # MCC, an undefined InfoC, InfoE, T-MEX
    text = " ".join(rest)
    assert "The same 2,000 points of the grid for every method" in text
    assert "The factors of all scores are the two axes alone" in text
    assert "Preset compact, 2 cores, 10 minutes. " in text


def test_published_figures_stand_beside_ours_with_their_sources(found: Results) -> None:
    lines = axes_markdown(found).splitlines()
    head = lines.index("| method | horizontal_axis | vertical_axis | source |")
    assert lines[head + 2 : head + 6] == [
        "| anchored | 0.500 (0.500 to 0.500) | 0.500 (0.500 to 0.500) | this run |",
        "| beta-vae | 0.500 | 0.500 | this run |",
        "| supervised network, original images | 1.000 | 1.000 | published: von Kügelgen et al. 2021, Table 13 |",
        "| contrastive learning, color distortion | 0.600 | 0.420 | published: von Kügelgen et al. 2021, Table 12 |",
    ]
    assert not any("DisDiff" in line for line in lines)  # whose scores no row has


def test_second_hand_figures_are_marked(found: Results, tmp_path: Path) -> None:
    every = row("beta-vae", 0, 0.2, 1)
    every = replace(
        every,
        setup="mpi3d-factors",
        scores={**every.scores, "factor_vae": 0.7},
        sizes={"tested": 2_000, "id": 100},
    )
    both = replace(found, model_rows=(every,))
    lines = axes_markdown(both).splitlines()
    head = lines.index("| method | DCI | FactorVAE | source |")
    assert lines[head + 2] == "| beta-vae | 0.200 | 0.700 | this run |"
    assert lines[head + 3].startswith("| DisDiff | 0.337 | 0.617 | published, second-hand: Yang et al. 2023, ")
    results.write(tmp_path / "results.json", both)
    write_report(tmp_path, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "published, second-hand" in page
    assert "published: von Kügelgen et al. 2021, Table 12" in page


def test_the_docs_state_the_same_published_figures() -> None:
    text = (Path(__file__).parents[2] / "docs" / "photographs.md").read_text(encoding="utf-8")
    shown = " ".join(text.partition("## What others report")[2].split())
    for each in (*R2_OF_AXES, *SCORES):
        assert each.method in shown
        for figure in each.figures.values():
            assert any(f"{figure:.{digits}f}".removeprefix("0") in shown for digits in (2, 3))


def test_the_table_fits_a_terminal(found: Results) -> None:
    stream = io.StringIO()
    print_table(found, Console(file=stream, width=80))
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    anchored, beside = [line for line in lines if line.startswith("│ anchored")]
    assert "this run" in beside  # of the table with published figures
    assert [cell.strip() for cell in anchored.strip("│").split("│")] == ["anchored", "3", "2", "0.850", *["0.500"] * 4]


def test_rows_of_methods_that_were_fitted_again_replace_the_committed_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: Results
) -> None:
    monkeypatch.setattr(stills, "write_figures", lambda *_: ())
    earlier = [row(method, 0, 0.25, 1) for method in ("ada-gvae", "beta-vae")]
    now = [row("ada-gvae", 0, 0.5, 1)]
    for rows, path in ((earlier, tmp_path / "out" / "mpi3d-compact.json"), (now, tmp_path / "run" / "results.json")):
        of_factors = tuple(replace(each, setup="mpi3d-factors") for each in rows)
        write(path, replace(found, model_rows=of_factors, axes_rows=tuple(rows)))
    stills.publish(tmp_path / "run", tmp_path / "out", keep=True)
    published = read(tmp_path / "out" / "mpi3d-compact.json")
    for kind in (published.model_rows, published.axes_rows):
        assert {each.method: each.scores["dci"] for each in kind} == {"beta-vae": 0.25, "ada-gvae": 0.5}
    assert len(published.axes_rows) == 2

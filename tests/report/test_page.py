"""What the page shows first, and of which rows: every kind that was measured, and nothing without a row."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes import report
from ropes.common import files
from ropes.evaluation import results
from ropes.evaluation.paper import ONE_CAMERA
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ActionRow, ModelRow
from ropes.report.html import write_report
from ropes.report.stills import write_figures
from ropes.simulation.actions import IID
from tests.report.pages import Page, a_row, numbers_only


def test_label_free_figures_come_first_and_are_labelled(tmp_path: Path) -> None:
    line = a_row(method="anchored", mse=(0.0005, 0.00002))
    free = replace(line, calibration_labels=0, mse_mean=0.0003, paper_mcc=None, paper_mse=None)
    text = Page(numbers_only(tmp_path, line, free)).text
    assert "joint RMS, ° MCC" in text
    assert "MSE without labels MSE with a line fitted on 1,000 labels paper" in text
    assert "joint 2 0.99 0.900 ± 0.010 ✗ – 0.949 0.00030 ± 0.00002 ✓ 0.00050 ± 0.00002 ✓ 0.053" in text
    first = "Without labels: of 1 cell"
    second = "With a line fitted on 1,000 labels, none of them in training: of 1 cell"
    assert 0 < text.index(first) < text.index(second)


@pytest.mark.slow
def test_sections_without_rows_are_omitted(tmp_path: Path, run_folder: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    kept = folder / "artefacts" / ONE_CAMERA / "ropes"
    shutil.copytree(kept, kept.with_name("anchored"))
    files.write_text(kept.with_name("ldr") / "training.json", "damaged, and of no concern")
    write_report(folder, folder / "report.html")
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    assert [name for name in page.ids if name.startswith("setup-")] == [f"setup-{ONE_CAMERA}-ropes"]
    assert [path.name for path in write_figures(folder, tmp_path)] == [
        path.name for path in write_figures(run_folder, tmp_path)
    ]


@pytest.mark.slow
def test_every_kind_of_row_has_a_section_on_one_page(tmp_path: Path) -> None:
    model = ModelRow(setup="arm", method="ldr", seed=3, seconds=1.0, settings={}, scores={"dci": 0.4321})
    told: dict[str, Any] = {"accuracy": {IID: 0.5}, "pairs": {IID: 3}, "recall": {IID: {"open": 0.5}}}
    action = ActionRow(setup="things", method="icm", seed=4, seconds=1.0, active=0.5, **told)
    content = Results(
        name="all", preset="compact", device="d", version="1", seconds=1.0, rows=(a_row(),), model_rows=(model,)
    )
    for found, headings in (
        (content, ("Joint angles without labels: all", "Disentanglement: all")),
        (replace(content, rows=(), action_rows=(action,)), ("Disentanglement: all", "Actions: all")),
        (
            replace(content, action_rows=(action,)),
            ("Joint angles without labels: all", "Disentanglement: all", "Actions: all"),
        ),
    ):
        results.write(tmp_path / "results.json", found)
        write_report(tmp_path, tmp_path / "report.html")
        page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
        assert page.tags.count("h1") == len(headings)
        assert [page.text.index(heading) for heading in headings] == sorted(page.text.index(h) for h in headings)
        assert "0.432" in page.text
        assert len(page.ids) == len(set(page.ids))
        assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
        seeds = sorted(row.seed for kind in ("rows", "model_rows", "action_rows") for row in getattr(found, kind))
        assert f"training seeds {', '.join(map(str, seeds))}" in page.text


@pytest.mark.slow
def test_scatter_caption_states_its_condition(tmp_path: Path, run_folder: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run_folder, folder)
    path = folder / "artefacts" / ONE_CAMERA / "ropes" / "evaluation.npz"
    with np.load(path) as arrays:
        before = dict(arrays)
    conditions: tuple[tuple[dict[str, str | int], str], ...] = (
        ({}, "In distribution, with a line fitted on 1,000 labels"),
        (
            {"scatter_split": "ood", "scatter_occlusion": 32},
            "Shifted poses, 32 px squares, with a line fitted on 1,000 labels",
        ),
    )
    for recorded, words in conditions:
        files.write_arrays(path, before | {name: np.array(value) for name, value in recorded.items()})
        write_report(folder, folder / "report.html")
        assert words in Page((folder / "report.html").read_text(encoding="utf-8")).text.partition("gives the means.")[2]


def test_every_explanation_has_its_own_name() -> None:
    """Of two macros of one name, Jinja keeps the last."""
    texts = Path(report.__file__).with_name("texts.html.j2").read_text(encoding="utf-8")
    names = re.findall(r"{% macro (\w+)", texts)
    assert len(names) > 20
    assert len(names) == len(set(names))


@pytest.mark.slow
def test_occlusion_plot_states_that_lines_are_fitted(run_folder: Path, tmp_path: Path) -> None:
    write_report(run_folder, tmp_path / "report.html")
    text = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "Error with lines fitted on 1,000 labels against the size of white squares" in text
    assert 'aria-label="RMS error against the side of the squares, One camera' in (tmp_path / "report.html").read_text()

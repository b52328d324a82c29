"""The report's section on what to trust: there when measured, with every figure, and absent else."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest

from ropes.evaluation import results
from ropes.evaluation.paper import JOINTS, TWO_CAMERAS
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import CoverageRow, FlagRow
from ropes.report.html import write_report
from ropes.report.trust import coverage_table, coverages


def rows(method: str = "anchored", seed: int = 0, shift: float = 0.0) -> list[CoverageRow]:
    return [
        CoverageRow(
            setup=TWO_CAMERAS,
            method=method,
            split=split,
            occlusion=size,
            joint=joint,
            seed=seed,
            intervals=kind,
            level=0.9,
            calibration_labels=1000,
            coverage=0.9 - size / 100 + shift,
            width=0.2 + size / 64,
            auroc=None if (split, size) == ("id", 0) else 0.5 + size / 200,
            flagged=0.01,
        )
        for split in ("id", "ood")
        for size in (0, 32)
        for joint in JOINTS
        for kind in ("anchors", "labels")
    ]


def page(tmp_path: Path, trust_rows: Iterable[CoverageRow], flag_rows: Iterable[FlagRow] = ()) -> str:
    row = Row.measured(
        setup=TWO_CAMERAS, joint=JOINTS[0], split="id", occlusion=0, seed=0, mcc=(0.9, 0.0), mse=(0.1, 0.0)
    )
    results.write(
        tmp_path / "results.json",
        Results(
            name="e",
            preset="compact",
            device="CPU",
            version="0",
            seconds=1,
            rows=(row,),
            trust_rows=tuple(trust_rows),
            flag_rows=tuple(flag_rows),
        ),
    )
    write_report(tmp_path, tmp_path / "report.html")
    return (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_section_has_a_figure_and_a_table(tmp_path: Path) -> None:
    text = page(tmp_path, rows())
    section = text.partition('<section id="trust">')[2].partition("</section>")[0]
    assert '<a href="#trust">Uncertainty and out-of-distribution detection</a>' in text
    assert "<svg" in section
    assert "ood: AUROC of the flag" in section
    for word in ("coverage, width from held-out anchors", "coverage, width from labels", "0.580", "0.660"):
        assert word in section
    assert section.count("<tr>") == 1 + 2 * 2 * 6


def test_section_is_omitted_without_rows(tmp_path: Path) -> None:
    assert 'id="trust"' not in page(tmp_path, [])
    assert "#trust" not in page(tmp_path, [])


@pytest.mark.slow
def test_seeds_are_averaged_and_methods_kept_separate() -> None:
    one, other = coverages([*rows(), *rows(seed=1, shift=0.02), *rows(method="ldr")])
    assert (one.method, other.method) == ("anchored", "ldr")
    place, first = next(iter(one.at.items()))
    assert place == ("id", 0, JOINTS[0])
    mean = first[one.kinds[0]]
    assert (mean.coverage, mean.width, mean.auroc) == (0.91, 0.2, None)


def test_labels_alone_give_one_kind_of_interval() -> None:
    (found,) = coverages([row for row in rows() if row.intervals == "labels"])
    assert coverage_table(found).columns[3].heading == "coverage, width from labels, 1,000 labels"
    assert {len(rows) for rows in found.at.values()} == {1}
    (one,) = coverages([dataclasses.replace(rows()[0])])
    assert coverage_table(one).columns[3].heading == "coverage, width from held-out anchors, 1,000 labels"


@pytest.mark.slow
def test_label_free_intervals_are_shown_too() -> None:
    bare = [dataclasses.replace(row, intervals="commanded", calibration_labels=0, coverage=0.5) for row in rows()[::2]]
    (found,) = coverages([*rows(), *bare])
    assert coverage_table(found).columns[3].heading == "coverage, no labels"
    assert {own["commanded", 0].coverage for own in found.at.values()} == {0.5}
    assert {len(own) for own in found.at.values()} == {3}


@pytest.mark.slow
def test_out_of_distribution_images_have_a_table(tmp_path: Path) -> None:
    flags = [
        FlagRow(setup=TWO_CAMERAS, method="anchored", seed=seed, images=images, count=500, auroc=auroc, flagged=0.5)
        for seed in (0, 1)
        for images, auroc in (("moved by 1 px", 0.9 + seed / 50), ("mirrored", 0.75))
    ]
    section = page(tmp_path, rows(), flags).partition('<section id="trust">')[2].partition("</section>")[0]
    for word in ("out-of-distribution images", "moved by 1 px", "mirrored", "0.910", "0.750"):
        assert word in section
    assert "out-of-distribution images</th>" not in page(tmp_path, rows())

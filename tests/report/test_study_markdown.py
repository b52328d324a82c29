"""The study in Markdown and in pictures: groups of models, medians and ranges, what differs between them."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ModelRow
from ropes.report.readme_tables import update
from ropes.report.stills import publish
from ropes.report.study import study_markdown
from ropes.report.study_numbers import ALL_REGRESSORS, OOD1, ood1_correlations, sizes_text
from ropes.report.table import wrapped

_FACTORS = ("upper_joint", "cube_hue")


def model(
    method: str, seed: int, dci: float, *, noise: float = 0.0, images: float = 100.0, **scores: float
) -> ModelRow:
    return ModelRow(
        setup="finger-cube",
        method=method,
        seed=seed,
        seconds=10.0,
        settings={"noise": noise, "images": images},
        scores={"dci": dci, "mig": dci / 2, "informativeness": 0.9, **scores},
        informativeness=dict.fromkeys(_FACTORS, dci),
    )


def study_of(*rows: ModelRow) -> Results:
    return Results(
        name="study", preset="compact", device="2 cores", version="0.1.0", seconds=600.0, rows=(), model_rows=rows
    )


def transferred(row: ModelRow, error: float) -> ModelRow:
    keys = [f"{regressor}_{which}" for regressor in ALL_REGRESSORS for which in ("id", *OOD1, "ood2_a", "ood2_b")]
    each = dict.fromkeys(_FACTORS, error)
    free = {"elbo": -error, "reconstruction": error}
    return replace(row, scores={**row.scores, **free, **dict.fromkeys(keys, error)}, errors=dict.fromkeys(keys, each))


@pytest.fixture
def sweep() -> Results:
    rows = [
        transferred(model(f"{method}@{noise}", seed, dci + 0.1 * seed, noise=noise), 0.3 - 0.1 * dci - 0.05 * seed)
        for method, dci in (("ada-gvae", 0.6), ("beta-vae", 0.2))
        for noise in (0.0, 1.0)
        for seed in (0, 1, 2)
    ]
    return study_of(*rows)


def test_each_supervision_has_a_line_with_and_without_noise(sweep: Results) -> None:
    lines = study_markdown(sweep).splitlines()
    assert lines[0] == (
        "| supervision | input noise | models | DCI | MIG | R² (informativeness) | error in distribution | "
        "OOD1, mean of A to C | OOD2-A | OOD2-B (stand-in) |"
    )
    assert [line.split(" | ")[:4] for line in lines[2:6]] == [
        ["| unsupervised", "without", "3", "0.300 (0.200 to 0.400)"],
        ["| unsupervised", "with", "3", "0.300 (0.200 to 0.400)"],
        ["| weakly supervised", "without", "3", "0.700 (0.600 to 0.800)"],
        ["| weakly supervised", "with", "3", "0.700 (0.600 to 0.800)"],
    ]
    assert lines[2].endswith("| 0.230 (0.180 to 0.280) |")
    assert "| supervision | input noise | models | upper joint | cube hue |" in lines
    # Errors fall with the seed as DCI rises, alike without and with noise: ranks agree but for ties between the two.
    assert (
        "- Rank correlation of DCI with the mean error of OOD1 (95% interval), unsupervised, 6 models: boosted trees "
        "-1.00, random forest -1.00, MLP, one layer -1.00, MLP, two layers -1.00, MLP, three layers -1.00."
    ) in lines
    assert lines[-1].endswith("Preset compact, 2 cores, 10 minutes.")


def test_correlations_are_per_supervision_with_confidence_intervals(sweep: Results) -> None:
    rows = [
        replace(row, scores={**row.scores, "dci": dci + 0.01 * (k % 3 == 1) * k})
        for k, row in enumerate(sweep.model_rows)
        if (dci := row.scores["dci"]) is not None
    ]
    found = ood1_correlations(rows)
    assert list(found) == ["unsupervised", "weakly supervised"]
    one = found["unsupervised"]["trees"]
    assert (one.pairs, one.low <= one.value <= one.high) == (6, True)
    assert found["weakly supervised"]["mlp3"].pairs == 6


def test_sample_sizes_are_stated_when_all_models_share_them(sweep: Results) -> None:
    sizes = {"tested": 4_000, "id": 10_000, "ood1_a": 10_000}
    every = [replace(row, sizes=sizes) for row in sweep.model_rows]
    assert "Metrics use 4,000 test images" in sizes_text(every)
    assert "Regressors are trained on 10,000 images of their scenario's hues." in sizes_text(every)
    assert "trained on 1,250 to 10,000" in sizes_text([replace(row, sizes=sizes | {"ood1_a": 1_250}) for row in every])
    assert sizes_text([*every[1:], sweep.model_rows[0]]) == ""
    assert "MIG and modularity use 20 bins." in sizes_text(every)
    on_grid = [replace(row, setup="mpi3d-factors") for row in every]
    assert "MIG and modularity take every value of a factor for a class." in sizes_text(on_grid)


def test_supervision_table_lists_images_and_measured_scores() -> None:
    rows = [
        model(f"{method}@{count}", 0, 0.5, images=count, mcc=0.8)
        for method in ("ldr", "beta-vae")
        for count in (500, 6_000)
    ]
    lines = study_markdown(study_of(*rows)).splitlines()
    assert lines[0] == "| supervision | images | models | DCI | MIG | MCC, matched | R² (informativeness) |"
    assert lines[2] == "| unsupervised | 500 | 1 | 0.500 | 0.250 | 0.800 | 0.900 |"
    assert lines[5].startswith("| interventions | 6,000 | 1 |")
    assert not any(line.startswith("- ") for line in lines)


@pytest.mark.slow
def test_study_is_published_with_its_figures(sweep: Results, tmp_path: Path) -> None:
    folder, out = tmp_path / "run", tmp_path / "results"
    results.write(folder / "results.json", sweep)
    best = folder / "artefacts" / "finger-cube" / sweep.model_rows[5].method / "seed-2"
    best.mkdir(parents=True)
    np.savez(best / "pictures.npz", sweeps=np.zeros((2, 3, 8, 8, 3), np.uint8))
    written = publish(folder, out)
    kinds = ("metrics", "transfer", "noise", "sweeps")
    assert [path.name for path in written] == ["study-compact.json", *(f"study-compact-{kind}.png" for kind in kinds)]
    assert all(path.stat().st_size for path in written)

    page = tmp_path / "page.md"
    page.write_text("<!-- table:study-compact -->\n<!-- /table -->\n")
    update(page, out)
    assert page.read_text() == f"<!-- table:study-compact -->\n{wrapped(study_markdown(sweep))}<!-- /table -->\n"


def test_supervision_experiment_is_published_with_its_curves(tmp_path: Path) -> None:
    rows = [model(f"ldr@{count}", 0, 0.5, images=count) for count in (500.0, 6_000.0)]
    results.write(tmp_path / "run" / "results.json", study_of(*rows))
    names = [path.name for path in publish(tmp_path / "run", tmp_path / "results")]
    assert names == ["study-compact.json", "study-compact-supervision.png"]

"""The page of a VAE: traversals come first and name the factor of each latent; older pictures still show."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ModelRow
from ropes.report.html import write_report

NEWER = ("beta_vae", "es_explicitness", "es_size", "factor_vae", "infoc", "infoe", "infom", "tmex")
ROW = ModelRow(
    setup="finger-cube",
    method="ada-gvae",
    seed=0,
    seconds=1.0,
    settings={},
    scores={"dci": 0.5, "elbo": -1.0, "mcc": 0.8, "infom": 0.61, "tmex": 4.0, "beta_vae": None},
    reasons={"beta_vae": "factors depend on one another"},
    informativeness={"upper_joint": 0.9, "cube_hue": 0.7},
)


def page_of(folder: Path, row: ModelRow = ROW, **pictures: object) -> str:
    found = Results(
        name="evaluation", preset="compact", device="2 cores", version="1", seconds=1.0, rows=(), model_rows=(row,)
    )
    results.write(folder / "results.json", found)
    path = folder / "artefacts" / "finger-cube" / "ada-gvae" / "seed-0" / "pictures.npz"
    path.parent.mkdir(parents=True)
    images = np.zeros((2, 3, 8, 8, 3), np.uint8)
    arrays = {"latents": np.array([4, 1]), "sweeps": images, "test-id_images": images[0], "test-id_made": images[0]}
    np.savez(path, **arrays, **pictures)  # type: ignore[arg-type]
    write_report(folder, folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


def test_traversals_come_first_and_name_the_factor_of_each_latent(tmp_path: Path) -> None:
    page = page_of(tmp_path, encoded=np.array(["cube_hue", ""]), information=np.array([0.625, 0.01]))
    assert "cube hue 0.62, latent 4" in page
    assert "no factor, latent 1" in page
    headings = [page.index(f">{heading}</h2>") for heading in ("Traversals of the latents", "Reconstructions")]
    assert headings == sorted(headings)
    assert page.index("<img") > headings[0]
    assert headings[1] < page.index(">All numbers</h2>")


def test_pictures_of_older_versions_have_numbers_alone(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    assert "latent 4" in page
    assert "no factor, latent" not in page


def test_scores_that_were_not_measured_are_blank(tmp_path: Path) -> None:
    page = page_of(tmp_path)
    for heading in ("InfoM", "T-MEX, violations", "BetaVAE"):
        assert heading in page
    assert "InfoC" not in page  # of no model
    assert "Undefined, BetaVAE: factors depend on one another." in page


@pytest.mark.slow
def test_results_without_the_newer_metrics_open(tmp_path: Path) -> None:
    found = results.read(Path(__file__).parents[2] / "results" / "disentanglement-compact.json")
    old = [
        replace(
            row, scores={name: score for name, score in row.scores.items() if name not in NEWER}, reasons={}, sizes={}
        )
        for row in found.model_rows
    ]
    results.write(tmp_path / "results.json", replace(found, model_rows=tuple(old)))
    write_report(tmp_path, tmp_path / "page.html")
    assert "InfoM" not in (tmp_path / "page.html").read_text(encoding="utf-8")

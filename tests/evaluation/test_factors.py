"""What the study measures of one model, on a tiny one; and the page that shows several."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from ropes.causal.scm import Regime
from ropes.cli import entry as cli
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation import factors as factor_evaluation
from ropes.evaluation import results
from ropes.evaluation.factor_latents import LATENTS_FILE
from ropes.evaluation.factor_tasks import Samples, TransferScenario, factor_task
from ropes.evaluation.factors import disentanglement, evaluate_factors, transfer_score
from ropes.evaluation.record import is_current
from ropes.evaluation.rows.kinds import ModelRow
from ropes.methods.fit import fit
from ropes.methods.weights import weights_digest
from ropes.metrics.transfer import REGRESSORS
from ropes.report.html import write_report
from ropes.report.study_numbers import COUNTS, METRICS
from ropes.simulation.finger_setting import HUE, NAMES, SCENARIOS, hues_of
from tests import tiny
from tests.conftest import MEASURED, REGRESSED


@pytest.fixture(scope="module")
def run(measured_finger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vae") / "run"
    fit(measured_finger, folder, tiny.vae_recipe(), 0, method="ada-gvae", show=False)
    return folder


@pytest.fixture(scope="module")
def measured(run: Path, measured_finger: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("measured") / "evaluation"
    evaluate_factors(run, measured_finger, out, name="disentanglement")
    return out


def row_of(folder: Path) -> ModelRow:
    (row,) = results.read(folder / "results.json").model_rows
    return row


@pytest.mark.slow
def test_results_record_the_weights_of_their_fit(measured: Path, run: Path) -> None:
    assert is_current(measured, run)
    assert results.read(measured / "results.json").fit_rows[0].weights == weights_digest(run)


@pytest.mark.slow
def test_every_score_of_the_study_is_present(measured: Path) -> None:
    row = row_of(measured)
    transfer = {f"{regressor}_{scenario}" for regressor in REGRESSORS for scenario in SCENARIOS}
    assert set(row.scores) == {*METRICS, *COUNTS, "elbo", "reconstruction", "classifier", *transfer}
    assert set(row.reasons) == {"beta_vae", "factor_vae", "tmex"}  # four latents, seven factors
    assert set(row.errors) == {*transfer, "classifier"}
    assert row.sizes == {"tested": MEASURED, **dict.fromkeys(SCENARIOS, REGRESSED)}
    assert all(set(errors) == set(NAMES) for errors in row.errors.values())
    assert set(row.informativeness) == set(NAMES)
    assert (row.method, row.setup, row.seed) == ("ada-gvae", "finger-cube", 0)
    assert row.settings == {"images": 64.0, "beta": 1.0, "latents": 4.0, "warm_up": 0.0, "noise": 0.0}
    errors = row.errors["trees_ood1_a"]
    assert row.scores["trees_ood1_a"] == pytest.approx(np.mean([errors[name] for name in NAMES[:HUE]]))
    assert row.scores["trees_id"] == pytest.approx(np.mean(list(row.errors["trees_id"].values())))
    assert row.scores["classifier"] == pytest.approx(np.mean(list(row.errors["classifier"].values())))
    reconstruction, elbo = row.scores["reconstruction"], row.scores["elbo"]
    assert reconstruction is not None
    assert elbo is not None
    assert elbo < -reconstruction


@pytest.mark.slow
def test_pictures_are_stored(measured: Path) -> None:
    with np.load(measured / "artefacts" / "finger-cube" / "ada-gvae" / "seed-0" / "pictures.npz") as stored:
        assert stored["sweeps"].shape == (4, 7, 16, 16, 3)
        assert stored["test-hues_made"].shape == stored["test-hues_images"].shape == (6, 16, 16, 3)
        assert np.ptp(stored["test-id_images"]) > 100
        assert stored["drawn"].shape == (12, 16, 16, 3)
        assert not [name for name in stored if name.startswith("labelled")]


@pytest.mark.slow
def test_latents_are_computed_once_and_stored_with_their_factors(
    run: Path, measured: Path, measured_finger: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(measured, tmp_path / "copy"))
    kept = load_file(copy / LATENTS_FILE)
    (pictures,) = copy.rglob("pictures.npz")
    pictures.write_bytes(b"of an older version")
    assert kept["latents/test-id"].shape == (MEASURED, 4)
    np.testing.assert_array_equal(kept["factors/labelled-a"], open_dataset(measured_finger).factors("labelled-a"))

    def never(*_: object) -> None:
        raise AssertionError("images are read again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(factor_evaluation, "make_latents", never)
        (copy / "results.json").unlink()
        evaluate_factors(run, measured_finger, copy, name="disentanglement")
        assert row_of(copy) == row_of(measured)
        with np.load(pictures) as stored:
            assert "encoded" in stored  # pictures are written again
        other = Path(shutil.copytree(run, tmp_path / "other"))
        weights = load_file(other / "vae" / "weights.safetensors")
        save_file(
            {name: np.asarray(2 * values) for name, values in weights.items()}, other / "vae" / "weights.safetensors"
        )
        with pytest.raises(AssertionError, match="read again"):
            evaluate_factors(other, measured_finger, copy, name="disentanglement")
    shutil.copyfile(measured / "evaluation.json", copy / LATENTS_FILE)
    with pytest.raises(UserError, match=r"is damaged .*; delete it and run the same command again"):
        evaluate_factors(run, measured_finger, copy)


@pytest.mark.slow
def test_scenarios_split_by_hue(measured_finger: Path) -> None:
    task = factor_task(open_dataset(measured_finger))
    assert set(hues_of(task.factors["test-id"])) == {0, 2, 4, 7, 8, 9, 10, 11}
    assert set(hues_of(task.factors["test-hues"])) == {1, 3, 5, 6}
    red = task.scenarios["ood1_a"]
    assert set(hues_of(task.factors["labelled-a"][red.train.rows])) == {0}
    assert set(hues_of(task.factors["test-id"][red.test.rows])) == {2, 4, 7, 8, 9, 10, 11}
    assert {len(scenario.train.rows) for scenario in task.scenarios.values()} == {
        REGRESSED
    }  # none has fewer images than another
    assert {name for name, scenario in task.scenarios.items() if scenario.shifted == NAMES[HUE]} == {
        "ood1_a",
        "ood1_b",
        "ood1_c",
        "ood2_a",
    }
    for values in task.scaled.values():
        assert 0 <= values.min() <= values.max() <= 1
    for scenario in SCENARIOS.values():
        assert scenario.learnt == scenario.tested or not set(scenario.learnt) & set(scenario.tested)


def test_joints_of_an_arm_are_evaluated_on_observational_poses(tiny_data: Path) -> None:
    dataset = open_dataset(tiny_data)
    task = factor_task(dataset)
    assert task.names == tiny.JOINTS
    assert set(task.scenarios) == {"id"}
    assert set(dataset.frames("train").regime[task.frames["train"]]) == {0}
    assert len(task.frames["train"]) == 16
    assert task.complete


def test_arm_data_without_observational_poses_is_refused(tiny_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = tuple(regime for regime in open_dataset(tiny_data).regimes if regime != Regime())
    monkeypatch.setattr(Dataset, "regimes", property(lambda _: moved))
    with pytest.raises(UserError, match="has no policy without intervention, whose poses regressors learn from"):
        factor_task(open_dataset(tiny_data))


def test_transfer_score_excludes_the_shifted_factor() -> None:
    errors, some = dict.fromkeys(NAMES[:HUE], 0.1) | {NAMES[HUE]: 0.8}, Samples("test-id", np.arange(2))
    every, but_hue = (TransferScenario(train=some, test=some, shifted=name) for name in (None, NAMES[HUE]))
    assert transfer_score(every, errors) == pytest.approx(0.2)
    assert transfer_score(but_hue, errors) == pytest.approx(0.1)


@pytest.mark.slow
def test_latents_equal_to_the_factors_are_disentangled() -> None:
    factors = np.random.default_rng(0).uniform(size=(1_500, 3))
    told = disentanglement(factors * [1, -2, 3], factors, ("a", "b", "c"), workers=1)
    assert told["scores"]["dci"] > 0.95
    assert told["scores"]["beta_vae"] == pytest.approx(1, abs=0.02)
    assert told["scores"]["infom"] > 0.9
    assert told["scores"]["infoc"] > 0.9
    assert told["scores"]["tmex"] == 0
    assert told["scores"]["es_size"] == 1
    assert told["reasons"] == {}
    assert told["informativeness"]["b"] > 0.98
    with pytest.raises(UserError, match="cannot be measured: factor column 0 never changes"):
        disentanglement(factors, np.zeros((1_500, 1)), ("a",))


@pytest.mark.slow
def test_report_compares_models(measured: Path, tmp_path: Path) -> None:
    found, row = results.read(measured / "results.json"), row_of(measured)
    rows = tuple(
        replace(
            row,
            method=f"{method}{noise}",
            seed=seed,
            scores={**row.scores, "dci": 0.05 * number, "trees_ood1_a": 0.3 - 0.02 * number},
            settings={**row.settings, "noise": float(bool(noise))},
        )
        for number, (method, noise, seed) in enumerate(
            (m, n, s) for m in ("ada-gvae", "beta-vae") for n in ("", "@noise") for s in range(4)
        )
    )
    results.write(tmp_path / "results.json", replace(found, model_rows=rows))
    shutil.copytree(measured / "artefacts", tmp_path / "artefacts")
    assert cli.main(["report", str(tmp_path)]) == 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for words in ("Weakly supervised, 8 models: DCI 0.00 to 0.35", "OOD2-B (stand-in)", "Undefined, BetaVAE: some"):
        assert words in page
    assert page.count('<tr><th scope="row">ada-gvae') + page.count('<tr><th scope="row">beta-vae') == 16
    assert page.count("No pictures were recorded") == 2  # of the others than the one that was measured
    assert page.count('<img src="data:') == 4 + 3 + 1
    assert "the model of the best ELBO: DCI 0.000 (best 0.350" in page
    assert "OOD2-B (stand-in), median error with input noise (without): boosted trees" in page
    assert not re.search(r"\bnan\b", re.sub(r"data:image[^\"]*", "", page))


@pytest.mark.slow
def test_report_compares_supervision_by_number_of_images(measured: Path, tmp_path: Path) -> None:
    found, row = results.read(measured / "results.json"), row_of(measured)
    known = {score: value for score, value in row.scores.items() if "_ood" not in score}
    rows = tuple(
        replace(
            row, method=method, settings={"images": images}, scores=known, errors={"trees_id": row.errors["trees_id"]}
        )
        for method in ("ada-gvae@a", "ldr@a", "anchored@a")
        for images in (100.0, 1000.0)
        for method in [f"{method}{images:g}"]
    )
    results.write(tmp_path / "results.json", replace(found, model_rows=rows))
    write_report(tmp_path, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Comparison of supervision" in page
    assert "interventions on anchors" in page
    assert "Transfer" not in page


@pytest.mark.slow
def test_evaluate_command_follows_the_run_and_is_reproducible(
    run: Path,
    measured: Path,
    measured_finger: Path,
    tiny_data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["evaluate", str(run), "--data", str(measured_finger), "--out", str(tmp_path / "e")]
    assert cli.main(words) == 0
    shown = capsys.readouterr().out
    assert "ada-gvae" in shown
    assert "OOD2-B" in shown
    assert row_of(tmp_path / "e") == row_of(measured)
    assert cli.main([*words, "--out-of-distribution", str(tiny_data)]) == 2
    assert "leave them out" in capsys.readouterr().err
    assert (
        cli.main([*words[:-1], str(tmp_path / "e"), "--photographs", str(measured_finger / "meta" / "info.json")]) == 2
    )
    assert "cannot be read as an npz file" in capsys.readouterr().err
    assert cli.main(["evaluate", str(run), "--data", str(tiny_data), "--out", str(tmp_path / "other")]) == 2
    assert "has other images; the run reads colour ones of front" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ada-gvae", "anchored"])
def test_estimators_and_vaes_of_an_arm_get_the_same_measures(method: str, tiny_data: Path, tmp_path: Path) -> None:
    fit(tiny_data, tmp_path / "run", tiny.recipe_of(method), 0, method=method, show=False)
    evaluate_factors(tmp_path / "run", tiny_data, tmp_path / "e")
    row = row_of(tmp_path / "e")
    assert set(row.errors) == {"trees_id", "mlp_id"}
    assert set(row.informativeness) == set(tiny.JOINTS)
    assert ("elbo" in row.scores) == (method == "ada-gvae")
    assert row.reasons == {}
    assert row.settings["images"] == 16 * 5 * 2


@pytest.mark.slow
def test_row_gives_a_reason_for_each_missing_score(measured: Path) -> None:
    row = row_of(measured)
    with pytest.raises(ValueError, match="reasons are given for"):
        replace(row, reasons={})
    with pytest.raises(ValueError, match="dci must be a finite number"):
        replace(row, scores={**row.scores, "dci": float("nan")})
    unnamed: dict[str, Any] = {"settings": [1.0]}
    with pytest.raises(ValueError, match="settings must be named figures"):
        replace(row, **unnamed)


@pytest.mark.slow
def test_photographs_add_a_test_domain(
    run: Path, measured_finger: Path, tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = open_dataset(measured_finger)
    images = dataset.read_images(dataset.frames("test-shifted").index)[:, 0]
    np.savez(tmp_path / "real.npz", images=images, labels=dataset.factors("test-shifted"))
    words = ["--data", str(measured_finger), "--photographs", str(tmp_path / "real.npz")]
    assert cli.main(["evaluate", str(run), *words, "--out", str(tmp_path / "e")]) == 0
    row = row_of(tmp_path / "e")
    for regressor in ("trees", "mlp"):
        assert row.scores[f"{regressor}_ood2_b_real"] == pytest.approx(row.scores[f"{regressor}_ood2_b"])
    assert cli.main(["evaluate", str(tiny_run), *words, "--out", str(tmp_path / "arm")]) == 2
    assert "predicts an arm's joints; leave it out" in capsys.readouterr().err

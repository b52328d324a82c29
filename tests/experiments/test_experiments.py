"""A whole experiment, made tiny: done once, gone on with, never mixed with another."""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from ropes.cli import entry as cli
from ropes.common.files import read_json
from ropes.errors import UserError
from ropes.evaluation import paper, results
from ropes.experiments import fits
from ropes.experiments import run as experiments
from ropes.experiments.fits import torch_threads
from ropes.experiments.run import reproduce, run_experiment
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from ropes.methods.run import Run
from ropes.metrics import PAPER_SIZES
from ropes.models import registry
from ropes.models.shapes import AE1Config
from tests import tiny
from tests.experiments.tiny_experiment import ONE, small
from tests.kills import interrupt


@pytest.mark.slow
def test_every_seed_is_fitted_and_evaluated_once(calls: list[str], tmp_path: Path) -> None:
    out = tmp_path / "demo"
    found = reproduce("demo", preset="compact", out=out, show=False)
    assert calls == [f"simulate {ONE}", "fit", "evaluate", "fit", "evaluate"]
    assert results.read(out / "results.json") == found
    assert (found.name, found.preset) == ("demo", "compact")
    assert [(row.seed, row.occlusion, row.joint) for row in found.rows if row.calibration_labels == 1000] == [
        (seed, occlusion, joint) for seed in (0, 1) for occlusion in (0, 8) for joint in tiny.JOINTS
    ]
    assert (out / "artefacts" / "tiny" / "ropes" / "evaluation.npz").exists()
    assert read_json(out / "artefacts" / "tiny" / "ropes" / "training.json")["seed"] == 0
    seconds = read_json(out / "experiment.json")["seconds"]
    assert set(seconds) == {
        f"{ONE} simulate",
        *(f"{ONE} ropes {what} {k}" for what in ("fit", "evaluate") for k in (0, 1)),
    }
    assert found.seconds == pytest.approx(sum(seconds.values()), abs=0.2)

    calls.clear()
    again = reproduce("demo", preset="compact", out=out, show=False)
    assert calls == ["fit", "fit"]  # which find everything done
    assert again.rows == found.rows
    assert again.seconds is not None
    assert found.seconds is not None
    assert again.seconds >= found.seconds

    calls.clear()
    more = reproduce("demo", preset="compact", out=out, seeds=(2,), show=False)
    assert calls == ["fit", "evaluate"]  # of the new seed alone
    assert {row.seed for row in more.rows} == {0, 1, 2}
    assert more.rows[: len(found.rows)] == found.rows
    assert read_json(out / "artefacts" / "tiny" / "ropes" / "training.json")["seed"] == 0


@pytest.mark.slow
def test_adding_methods_keeps_finished_results(calls: list[str], tmp_path: Path) -> None:
    out = tmp_path / "demo"
    first = reproduce("demo", preset="compact", out=out, methods=("ropes",), seeds=(1,), show=False)
    weights = tiny.weights(out / ONE / "ropes")
    shutil.copytree(out / ONE / "ropes" / "seed-1", out / ONE / "ropes" / "seed-1-copy")
    shutil.copytree(out / ONE / "ropes" / "seed-1", out / ONE / "mine" / "seed-1")

    calls.clear()
    more = reproduce("demo", preset="compact", out=out, methods=("ldr", "anchored"), seeds=(0,), show=False)
    assert calls == ["fit", "evaluate"] * 2
    assert list(dict.fromkeys((row.method, row.seed) for row in more.rows)) == [
        ("anchored", 0),
        ("ldr", 0),
        ("ropes", 1),
    ]
    assert more.rows[-len(first.rows) :] == first.rows
    assert tiny.weights(out / ONE / "ropes" / "seed-1") == {
        name.removeprefix("seed-1/"): digest for name, digest in weights.items()
    }
    shown = {path.name: read_json(path / "training.json")["method"] for path in (out / "artefacts" / "tiny").iterdir()}
    assert shown == {"anchored": "anchored", "ldr": "ldr", "ropes": "ropes"}

    calls.clear()
    every = reproduce("demo", preset="compact", out=out, methods=("ldr",), seeds=(0,), show=False)
    assert calls == ["fit"]  # which finds everything done
    assert every.rows == more.rows


@pytest.mark.slow
def test_method_without_an_evaluation_is_omitted(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "demo"
    with monkeypatch.context() as patch:
        patch.setattr("ropes.evaluation.record.write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            reproduce("demo", preset="compact", out=out, methods=("anchored",), seeds=(0,), show=False)
    found = reproduce("demo", preset="compact", out=out, methods=("ropes",), seeds=(0,), show=False)
    assert {row.method for row in found.rows} == {"ropes"}


@pytest.mark.slow
def test_interrupted_experiment_resumes(calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "demo"
    with monkeypatch.context() as patch:
        patch.setattr("ropes.evaluation.record.write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            reproduce("demo", preset="compact", out=out, seeds=(1,), show=False)
    assert not (out / "results.json").exists()
    weights = tiny.weights(out / ONE / "ropes" / "seed-1")
    calls.clear()
    found = reproduce("demo", preset="compact", out=out, seeds=(1,), show=False)
    assert calls == ["fit", "evaluate"]
    assert {row.seed for row in found.rows} == {1}
    assert tiny.weights(out / ONE / "ropes" / "seed-1") == weights


@pytest.mark.slow
def test_resumed_fit_keeps_its_number_of_threads(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    had: list[int] = []

    def counted(*args: Any, **kwargs: Any) -> Run:
        had.append(torch.get_num_threads())
        return fit(*args, **kwargs)

    monkeypatch.setattr(fits, "fit", counted)
    again = partial(reproduce, "demo", preset="compact", out=tmp_path / "demo", show=False)
    with torch_threads(1), monkeypatch.context() as patch:
        patch.setattr("ropes.evaluation.record.write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            again(seeds=(0,))
    with torch_threads(2):  # another machine
        again(seeds=(0, 1))
        assert torch.get_num_threads() == 2
    assert had == [1, 1, 2]


@pytest.mark.slow
def test_a_copied_experiment_is_not_measured_again(calls: list[str], tmp_path: Path) -> None:
    found = reproduce("demo", preset="compact", out=tmp_path / "demo", seeds=(0,), show=False)
    assert [(row.setup, row.method, row.seed) for row in found.fit_rows] == [("tiny", "ropes", 0)]
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "demo", copy, copy_function=shutil.copyfile)
    (copy / ONE / "ropes" / "seed-0" / "training.json").touch()  # later than its results
    calls.clear()
    again = reproduce("demo", preset="compact", out=copy, seeds=(0,), show=False)
    assert calls == ["fit"]  # which finds everything done
    assert (again.rows, again.fit_rows) == (found.rows, found.fit_rows)


def test_missing_packaged_estimator_is_reported_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "packaged_folder", lambda: tmp_path / "none")
    with pytest.raises(UserError, match="panda-2c is no packaged estimator: none comes with this installation"):
        reproduce("causal-triplet", preset="compact", out=tmp_path / "out", show=False)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"anchors": {ONE: 9}},
            "holds another experiment, preset, scene or mesh, or other numbers of images",
        ),
        (
            {"name": "table1"},
            "holds another experiment, preset, scene or mesh, or other numbers of images",
        ),
        (
            {"occlusions": (0,)},
            "holds another experiment, preset, scene or mesh, or other numbers of images",
        ),
        (
            {"recipes": {"ropes": tiny.recipe(val_fraction=0.5)}},
            "holds method ropes by another recipe; choose a new --out",
        ),
    ],
)
def test_folder_of_another_experiment_is_not_modified(
    change: dict[str, Any], line: str, calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(fits, "fit", interrupt)
        for seeds in ((0,), (5,)):  # other seeds are the same experiment
            with pytest.raises(KeyboardInterrupt):
                reproduce("demo", preset="compact", out=tmp_path / "demo", seeds=seeds, show=False)
    monkeypatch.setattr(experiments, "experiment", lambda *_, **__: small(**change))
    before = tiny.tree(tmp_path)
    with pytest.raises(UserError, match=line):
        reproduce("demo", preset="compact", out=tmp_path / "demo", show=False)
    assert tiny.tree(tmp_path) == before
    assert calls == [f"simulate {ONE}"]


def test_missing_logger_is_refused_before_the_simulation(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.methods.training.run_log.find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"pip install -e '\.\[wandb\]'"):
        reproduce("demo", preset="compact", out=tmp_path / "demo", logger="wandb", show=False)
    assert calls == []
    assert not (tmp_path / "demo").exists()


@pytest.mark.slow
def test_fits_have_the_logger_of_the_call(calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    had: list[str | None] = []

    def interrupted(*args: Any, logger: str | None, **kwargs: Any) -> None:
        had.append(logger)
        raise KeyboardInterrupt

    monkeypatch.setattr(fits, "fit", interrupted)
    loggers: list[Any] = ["csv", None]
    for logger in loggers:  # with or without, it is the same experiment
        with pytest.raises(KeyboardInterrupt):
            reproduce("demo", preset="compact", out=tmp_path / "demo", logger=logger, show=False)
    assert had == loggers


def test_folder_with_other_content_is_not_modified(calls: list[str], tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match="holds something else"):
        reproduce("demo", preset="compact", out=tmp_path, show=False)
    assert list(tiny.tree(tmp_path)) == ["thesis.tex"]


@pytest.mark.slow
def test_a_variant_is_a_method_with_another_recipe(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(tiny.recipe_of("anchored"), anchors=6, random_erasing=0.5)
    plan = small(recipes={"anchored@few": few, "anchored@more": tiny.recipe_of("anchored")}, seeds=(0,))
    monkeypatch.setattr(experiments, "experiment", lambda *_, **__: plan)
    found = reproduce("demo", preset="compact", out=tmp_path / "demo", show=False)
    kinds = {(row.method, row.anchors, row.image_size, row.erased) for row in found.rows}
    assert kinds == {("anchored@few", 6, tiny.SIDE, 0.5), ("anchored@more", 8, tiny.SIDE, 0.0)}
    assert {path.name for path in (tmp_path / "demo" / "artefacts" / "tiny").iterdir()} == set(plan.recipes)
    run = read_json(tmp_path / "demo" / ONE / "anchored@few" / "seed-0" / "run.json")
    assert (run["method"], run["recipe"]["anchors"], run["anchors"]) == ("anchored", 6, 8)
    assert results.read(tmp_path / "demo" / "results.json") == found


@pytest.mark.slow
def test_label_fractions_share_one_pretraining(
    calls: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = tiny.jointnet_recipe(training=Optimisation(epochs=0.5, batch=20, learning_rate=1e-3))
    few, many = (replace(short, labels=share) for share in (0.5, 1.0))
    plan = small(recipes={"jointnet@50-percent": few, "jointnet@100-percent": many}, seeds=(0,))
    monkeypatch.setattr(experiments, "experiment", lambda *_, **__: plan)
    found = reproduce("table2", preset="compact", out=tmp_path / "t", show=False)
    assert {row.label_share for row in found.rows} == {0.5, 1.0}
    runs = [tmp_path / "t" / ONE / label / "seed-0" for label in plan.recipes]
    assert len({(run / "pretraining" / "weights.safetensors").read_bytes() for run in runs}) == 1
    summaries = [read_json(run / "pretraining" / "stage.json") for run in runs]
    assert summaries[0] == summaries[1]  # seconds too: the second was not trained


@pytest.mark.slow
def test_reproduce_goes_from_simulation_to_report(
    tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    config = AE1Config(
        image_size=64, stem=8, encoder_widths=(4,), encoder_blocks=(1,), decoder_widths=(4,), decoder_blocks=(1,)
    )
    plan = small(recipes={"ropes": replace(tiny.recipe(), ae1=config)}, seeds=(0,), occlusions=(0,))
    plan = replace(plan, test_anchors=60, sizes=tiny.SIZES)
    monkeypatch.setattr(paper, "CALIBRATION_LABELS", tiny.SIZES.fit)
    monkeypatch.setattr(experiments, "experiment", lambda *_, **__: plan)
    out = tmp_path / "demo"
    assert cli.main(["reproduce", "demo", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "preset compact: ours (paper's)" in printed
    assert "(0.949)" in printed
    found = results.read(out / "results.json")
    rows = [row for row in found.rows if row.calibration_labels == 40]
    assert [row.joint for row in rows] == ["panda_joint2", "panda_joint4", "panda_joint6"]
    assert [row.paper_mcc for row in rows] == [0.949, 0.975, 0.957]
    assert "<html" in (out / "report.html").read_text(encoding="utf-8")
    floors = read_json(out / "artefacts" / ONE / "ropes" / "training.json")["stages"]["ldr"]
    assert {round(joint["floor"], 4) for joint in floors.values()} == {0.3801}
    assert cli.main(["reproduce", "demo", "--out", str(out)]) == 0
    assert results.read(out / "results.json").rows == found.rows
    with pytest.raises(UserError, match="holds another experiment, preset, scene or mesh"):
        run_experiment(replace(plan, sizes=PAPER_SIZES), preset="compact", out=out, show=False)

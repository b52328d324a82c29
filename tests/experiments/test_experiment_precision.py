"""The precision of an experiment is decided when its folder is begun, and told to every fit and evaluation."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json, write_json
from ropes.common.hardware import Precision, RequestedPrecision
from ropes.errors import UserError
from ropes.experiments import fits
from ropes.experiments import run as experiments
from ropes.experiments.folder import EXPERIMENT_FILE, precision_of_fits
from ropes.experiments.parallel import report_precisions
from ropes.experiments.plan import Experiment
from ropes.methods.recipes import recipe_to_dict
from ropes.methods.run import RUN_FILE, Run
from tests import tiny

ONE = "panda-1c-independent"


def on_a_machine_fast_in(precision: Precision, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ropes.common.hardware.training_precision", lambda: precision)


def begun(out: Path, label: str, precision: str | None) -> Path:
    """A fit of an experiment that was begun, as its folder tells."""
    run = out / ONE / label / "seed-0"
    content = {"format": 1, "method": "ropes", "recipe": recipe_to_dict(tiny.recipe()), "seed": 0, "setting": ONE}
    content |= {"cameras": ["cam0"], "joints": ["a"], "image_size": 32, "data_checksum": "0", "precision": precision}
    run.mkdir(parents=True)
    write_json(run / RUN_FILE, content)
    assert Run.read(run).precision == precision
    return run


def planned(precision: RequestedPrecision, **changes: Any) -> Experiment:
    recipes = {"ropes": tiny.recipe()}
    plan = Experiment(name="demo", recipes=recipes, anchors={ONE: 8}, test_anchors=8, precision=precision)
    return replace(plan, **changes)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_json(tmp_path / EXPERIMENT_FILE, {})
    return tmp_path


def test_precision_is_fixed_when_the_experiment_starts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_machine_fast_in("bf16-mixed", monkeypatch)
    assert precision_of_fits(folder, "auto") == "bf16-mixed"
    on_a_machine_fast_in("32-true", monkeypatch)
    assert precision_of_fits(folder, "auto") == "bf16-mixed"
    assert precision_of_fits(folder, "bf16-mixed") == "bf16-mixed"
    with pytest.raises(UserError, match=r"was begun in bf16-mixed; leave --precision out, or choose another --out"):
        precision_of_fits(folder, "32-true")
    assert read_json(folder / EXPERIMENT_FILE) == {"precision": "bf16-mixed"}


def test_copied_fits_do_not_set_the_precision(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun(folder, "ropes", "bf16-mixed").rename(folder / ONE / "ropes" / "seed-0-kept")
    on_a_machine_fast_in("32-true", monkeypatch)
    assert precision_of_fits(folder, "32-true") == "32-true"


def test_folder_of_an_earlier_version_keeps_the_precision_of_its_fits(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(folder, "ropes", "bf16-mixed")
    begun(folder, "ldr", None)
    on_a_machine_fast_in("32-true", monkeypatch)
    with pytest.raises(UserError, match="was begun in an unknown precision"):
        precision_of_fits(folder, "32-true")
    assert precision_of_fits(folder, "auto") == "bf16-mixed"


@pytest.mark.parametrize("at_once", [False, True])
def test_precision_is_checked_before_rendering(at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned("32-true", at_once=at_once)
    begun(tmp_path / "out", "ropes", "bf16-mixed")
    write_json(tmp_path / "out" / EXPERIMENT_FILE, {})
    monkeypatch.setattr(experiments, "claim", lambda *_: None)
    monkeypatch.setattr(experiments, "generate_dataset", lambda *_, **__: pytest.fail("filmed"))
    with pytest.raises(UserError, match="was begun in bf16-mixed"):
        experiments.run_experiment(plan, preset="compact", out=tmp_path / "out", show=False)


@pytest.mark.parametrize(("asked", "precision"), [("32-true", "32-true"), ("auto", "bf16-mixed")])
def test_fits_and_evaluations_receive_the_precision(
    asked: RequestedPrecision, precision: Precision, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: dict[str, list[str]] = {"fit": [], "evaluate": [], "evaluate_actions": [], "evaluate_factors": []}
    for name, precisions in told.items():
        monkeypatch.setattr(fits, name, lambda *_, to=precisions, **given: to.append(given["precision"]))
    for measures in ("joints", "actions", "factors"):
        plan = planned(asked, measures=measures)
        fits.fit_and_evaluate(plan, tmp_path, ONE, "ropes", 0, precision, show=False)
    begun(tmp_path, "ropes", "bf16-mixed")  # keeps its own
    fits.fit_and_evaluate(plan, tmp_path, ONE, "ropes", 0, precision, show=False)
    assert told["fit"] == [precision] * 3 + ["auto" if precision == "32-true" else precision]
    assert [told["evaluate"], told["evaluate_actions"], told["evaluate_factors"]] == [[asked], [asked], [asked] * 2]


def test_precision_of_parallel_fits_is_printed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_a_machine_fast_in("32-true", monkeypatch)
    runs = [begun(tmp_path, "ropes", "bf16-mixed"), begun(tmp_path, "ldr", None), tmp_path / "new", tmp_path / "newer"]
    report_precisions(runs, "32-true")
    said = capsys.readouterr().err
    assert said.count("training in 32-true") == said.count("training in bf16-mixed") == 1

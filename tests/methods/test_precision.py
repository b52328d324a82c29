"""Networks are trained in the precision that a fit was begun in, whatever machine it goes on on."""

from pathlib import Path
from typing import Any

import pytest
import torch

from ropes.cli import entry as cli
from ropes.common.files import read_json, write_json
from ropes.common.hardware import Precision, capability, training_precision
from ropes.errors import UserError
from ropes.experiments.fits import torch_threads
from ropes.methods.anchored.stage import AnchoredStage
from ropes.methods.fit import fit
from ropes.methods.readers import load_reader
from ropes.methods.registry import OWN_METHODS, methods_of
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run
from ropes.models.checkpoints import WEIGHTS
from ropes.simulation.actions import TRAIN, VALIDATION
from tests import tiny, tiny_pairs
from tests.kills import killed


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    return tiny_pairs.write_pairs(tmp_path_factory.mktemp("pairs") / "data", dict.fromkeys((TRAIN, VALIDATION), 16))


@pytest.mark.slow
@pytest.mark.parametrize(
    "precision",
    [pytest.param("bf16-mixed", marks=pytest.mark.any_processor), "32-true"],  # without AMX the usual one is 32-true
)
@pytest.mark.parametrize("method", OWN_METHODS)
def test_seed_and_precision_determine_the_weights(
    method: str, precision: Precision, tiny_data: Path, pairs: Path, finger_data: Path, tmp_path: Path
) -> None:
    data = pairs if method in methods_of("actions") else finger_data if method in methods_of("factors") else tiny_data
    recipe = tiny_pairs.recipe(method) if method in methods_of("actions") else tiny.recipe_of(method)
    found = []
    for name in ("first", "second"):
        with torch_threads(2):  # whose sums may be in any order
            fit(data, tmp_path / name, tiny.short(recipe), 3, method=method, precision=precision, show=False)
        found.append(tiny.weights(tmp_path / name))
        stored = read_json(tmp_path / name / RUN_FILE)
        assert (stored["precision"], stored["processor"]) == (precision, capability())
    assert found[0], "there are weights to compare"
    assert found[0] == found[1]


@pytest.mark.slow
def test_precision_changes_the_weights(tiny_data: Path, tmp_path: Path) -> None:
    for precision in ("bf16-mixed", "32-true"):
        fit(tiny_data, tmp_path / precision, tiny.encoder_recipe(), method="anchored", precision=precision, show=False)
    assert tiny.weights(tmp_path / "bf16-mixed") != tiny.weights(tmp_path / "32-true")


@pytest.mark.slow
def test_resumed_fit_keeps_its_precision(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, recipe = tmp_path / "run", tiny.encoder_recipe()
    fit(tiny_data, run, recipe, method="anchored", precision="bf16-mixed", show=False)
    expected = tiny.weights(run)
    (run / TRAINING_FILE).unlink()
    for path in (run / "encoder").iterdir():
        path.unlink()
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")  # read by us; torch has read it long ago
    fit(tiny_data, run, recipe, method="anchored")
    assert tiny.weights(run) == expected
    said = capsys.readouterr().err
    assert "ropes: training in bf16-mixed on " in said
    assert ("no known hardware support for bf16" in said) == (capability() != "cuda")
    fit(tiny_data, run, recipe, method="anchored", precision="bf16-mixed")
    assert "training in" not in capsys.readouterr().err  # there is nothing left to train
    with pytest.raises(UserError, match=r"was begun in bf16-mixed; leave --precision out, or choose another --out"):
        fit(tiny_data, run, recipe, method="anchored", precision="32-true", show=False)
    assert tiny.weights(run) == expected
    another = tiny.encoder_recipe(anchor_weight=1.0)  # whose weights are trained anew
    with pytest.raises(UserError, match="was begun in bf16-mixed"):  # a folder has one, for all its stages
        fit(tiny_data, run, another, method="anchored", precision="32-true", show=False)
    fit(tiny_data, run, another, method="anchored", show=False)
    assert read_json(run / RUN_FILE)["precision"] == "bf16-mixed"


@pytest.mark.slow
def test_fit_killed_on_one_processor_resumes_on_another(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {"recipe": tiny.encoder_recipe(), "method": "anchored", "show": False}
    fit(tiny_data, tmp_path / "whole", precision="bf16-mixed", **given)
    with killed(AnchoredStage, 3):
        fit(tiny_data, tmp_path / "killed", precision="bf16-mixed", **given)
    monkeypatch.setattr("ropes.common.hardware.training_precision", lambda: "32-true")
    fit(tiny_data, tmp_path / "killed", **given)
    assert tiny.weights(tmp_path / "killed") == tiny.weights(tmp_path / "whole")


@pytest.mark.slow
def test_retrained_weights_print_and_store_their_precision(
    tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, recipe = tmp_path / "run", tiny.encoder_recipe()
    fit(tiny_data, run, recipe, method="anchored", show=False)
    write_json(run / RUN_FILE, read_json(run / RUN_FILE) | {"precision": None, "processor": None})
    fit(tiny_data, run, recipe, method="anchored")  # nothing is trained
    assert read_json(run / RUN_FILE)["precision"] is None
    assert "training in" not in capsys.readouterr().err
    (run / "encoder" / WEIGHTS).unlink()
    fit(tiny_data, run, recipe, method="anchored")
    assert f"ropes: training in {training_precision()} on {capability()}" in capsys.readouterr().err
    content = read_json(run / RUN_FILE)
    assert (content["precision"], content["processor"]) == (training_precision(), capability())


def test_method_ropes_warns_that_it_predicts_in_float32(own_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, device = Run.read(own_run), torch.device("cpu")
    for asked in ("auto", "32-true"):
        assert load_reader(run, own_run, device, asked).precision == "32-true"
    assert not capsys.readouterr().err
    assert load_reader(run, own_run, device, "bf16-mixed").precision == "32-true"
    assert capsys.readouterr().err == "ropes: method ropes reads in 32-true, not in bf16-mixed\n"
    with pytest.raises(UserError, match="precision 'half'"):
        load_reader(run, own_run, device, "half")  # type: ignore[arg-type] # no such name


def test_run_of_an_earlier_version_has_no_stored_precision(own_run: Path, tiny_data: Path) -> None:
    content = read_json(own_run / RUN_FILE)
    del content["precision"], content["processor"]
    write_json(own_run / RUN_FILE, content)
    fit(tiny_data, own_run, tiny.recipe(), method="ropes", show=False)
    assert read_json(own_run / RUN_FILE) == content
    with pytest.raises(UserError, match="was begun in an unknown precision"):
        fit(tiny_data, own_run, tiny.recipe(), method="ropes", precision="32-true", show=False)


@pytest.mark.parametrize("command", ["fit --data D --out R", "predict panda-2c --images photos"])
def test_an_unknown_precision_is_refused_in_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([*command.split(), "--precision", "half"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "--precision" in said

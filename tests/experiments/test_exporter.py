"""Tiny runs become one file of ONNX or torch.export that reads what the run reads; faults are refused in a line."""

import importlib
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import onnxruntime
import pytest
from huggingface_hub import ModelCard, constants
from PIL import Image

from ropes.cli import entry as cli
from ropes.cli.package import Package
from ropes.common.files import read_json, write_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.joints import evaluate
from ropes.experiments import exporter
from ropes.experiments.exporter import export
from ropes.inference import formats
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, predict
from ropes.inference.single_network import ExportedEstimator
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from tests import tiny, tiny_colour
from tests.command_line import refusal
from tests.kills import Killed


@pytest.fixture(autouse=True)
def _same_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command chooses the processor for its process, which is here that of all tests."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", os.environ.get("CUDA_VISIBLE_DEVICES", ""))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    return tiny.write_data(tmp_path_factory.mktemp("exporting") / "data", anchors=40)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fitted with a student, and calibrated; never to be changed."""
    short = Optimisation(epochs=1, batch=20, learning_rate=1e-2)
    folder = tmp_path_factory.mktemp("exporting") / "run"
    recipe = tiny.encoder_recipe(training=short, student=short, foreign=0.5)
    fit(data, folder, recipe, 0, method="anchored", show=False)
    calibrate(folder, data=data, samples=40)
    return folder


@pytest.fixture(scope="module")
def exported(run: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In ONNX, with the figures of an evaluation; never to be changed."""
    folder = tmp_path_factory.mktemp("exporting")
    evaluate(run, data, folder / "e", occlusions=(0,), show=False)
    results = folder / "e" / "results.json"
    return export(run, kind="onnx", name="tiny", out=folder / "out", data=data, results=results)


@pytest.mark.slow
def test_onnxruntime_output_equals_the_run(exported: Path, run: Path, data: Path) -> None:
    assert sorted(path.name for path in exported.iterdir()) == ["README.md", "config.json", "model.onnx"]
    config, estimator = read_json(exported / "config.json"), Estimator.load(run)
    assert (config["joints"], config["unit"], config["level"]) == (list(tiny.JOINTS), "rad", 0.9)
    assert [each["name"] for each in config["inputs"]] == ["image_right", "image_left"]
    assert config["compared"]["difference"] <= 1e-4
    onnx.checker.check_model(str(exported / "model.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(str(exported / "model.onnx"))
    images = estimator.images(open_dataset(data), "test-id", 50)
    assert isinstance(images, np.ndarray)
    names = [each["name"] for each in config["outputs"]]
    assert names == ["angles", "std", "low", "high", "distance", "out_of_distribution"]
    read = dict(zip(names, session.run(None, {"image_right": images[:, 0], "image_left": images[:, 1]}), strict=True))
    np.testing.assert_allclose(read["angles"], estimator.angles(images), atol=1e-4)
    lines = [line for line in predict(run, data) if line["images"]["split"] == "test-id"][:50]
    allowed = 2e-4 + 1e-3 * np.array([list(line["std"].values()) for line in lines])
    for name in ("std", "low", "high"):
        wanted = np.array([[line[name][joint] for joint in tiny.JOINTS] for line in lines])
        assert (np.abs(read[name] - wanted) <= allowed).all()
    np.testing.assert_allclose(read["distance"], [line["distance"] for line in lines], rtol=1e-2, atol=1e-3)
    clear = np.abs(read["distance"] - 1) > 0.01
    np.testing.assert_array_equal(
        read["out_of_distribution"][clear], np.array([line["out_of_distribution"] for line in lines])[clear]
    )


@pytest.mark.slow
def test_usage_example_of_the_model_card_runs(
    exported: Path,
    run: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    card = ModelCard.load(exported / "README.md")
    assert (card.data.library_name, card.data.pipeline_tag, card.data.model_name) == ("ropes", "robotics", "tiny")
    (code,) = re.findall(r"```python\n(.*?)```", card.text, flags=re.DOTALL)
    images = Estimator.load(run).images(open_dataset(data), "test-id", 1)
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes((exported / "model.onnx").read_bytes())
    for camera, image in zip(tiny.CAMERAS, images[0], strict=True):
        Image.fromarray(image).save(f"{camera}.png")
    names: dict[str, object] = {}
    exec(code, names)
    read = names["read"]
    assert isinstance(read, dict)
    np.testing.assert_allclose(read["angles"], Estimator.load(run).angles(images), atol=1e-4)
    assert capsys.readouterr().out.startswith("[[")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "kind"),
    [
        *((method, "onnx") for method in ("ldr", "ropes", "cnn", "jointnet")),
        *((method, "torch-export") for method in ("ropes", "jointnet")),
    ],
)
def test_every_joint_method_exports(method: str, kind: formats.Format, data: Path, tmp_path: Path) -> None:
    """The networks of cnn and ldr are encoders as that of anchored, which other tests export for torch."""
    fit(data, tmp_path / "run", tiny.short(tiny.recipe_of(method)), 0, method=method, show=False)
    made = export(tmp_path / "run", kind=kind, name="tiny", out=tmp_path / "out", data=data)
    config = read_json(made / "config.json")
    assert config["unit"] == ("rad" if method in ("cnn", "jointnet") else "raw")
    assert config["outputs"][0]["name"] == ("angles" if method in ("cnn", "jointnet") else "coordinates")
    assert config["compared"]["difference"] <= 1e-4
    assert (made / config["file"]).stat().st_size > 1000


@pytest.mark.slow
def test_non_square_colour_images_are_letterboxed_before_the_network(cache_home: Path, tmp_path: Path) -> None:
    data = tiny_colour.write_data(tmp_path / "data")
    short = Optimisation(epochs=1, batch=20, learning_rate=1e-2)
    fit(data, tmp_path / "run", tiny.cnn_recipe(training=short), 0, method="cnn", show=False)
    made = export(tmp_path / "run", kind="onnx", name="tiny", out=tmp_path / "out")
    config = read_json(made / "config.json")
    assert [each["shape"] for each in config["inputs"]] == [["batch", tiny.SIDE, tiny.SIDE, 3]] * 2
    assert [(each["height"], each["width"]) for each in config["cameras"]] == [tiny_colour.OBLONG] * 2
    assert config["compared"]["images"] == "made up"
    assert "square.paste(image" in (made / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_packaging_again_replaces_only_an_export(
    exported: Path, run: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["package", str(run), "--format", "torch-export", "--name", "tiny", "--out", str(tmp_path)]
    (tmp_path / "tiny").mkdir()
    for file in exported.iterdir():
        (tmp_path / "tiny" / file.name).write_bytes(file.read_bytes())
    assert cli.main(words) == 0
    assert "differs from the run by at most" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "tiny").iterdir()) == ["README.md", "config.json", "model.pt2"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["tiny", "tiny.options.yaml"]
    write_json(tmp_path / "mine" / "config.json", {"library_name": "mine"})
    before = tiny.tree(tmp_path)
    assert "mine holds something else" in refusal(capsys, *words[:5], "mine", *words[6:])
    assert tiny.tree(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("--format tflite", "invalid choice"),
        ("--format safetensors", "--format safetensors needs --name"),
        ("--format onnx --name Tiny", "--name 'Tiny': use small letters, digits and single hyphens"),
        ("--format onnx --name tiny --results r.json", "--results needs --data, the training data set of the run"),
    ],
)
def test_invalid_package_options_are_refused_in_one_line(
    words: str, line: str, tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert line in refusal(capsys, "package", str(tiny_run), "--out", str(tmp_path / "out"), *words.split())
    assert not (tmp_path / "out").exists()


def test_command_exports_on_the_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = list[str]()
    monkeypatch.setattr("ropes.cli.package.choose_accelerator", chosen.append)

    def stopped(*_: object, **__: object) -> Path:
        assert chosen == ["cpu"]  # before the run is loaded: the example of the graph is there
        raise Killed

    monkeypatch.setattr(exporter, "export", stopped)
    with pytest.raises(Killed):
        Package(run=str(tmp_path), out=tmp_path / "out", format="onnx").execute()


@pytest.mark.parametrize("package", ["onnx", "onnxscript", "onnxruntime"])
def test_missing_extra_is_reported(
    package: str,
    tiny_run: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = importlib.import_module

    def missing(name: str, package_of: str | None = None) -> ModuleType:
        if name == package:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        return original(name, package_of)

    monkeypatch.setattr(importlib, "import_module", missing)
    words = ("package", str(tiny_run), "--format", "onnx", "--name", "tiny", "--out", str(tmp_path / "out"))
    line = refusal(capsys, *words)
    assert line == f"--format onnx needs the package {package}: pip install -e '.[export]' in the clone of ropes"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_export_that_differs_from_the_run_is_deleted(
    run: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(estimator: Estimator, *, elementary: bool) -> ExportedEstimator:
        assert estimator.calibration is not None
        slope = estimator.calibration.slope * 1.01
        changed = Estimator.load(run, precision="32-true")
        changed.calibration = replace(estimator.calibration, slope=slope)
        return ExportedEstimator(changed, elementary=elementary)

    monkeypatch.setattr(exporter, "ExportedEstimator", other)
    with pytest.raises(UserError, match=r"gives angles that differ by .* rad from the estimator's, more than 0\.0001"):
        export(run, kind="torch-export", name="tiny", out=tmp_path / "out", data=data)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.slow
def test_interrupted_export_leaves_no_files(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(network: object, path: Path, *arguments: object) -> None:
        path.write_bytes(b"half")
        raise Killed

    monkeypatch.setattr(exporter, "write", die)
    with pytest.raises(Killed):
        export(run, kind="torch-export", name="tiny", out=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.slow
def test_from_pretrained_downloads_only_on_request(
    run: Path, exported: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Estimator.from_pretrained(run).run == Estimator.from_pretrained(str(run)).run == Estimator.load(run).run
    with pytest.raises(UserError, match=r"me/arm is no folder; download=True downloads the repository"):
        Estimator.from_pretrained("me/arm")
    with pytest.raises(UserError, match=r"holds model\.onnx, which runs without ropes"):
        Estimator.from_pretrained(exported)
    # The Hub's own cache stands for the network.
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="cannot download me/arm from the Hugging Face Hub"):
        Estimator.from_pretrained("me/arm", download=True)
    repository, revision = tmp_path / "models--me--arm", "0" * 40
    for path in (path for path in run.rglob("*") if path.suffix in (".json", ".safetensors")):
        target = repository / "snapshots" / revision / path.relative_to(run)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(revision)
    images = np.zeros((1, 2, tiny.SIDE, tiny.SIDE), np.uint8)
    found = Estimator.from_pretrained("me/arm", download=True)
    np.testing.assert_array_equal(found.angles(images), Estimator.load(run).angles(images))
    # A repository with an export for other runtimes: the file itself is not downloaded.
    other = tmp_path / "models--me--onnx"
    (other / "snapshots" / revision).mkdir(parents=True)
    (other / "snapshots" / revision / "config.json").write_bytes((exported / "config.json").read_bytes())
    (other / "refs").mkdir()
    (other / "refs" / "main").write_text(revision)
    with pytest.raises(UserError, match=r"^me/onnx holds model\.onnx, which runs without ropes"):
        Estimator.from_pretrained("me/onnx", download=True)


@pytest.mark.slow
def test_the_card_of_an_evaluated_run_has_its_metrics(exported: Path) -> None:
    card = ModelCard.load(exported / "README.md")
    kinds = {(result.dataset_split, result.metric_type) for result in card.data.eval_results}
    assert kinds == {("test-id", "rmse"), ("test-id", "mse"), ("test-id", "mcc")}
    assert "## Figures" in card.text
    assert "tiny is an export of the estimator below: `model.onnx`" in card.text
    assert json.loads((exported / "config.json").read_text())["compared"]["images"] == "data set"

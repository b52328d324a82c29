"""A tiny run becomes a packaged estimator: complete, the same coordinates, its card true."""

import json
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from huggingface_hub import ModelCard
from safetensors.torch import load_file

from ropes.cli import entry as cli
from ropes.common.files import read_json, write_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.joints import evaluate
from ropes.experiments.packager import package
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, images_of
from ropes.methods.anchored import fit as anchored
from ropes.methods.recipes import EncoderRecipe, Optimisation, encoder_recipe
from ropes.methods.weights import weights_digest
from ropes.models import registry
from ropes.report.table import WIDTH
from ropes.report.words import error_and_deviation
from tests import planar, tiny
from tests.command_line import refusal

ROOT, NAME = Path(__file__).parents[2], "tiny-2c"


def recipe() -> EncoderRecipe:
    short = Optimisation(epochs=1, batch=20, learning_rate=1e-2)
    encoder = tiny.encoder_recipe().encoder
    return replace(encoder_recipe("compact"), encoder=encoder, training=short, student=short, val_fraction=0.25)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    folder = tmp_path_factory.mktemp("packaging")
    return planar.name_robot(tiny.write_data(folder / "data", anchors=80), planar.write_urdf(folder), spin=0.5)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fitted, calibrated and, in its folder "e", evaluated; never to be changed."""
    folder = tmp_path_factory.mktemp("packaging") / "run"
    anchored.fit(data, folder, recipe(), show=False)
    calibrate(folder, data=data, samples=20)
    evaluate(folder, data, folder / "e", occlusions=(0, 8), show=False)
    return folder


@pytest.fixture(scope="module")
def packaged(run: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("packaging") / "pretrained"
    assert package(run, name=NAME, data=data, results=run / "e" / "results.json", out=out) == out / NAME
    return out


@pytest.mark.slow
def test_package_contains_only_files_needed_for_prediction(packaged: Path, run: Path) -> None:
    same, made = (
        ("run.json", "trust.safetensors", "student/weights.safetensors"),
        (
            "training.json",
            "MODEL_CARD.md",
            "README.md",
        ),
    )
    assert set(tiny.tree(packaged)) == {f"{NAME}/{file}" for file in (*same, "calibration.json", *made)}
    for file in same:
        assert (packaged / NAME / file).read_bytes() == (run / file).read_bytes()
    kept, own = (read_json(folder / "calibration.json") for folder in (packaged / NAME, run))
    assert kept == own | {"weights_sha256": weights_digest(packaged / NAME)}


@pytest.mark.slow
def test_run_without_an_uncertainty_model_is_packaged(run: Path, data: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "run"))
    (copy / "trust.safetensors").unlink()
    made = package(copy, name=NAME, data=data, results=run / "e" / "results.json", out=tmp_path / "out")
    assert not (made / "trust.safetensors").exists()


@pytest.mark.slow
def test_recording_without_test_poses_is_packaged_for_a_hub(
    run: Path, data: Path, packaged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["package", str(run), "--name", "mine", "--data", str(data), "--out", "out"]) == 0
    card = ModelCard.load(tmp_path / "out" / "mine" / "README.md")
    assert (card.data.library_name, card.data.license) == ("ropes", "apache-2.0")
    assert card.data.eval_results is None
    assert "Not evaluated: the training data have no test poses with known angles." in card.text
    assert 'from_pretrained(".")' in card.text
    read, known = (Estimator.from_pretrained(tmp_path / "out" / "mine"), Estimator.load(run))
    images = images_of(known.run, open_dataset(data), np.arange(4))
    assert np.array_equal(read.angles(images), known.angles(images))
    measured = ModelCard.load(packaged / NAME / "README.md").data.eval_results
    assert measured is not None
    assert {each.metric_type for each in measured} == {"rmse", "mse", "mcc"}


@pytest.mark.slow
def test_every_command_accepts_the_packaged_name(
    packaged: Path,
    run: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(registry, "packaged_folder", lambda: packaged)
    monkeypatch.chdir(tmp_path)
    outputs = []
    for name in (NAME, str(run)):
        assert cli.main(["predict", name, "--images", str(data)]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0].splitlines()[0])["unit"] == "rad"
    assert cli.main(["evaluate", NAME, "--data", str(data), "--out", "e", "--occlusions", "0"]) == 0
    assert list(results.read(tmp_path / "e" / "results.json").rows) == [
        row for row in results.read(run / "e" / "results.json").rows if row.occlusion == 0
    ]
    capsys.readouterr()
    assert cli.main(["card", NAME]) == 0
    assert capsys.readouterr().out == (packaged / NAME / "MODEL_CARD.md").read_text(encoding="utf-8")
    assert "stays as it is" in refusal(capsys, "calibrate", NAME, "--data", str(data))
    assert f"did you mean {NAME}?" in refusal(capsys, "predict", "tiny-2", "--images", str(data))
    assert "has no MODEL_CARD.md" in refusal(capsys, "card", str(run))


def test_card_describes_the_estimator_and_its_results(packaged: Path, run: Path) -> None:
    card = (packaged / NAME / "MODEL_CARD.md").read_text(encoding="utf-8")
    for part in (
        f"# {NAME}\n",
        "ropes predict tiny-2c --images right=right.png left=left.png\n",
        "| setting | tiny, scene white |",
        "| radians from | lines fitted on 20 labelled poses |",
        "| poses (`--poses`) | tool in the frame foot: metres, quaternion xyzw |",
        "80 anchors, 400 poses",
        "(float32)",
        "Apache-2.0, like the package.",
        "    ropes fit --method anchored --preset compact --data data --out run --seed 0 --encoder.image-size 16 ",
    ):
        assert part in card
    found = results.read(run / "e" / "results.json")
    assert {row.calibration_labels for row in found.rows} >= {10, 100, 1000}
    lines = card.splitlines()
    assert [line for line in lines if len(line) > WIDTH and not line.startswith(("|", "    "))] == []
    for row in found.rows:
        words = "in distribution" + (", 8 px squares" if row.occlusion else "")
        words += {0: ", monotone map from commanded distributions, no labels", 1000: ""}.get(
            row.calibration_labels, f", line from {row.calibration_labels} labels"
        )
        mean, deviation = error_and_deviation(row.mse_mean, row.mse_std)
        assert any(line.startswith(f"| {words} |") and f" {mean} ± {deviation} |" in line for line in lines)
    held = [row.coverage for row in found.trust_rows if (row.occlusion, row.intervals) == (0, "labels")]
    assert f"| in distribution | 90%, width from labels, 100 labels | {min(held):.3f} to {max(held):.3f} |" in card
    (first, _) = found.pose_rows
    assert f"| {first.position_mm_mean:.1f} ± {first.position_mm_std:.1f} |" in card
    tables = [block for block in card.split("\n\n") if block.startswith("|")]
    assert len(tables) == 7  # what it is, RMS, MSE, MCC, poses, intervals, out-of-distribution images
    assert f"| moved by 1 px | {found.flag_rows[0].auroc:.3f} |" in card
    for table in tables:
        assert len({line.count("|") for line in table.strip().splitlines()}) == 1


@pytest.mark.parametrize(("saved", "near"), [(0.4, 0.002), (0.6, 0.05)])
def test_large_weights_are_stored_as_float16_and_layers_in_eight_bits(
    saved: float, near: float, run: Path, data: Path, packaged: Path, tmp_path: Path
) -> None:
    path, made_of = run / "student" / "weights.safetensors", {"data": data, "results": run / "e" / "results.json"}
    most = tiny.size_of(packaged) - int(saved * path.stat().st_size)
    made = package(run, name=NAME, out=tmp_path, most=most, **made_of)
    stored = load_file(made / "student" / path.name)
    halved, kept = ([each.numel() for each in stored.values() if each.itemsize == size] for size in (2, 4))
    small = [name for name, each in stored.items() if each.dtype == torch.int8]
    assert bool(small) == (saved > 0.5)
    assert all(name.endswith(".weight") for name in small)
    assert small or min(halved) >= max(kept)
    card = (made / "MODEL_CARD.md").read_text(encoding="utf-8")
    numbers = sum(each.numel() for each in load_file(path).values())
    assert f"{numbers:,} weights (float16, float32{', int8' if small else ''})" in card
    images = open_dataset(data).read_images(range(40))
    before, after = (Estimator.load(folder).coordinates(images) for folder in (run, made))
    assert np.abs(after - before).max() > 0
    apart = np.quantile(np.abs(after - before), 0.9, axis=0)  # a part whose logit is all but 0 may be seen or not
    assert (apart < near * before.std(axis=0)).all()
    with pytest.raises(UserError, match=r"takes .* MB even in eight bits; at most 0\.001 MB are packaged"):
        package(run, name=NAME, out=tmp_path / "x", most=1000, **made_of)
    assert list((tmp_path / "x").iterdir()) == []


def test_weights_that_float16_cannot_hold_are_refused(run: Path, data: Path, packaged: Path, tmp_path: Path) -> None:
    from safetensors.torch import save_file

    copy = Path(shutil.copytree(run, tmp_path / "run"))
    tensors = load_file(path := copy / "student" / "weights.safetensors")
    last = max(name for name in tensors if name.startswith("encoder.") and tensors[name].ndim == 2)
    save_file(tensors | {last: tensors[last] * 1e6}, path)
    calibrate(copy, data=data, samples=20)
    # Room for the files that are written last, and for little more than half of the weights.
    size = tiny.size_of(packaged) + 10_000 - path.stat().st_size * 9 // 20
    measured, content = copy / "e" / "results.json", read_json(run / "e" / "results.json")
    with pytest.raises(UserError, match=r"is of another fit: its weights are not those of .*; evaluate .* again"):
        package(copy, name=NAME, data=data, results=measured, out=tmp_path / "x", most=size)
    write_json(measured, {**content, "fit_rows": [{**content["fit_rows"][0], "weights": weights_digest(copy)}]})
    with pytest.raises(UserError, match="as float16 the weights read coordinates that differ"):
        package(copy, name=NAME, data=data, results=measured, out=tmp_path / "x", most=size)


def test_packaging_again_replaces_only_a_packaged_estimator(run: Path, data: Path, tmp_path: Path) -> None:
    pack = partial(package, run, data=data, results=run / "e" / "results.json", out=tmp_path)
    (pack(name=NAME) / "old").touch()
    assert not (pack(name=NAME) / "old").exists()
    assert [entry.name for entry in tmp_path.iterdir()] == [NAME]
    write_json(tmp_path / "mine" / "thesis.json", {})
    with pytest.raises(UserError, match=r"mine holds something else \(no MODEL_CARD\.md in it\)"):
        pack(name="mine")
    with pytest.raises(UserError, match="--name 'Panda 2c': use small letters, digits and single hyphens"):
        pack(name="Panda 2c")


@pytest.mark.slow
def test_results_of_another_fit_with_the_same_name_are_refused(run: Path, data: Path, tmp_path: Path) -> None:
    """Setting, method and seed agree; recipe and weights do not."""
    other = tmp_path / "other"
    shorter = replace(recipe(), training=replace(recipe().training, epochs=0.5))
    anchored.fit(data, other, shorter, show=False)
    evaluate(other, data, other / "e", occlusions=(0,), show=False)
    shutil.copytree(other / "e", tmp_path / "e")
    pack = partial(package, run, name=NAME, data=data, out=tmp_path / "x")
    for figures in (other / "e" / "results.json", tmp_path / "e" / "results.json"):
        with pytest.raises(UserError, match=r"results\.json is of another fit: its weights are not those of .*run"):
            pack(results=figures)
    content = read_json(run / "e" / "results.json")
    seventh = [{**content["fit_rows"][0], "seed": 7}]
    write_json(tmp_path / "seed" / "results.json", {**content, "fit_rows": seventh})
    with pytest.raises(UserError, match=r"has no figures of the fit in .*run; evaluate it with `ropes evaluate`"):
        pack(results=tmp_path / "seed" / "results.json")
    del content["fit_rows"]  # as a file of an older version
    write_json(tmp_path / "old" / "results.json", content)
    with pytest.raises(UserError, match=r"does not say which fit it is of; evaluate .*run again with `ropes evaluate`"):
        pack(results=tmp_path / "old" / "results.json")


def test_files_of_another_run_are_refused(run: Path, data: Path, tiny_run: Path, tmp_path: Path) -> None:
    good = run / "e" / "results.json"
    with pytest.raises(UserError, match=r"is not calibrated: run `ropes calibrate` first"):
        package(tiny_run, name=NAME, data=data, results=good, out=tmp_path / "x")
    other = tiny.write_data(tmp_path / "other", anchors=3)
    with pytest.raises(UserError, match=r"is not the data set that .* was fitted on"):
        package(run, name=NAME, data=other, results=good, out=tmp_path / "x")
    (tmp_path / "e").mkdir()
    content = read_json(good)
    write_json(tmp_path / "e" / "results.json", {**content, "rows": [{**row, "seed": 9} for row in content["rows"]]})
    with pytest.raises(UserError, match="of another run: they have no rows of tiny, method anchored, seed 0"):
        package(run, name=NAME, data=data, results=tmp_path / "e" / "results.json", out=tmp_path / "x")
    (fit,) = content["fit_rows"]
    write_json(tmp_path / "e" / "results.json", {**content, "fit_rows": [{**fit, "data_checksum": "other data"}]})
    with pytest.raises(UserError, match="is of a run that was fitted on other data"):
        package(run, name=NAME, data=data, results=tmp_path / "e" / "results.json", out=tmp_path / "x")
    assert tiny.tree(tmp_path / "x") == {}

"""A student reads on where something foreign hides parts of the images."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from benchmarks import foreign
from benchmarks.figures import keep
from ropes.common.files import read_json, sha256, write_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import calibrate, predict
from ropes.methods.anchored import fit as anchored
from ropes.methods.anchored.reader import finished_network
from ropes.methods.recipes import EncoderRecipe, Optimisation
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run
from ropes.methods.student.foreign import add_foreign_objects
from ropes.methods.student.stage import StudentStage, foreign_loss
from ropes.models.checkpoints import WEIGHTS
from ropes.models.student import StudentNetwork
from ropes.report.html import write_report
from tests import tiny
from tests.kills import killed


def recipe(**changes: Any) -> EncoderRecipe:
    student = Optimisation(epochs=12, batch=20, learning_rate=1e-2)
    return tiny.encoder_recipe(**({"foreign": 0.5, "student": student} | changes))


def hidden(images: np.ndarray[Any, Any], seed: int) -> np.ndarray[Any, Any]:
    torch.manual_seed(seed)
    return add_foreign_objects(torch.from_numpy(images)).numpy()


def test_foreign_objects_vary_and_leave_the_input_unchanged() -> None:
    images = torch.full((400, 2, 64, 64), 100, dtype=torch.uint8)
    torch.manual_seed(0)
    shown = add_foreign_objects(images)
    assert (images == 100).all()
    assert shown.shape == images.shape
    assert shown.dtype == torch.uint8
    share = (shown != 100).float().mean((2, 3)).flatten()
    assert (share == 0).float().mean() == pytest.approx(0.25 * 0.65**2, abs=0.03)
    assert (share > 0.2).float().mean() > 0.06  # some are large
    assert float(share[share > 0].min()) <= 2 / 64**2
    kinds = {"one grey": 0, "noise": 0, "pattern": 0}
    for view in shown.flatten(0, 1):
        levels = len(view.unique()) - 1
        kinds["one grey" if levels <= 3 else "noise" if levels > 200 else "pattern"] += levels > 0
    assert min(kinds.values()) > 25
    torch.manual_seed(0)
    assert torch.equal(shown, add_foreign_objects(images))
    covered = shown != 100
    often = covered.float().mean((0, 1))
    assert 0.05 < float(often[:8, :8].mean() / often[28:36, 28:36].mean()) < 1  # at the edges too
    assert covered[:, :, 32, 32].all(1).float().mean() > 0.03  # the middle of both views at once


def test_tall_objects_reach_from_top_to_bottom_and_are_slender() -> None:
    images = torch.full((300, 1, 64, 64), 100, dtype=torch.uint8)
    heights = {}
    for tall in (0.0, 1.0):
        torch.manual_seed(0)
        covered = (add_foreign_objects(images, tall=tall) != 100)[:, 0]
        heights[tall] = covered.any(2).sum(1).float() / 64
        widths = covered.any(1).sum(1).float() / 64
    assert heights[0.0].max() <= heights[1.0].max() == 1
    assert (heights[1.0] > 0.8).float().mean() > 4 * (heights[0.0] > 0.8).float().mean()
    seen = heights[1.0] > 0
    assert heights[1.0][seen].mean() > 1.5 * widths[seen].mean()


def test_foreign_cell_contains_a_visibly_changed_pixel() -> None:
    images = torch.full((1, 1, 8, 8), 100, dtype=torch.uint8)
    shown = images.clone()
    shown[0, 0, 1, 6], shown[0, 0, 7, 0] = 90, 105  # seen in the upper right cell, not in the lower left one
    right = torch.tensor([[[[-9.0, 9.0], [-9.0, -9.0]]]])
    assert float(foreign_loss(right, images, shown)) < 1e-3
    for row, column in np.ndindex(2, 2):
        wrong = right.clone()
        wrong[0, 0, row, column] *= -1
        assert float(foreign_loss(wrong, images, shown)) > 2


@pytest.fixture(scope="module")
def data(many_anchors: Path) -> Path:
    return many_anchors


@pytest.fixture(scope="module")
def teacher(anchored_run: Path) -> Path:
    return anchored_run


@pytest.fixture(scope="module")
def student(data: Path, teacher: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(teacher, tmp_path_factory.mktemp("student") / "run"))
    anchored.fit(data, folder, recipe(), show=False)
    return folder


@pytest.mark.slow
def test_student_matches_its_teacher_and_resists_foreign_objects(data: Path, teacher: Path, student: Path) -> None:
    assert sha256(student / "encoder" / WEIGHTS) == sha256(teacher / "encoder" / WEIGHTS)
    dataset = open_dataset(data)
    images = dataset.read_images(dataset.frames("test-id").index)
    before, after = Estimator.load(teacher), Estimator.load(student)
    clean = before.coordinates(images)
    scale = clean.std(0)

    def apart(estimator: Estimator, shown: Any) -> Any:
        return (np.abs(estimator.coordinates(shown) - clean) / scale).mean(0)

    assert (apart(after, images) < 0.25).all()
    shown = hidden(images, 1)
    assert (apart(after, shown) < 0.75 * apart(before, shown)).all()
    usual, odd = after.read(images), after.read(shown)
    assert usual.deviation is not None
    assert odd.deviation is not None
    # Error bars grow, by how much depends on the processor: 1.19 times was seen.
    assert (odd.deviation.mean(0) > 1.1 * usual.deviation.mean(0)).all()
    assert usual.distance is not None
    assert odd.distance is not None
    assert (odd.distance > 1).mean() > 4 * (usual.distance > 1).mean()
    _, network = finished_network(student)
    assert isinstance(network, StudentNetwork)
    taught = load_file(teacher / "encoder" / WEIGHTS)
    assert network.teacher is not None
    assert all(torch.equal(value, taught[f"encoder.{name}"]) for name, value in network.teacher.state_dict().items())
    assert (network.usual > 0).all()
    curves = read_json(student / TRAINING_FILE)["stages"]["student"]
    assert curves["held_out_hidden"][-1] < curves["held_out_hidden"][0]
    assert read_json(student / TRAINING_FILE)["provenance"]["seconds"]["student"] > 0


@pytest.mark.slow
def test_predictions_locate_foreign_objects(data: Path, student: Path) -> None:
    dataset = open_dataset(data)
    estimator = Estimator.load(student)
    images = dataset.read_images(dataset.frames("test-id").index[:200])
    hidden_there = images.copy()
    hidden_there[:, 1, :6, :6] = 255
    usual, odd = (estimator.read(shown).foreign for shown in (images, hidden_there))
    assert usual is not None
    assert odd is not None
    assert usual.any((1, 2, 3)).mean() < 0.1
    corner, elsewhere = odd[:, 1, :2, :2].any((1, 2)).mean(), odd[:, 0].any((1, 2)).mean()
    assert corner > 0.5
    assert corner > 2 * elsewhere  # of a tiny network that was trained for seconds


@pytest.mark.any_processor
@pytest.mark.slow
def test_predict_and_report_show_foreign_objects(data: Path, student: Path, tmp_path: Path) -> None:
    Image.fromarray(tiny.draw(np.zeros(2))[0]).save(tmp_path / "right.png")
    damaged = tiny.draw(np.zeros(2))[1]
    damaged[:4, 12:] = 255
    Image.fromarray(damaged).save(tmp_path / "left.png")
    (told,) = predict(student, {name: tmp_path / f"{name}.png" for name in tiny.CAMERAS})
    assert any(box[0] >= 8 and box[1] == 0 and box[2] == 16 for box in told["foreign"]["left"])
    evaluate(student, data, tmp_path / "e", occlusions=(0,), sizes=tiny.SIZES, show=False)
    with np.load(next((tmp_path / "e").rglob("evaluation.npz"))) as arrays:
        images, there = arrays["foreign_images"], arrays["foreign_there"]
    assert images.shape == there.shape == (3, 2, tiny.SIDE, tiny.SIDE)  # as they are, and squares of 4 and 16 pixels
    assert set(np.unique(there)) <= {0, 255}
    assert there[2].any()
    write_report(tmp_path / "e", tmp_path / "page.html")
    assert "Foreign objects" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.any_processor
@pytest.mark.slow
def test_student_works_without_a_window(tiny_data: Path, tmp_path: Path) -> None:
    short = Optimisation(epochs=1, batch=20, learning_rate=1e-3)
    without = tiny.encoder_recipe(anchor_weight=0, training=short, foreign=0.5, student=short)
    anchored.fit(tiny_data, tmp_path / "run", without, method="ldr", show=False)
    dataset = open_dataset(tiny_data)
    assert Estimator.load(tmp_path / "run").read(dataset.read_images(np.arange(3))).foreign is not None


@pytest.mark.slow
def test_benchmark_measures_cost_and_detection_of_occlusion(
    data: Path, student: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Path(shutil.copytree(student, tmp_path / "run"))
    calibrate(run, data=data, samples=50)
    dataset = open_dataset(data)
    images, truth = dataset.read_images(dataset.frames("test-id").index), dataset.states("test-id")
    monkeypatch.setattr(foreign, "OFF_THE_ARM", (("grey", 3),))  # larger ones have no place
    every = foreign.measured(Estimator.load(run), images, truth)
    rows = {(row["hide"], row["size"]): row for row in every if not row["off_the_arm"]}
    beside = {row["size"]: row for row in every if row["off_the_arm"]}
    assert set(beside) == {3}
    assert np.mean(beside[3]["mse"]) < 2 * np.mean(rows["square", 0]["mse"])
    clean, hidden_there = rows["square", 0], rows["grey", 8]
    assert ("square", 32) not in rows  # larger than the images
    assert clean["misled"] == 0
    assert clean["misled_flagged"] is None
    assert 0 < clean["off"] < hidden_there["off"]
    assert hidden_there["flagged"] > 0.5 > 5 * clean["flagged"]
    assert min(clean["coverage"]) > 0.8
    assert np.mean(hidden_there["width"]) > 1.2 * np.mean(clean["width"])
    found = {"joints": ["joint1", "joint2"], "rows": list(rows.values())}
    about = {"run": "mine", "scene": None, "poses": 9, "device": "a processor", "seconds": 1}
    (tmp_path / "page.md").write_text("a\n<!-- figures:foreign -->\nold\n<!-- /figures -->\nz\n")
    keep(found | about, "foreign", foreign.written(found | about), None, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text()
    assert page.startswith("a\n<!-- figures:foreign -->\n| in the picture | J1 | J2 | off | ")
    assert page.endswith("\n<!-- /figures -->\nz\n")
    assert "old" not in page
    assert f"| nothing | {np.degrees(np.sqrt(clean['mse'][0])):.1f} | " in page


@pytest.mark.slow
def test_student_is_added_to_a_finished_fit_and_resumes_after_a_kill(tiny_data: Path, tmp_path: Path) -> None:
    short = Optimisation(epochs=3, batch=20, learning_rate=1e-3)
    whole, run, asked = tmp_path / "whole", tmp_path / "run", recipe(training=short, student=short)
    anchored.fit(tiny_data, whole, asked, show=False)
    anchored.fit(tiny_data, run, tiny.encoder_recipe(training=short), show=False)
    began = (run / "encoder" / WEIGHTS).stat().st_mtime_ns
    with killed(StudentStage, 7):
        anchored.fit(tiny_data, run, asked, show=False)
    assert not (run / TRAINING_FILE).exists()
    anchored.fit(tiny_data, run, asked, show=False)
    assert (run / "encoder" / WEIGHTS).stat().st_mtime_ns == began
    assert tiny.weights(run) == tiny.weights(whole)


@pytest.mark.slow
def test_run_of_an_earlier_version_has_no_student(tmp_path: Path, teacher: Path) -> None:
    content = read_json(teacher / RUN_FILE)
    del content["recipe"]["foreign"], content["recipe"]["student"]
    write_json(tmp_path / RUN_FILE, content)
    found = Run.read(tmp_path).recipe
    assert isinstance(found, EncoderRecipe)
    assert found.foreign == 0


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_foreign_share_out_of_range_is_refused(share: float) -> None:
    with pytest.raises(UserError, match="foreign must be between 0 and 1"):
        recipe(foreign=share)

"""Every example runs."""

import io
import json
import re
import runpy
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from benchmarks import notebook
from ropes.causal.scm import Regime
from ropes.data.layout import open_dataset
from ropes.data.validate import validate
from ropes.evaluation.actions import evaluate_actions
from ropes.evaluation.benchmark import TASKS, read_predictions, task_named
from ropes.methods import fit as fitting
from ropes.methods.ropes.fit import fit
from ropes.simulation.actions import SYSTEMATIC, TRAIN, VALIDATION
from tests import tiny
from tests.tiny_pairs import ACTIONS, recipe, write_pairs

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(monkeypatch: pytest.MonkeyPatch, name: str, *arguments: object) -> None:
    monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")


def test_every_example_has_a_test() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in here for pattern in ("*.py", "*.ipynb") for path in EXAMPLES.glob(pattern))


@pytest.mark.slow
@pytest.mark.pybullet
@pytest.mark.usefixtures("cache_home")
def test_the_notebook_runs_with_few_anchors_up_to_the_graph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cells = json.loads((EXAMPLES / "angles_without_labels.ipynb").read_text(encoding="utf-8"))["cells"]
    *sources, graph = ("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    assert "graph_of(estimator, data)" in graph  # needs more anchors: make notebook runs it
    script = "\n".join(sources)
    sizes = "ANCHORS, TEST_POSES = 1500, 500"
    assert sizes in script
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names: dict[str, Any] = {}
    exec(script.replace(sizes, "ANCHORS, TEST_POSES = 75, 20"), names)
    assert names["angles"].shape == (20, 3)
    notebook.check_angles(names, factor=0.7)  # so few anchors promise no more than the mean pose, of few test poses
    notebook.check_coverage(names)
    notebook.check_figures(map(as_png, plt.get_fignums()))
    plt.close("all")


def test_the_duration_of_the_notebook_is_told_beside_the_promise() -> None:
    page = (EXAMPLES / "angles_without_labels.ipynb").read_text(encoding="utf-8")
    assert notebook.PROMISED == 10
    assert "in about ten minutes on two processor cores" in page
    assert notebook.duration(540) == "the notebook took 9.0 minutes, within the 10 that it promises on two cores"
    assert notebook.duration(660) == "the notebook took 11.0 minutes, more than the 10 that it promises on two cores"


def as_png(number: int) -> bytes:
    stream = io.BytesIO()
    plt.figure(number).savefig(stream)
    return stream.getvalue()


def test_results_of_the_committed_notebook_make_sense() -> None:
    page = json.loads((EXAMPLES / "angles_without_labels.ipynb").read_text(encoding="utf-8"))
    notebook.check_figures(notebook.pictures(page))
    said = "".join(
        line for cell in page["cells"] for output in cell.get("outputs", ()) for line in output.get("text", ())
    )
    shares = [int(share) / 100 for share in re.findall(r"(\d+)% of the true angles lie inside", said)]
    assert all(0.75 < share <= 1 for share in shares)
    assert len(shares) == 3
    assert "structural Hamming distance to the true graph: 0\n" in said


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"angles": np.zeros((500, 3))}, "RMS"),
        ({"inside": np.array([0.9, 0.9, 0.6])}, "lie inside"),
        ({"high": np.full((500, 3), 4.0)}, "intervals of"),
        ({"found": SimpleNamespace(distance=2)}, "distance=2"),
    ],
)
def test_results_of_a_notebook_that_make_no_sense_are_found(changed: dict[str, Any], line: str) -> None:
    true = np.random.default_rng(0).normal(size=(500, 3))
    names = {"true": true, "angles": true + 0.1, "low": true - 0.1, "high": true + 0.3, "inside": np.full(3, 0.9)}
    notebook.check({**names, "found": SimpleNamespace(distance=0)})
    with pytest.raises(AssertionError, match=line):
        notebook.check({**names, "found": SimpleNamespace(distance=0), **changed})
    blank = io.BytesIO()
    Image.new("RGB", (90, 30), "white").save(blank, "PNG")
    with pytest.raises(AssertionError):
        notebook.check_figures([blank.getvalue()] * 2)


@pytest.mark.slow
def test_own_arm_example_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, "own_arm.py", tmp_path / "kuka", "--anchors", 2, "--test-anchors", 1)
    assert open_dataset(tmp_path / "kuka").joints == ("lbr_iiwa_joint_2", "lbr_iiwa_joint_4")
    assert str(tmp_path / "kuka") in capsys.readouterr().out


@pytest.mark.slow
def test_own_recordings_example_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = tiny.draw(tiny.model().sample(np.random.default_rng(0), 60))
    for n, anchor in enumerate(np.pad(shown, [(0, 0)] * 4 + [(4, 4)])):  # wider than high
        for regime, pose in zip(tiny.model().regimes, anchor, strict=True):
            for camera, image in zip(tiny.CAMERAS, pose, strict=True):
                path = tmp_path / "recordings" / regime.name.replace("/", "-") / camera / f"{n:04}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(image).convert("RGB").save(path)
    path.unlink()  # the last anchor is incomplete
    run(monkeypatch, "own_recordings.py", tmp_path / "recordings", tmp_path / "mine", "--side", tiny.SIDE)
    first, valid, verdict = capsys.readouterr().out.splitlines()
    assert first.startswith("59 of 60 frames")
    assert valid.startswith(f"{tmp_path / 'mine'}: valid")
    assert verdict.startswith(f"{tmp_path / 'mine'} can work, but every joint will be weak")
    made = open_dataset(tmp_path / "mine")
    assert (made.cameras, made.joints, made.regimes) == (tiny.CAMERAS[::-1], tiny.JOINTS, tiny.model().regimes)
    expected = shown[:59, :, ::-1].reshape(-1, 2, tiny.SIDE, tiny.SIDE)
    np.testing.assert_array_equal(made.read_images(made.frames("train").index), expected)
    run(monkeypatch, "own_recordings.py", tmp_path / "recordings", tmp_path / "colour", "--side", 8, "--colour")
    assert open_dataset(tmp_path / "colour").image_shapes == ((8, 8, 3),) * 2
    first_frame = tmp_path / "recordings" / "observational" / tiny.CAMERAS[0] / "0000.png"
    Image.fromarray(np.full((tiny.SIDE, tiny.SIDE + 8), 20_000, np.uint16)).save(first_frame)
    with pytest.raises(SystemExit, match="has mode I;16; convert it to 8-bit grey or RGB"):
        run(monkeypatch, "own_recordings.py", tmp_path / "recordings", tmp_path / "deep")
    Image.new("RGB", (9, 9)).save(first_frame)
    with pytest.raises(SystemExit, match="a camera keeps its size"):
        run(monkeypatch, "own_recordings.py", tmp_path / "recordings", tmp_path / "changed")


@pytest.mark.slow
def test_data_page_example_writes_a_valid_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (EXAMPLES.parent / "docs" / "data.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(page.partition("```python\n")[2].partition("```")[0], {})
    assert "joints elbow, without angles" in validate(tmp_path / "data" / "mine", progress=False)
    spelt = json.loads(page.partition("```json\n")[2].partition("```")[0])
    regimes = [Regime(entry["joint"], entry["policy"]) for entry in spelt.values()]
    assert tuple(regimes) == open_dataset(tmp_path / "data" / "mine").regimes


@pytest.mark.slow
def test_read_angles_example_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=16, tests=20)
    fit(tiny.write_data(tmp_path / "learnt", anchors=12, tests=0), tmp_path / "run", tiny.recipe(), show=False)
    lines = angles_read(monkeypatch, tmp_path / "run", data, capsys)
    assert [line.partition(":")[0] for line in lines] == list(tiny.JOINTS)
    assert all("degrees off" in line for line in lines)
    exchanged = exchange_cameras(data, tmp_path / "exchanged")
    assert open_dataset(exchanged).cameras == tiny.CAMERAS[::-1]
    assert angles_read(monkeypatch, tmp_path / "run", exchanged, capsys) == lines


@pytest.mark.slow
def test_missed_actions_example_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_pairs(tmp_path / "data", {TRAIN: 64, VALIDATION: 24, SYSTEMATIC: 40})
    fitting.fit(data, tmp_path / "run", recipe("cde-global"), 0, method="cde-global", show=False)
    found = evaluate_actions(tmp_path / "run", data, tmp_path / "out", show=False).action_rows[0]
    capsys.readouterr()
    for by, names in (("thing", {"left", "right"}), ("action", {action.name for action in ACTIONS})):
        run(monkeypatch, "missed_actions.py", data, tmp_path / "run", "--by", by)
        first, *lines = capsys.readouterr().out.splitlines()
        assert first == f"accuracy {found.accuracy[SYSTEMATIC]:.3f} over 40 pairs"
        assert {line.partition(":")[0] for line in lines} == names
        errors = [float(line.partition("; ")[2].split()[0]) for line in lines]
        assert errors == sorted(errors, reverse=True)
        assert sum(errors) == pytest.approx(1 - found.accuracy[SYSTEMATIC], abs=0.002)


def angles_read(
    monkeypatch: pytest.MonkeyPatch, fitted: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    run(monkeypatch, "read_angles.py", fitted, data)
    return capsys.readouterr().out.splitlines()


def exchange_cameras(data: Path, out: Path) -> Path:
    """The same images under the same names, the second camera first."""
    dataset = open_dataset(data)
    shapes = {split: (len(span), -1) for split, span in dataset.splits.items()}
    images = {name: dataset.read_images(dataset.frames(name).index)[:, ::-1] for name in shapes}
    states = {name: dataset.states(name).reshape(*shape, 2) for name, shape in shapes.items()}
    return tiny.write_data(
        out,
        images={name: pixels.reshape(*shapes[name], *pixels.shape[1:]) for name, pixels in images.items()},
        states=states,
        cameras=dataset.cameras[::-1],
    )


@pytest.mark.slow
def test_prior_mean_of_the_benchmark_is_the_committed_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run(monkeypatch, "benchmark_prior_mean.py", tmp_path)
    for name in TASKS:
        task = task_named(name)
        made, committed = (
            read_predictions(folder / f"prior-mean-{name}.npz", task) for folder in (tmp_path, EXAMPLES / "benchmark")
        )
        for split in task.splits:
            np.testing.assert_allclose(made[split].angles, committed[split].angles, atol=1e-6)
            assert np.ptp(made[split].angles, axis=0).max() == 0


@pytest.mark.slow
def test_metrics_on_your_model(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, "metrics_on_your_model.py")
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["apart", "mixed"]
    scores = {line[:28].strip(): tuple(map(float, line[28:].split())) for line in lines}
    assert len(scores) == 13
    for metric, (apart, mixed) in scores.items():
        if metric.startswith("T-MEX"):
            assert apart < mixed
        elif metric not in ("R², all latents", "DCI: informativeness", "DCI-ES: explicitness", "DCI-ES: size", "InfoE"):
            assert apart > mixed + 0.05, metric
    assert scores["R², all latents"][0] > 0.9
    factors = np.random.default_rng(0).uniform(size=(400, 2))
    np.savez(tmp_path / "codes.npz", latents=factors[:, ::-1], factors=factors)
    run(monkeypatch, "metrics_on_your_model.py", tmp_path / "codes.npz")
    assert "T-MEX, violations              0.000" in capsys.readouterr().out
    classes = np.random.default_rng(1).integers(0, 3, 400)
    latents = np.stack([factors[:, 0], np.array([1, 0, 1.2])[classes]], axis=1)
    np.savez(tmp_path / "classes.npz", latents=latents, factors=np.stack([factors[:, 0], classes], axis=1))
    run(monkeypatch, "metrics_on_your_model.py", tmp_path / "classes.npz", "--categorical", 1)
    assert "MCC, matched                   1.000" in capsys.readouterr().out  # of the ordered factor, as R²


@pytest.mark.parametrize(
    ("latents", "categorical", "undefined"),
    [
        (1, [], {"MCC, matched", "MIG", "SAP", "InfoC", "T-MEX, violations"}),
        (2, [], {"MCC, matched", "T-MEX, violations"}),
        (2, [2], {"T-MEX, violations"}),
        (3, [0, 1, 2], {"MCC, matched", "R², all latents"}),
    ],
)
def test_scores_without_a_definition_for_few_latents_have_a_reason(
    latents: int,
    categorical: list[int],
    undefined: set[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (200, 3)).astype(float)
    codes = factors[:, :latents] + 0.1 * rng.normal(size=(200, latents))
    np.savez(tmp_path / "codes.npz", latents=codes, factors=factors)
    run(monkeypatch, "metrics_on_your_model.py", tmp_path / "codes.npz", "--categorical", *categorical)
    _, *lines = capsys.readouterr().out.splitlines()
    scores, reasons = lines[:13], lines[13:]
    assert {line[:28].strip() for line in scores if line.endswith(" nan")} == undefined
    assert {line.partition(" is not defined: ")[0] for line in reasons} == undefined


def test_codes_that_no_metric_takes_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    np.savez(tmp_path / "codes.npz", latents=np.zeros((30, 2)), factors=np.zeros((40, 2)))
    with pytest.raises(SystemExit, match=r"codes.npz: latents and factors differ in length: 30 and 40 samples"):
        run(monkeypatch, "metrics_on_your_model.py", tmp_path / "codes.npz")

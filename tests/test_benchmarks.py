"""Every benchmark runs as a script of its own, and figures come out the same way from all of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from benchmarks import figures, layers
from ropes.recipes import METHODS
from tests import tiny

FOLDER = Path(__file__).parents[1] / "benchmarks"


SCRIPTS = (
    "conformal",
    "disentanglement",
    "faults",
    "graph_calibration",
    "layers",
    "memory",
    "precision",
    "prediction",
    "rendering",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SCRIPTS, "sparsity"])
def test_a_benchmark_starts_as_a_script(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), "--help"], check=True, capture_output=True, text=True
    )
    assert f"python benchmarks/{name}.py" in done.stdout
    assert "also write the figures here, as JSON" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--at-once",)])
def test_the_experiment_that_is_killed_trains_all_its_fits(how: tuple[str, ...], tmp_path: Path) -> None:
    words = [sys.executable, str(FOLDER / "small_experiment.py"), *how, "--out", str(tmp_path / "out")]
    subprocess.run(words, check=True, capture_output=True)
    found = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    fits = {(fit["method"], fit["seed"]) for fit in found["fit_rows"]}
    assert fits == {(method, seed) for method in ("anchored", "ldr", "ropes") for seed in (0, 1)}


def test_a_layer_that_is_computed_wrong_is_found() -> None:
    class Wrong(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (1.0 if x.dtype == torch.float64 else 1.01)

    given = torch.randn(5, 3)
    assert layers.error(nn.Linear(3, 4), given, 2) < 1e-5
    assert layers.error(Wrong(3, 4), given, 2) == pytest.approx(0.01, rel=1e-3)


@pytest.mark.slow
def test_every_network_s_layers_are_measured(tmp_path: Path) -> None:
    words = [sys.executable, str(FOLDER / "layers.py"), "--preset", "compact", "--repeats", "1"]
    subprocess.run([*words, "--out", str(tmp_path / "f.json")], check=True, capture_output=True)
    found = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))["largest_errors"]
    assert {name.split()[1] for name in found} == set(METHODS)
    assert all(0 < error < layers.MOST for error in found.values())


@pytest.mark.slow
def test_prediction_is_timed_for_a_run(tiny_run: Path, tmp_path: Path) -> None:
    words = [sys.executable, str(FOLDER / "prediction.py"), str(tiny_run), "--seconds", "0.05"]
    subprocess.run([*words, "--out", str(tmp_path / "figures.json")], check=True, capture_output=True)
    found = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert (found["cameras"], found["target_ms"], found["target_images_per_second"]) == (2, 10, 1000)
    assert found["one_pose_one_core_with_png_ms"] > 0
    assert found["images_per_second_two_cores"] == pytest.approx(2 * found["poses_per_second_two_cores"], rel=1e-3)
    done = subprocess.run([*words[:2], "no-such-run"], capture_output=True, text=True)
    assert "no-such-run is neither a run's folder nor a packaged estimator" in done.stderr


@pytest.mark.slow
def test_quantiles_of_held_out_anchors_are_tried_on_fresh_ones(tiny_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    fresh = tiny.write_data(tmp_path / "fresh", anchors=6, tests=0)
    words = [sys.executable, str(FOLDER / "conformal.py"), str(tiny_run), "--level", "0.5"]
    right = ["--data", str(tiny_data), "--fresh", str(fresh)]
    subprocess.run([*words, *right, "--out", str(tmp_path / "f.json")], check=True, capture_output=True)
    found = json.loads((tmp_path / "f.json").read_text(encoding="utf-8"))
    for joint in tiny.JOINTS:
        assert 0 < found[f"{joint}_share"] <= 1
        assert found[f"{joint}_standard_error"] > 0
    for data, other, line in ((tiny_data, tiny_data, "was fitted on"), (fresh, fresh, "was not fitted on")):
        done = subprocess.run([*words, "--data", str(data), "--fresh", str(other)], capture_output=True, text=True)
        assert (done.returncode, line in done.stderr) == (2, True)


def test_figures_are_printed_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {"images": 104_001, "some_ms": 1.23456, "small": 2.34567e-9}
    figures.publish(found, tmp_path / "figures.json")
    printed, _, table = capsys.readouterr().out.partition("\n\n")
    assert json.loads(printed) == {"images": 104_001, "some_ms": 1.235, "small": 2.346e-9}
    assert (tmp_path / "figures.json").read_text(encoding="utf-8") == printed + "\n"
    assert table.splitlines()[2:] == ["| images | 1.04e+05 |", "| some ms | 1.23 |", "| small | 2.35e-09 |"]
    figures.publish(found, None)
    assert capsys.readouterr().out.partition("\n\n")[0] == printed


@pytest.mark.slow
def test_every_metric_of_disentanglement_is_timed(tmp_path: Path) -> None:
    sizes = ["--samples", "400", "--latents", "3", "--factors", "2", "--workers", "1"]
    words = [sys.executable, str(FOLDER / "disentanglement.py"), *sizes, "--out", str(tmp_path / "figures.json")]
    subprocess.run(words, check=True, capture_output=True)
    found = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    each = [found[f"{name}_s"] for name in ("dci", "mig", "sap", "modularity", "beta_vae", "factor_vae")]
    assert min(each) > 0
    assert found["all_six_s"] == pytest.approx(sum(each), rel=1e-2)
    assert found["target_s"] == 60

"""Every benchmark runs as a script of its own, and figures come out the same way from all of them."""

import json
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from benchmarks import descendants, drift, figures, layers, rendering, road
from benchmarks import jitter as jitter_benchmark
from ropes.common.files import read_json, write_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.experiments.fits import torch_threads
from ropes.methods.registry import METHODS
from ropes.simulation.actions import IID, SYSTEMATIC
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.settings import setting_named
from ropes.simulation.workers import UNIT
from tests import tiny

FOLDER = Path(__file__).parents[1] / "benchmarks"


SCRIPTS = sorted(
    path.stem for path in FOLDER.glob("*.py") if "python -m benchmarks." in path.read_text(encoding="utf-8")
)


def code_of(name: str, *words: object) -> int:
    """Run a benchmark in this process, as its script would be."""
    script = str(FOLDER / f"{name}.py")
    with pytest.MonkeyPatch.context() as patch, torch_threads(torch.get_num_threads()):
        patch.setattr(sys, "argv", [script, *map(str, words)])
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            return int(end.code or 0)
    return 0


def figures_of(folder: Path, name: str, *words: object) -> dict[str, Any]:
    """What a benchmark writes."""
    assert code_of(name, *words, "--out", folder / "figures.json") == 0
    found: dict[str, Any] = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_benchmark_starts_as_a_script(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(name, "--help") == 0
    said = capsys.readouterr().out
    assert f"python -m benchmarks.{name}" in said
    if name not in ("digests", "fidelity", "processors"):  # which write a page or take the file as an argument
        assert "--out" in said


@pytest.mark.slow
def test_sizes_of_metrics_are_measured_with_several_samples_and_bins(tmp_path: Path) -> None:
    words = ["--samples", 300, 500, "--draws", 1, "--workers", 1]
    rows = figures_of(tmp_path, "metric_sizes", *words)["rows"]
    assert [(row["samples"], row["bins"]) for row in rows] == [(300, 20), (500, 20), (500, 5), (500, 10), (500, 40)]
    assert rows[0]["mean"].keys() > rows[2]["mean"].keys() == {"MIG", "modularity", "InfoM", "InfoC", "InfoE"}
    fewer_bins, more_bins = (rows[place]["mean"]["MIG"] for place in (2, 4))
    assert 0 < more_bins < fewer_bins < 1


def test_accuracy_against_jitter_is_reported_by_method(tmp_path: Path) -> None:
    rows = [
        {
            "method": "cde-global",
            "seed": seed,
            "jitter": jitter,
            "pairs": 1_000,
            IID: 0.9 - jitter / 10,
            SYSTEMATIC: 0.5,
        }
        for seed in (0, 1)
        for jitter in (0.0, 2.0)
    ]
    lines = jitter_benchmark.written({"rows": rows, "device": "2 cores", "version": "0"}).splitlines()
    assert lines[0] == "| accuracy at a jitter of | 0 | 2 |"
    assert lines[2] == "| deltas of whole images, in distribution | 0.90 ± 0.00 | 0.70 ± 0.00 |"
    assert "1,000 pairs each; 1 is what training saw. 2 cores, version 0." in lines
    marked = jitter_benchmark.PAGE.read_text(encoding="utf-8")
    assert figures.filled(marked, lambda name: f"{name} stands here\n").count("jitter stands here") == 1
    two = "<!-- figures:a -->\nold\n<!-- /figures -->\n<!-- figures:b -->\nold\n<!-- /figures -->\n"
    assert figures.filled(two, {"b": "new\n"}.get) == "new\n".join(two.rsplit("old\n", 1))
    for name in ("no marker", two):
        with pytest.raises(ValueError, match="the page has no"):
            figures.filled(name, {"c": "new"}.get)


def test_the_road_counts_hours_and_errors(tmp_path: Path) -> None:
    entries = [{"anchor": k, "began": 1_000.0 - k, "seconds": [30.0 + (k < 5), 30.0]} for k in range(66)]
    write_json(tmp_path / "meta" / "recording.json", {"anchors": entries})
    assert road.anchors_within(tmp_path, 1.0) == 60  # the five slow ones were recorded last
    assert road.anchors_within(tmp_path, 0.5) == 30
    with pytest.raises(ValueError, match=r"has 1\.1 hours of robot time; give more --anchors for 2"):
        road.anchors_within(tmp_path, 2.0)
    data = tiny.write_data(tmp_path / "data", anchors=3)
    poses, regime = (getattr(open_dataset(data), name)("train") for name in ("states", "frames"))
    lines = [
        {"joints": dict(zip(tiny.JOINTS, pose + off, strict=True)), "truth": dict(zip(tiny.JOINTS, pose, strict=True))}
        for pose, off in zip(poses, np.where(regime.regime == 0, 0.1, 0.3), strict=True)
    ]
    found = road.errors(lines, data)
    assert found["observational"] == pytest.approx([0.1, 0.1])
    share = (regime.regime == 0).mean()
    assert found["all"] == pytest.approx([np.sqrt(share * 0.01 + (1 - share) * 0.09)] * 2)
    assert found["spread_all"] == pytest.approx(poses.std(0))
    assert found["spread_observational"] == pytest.approx(poses[regime.regime == 0].std(0))
    assert road.ranges_of(data, tiny.JOINTS) == [(-1.5, 1.5)] * 2


def test_the_road_says_which_joints_are_easy_to_compare_with_the_paper() -> None:
    row = {
        "hours": 8.0,
        "anchors": 1_100,
        "poses": 90,
        "joints": ["panda_joint1", "panda_joint3"],
        "observational": [0.1, 0.1],
        "all": [0.2, 0.2],
        "spread_observational": [0.5, 0.5],
        "spread_all": [0.8, 0.8],
    }
    found = {"rows": [row], "ranges": [(-1.2, 1.2)] * 2, "level": "webcam", "inspect": 0, "seed": 0}
    told = road.written({**found, "device": "d", "version": "0"})
    assert "| 8 h, observational poses | 1,100 | 5.7 (0.96) | 5.7 (0.96) |" in told
    assert "| 8 h, all poses | 1,100 | 11.5 (0.94) | 11.5 (0.94) |" in told
    assert "| mean pose, no image, observational poses |  | 28.6 (0.00) | 28.6 (0.00) |" in told
    assert "| range of the poses |  | -69 to 69 | -69 to 69 |" in told
    # Sqrt of .083 and .217 rad²; angles of the paper have standard deviations of 33 and 34 degrees.
    assert "| the paper's ROPES, 1,000 labels, its own poses | 10,000 | 16.5 (0.75) | 26.7 (0.39) |" in told
    assert "| range of the paper's poses |  | 0 to 172 | -86 to 86 |" in told
    assert "1.25 times the paper's error: joint 3 (R² 0.13 here has the paper's error; its own R² is 0.39)." in told


@pytest.mark.slow
def test_excused_responses_are_read_from_a_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.write_data(tmp_path / "tiny-40", anchors=40, tests=0)
    monkeypatch.setattr(descendants, "encoder_recipe", lambda preset: tiny.encoder_recipe(foreign=0.5))
    row = descendants.measured(tmp_path, "tiny:40:1")
    assert (row["setting"], row["anchors"], row["seed"]) == ("tiny", 40, 1)
    assert not (tmp_path / "tiny-40-1" / "student").exists()
    weights = tiny.weights(tmp_path / "tiny-40-1")
    curves = read_json(tmp_path / "tiny-40-1" / "training.json")["stages"]["encoder"]
    assert row["excused"] == max(curves["followers"])
    assert row["last"] == curves["followers"][-1] <= row["excused"]
    assert row["edges"] in (None, 0)
    assert descendants.measured(tmp_path, "tiny:40:1") == row  # nothing is done again
    assert tiny.weights(tmp_path / "tiny-40-1") == weights
    told = row | {"certain": 3, "excused": 2, "last": 1, "distance": 4, "edges": 7}
    shown = descendants.written(
        {"fits": [told | {"device": "a"}, row | {"distance": None, "device": "b"}], "version": "0"}
    )
    assert f"| tiny, 40, 1 | 3 | 2 | 1 | 4 (of 7 edges) | {row['fit_seconds']:.0f} |" in shown
    assert "| no graph |" in shown
    assert shown.endswith("Scene panda-gym; a and b, version 0.\n")


def test_a_layer_that_is_computed_wrong_is_found() -> None:
    class Wrong(nn.Linear):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x) * (1.0 if x.dtype == torch.float64 else 1.01)

    given = torch.randn(5, 3)
    assert layers.error(nn.Linear(3, 4), given, 2) < 1e-5
    assert 1e-4 < layers.error(nn.Linear(3, 4), given, 2, "bf16-mixed") < layers.MOST["bf16-mixed"]
    assert layers.error(Wrong(3, 4), given, 2) == pytest.approx(0.01, rel=1e-3)
    no_number = nn.Linear(3, 4)
    no_number.register_forward_hook(lambda _, __, made: made if made.dtype == torch.float64 else made * float("nan"))
    assert layers.error(no_number, given, 2) == float("inf")


@pytest.mark.slow
def test_every_network_s_layers_are_measured(tmp_path: Path) -> None:
    found = figures_of(tmp_path, "layers", "--preset", "compact", "--repeats", 1, "--threads", 1)["largest_errors"]
    assert {name.split()[1] for name in found} == set(METHODS)
    assert all(0 < error < layers.MOST["32-true"] for error in found.values())


@pytest.mark.slow
def test_prediction_is_timed_for_a_run(tiny_run: Path, tmp_path: Path) -> None:
    found = figures_of(tmp_path, "prediction", tiny_run, "--seconds", 0.05)
    assert (found["cameras"], found["target_ms"], found["target_images_per_second"]) == (2, 10, 1000)
    assert found["one_pose_one_core_with_png_ms"] > 0
    assert found["images_per_second_two_cores"] == pytest.approx(2 * found["poses_per_second_two_cores"], rel=1e-3)
    with pytest.raises(UserError, match="no-such-run is neither a run's folder nor a packaged estimator"):
        code_of("prediction", "no-such-run")


@pytest.mark.slow
def test_held_out_quantiles_are_checked_on_fresh_anchors(
    tiny_run: Path, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh = tiny.write_data(tmp_path / "fresh", anchors=6, tests=0)
    words = ("conformal", tiny_run, "--level", 0.5)
    found = figures_of(tmp_path, *words, "--data", tiny_data, "--fresh", fresh)
    for joint in tiny.JOINTS:
        assert 0 < found[f"{joint}_share"] <= 1
        assert found[f"{joint}_standard_error"] > 0
    for data, other, line in ((tiny_data, tiny_data, "was fitted on"), (fresh, fresh, "was not fitted on")):
        assert code_of(*words, "--data", data, "--fresh", other) == 2
        assert line in capsys.readouterr().err


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
@pytest.mark.parametrize("scene", ["white", "room"])
def test_every_renderer_is_timed(scene: SceneName) -> None:
    setting = replace(setting_named("panda-1c-independent"), scene=scene)
    poses = setting.splits["train"].sample_observational(np.random.default_rng(0), 40)
    assert 0 < rendering.our_cost(setting, "simplified", poses, 0.01, encode=True) < 1
    assert rendering.rate(setting, np.tile(poses, (2, 1)), 2, skipped=UNIT) > 1
    found = rendering.likeness(setting, poses[:2])
    assert found["iou_mean"] > 0.9
    assert 0 < found["grey_difference_on_arm"] < 30


@pytest.mark.slow
def test_every_metric_of_disentanglement_is_timed(tmp_path: Path) -> None:
    sizes = ("--samples", 400, "--latents", 3, "--factors", 2, "--workers", 1)
    found = figures_of(tmp_path, "disentanglement", *sizes)
    each = [found[f"{name}_s"] for name in ("dci", "mig", "sap", "modularity", "beta_vae", "factor_vae")]
    assert min(each) > 0
    assert found["all_six_s"] == pytest.approx(sum(each), rel=1e-2)
    assert found["target_s"] == 60


def test_an_arm_travels_between_poses_at_a_given_speed() -> None:
    goals = np.random.default_rng(0).uniform(-1.5, 1.5, (40, 3))
    angles = drift.trajectory(goals, 300)
    steps = np.abs(np.diff(angles, axis=0)).max(1)
    assert angles.shape == (300, 3)
    assert steps.max() <= drift.SPEED / drift.RATE + 1e-9
    assert np.median(steps) > 0.5 * drift.SPEED / drift.RATE
    with pytest.raises(ValueError, match="goals are too few"):
        drift.trajectory(goals[:3], 300)

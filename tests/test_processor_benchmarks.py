"""What is measured of processors: steps and their bound, weights of one seed, reading in less, wheels; and the page."""

from pathlib import Path
from typing import Any

import pytest
import torch
from packaging.requirements import Requirement
from torch import nn

from benchmarks import foreign, processors, training, wheels
from ropes.common.files import read_json, write_json
from tests.test_benchmarks import code_of, figures_of

ONE_STEP = ("--threads", 1, "--precision", "32-true", "--steps", 1, "--warm", 0, "--matrix", 512)


def test_foreign_objects_page_matches_the_stored_figures() -> None:
    root = Path(__file__).parents[1]
    table = foreign.written(read_json(root / "results" / "foreign.json"))
    assert f"<!-- figures:foreign -->\n{table}<!-- /figures -->" in foreign.PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_training_step_is_timed_by_its_parts(tmp_path: Path, cache_home: Path) -> None:
    found = figures_of(tmp_path, "training", "--method", "beta-vae", "--samples", 24, *ONE_STEP)
    step = found["methods"]["beta-vae"]
    assert step["gflop"] > 1  # of 32 images, some forty millions of products each, three times
    assert 0.5 < step["in_convolutions"] < 1


@pytest.mark.slow
def test_a_prediction_is_timed_by_its_parts(tmp_path: Path, cache_home: Path) -> None:
    found = figures_of(tmp_path, "training", "--method", "predict", "--poses", 64, *ONE_STEP)
    step = found["methods"]["predict"]
    assert step["read_ms"] > 0
    assert step["backward_ms"] == step["optimiser_ms"] == 0
    assert step["gflop"] > 10  # 64 poses of some 250 millions of products


def test_roofline_bound_counts_flops_and_bytes() -> None:
    layer, given = nn.Linear(30, 20, bias=False), torch.randn(10, 30)
    with torch.no_grad(), training.Roofline(1e3, 1e9) as compute:
        layer(given).view(-1)
    assert compute.flops == 2 * 10 * 20 * 30
    assert compute.seconds == pytest.approx(compute.flops / 1e3)
    with torch.no_grad(), training.Roofline(1e12, 1e3) as moved:
        given + given
    assert moved.flops == 0
    assert moved.seconds == pytest.approx(3 * given.numel() * 4 / 1e3)  # two are read, or one twice, and one written


@pytest.mark.slow
def test_repeated_fits_of_one_seed_are_compared(
    tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = figures_of(tmp_path, "same_weights", "--times", 2, "--threads", 1, "--method", "sms")
    assert [(row["method"], row["threads"], row["digests"]) for row in found["rows"]] == [("sms", 1, 1)]


@pytest.mark.slow
def test_reduced_precision_predictions_are_compared_with_float32(tmp_path: Path, cache_home: Path) -> None:
    found = figures_of(tmp_path, "reduced_precision", "--poses", 60, "--seen", 64, "--times", 1)["readers"]
    assert found["float32"]["error"] == [1] * 6
    assert 0 < max(found["bf16"]["moved"]) < 0.3
    assert max(found["int8"]["moved"]) > 0


def test_requirements_are_resolved_transitively(monkeypatch: pytest.MonkeyPatch) -> None:
    of_b = ["e", "f; extra == 'x'", "g; extra == 'y'"]
    of_a = ["b[x]>=2", "c; sys_platform == 'darwin'", "d; extra == 'more'"]
    needs = {"a": of_a, "b": of_b, "f": [], "c": [], "e": None}

    def wheel(requirement: Requirement, tags: tuple[str, ...], python: str) -> dict[str, Any] | None:
        found = needs[requirement.name]
        return None if found is None else {"requires_dist": found}

    monkeypatch.setattr(wheels, "wheel", wheel)
    assert wheels.missing([Requirement("a")], "Linux, ARM", "3.12") == (["e"], 4)
    assert wheels.missing([Requirement("a")], "macOS, Apple silicon", "3.12") == (["e"], 5)


def test_the_page_is_written_from_the_figures(tmp_path: Path) -> None:
    of = {"device": "a processor", "torch": "2", "seconds": 3}
    write_json(tmp_path / "layers-avx2.json", {**of, "processor": "avx2", "largest_errors": {"one": 1e-6}})
    write_json(tmp_path / "layers-amx.json", {**of, "processor": "amx", "largest_errors": {"one": 2e-6, "two": 0}})
    page = "before\n<!-- figures:layers -->\nstale\n<!-- /figures -->\nafter\n"
    found = processors.written(page, tmp_path)
    assert "| one | 2.0e-06 | 1.0e-06 |\n| two | 0.0e+00 |  |\n" in found
    assert "stale" not in found
    assert found.startswith("before\n<!-- figures:layers -->\n| network | AMX, 32-true | AVX2, 32-true |")
    assert found.endswith("<!-- /figures -->\nafter\n")
    assert processors.written(found, tmp_path) == found


def test_the_committed_page_agrees_with_the_committed_figures() -> None:
    assert code_of("processors", "--check") == 0

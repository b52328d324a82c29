"""The experiment that `benchmarks/faults.py` kills trains every method, one fit after the other and at once."""

import json
from pathlib import Path

import pytest

from tests.test_benchmarks import code_of


@pytest.mark.slow
@pytest.mark.parametrize("how", [(), ("--at-once",)])
def test_small_experiment_trains_all_its_fits(how: tuple[str, ...], tmp_path: Path) -> None:
    assert code_of("small_experiment", *how, "--anchors", 24, "--out", tmp_path / "out") == 0
    found = json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))
    assert {fit["method"] for fit in found["fit_rows"]} == {"anchored", "ldr", "ropes"}

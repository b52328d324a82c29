"""Every benchmark runs as a script of its own, and figures come out the same way from all of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import figures

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["memory", "rendering", "sparsity"])
def test_a_benchmark_starts_as_a_script(name: str) -> None:
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py"), "--help"], check=True, capture_output=True, text=True
    )
    assert f"python benchmarks/{name}.py" in done.stdout
    assert "also write the figures here, as JSON" in done.stdout


def test_figures_are_printed_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {"images": 104_001, "some_ms": 1.23456, "small": 2.34567e-9}
    figures.publish(found, tmp_path / "figures.json")
    printed, _, table = capsys.readouterr().out.partition("\n\n")
    assert json.loads(printed) == {"images": 104_001, "some_ms": 1.235, "small": 2.346e-9}
    assert (tmp_path / "figures.json").read_text(encoding="utf-8") == printed + "\n"
    assert table.splitlines()[2:] == ["| images | 1.04e+05 |", "| some ms | 1.23 |", "| small | 2.35e-09 |"]
    figures.publish(found, None)
    assert capsys.readouterr().out.partition("\n\n")[0] == printed

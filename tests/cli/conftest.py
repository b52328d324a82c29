from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _beside_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in a folder of their own that holds the folder of a run, R."""
    (tmp_path / "R").mkdir()
    monkeypatch.chdir(tmp_path)

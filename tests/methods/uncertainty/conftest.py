"""A tiny run of `anchored` with what its last stage measures, fitted once for each file of tests."""

import shutil
from pathlib import Path

import pytest

from ropes.methods.anchored import fit as anchored
from tests import tiny
from tests.methods.uncertainty.recipe import RECIPE


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    return tiny.write_data(tmp_path_factory.mktemp("trust") / "data", anchors=60)


@pytest.fixture(scope="module")
def run(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trust") / "run"
    anchored.fit(data, folder, RECIPE, show=False)
    return folder


@pytest.fixture
def own(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "own"))

"""What several files of these tests learn from and fit, made once."""

from pathlib import Path

import pytest

from tests import tiny
from tests.conftest import made_once


@pytest.fixture(scope="session")
def many_anchors(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """The tiny data set with 200 anchors; never to be changed."""
    return made_once(tmp_path_factory, "many-anchors", lambda out: tiny.write_data(out, anchors=200))


@pytest.fixture(scope="session")
def anchored_run(tmp_path_factory: pytest.TempPathFactory, many_anchors: Path) -> Path:
    """A run of `anchored` fitted on it; never to be changed."""
    from ropes.methods.anchored import fit as anchored

    return made_once(
        tmp_path_factory, "anchored-run", lambda out: anchored.fit(many_anchors, out, tiny.encoder_recipe(), show=False)
    )

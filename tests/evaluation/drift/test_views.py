"""Checks of cropped recordings: as imported, and with cameras of another resolution."""

from pathlib import Path

import numpy as np
import pytest

import ropes
from ropes.data.layout import open_dataset
from ropes.data.origin import views_of
from ropes.errors import UserError
from tests import tiny
from tests.evaluation.drift.recorded import calibrated, imported, poses, upside_down, write_recording


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A recording, and its import, turned and cropped."""
    return imported(tmp_path_factory.mktemp("fitted"), poses())


def test_an_import_with_the_crop_of_the_run_is_read_as_it_is(data: tuple[Path, Path]) -> None:
    raw, import_of_it = data
    estimator = calibrated(views=views_of(open_dataset(import_of_it)))
    found = ropes.check(estimator, import_of_it)
    assert not found.drifted
    np.testing.assert_allclose(found.read, ropes.check(estimator, raw).read, atol=0.02)


def test_the_crop_of_the_run_is_scaled_to_another_resolution(data: tuple[Path, Path], tmp_path: Path) -> None:
    estimator = calibrated(views=views_of(open_dataset(data[1])))
    larger = np.kron(upside_down(poses()), np.ones((1, 1, 2, 2), np.uint8))
    found = ropes.check(estimator, write_recording(tmp_path / "larger", images=larger))
    assert not found.drifted
    np.testing.assert_allclose(found.read, ropes.check(estimator, data[0]).read, atol=0.02)
    wider = np.pad(upside_down(poses()), ((0, 0), (0, 0), (0, 0), (0, 8)))
    line = rf"camera \w+ gives images of {tiny.SIDE + 16}x{tiny.SIDE + 6} pixels; those of the recording had"
    with pytest.raises(UserError, match=line):
        ropes.check(estimator, write_recording(tmp_path / "wider", images=wider))

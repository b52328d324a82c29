"""Angles of a data set of ropes are in radians: the check needs no unit, and advises no option that cannot help."""

from pathlib import Path

import numpy as np
import pytest

import ropes
from ropes.common import files
from ropes.data import schema
from ropes.errors import UserError
from tests.evaluation.drift.recorded import calibrated, imported, poses, seen, write_recording

DEGREES = 180 / np.pi


def test_degrees_that_were_imported_as_radians_are_to_be_imported_again(tmp_path: Path) -> None:
    _, data = imported(tmp_path, 0.5 * poses(), unit=DEGREES, state="radians")
    with pytest.raises(UserError) as refused:
        ropes.check(calibrated(), data)
    assert str(refused.value).startswith(f"{data}: logged angles vary ")
    assert str(refused.value).endswith(
        "times as much as those read from images: import its recording again with ropes import --state degrees"
    )
    provenance = files.read_json(data / schema.PROVENANCE)
    del provenance["import"]  # as of another command
    files.write_json(data / schema.PROVENANCE, provenance)
    with pytest.raises(UserError, match="images: its angles are not those of the images, or not in radians; record or"):
        ropes.check(calibrated(), data)


def test_radians_that_were_imported_as_degrees_are_to_be_imported_again(tmp_path: Path) -> None:
    _, data = imported(tmp_path, poses(), state="degrees")
    with pytest.raises(UserError, match=r"times less than .*images: import its recording again with ropes import --st"):
        ropes.check(calibrated(), data)


def test_unit_that_can_count_nowhere_is_refused(tmp_path: Path) -> None:
    _, data = imported(tmp_path, poses())
    for reference in (None, data):
        with pytest.raises(UserError, match="is a data set of ropes, whose angles are in radians; leave --state degr"):
            ropes.check(calibrated(), data, reference=reference, state="degrees")


def test_unit_is_that_of_the_recording_to_which_a_data_set_is_compared(tmp_path: Path) -> None:
    _, data = imported(tmp_path, poses())
    before = write_recording(tmp_path / "before", angles=poses(seed=4), unit=DEGREES)
    found = ropes.check(calibrated(), data, reference=before, state="degrees")
    assert not found.drifted
    assert found.joints_compared == "before"


def test_logs_in_radians_get_no_advice_on_degrees(tmp_path: Path) -> None:
    few = write_recording(tmp_path / "few", angles=0 * poses(), images=seen(poses()))
    with pytest.raises(UserError, match=r"times less than .*images: the log is of another recording$"):
        ropes.check(calibrated(), few)

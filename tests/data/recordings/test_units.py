"""Positions that look like degrees are refused without a unit, and no positions are with --state radians."""

from pathlib import Path

import numpy as np
import pytest

from ropes.data.recordings.source import Scale, StateUnit
from ropes.data.recordings.synchronise import Views
from ropes.data.recordings.units import beyond_a_turn, in_radians
from ropes.errors import UserError
from tests.data.recordings.conftest import ImportOne
from tests.data.recordings.test_videos import NAMES, angles, write_csv, write_frames


def views(*reach: float) -> Views:
    """Joints that go from 0 to there in three frames."""
    positions = np.outer([0.0, 1.0, 0.5], reach)
    names = tuple(f"joint{k}" for k in range(len(reach)))
    frames = np.zeros((3, 1), dtype=np.int64)
    return Views(times=np.arange(3.0), frames=frames, positions=positions, joints=names, dropped={})


@pytest.mark.parametrize(
    "reach",
    [
        (2 * np.pi, -2 * np.pi, 6.29),  # joints of UR arms turn by ±360°
        (350.0, 1.0, -2.0),
        (30.0, 9.4, 1.0, 1.0),
        (11.0,),
        (8.0, 7.0, 11.0),
    ],
)
def test_radians_are_accepted_where_the_unit_is_given(reach: tuple[float, ...]) -> None:
    found = in_radians(views(*reach), "radians", {}, "here")
    assert found.positions is not None
    assert np.array_equal(found.positions[1], reach)


@pytest.mark.parametrize(
    ("reach", "noted"),
    [
        ((3.1, 6.29), []),
        ((9.4, 1.0), ["joint0 9.4 rad"]),
        ((7.0, 1.0, -12.5, 2.0), ["joint0 7.0 rad, joint2 12.5 rad"]),
    ],
)
def test_few_joints_that_reach_more_than_a_turn_are_noted(reach: tuple[float, ...], noted: list[str]) -> None:
    found = in_radians(views(*reach), None, {}, "here")
    assert beyond_a_turn([views(0.1), found]) == [
        f"joints reach more than a turn ({far}); if positions are in degrees, give --state degrees" for far in noted
    ]


@pytest.mark.parametrize(
    ("reach", "line"),
    [
        (
            (9.4, -7.5, 0.0),  # most of the joints, by little
            "here, 1.000 s: joint joint0 reaches 9.4, which is no likely angle in radians; give --state degrees, "
            "--state radians if joints turn so far, or --state none to leave joint positions out",
        ),
        ((1.0, 1.0, -90.0), "joint joint2 reaches -90.0, which is no likely angle in radians; give --state degrees, "),
        (
            (9.4,),
            "joint joint0 reaches 9.4, which is no likely angle in radians; give --state degrees, --state radians",
        ),
        ((900.0, 1.0), "reaches 900.0, which is no likely angle in radians; mend the log, --state radians if joints"),
    ],
)
def test_positions_that_look_like_degrees_are_refused_without_a_unit(reach: tuple[float, ...], line: str) -> None:
    with pytest.raises(UserError) as refused:
        in_radians(views(*reach), None, {}, "here")
    assert line in str(refused.value)


@pytest.mark.parametrize(("unit", "reach"), [("degrees", 900.0), ("percent", 120.0)])
def test_other_units_are_checked_also_where_they_are_given(unit: StateUnit, reach: float) -> None:
    with pytest.raises(
        UserError, match=r"reaches 900\.0, which is no angle in degrees; mend the log|120\.0, beyond 100"
    ):
        in_radians(views(reach), unit, {"joint0": Scale(0.0, 0.01)} if unit == "percent" else {}, "here")


def test_import_notes_a_joint_that_may_be_in_degrees(import_one: ImportOne, tmp_path: Path) -> None:
    write_frames(tmp_path / "frames", angles(1), "left")
    rows = [(k, NAMES[k], 0.5 * k, 4.7 * k) for k in range(3)]
    write_csv(tmp_path / "frames" / "log.csv", ("frame", "policy", "elbow", "wheel"), rows)
    noted = "joints reach more than a turn (wheel 9.4 rad); if positions are in degrees, give --state degrees"
    assert noted in str(import_one(tmp_path / "frames"))
    certain = import_one(tmp_path / "frames", state="radians")  # the same data set
    assert noted not in str(certain)
    stored = certain.plan.poses.positions
    assert stored is not None
    assert stored.max() == pytest.approx(9.4)

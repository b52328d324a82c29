"""Poses beside the angles in what `ropes predict` prints."""

import json
from pathlib import Path

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.errors import UserError
from ropes.inference.calibration import Calibration, write_calibration
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import predict_lines
from tests import planar, tiny
from tests.command_line import refusal


@pytest.fixture
def calibrated(own_run: Path) -> Path:
    write_calibration(own_run, Estimator.load(own_run).run, Calibration(np.array([0.5, -2.0]), np.array([0.1, 0.2]), 9))
    return own_run


@pytest.fixture
def urdf(tmp_path: Path) -> Path:
    return planar.write_urdf(tmp_path)


@pytest.mark.slow
def test_predicted_pose_matches_the_printed_angles(calibrated: Path, urdf: Path, tiny_data: Path) -> None:
    lines = [json.loads(line) for line in predict_lines(calibrated, tiny_data, poses=(), urdf=urdf)]
    plain = [json.loads(line) for line in predict_lines(calibrated, tiny_data)]
    assert [{key: line[key] for key in line if key not in ("frame", "poses")} for line in lines] == plain
    assert {line["frame"] for line in lines} == {"foot"}
    angles = np.array([[line["joints"][joint] for joint in tiny.JOINTS] for line in lines])
    found = np.array([line["poses"]["tool"]["position_m"] for line in lines])
    np.testing.assert_allclose(found, planar.tip(angles), atol=3e-6)


@pytest.mark.slow
def test_predict_prints_the_requested_links(
    calibrated: Path, urdf: Path, tiny_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["predict", str(calibrated), "--images", str(tiny_data), "--urdf", str(urdf), "--poses"]
    assert cli.main([*words, "all"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert list(first["poses"]) == ["foot", "upper", "lower", "wheel", "tool"]
    assert first["poses"]["foot"] == {"position_m": [0.0, 0.0, 0.0], "quaternion_xyzw": [0.0, 0.0, 0.0, 1.0]}
    assert "did you mean upper?" in refusal(capsys, *words, "uper")
    assert "no URDF file at" in refusal(capsys, *words[:-2], "gone.urdf", "--poses")


def test_poses_require_an_arm_and_radians(calibrated: Path, urdf: Path, tiny_data: Path) -> None:
    with pytest.raises(UserError, match="no robot is known for setting 'tiny': give its --urdf FILE"):
        next(predict_lines(calibrated, tiny_data, poses=()))
    (calibrated / "calibration.json").unlink()
    with pytest.raises(UserError, match="poses need angles in radians: run `ropes calibrate` first"):
        next(predict_lines(calibrated, tiny_data, poses=(), urdf=urdf))

"""The benchmark of `ropes cameras`: its errors, its cameras and angles, and the table of the page."""

import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import hand_eye, hand_eye_data
from benchmarks.hand_eye_data import CAMERA, Condition
from ropes.common.files import read_json
from ropes.data.layout import open_dataset
from ropes.inference.hand_eye import find, fitting
from ropes.inference.hand_eye.fitting import LEVELS
from ropes.simulation.pinhole import Pinhole

RESULTS = Path(__file__).parents[1] / "results" / "hand-eye.json"


def test_errors_of_a_moved_camera() -> None:
    true = Pinhole(name=CAMERA, intrinsics=np.diag([100.0, 100.0, 1.0]), extrinsics=np.eye(4), height=128, width=128)
    points = np.array([[0.0, 0.0, 2.0], [0.5, 0.0, 2.0]])
    away = true.extrinsics.copy()
    away[2, 3] = 0.5  # the base is farther in front of the camera
    k = np.diag([125.0, 125.0, 1.0])
    found = hand_eye.errors(replace(true, extrinsics=away, intrinsics=k), true, points)
    assert (found["place_cm"], found["away_cm"], found["focal_percent"]) == pytest.approx((50, 50, 25))
    assert (found["rotation_deg"], found["links_px"]) == pytest.approx((0, 0))  # 25% longer at a 25% larger distance
    turned = true.extrinsics.copy()
    turned[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    found = hand_eye.errors(replace(true, extrinsics=turned), true, points)
    assert (found["place_cm"], found["rotation_deg"]) == pytest.approx((0, 90))
    assert found["links_px"] == pytest.approx(25 * np.sqrt(2) / 2)
    assert found["shift_px"] == pytest.approx([-12.5, 12.5])


def test_angles_have_the_errors_of_their_condition() -> None:
    true = np.random.default_rng(0).uniform(-1, 1, size=(4_000, 3))
    differences = [
        np.degrees(hand_eye_data.angles_of(condition, true, 1) - true)
        for condition in (Condition(), Condition(error=2.0), Condition(offset=4.0))
    ]
    assert not differences[0].any()
    assert differences[1].std(0) == pytest.approx([2, 2, 2], rel=0.05)
    assert np.abs(differences[1].mean(0)).max() < 0.2
    assert np.ptp(differences[2], axis=0).max() < 1e-9
    assert np.abs(differences[2]).min() > 0
    others = hand_eye_data.angles_of(Condition(others=True), true, 1)
    assert not np.array_equal(others, true)
    np.testing.assert_array_equal(np.unique(others, axis=0), np.unique(true, axis=0))


def row(condition: Condition, **changes: Any) -> dict[str, Any]:
    found = {"place_cm": 1.0, "rotation_deg": 0.5, "focal_percent": -3.0, "links_px": 0.4, "halves_px": 0.4}
    return {**asdict(condition), "seconds": 20.0, "refused": False, "held_out_iou": 0.9, **found, **changes}


def test_table_has_a_line_for_each_condition() -> None:
    unknown, others = Condition(intrinsics=False, error=2.0, images=30), Condition(level="clean", others=True)
    refused = {**asdict(others), "seconds": 9.0, "refused": True, "held_out_iou": 0.12}
    rows = [row(unknown), row(unknown, focal_percent=5.0, place_cm=2.0), row(unknown, place_cm=4.0), refused]
    of = {"seeds": [0, 1, 2], "nearest": 1.8, "farthest": 2.9, "device": "d", "processor": "avx2", "version": "0"}
    lines = hand_eye.written({**of, "rows": rows}).splitlines()
    assert lines[2] == (
        "| webcam; 30 images; errors of 2°; focal length unknown | 0 of 3 | 2.0 (4.0) | 0.50 (0.50) | 3.0 (5.0) | "
        "0.40 (0.40) | 0.40 (0.40) | 0.90 to 0.90 | 20 |"
    )
    earlier = [{name: value for name, value in each.items() if name != "halves_px"} for each in rows[:3]]
    halved = [each | {"spread_px": 0.2} for each in earlier]  # as earlier versions stored it
    assert hand_eye.written({**of, "rows": [*halved, refused]}).splitlines() == lines
    assert lines[3] == "| clean; 300 images; angles of other images | 1 of 1 |  |  |  |  |  | 0.12 to 0.12 | 9 |"
    assert " ".join(lines[-1].split()).endswith(
        "Seeds 0, 1, 2: cameras 1.8 to 2.9 m from the arm, images of 128×128 pixels; d (avx2), ropes 0."
    )


def test_page_has_the_stored_figures() -> None:
    page = hand_eye.PAGE.read_text(encoding="utf-8")
    shown = re.search(r"<!-- figures:hand-eye -->\n(.*?)<!-- /figures -->", page, re.DOTALL)
    assert shown
    assert " ".join(shown[1].split()) == " ".join(hand_eye.written(read_json(RESULTS)).split())


@pytest.mark.slow
@pytest.mark.pybullet
def test_a_rendered_camera_is_found_and_one_of_other_angles_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (find, fitting):  # small images are faster, and find the camera less exactly
        monkeypatch.setattr(module, "LEVELS", LEVELS[:2])
    clean = Condition(level="clean", images=40)
    right = hand_eye.measured(tmp_path, clean, 0, images=52)
    assert not right["refused"]
    assert right["held_out_iou"] > 0.6
    assert right["links_px"] < 3
    assert (right["focal_percent"], right["seed"]) == (pytest.approx(0), 0)
    source = open_dataset(tmp_path / "pybullet-clean-0")
    assert len(source.frames("train")) == 52
    assert hand_eye.measured(tmp_path, clean, 0, images=52) == right  # nothing is done again
    wrong = hand_eye.measured(tmp_path, replace(clean, others=True), 0, images=52)
    assert wrong["refused"]
    assert "links_px" not in wrong
    data = tmp_path / "unknown"
    hand_eye_data.write_data(data, source, replace(clean, intrinsics=False, error=3.0), 0)
    written = open_dataset(data)
    assert (written.provenance or {})["cameras"] == [{"name": CAMERA}]
    differences = np.degrees(
        written.states("train") - source.states("train")[np.linspace(0, 51, 40).round().astype(int)]
    )
    assert differences.std() == pytest.approx(3, rel=0.2)

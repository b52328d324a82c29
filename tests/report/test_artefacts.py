"""What may lie beside results.json, and the line that names what is wrong with it."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation.paper import ONE_CAMERA
from ropes.evaluation.rows.joint import Row
from ropes.report import artefacts


def small(**changes: NDArray[Any] | None) -> dict[str, NDArray[Any]]:
    images = np.zeros((2, 1, 4, 4), dtype=np.uint8)
    base: dict[str, NDArray[Any]] = {
        "joints": np.array(["a", "b"]),
        "cameras": np.array(["cam0"]),
        "scatter_estimate": np.zeros((2, 5)),
        "scatter_angle": np.zeros((2, 5)),
        "scatter_mcc": np.zeros(2),
        "scatter_mse": np.zeros(2),
        "original": images,
        "ae1": images,
        "ae2": images,
    }
    return {name: value for name, value in (base | changes).items() if value is not None}


def write(folder: Path, arrays: dict[str, NDArray[Any]]) -> None:
    files.write_arrays(folder / "artefacts" / "panda" / "ldr" / "evaluation.npz", arrays)


def test_complete_artefacts_are_read(run_folder: Path) -> None:
    (artefact,) = artefacts.load(run_folder)
    assert (artefact.setup, artefact.method) == (ONE_CAMERA, "ropes")
    assert artefact.training is not None
    assert artefact.training["stages"]["ae1"]["steps"][0] == 0
    evaluation = artefact.evaluation
    assert evaluation is not None
    assert evaluation.joints == ("panda_joint2", "panda_joint4", "panda_joint6")
    assert evaluation.scatter is not None
    assert evaluation.scatter["scatter_estimate"].shape == (3, 500)
    assert evaluation.interventions is not None
    assert evaluation.interventions["intervention_images"].shape == (7, 6, 1, 64, 64)


def test_missing_parts_are_none(tmp_path: Path) -> None:
    assert artefacts.load(tmp_path) == ()
    write(tmp_path, small())
    (artefact,) = artefacts.load(tmp_path)
    assert artefact.training is None
    assert artefact.evaluation is not None
    assert artefact.evaluation.occluded is None
    assert artefact.evaluation.interventions is None
    (tmp_path / "artefacts" / "panda" / "ldr" / "evaluation.npz").unlink()
    (artefact,) = artefacts.load(tmp_path)
    assert artefact.evaluation is None


def test_artefacts_are_found_by_setup_and_method(tmp_path: Path) -> None:
    for place in ("panda/ropes", "panda/anchored", "kuka/ldr"):
        files.write_json(tmp_path / "artefacts" / place / "training.json", {"stages": {}, "seed": len(place)})
    files.write_text(tmp_path / "artefacts" / "panda" / "notes.txt", "mine")
    found = artefacts.load(tmp_path)
    assert [(each.setup, each.method) for each in found] == [("kuka", "ldr"), ("panda", "anchored"), ("panda", "ropes")]
    assert [each.training["seed"] for each in found if each.training is not None] == [8, 14, 11]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"joints": None}, "has no array joints"),
        ({"ae1": None}, "has original but no ae1"),
        ({"ae1": np.zeros((2, 4, 4), dtype=np.uint8)}, "ae1 must have 4 axes, got shape (2, 4, 4)"),
        ({"ae1": np.zeros((3, 1, 4, 4), dtype=np.uint8)}, "differ in length: [2, 3]"),
        ({"joints": np.array(["a"])}, "scatter_estimate has 2 rows for 1 joints"),
        ({"ae1": np.zeros((2, 1, 4, 4))}, "ae1 must be uint8 images of 1 cameras"),
        ({"cameras": np.array(["x", "y"])}, "must be uint8 images of 2 cameras, got (2, 1, 4, 4)"),
    ],
)
def test_mismatched_arrays_are_reported(tmp_path: Path, changes: dict[str, NDArray[Any] | None], message: str) -> None:
    write(tmp_path, small(**changes))
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        artefacts.load(tmp_path)
    assert "evaluation.npz" in str(caught.value)


def test_pickled_and_damaged_files_are_refused(tmp_path: Path) -> None:
    write(tmp_path, small(joints=np.array(["a", None], dtype=object)))
    with pytest.raises(UserError, match=r"evaluation\.npz cannot be read"):
        artefacts.load(tmp_path)
    path = tmp_path / "artefacts" / "panda" / "ldr" / "evaluation.npz"
    whole = path.read_bytes()
    middle = len(whole) // 2
    changed = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
    for damaged in (whole[:100], b"", b"not an archive", changed):
        path.write_bytes(damaged)
        with pytest.raises(UserError, match=r"evaluation\.npz cannot be read"):
            artefacts.load(tmp_path)
    with path.open("wb") as stream:
        np.save(stream, np.zeros(3))
    with pytest.raises(UserError, match="one array instead of an archive"):
        artefacts.load(tmp_path)


def test_malformed_training_record_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "artefacts" / "panda" / "ldr" / "training.json"
    files.write_json(path, {"seed": 0})
    with pytest.raises(UserError, match='has no "stages"'):
        artefacts.load(tmp_path)
    files.write_json(path, {"stages": {"ldr": {"j": {"steps": [1, 2], "train": [0.5], "floor": 0.3}}}})
    with pytest.raises(UserError, match=r"stages\.ldr\.j\.train has 1 values for 2 steps"):
        artefacts.load(tmp_path)


def test_stage_contents_distinguish_networks_from_joints(tmp_path: Path) -> None:
    path = tmp_path / "artefacts" / "panda" / "ldr" / "training.json"
    stages = {"new": {"steps": [1, 2], "train": [0.5, 0.4], "best": 0.4}, "ldr": {"j": {"steps": [1], "train": [0.5]}}}
    files.write_json(path, {"stages": stages})
    (artefact,) = artefacts.load(tmp_path)
    assert artefact.training is not None
    assert artefact.training["stages"] == stages
    files.write_json(path, {"stages": {"new": {"steps": [1, 2], "train": [0.5]}}})
    with pytest.raises(UserError, match=r"stages\.new\.train has 1 values for 2 steps"):
        artefacts.load(tmp_path)
    files.write_json(path, {"stages": {"new": {"steps": 3, "train": [0.5]}}})
    with pytest.raises(UserError, match=r"stages\.new\.train has 1 values for 0 steps"):
        artefacts.load(tmp_path)
    files.write_json(path, {"stages": {"new": [1, 2]}})
    with pytest.raises(UserError, match=r"stages\.new must be curves by name"):
        artefacts.load(tmp_path)


def test_only_requested_artefacts_are_read(tmp_path: Path) -> None:
    for method in ("ldr", "ropes"):
        files.write_json(tmp_path / "artefacts" / "panda" / method / "training.json", {"stages": {}})
    files.write_text(tmp_path / "artefacts" / "panda" / "anchored" / "training.json", "damaged")
    assert [each.method for each in artefacts.load(tmp_path, {("panda", "ropes"), ("panda", "cnn")})] == ["ropes"]


def a_row(**changes: Any) -> Row:
    base: dict[str, Any] = {"setup": "panda", "joint": "a", "split": "id", "occlusion": 0, "seed": 0, "mcc": (0.9, 0.0)}
    return Row.measured(**(base | {"mse": (0.1, 0.0)} | changes))


LINE = "with a line fitted on 1,000 labels"


@pytest.mark.parametrize(
    ("recorded", "rows", "words"),
    [
        ({"scatter_split": "id", "scatter_occlusion": 0}, [a_row()], f"In distribution, without squares, {LINE}"),
        ({"scatter_split": "ood", "scatter_occlusion": 32}, [a_row()], f"Shifted poses, 32 px squares, {LINE}"),
        ({}, [a_row(), a_row(split="ood")], f"In distribution, {LINE}"),
        ({}, [a_row(occlusion=32)], LINE.capitalize()),
        ({}, [a_row(split="ood")], LINE.capitalize()),
        ({}, [a_row(labels=100, label_share=0.01)], "In distribution"),
        ({}, [], ""),
    ],
)
def test_scatter_condition_is_described_where_known(
    tmp_path: Path, recorded: dict[str, str | int], rows: Sequence[Row], words: str
) -> None:
    write(tmp_path, small(**{name: np.array(value) for name, value in recorded.items()}))
    (artefact,) = artefacts.load(tmp_path)
    assert artefact.evaluation is not None
    assert artefacts.scatter_condition(artefact.evaluation, rows) == words


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scatter_split": np.array("test")}, "scatter_split must be one of id, ood, got 'test'"),
        ({"scatter_occlusion": np.array(-1)}, "scatter_occlusion must be a whole number of at least 0, got -1"),
        ({"scatter_occlusion": np.array([1, 2])}, "scatter_occlusion must be one value, got shape (2,)"),
    ],
)
def test_invalid_scatter_condition_is_reported(tmp_path: Path, changes: dict[str, NDArray[Any]], message: str) -> None:
    write(tmp_path, small(**changes))
    with pytest.raises(UserError, match=re.escape(message)):
        artefacts.load(tmp_path)

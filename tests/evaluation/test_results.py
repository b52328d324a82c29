"""Results: what may stand in a row, and the round trip through the file."""

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import ActionRow, ModelRow
from tests.evaluation.joint_rows import a_row

COMMITTED = Path(__file__).parents[2] / "results"


def some_results(*rows: Row) -> Results:
    return Results(name="table1", preset="compact", device="CPU, 2 cores", version="0.1.0", seconds=12.5, rows=rows)


def test_row_includes_the_paper_figures() -> None:
    row = a_row()
    assert (row.paper_mcc, row.paper_mse) == (0.874, 0.083)
    assert (row.method, row.labels, row.calibration_labels) == ("ropes", 0, 1000)
    assert a_row(split="ood").paper_mcc is None
    assert a_row(split="ood", occlusion=16).paper_mse == 0.092
    assert a_row(joint="lbr_iiwa_joint_1").paper_mse is None
    for method in ("ldr", "anchored"):  # held against the paper's ROPES, as ropes is
        assert (a_row(method=method).paper_mcc, a_row(method=method).paper_mse) == (0.874, 0.083)
    assert a_row(labels=2600, label_share=0.01).paper_mse == 0.136  # and with labels against its baseline
    assert a_row(labels=2600, label_share=0.02).paper_mse is None


def test_results_file_has_the_documented_fields_and_round_trips(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "results.json"
    wanted = some_results(a_row(), dataclasses.replace(a_row(seed=1), mcc_mean=None, mcc_std=None))
    results.write(path, wanted)
    content = json.loads(path.read_text())
    head = {"schema", "name", "preset", "device", "version", "seconds", "hiding", "scene", "mesh"}
    assert set(content) == head | {"rows"}
    assert content["schema"] == 1
    assert ",".join(sorted(content["rows"][0])) == (
        "anchors,calibration_labels,erased,image_size,joint,label_share,labels,mcc_matched,mcc_mean,mcc_std,method,"
        "mse_mean,mse_std,occlusion,paper_mcc,paper_mse,seed,setup,split"
    )
    assert content["rows"][1]["mcc_mean"] is None
    assert results.read(path) == wanted
    assert [entry.name for entry in path.parent.iterdir()] == ["results.json"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mcc": (float("nan"), 0.0)}, "mcc_mean must be a finite number or null, got nan"),
        ({"mcc": (1.1, 0.0)}, "mcc_mean must lie in 0 to 1"),
        ({"mse": (-0.1, 0.0)}, "mse_mean must lie in 0 to inf"),
        ({"split": "test-id"}, "split must be one of id, ood, got 'test-id'"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"setup": ""}, "setup must be a name"),
        ({"camera": "webcm"}, "camera must be one of clean, webcam, harsh or null, got 'webcm'"),
    ],
)
def test_a_wrong_row_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        a_row(**changes)


def test_duplicate_conditions_are_refused() -> None:
    with pytest.raises(ValueError, match=r"two rows of the same conditions: panda-2c-independent, ropes, id, 0"):
        some_results(a_row(), a_row())
    with pytest.raises(ValueError, match="seconds must lie in 0 to inf"):
        dataclasses.replace(some_results(), seconds=-1.0)
    with pytest.raises(ValueError, match="preset must be a name"):
        dataclasses.replace(some_results(), preset="")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda c: c.pop("schema"), 'this is no results file: it has no "schema"'),
        (lambda c: c.update(schema=2), "schema 2 is not the schema 1"),
        (lambda c: c.update(extra=1), "unknown extra"),
        (lambda c: c.pop("device"), "missing device"),
        (lambda c: c.update(rows={}), "rows must be a list"),
        (lambda c: c["rows"][0].pop("seed"), "row 0: missing seed"),
        (lambda c: c["rows"][0].update(mse_mean="much"), "row 0: mse_mean must be a finite number"),
        (lambda c: c["rows"].__setitem__(0, 3), "row 0: missing calibration_labels"),
        (lambda c: c.update(seconds="long"), "seconds must be a finite number"),
    ],
)
def test_damaged_file_is_reported(tmp_path: Path, spoil: Callable[[dict[str, Any]], object], message: str) -> None:
    content = some_results(a_row()).to_dict()
    spoil(content)
    path = tmp_path / "results.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=re.escape(message)) as caught:
        results.read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", sorted(path.name for path in COMMITTED.glob("*-compact.json")))
def test_committed_results_can_be_read(name: str) -> None:
    """Files of earlier versions among them, which lack fields."""
    found = results.read(COMMITTED / name)
    assert f"{found.name}-{found.preset}.json" == name


def test_missing_or_invalid_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"results\.json is missing"):
        results.read(tmp_path / "results.json")
    (tmp_path / "results.json").write_text('{"schema": 1')
    with pytest.raises(UserError, match="not valid JSON"):
        results.read(tmp_path / "results.json")


def test_rows_of_different_kinds_may_share_their_conditions() -> None:
    of_model = ModelRow(setup="pairs", method="icm", seed=0, seconds=1.0, settings={}, scores={"dci": 0.5})
    of_action = ActionRow(
        setup="pairs", method="icm", seed=0, seconds=1.0, accuracy={}, pairs={}, recall={}, active=0.5
    )
    found = dataclasses.replace(some_results(), model_rows=(of_model,), action_rows=(of_action,))
    assert Results.from_dict(found.to_dict()) == found
    with pytest.raises(ValueError, match="two rows of the same conditions: pairs, icm, 0"):
        dataclasses.replace(found, model_rows=(of_model, of_model))


@pytest.mark.parametrize(
    "change",
    [
        *({"anchors": 500}, {"image_size": 64}, {"erased": 0.5}, {"label_share": 0.01}),
        *({"renderer": "mujoco"}, {"camera": "webcam"}, {"trained_renderer": "mujoco"}, {"trained_camera": "harsh"}),
    ],
)
def test_training_data_is_one_of_the_conditions(change: dict[str, Any]) -> None:
    assert a_row().conditions != a_row(**change).conditions
    assert len(some_results(a_row(), a_row(**change)).rows) == 2


def test_rendering_fields_are_stored_only_where_known(tmp_path: Path) -> None:
    rows = a_row(renderer="mujoco"), a_row(camera="webcam", trained_camera="clean")
    wanted = dataclasses.replace(some_results(a_row()), transfer_rows=rows)
    results.write(tmp_path / "results.json", wanted)
    content = json.loads((tmp_path / "results.json").read_text())
    images = [
        set(row) & {"renderer", "camera", "trained_renderer", "trained_camera"} for row in content["transfer_rows"]
    ]
    assert images == [{"renderer"}, {"camera", "trained_camera"}]
    assert results.read(tmp_path / "results.json") == wanted

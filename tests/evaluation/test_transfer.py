"""Errors on images of another renderer or camera: what a row says of its images, and what is measured."""

from pathlib import Path
from typing import Any

import pytest

from ropes.common.files import read_json, write_json
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.origin import camera_level_of
from ropes.errors import UserError
from ropes.evaluation import results
from ropes.evaluation.joint_protocol import conditions_of_images
from ropes.evaluation.joints import evaluate, evaluate_transfer
from ropes.methods.fit import fit
from ropes.methods.run import Run
from tests import tiny


def rendered(path: Path, described: dict[str, Any] | None, **options: Any) -> Dataset:
    """Blobs whose record says how an arm was rendered; None for recordings."""
    tiny.write_data(path, anchors=4, tests=60, **options)
    note = read_json(path / schema.PROVENANCE)
    note["setting"] |= {} if described is None else {"robot": {}, **described}
    write_json(path / schema.PROVENANCE, note)
    return open_dataset(path)


PLAIN: dict[str, Any] = {}
ROOM = {"scene": "room"}
WEBCAM = {"scene": "panda-gym", "camera_level": "webcam"}


@pytest.mark.parametrize(
    ("trained", "tested", "wanted"),
    [
        (PLAIN, PLAIN, {}),
        (None, None, {}),
        (ROOM, ROOM, {"renderer": "mujoco"}),
        (WEBCAM, WEBCAM, {"camera": "webcam"}),
        (PLAIN, WEBCAM, {"camera": "webcam", "trained_camera": "clean"}),
        (WEBCAM, PLAIN, {"trained_camera": "webcam"}),
        (WEBCAM, ROOM, {"renderer": "mujoco", "trained_renderer": "pybullet", "trained_camera": "webcam"}),
        (None, ROOM, {"renderer": "mujoco"}),  # recordings have no renderer
        (ROOM, None, {}),
    ],
)
def test_rows_record_the_rendering_of_their_images(
    trained: dict[str, Any] | None, tested: dict[str, Any] | None, wanted: dict[str, str], tmp_path: Path
) -> None:
    run = Run.of(rendered(tmp_path / "a", trained), method="cnn", recipe=tiny.cnn_recipe(), seed=0)
    found = conditions_of_images(run, rendered(tmp_path / "b", tested))
    assert {name: value for name, value in found.items() if value is not None} == wanted


def test_camera_level_of_recordings_is_unknown(tmp_path: Path) -> None:
    assert camera_level_of(rendered(tmp_path / "a", None)) is None
    assert camera_level_of(rendered(tmp_path / "b", PLAIN)) == "clean"


def test_run_of_an_earlier_version_has_no_camera_level(tmp_path: Path) -> None:
    run = Run.of(rendered(tmp_path / "a", WEBCAM), method="cnn", recipe=tiny.cnn_recipe(), seed=0)
    run.write(tmp_path / "run")
    assert Run.read(tmp_path / "run").camera_level == "webcam"
    content = read_json(tmp_path / "run" / "run.json")
    del content["camera_level"]
    write_json(tmp_path / "run" / "run.json", content)
    assert Run.read(tmp_path / "run").camera_level is None


@pytest.mark.slow
def test_transfer_measures_only_errors_and_agrees_with_an_evaluation(cache_home: Path, tmp_path: Path) -> None:
    rendered(tmp_path / "data", PLAIN)
    other = rendered(tmp_path / "other", ROOM)
    fit(tmp_path / "data", tmp_path / "run", tiny.cnn_recipe(), method="cnn", show=False)
    options: dict[str, Any] = {"label": "cnn+pybullet+clean", "sizes": tiny.SIZES}
    found = evaluate_transfer(tmp_path / "run", other.path, tmp_path / "transfer", **options)
    usual = evaluate(tmp_path / "run", other.path, tmp_path / "usual", occlusions=(0,), show=False, **options)
    assert found.transfer_rows == usual.rows
    assert (found.rows, found.trust_rows) == ((), ())
    assert (found.scene, found.mesh) == (usual.scene, usual.mesh) == ("room", "simplified")
    assert {(row.method, row.renderer, row.trained_renderer) for row in found.transfer_rows} == {
        ("cnn+pybullet+clean", "mujoco", "pybullet")
    }
    assert results.read(tmp_path / "transfer" / "results.json") == found
    with pytest.raises(UserError, match="split test-id has 60 poses; the evaluation needs at least 1500"):
        evaluate_transfer(tmp_path / "run", other.path, tmp_path / "more")
    assert not (tmp_path / "more").exists()

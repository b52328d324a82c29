"""Photographs in DREAM's layout, from import to errors of joints and of keypoints."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from ropes.data.dataset import Dataset
from ropes.data.import_dream import LABELS, DreamOptions, import_dream
from ropes.data.recordings.views import View
from ropes.errors import UserError
from ropes.evaluation.joints import evaluate
from ropes.inference.estimator import Estimator
from ropes.inference.poses import chosen_arm
from ropes.inference.prediction import calibrate, predict
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from ropes.metrics import ProtocolSizes
from ropes.metrics.pose import add, add_auc
from ropes.report.html import write_report
from tests import dream_files, tiny

pytestmark = pytest.mark.slow  # the fixtures fit


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("dream")
    dream_files.write(folder / "azure", dream_files.angles(600))
    options = DreamOptions(view=View(size=64), test_share=0.2)
    return import_dream(folder / "azure", out=folder / "data", options=options, progress=False).dataset


@pytest.fixture(scope="module", params=tiny.LABELLED)
def run(request: pytest.FixtureRequest, data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param) / "run"
    short = Optimisation(epochs=1, batch=40, learning_rate=1e-3)
    both = {"pretraining": short} if request.param == "jointnet" else {}
    recipe = replace(tiny.recipe_of(request.param), training=short, **both)
    assert fit(data, folder, recipe, method=request.param, show=False).joints == dream_files.JOINTS
    return folder


def test_errors_of_keypoints_are_those_in_the_frame_of_the_camera(run: Path, data: Dataset, tmp_path: Path) -> None:
    sizes = ProtocolSizes(repeats=1, fit=20, test=100)  # all 120 poses of the split, 100 of them tested
    results = evaluate(run, data, tmp_path / "e", occlusions=(0,), sizes=sizes, show=False)
    (row,) = results.pose_rows
    assert (row.link, row.frame, row.calibration_labels) == ("panda_hand", "panda_link0", 0)
    assert {each.joint for each in results.rows} == set(dream_files.JOINTS)
    estimator = Estimator.load(run)
    frames = data.frames("test-id").index
    links = chosen_arm(estimator.run, dataset=data).poses(estimator.coordinates(data.read_images(frames)))
    table = pq.read_table(data.path / LABELS).take(frames)
    camera = np.array(table["extrinsics"].to_pylist()).reshape(-1, 4, 4)
    assert data.provenance is not None
    points = np.stack([links[name][:, :3, 3] for name in data.provenance["keypoints"]], axis=1)
    seen = points @ camera[:, :3, :3].swapaxes(1, 2) + camera[:, None, :3, 3]
    distances = add(seen, np.array(table["locations"].to_pylist()).reshape(-1, 7, 3))
    true = dream_files.keypoints(data.states("test-id"))
    base = add(points[:, [data.provenance["keypoints"].index(name) for name in dream_files.KEYPOINTS]], true)
    np.testing.assert_allclose(distances, base, atol=1e-3)  # mm
    assert row.add_mm_mean == pytest.approx(distances.mean(), rel=0.1)  # 100 of the 120 poses
    assert row.add_auc_mean == pytest.approx(add_auc(distances), abs=0.1)
    with np.load(next((tmp_path / "e").rglob("evaluation.npz"))) as arrays:  # the arm is drawn over photographs
        assert arrays["overlay_images"].shape == (2, 1, 256, 256, 3)
    write_report(tmp_path / "e", tmp_path / "page.html")
    assert "panda_hand in panda_link0" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_photographs_of_another_folder_calibrate_and_predict(run: Path, data: Dataset, tmp_path: Path) -> None:
    dream_files.write(tmp_path / "kinect", dream_files.angles(60, seed=1))
    options = DreamOptions(view=View(size=64), test_share=0.5)
    other = import_dream(tmp_path / "kinect", out=tmp_path / "data", options=options, progress=False).dataset
    assert calibrate(run, data=other, samples=20).samples == 20
    entry = next(iter(predict(run, other, poses=())))
    assert list(entry["joints"]) == list(dream_files.JOINTS)
    assert entry["frame"] == "panda_link0"


def test_method_without_labels_is_refused(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no interventions; fitting needs both policies on every joint"):
        fit(data, tmp_path / "run", tiny.recipe_of("anchored"), method="anchored", show=False)
    assert not (tmp_path / "run").exists()

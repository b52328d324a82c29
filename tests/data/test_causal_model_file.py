"""Causal models from files, and MPI3D's photographs under them."""

import json
from pathlib import Path

import numpy as np
import pytest

from ropes.causal.scm import CausalModel
from ropes.data.causal_model_file import read_causal_models
from ropes.data.import_mpi3d import import_anchors
from ropes.data.mpi3d import AXES, RANGE, STEP
from ropes.errors import UserError
from ropes.methods.policies import described_model
from ropes.simulation.arm import independent_model
from tests import tiny_mpi3d

DEFAULT = independent_model(dict.fromkeys(AXES, RANGE)).to_dict()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("mpi3d") / "mpi3d_real.npz"
    np.savez(path, images=tiny_mpi3d.photographs())
    return path


def test_another_causal_model_is_drawn_from_and_kept(source: Path, tmp_path: Path) -> None:
    narrow = {"mean": 0.0, "variance": 0.1, "low": -0.4, "high": 0.4}
    model = DEFAULT | {"observational": dict.fromkeys(AXES, narrow), "weights": [[*AXES, 0.9]]}
    (tmp_path / "axes.json").write_text(json.dumps({"train": model}))
    models = read_causal_models(tmp_path / "axes.json", AXES)
    made = import_anchors(source, out=tmp_path / "D", anchors=2, test_anchors=300, models=models, progress=False)
    assert set(made.splits) == {"train", "test-id"}
    assert described_model(made) == models["train"] == models["test-id"]
    angles = made.states("test-id")
    assert np.corrcoef(angles[:, 0], angles[:, 1])[0, 1] > 0.5
    assert np.abs(angles[:, 0]).max() <= 0.4 + STEP / 2


def test_an_angle_that_no_photograph_has_is_refused(source: Path, tmp_path: Path) -> None:
    model = CausalModel.from_dict(DEFAULT | {"weights": [[*AXES, 1.0]]})
    with pytest.raises(UserError, match=r"gives an axis 1\d\d\.\d° \([23]\.\d\d rad\); it has -90° to 90°$"):
        import_anchors(source, out=tmp_path / "D", anchors=50, models={"train": model}, progress=False)
    assert not (tmp_path / "D").exists()


def test_a_causal_model_in_degrees_is_told(source: Path, tmp_path: Path) -> None:
    model = independent_model(dict.fromkeys(AXES, (-90.0, 90.0)))
    with pytest.raises(UserError, match=r"it has -90° to 90°; give radians, not degrees$"):
        import_anchors(source, out=tmp_path / "D", anchors=50, models={"train": model}, progress=False)
    assert not (tmp_path / "D").exists()


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("[]", "has no causal model of the split train"),
        ('{"test-id": {}}', "has no causal model of the split train"),
        ('{"train": {}, "test_id": {}}', "unknown split 'test_id': did you mean test-id?"),
        ('{"train": {"joints": ["horizontal_axis"]}}', "train has no entry interventions"),
        ('{"train": {"weight": []}}', "unknown entry of train in .*axes.json 'weight': did you mean weights?"),
        ('{"train": 3}', "train is no causal model"),
        ("{", "is not valid JSON"),
    ],
)
def test_files_without_a_causal_model_are_refused(content: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "axes.json").write_text(content)
    with pytest.raises(UserError, match=line):
        read_causal_models(tmp_path / "axes.json", AXES)


def test_a_causal_model_of_other_joints_is_refused(tmp_path: Path) -> None:
    model = independent_model({"elbow": (-1.0, 1.0)})
    (tmp_path / "axes.json").write_text(json.dumps({"train": model.to_dict()}))
    with pytest.raises(UserError, match="train has the joints elbow, not horizontal_axis, vertical_axis"):
        read_causal_models(tmp_path / "axes.json", AXES)

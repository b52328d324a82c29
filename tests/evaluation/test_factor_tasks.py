"""Which metrics are defined for the joints of an arm."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.common import files
from ropes.data import schema
from ropes.data.import_mpi3d import import_factors
from ropes.data.layout import open_dataset
from ropes.evaluation.factor_tasks import factor_task
from ropes.evaluation.factors import disentanglement
from ropes.metrics import infomec, mig, modularity
from tests import tiny, tiny_mpi3d


def test_dependent_joints_rule_out_scores_that_fix_one_joint(tmp_path: Path) -> None:
    folder = tiny.write_data(tmp_path / "data", tests=4)
    assert factor_task(open_dataset(folder)).complete
    note = files.read_json(folder / schema.PROVENANCE)
    causal = replace(tiny.model(), weights={tiny.JOINTS: 0.5})
    note["setting"]["splits"]["train"] = causal.to_dict()
    files.write_json(folder / schema.PROVENANCE, note)
    assert not factor_task(open_dataset(folder)).complete


def test_joints_of_recordings_are_assumed_independent(tmp_path: Path) -> None:
    assert factor_task(open_dataset(tiny.write_data(tmp_path / "own", tests=4, described=False))).complete


def test_values_of_mpi3d_are_classes_and_joint_angles_are_binned(tmp_path: Path) -> None:
    source = tiny_mpi3d.write(tmp_path / "mpi3d_real.npz", compressed=True)
    task = factor_task(import_factors(source, out=tmp_path / "data", samples=4, test_samples=4, progress=False))
    assert task.factor_bins is None
    assert [task.names[column] for column in task.unordered] == ["background_color"]
    assert factor_task(open_dataset(tiny.write_data(tmp_path / "arm", tests=4))).factor_bins == 20


@pytest.mark.slow
def test_values_are_classes_for_mig_modularity_and_infomec() -> None:
    rng = np.random.default_rng(0)
    factors = np.stack([rng.integers(0, 40, 600), rng.integers(0, 3, 600)], axis=1).astype(float)
    latents = np.stack([factors[:, 0], np.array([1, 0, 1.2])[factors[:, 1].astype(int)]], axis=1)
    latents += 0.1 * rng.normal(size=latents.shape)
    found = disentanglement(
        latents, factors, ("axis", "shape"), categorical=(1,), unordered=(1,), factor_bins=None, workers=1
    )["scores"]
    assert found["mig"] == mig(latents, factors, factor_bins=None) < mig(latents, factors) - 0.05
    assert found["modularity"] == modularity(latents, factors, factor_bins=None)
    assert found["infoe"] == infomec(latents, factors, bins=None).explicitness
    assert found["mcc"] > 0.99

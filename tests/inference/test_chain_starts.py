"""The poses from which chains start are matched to the distribution of the joints without intervention."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.common import files
from ropes.data import schema
from ropes.data.layout import open_dataset
from ropes.inference.policy_calibration import fit_commanded, read_policies
from ropes.inference.policy_distributions import described_by
from tests import tiny
from tests.estimators import blobs


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_data(tmp_path_factory.mktemp("starts") / "data", anchors=400, tests=0)


@pytest.mark.parametrize("change", [{"marginal": None}, {"marginal": None, "observational_mean": None}])
def test_chains_without_the_distribution_of_their_starts_are_told(
    data: Path, change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = open_dataset(data)
    told = [replace(each, **change) for each in described_by(dataset, tiny.JOINTS)]
    readings = replace(read_policies(blobs(), dataset, told), of_chains=True)
    assert fit_commanded(blobs(), readings, told, "d").knots is not None
    line = "angles of hard joints will be far off: observational distributions are not known"
    assert line in capsys.readouterr().err


def test_starts_of_dependent_joints_have_the_marginal_distribution_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = replace(tiny.model(), weights={("elbow", "wrist"): 0.5})
    data = tiny.write_data(tmp_path / "data", anchors=120)
    note = files.read_json(data / schema.PROVENANCE)
    note["setting"]["splits"]["train"] = model.to_dict()
    files.write_json(data / schema.PROVENANCE, note)
    dataset = open_dataset(data)
    told = described_by(dataset, tiny.JOINTS)
    assert [each.observational for each in told] == [None, None]
    readings = replace(read_policies(blobs(), dataset, told), of_chains=True)
    assert fit_commanded(blobs(), readings, told, "d").knots is not None
    assert "far off" not in capsys.readouterr().err
    sample = model.sample_observational(np.random.default_rng(1), 20_000)
    shares = [0.05, 0.5, 0.95]
    for each, angles in zip(told, sample.T, strict=True):
        assert each.marginal is not None
        np.testing.assert_allclose(each.marginal.quantile(shares), np.quantile(angles, shares), atol=0.05)
        np.testing.assert_allclose(each.marginal.moments(), (angles.mean(), angles.var()), atol=0.05)

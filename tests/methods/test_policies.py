"""What a data set may tell about its policies, whole or in part."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.causal.scm import Regime
from ropes.common import files
from ropes.data import schema
from ropes.data.layout import open_dataset
from ropes.methods.fit import fit
from ropes.methods.policies import bayes_floors, warn_of_few_images
from ropes.methods.run import TRAINING_FILE
from tests import tiny

Change = Callable[[dict[str, Any]], object]


def described(path: Path, change: Change = lambda told: None) -> Path:
    """A data set whose description of the training split is changed."""
    data = tiny.write_data(path, anchors=12, tests=0)
    note = files.read_json(data / schema.PROVENANCE)
    change(note["setting"]["splits"]["train"])
    files.write_json(data / schema.PROVENANCE, note)
    return data


def call_otherwise(told: dict[str, Any]) -> None:
    told["joints"] = [f"{joint}_1" for joint in told["joints"]]
    for key in ("observational", "interventions"):
        told[key] = {f"{joint}_1": value for joint, value in told[key].items()}


@pytest.mark.parametrize(
    ("change", "known"),
    [
        (lambda told: None, {"elbow", "wrist"}),
        (lambda told: told["interventions"].pop("wrist"), {"elbow"}),
        (call_otherwise, set()),
    ],
)
def test_joint_has_a_floor_only_with_known_policies(change: Change, known: set[str], tmp_path: Path) -> None:
    floors = bayes_floors(open_dataset(described(tmp_path / "data", change)))
    assert list(floors) == list(tiny.JOINTS)
    assert floors == {joint: tiny.model().bayes_floor(joint) if joint in known else None for joint in tiny.JOINTS}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ropes", "anchored"])
def test_fit_works_without_known_policies(method: str, tmp_path: Path) -> None:
    data = described(tmp_path / "data", lambda told: told["interventions"].pop("wrist"))
    fit(data, tmp_path / "run", tiny.recipe_of(method), 0, method=method, show=False)
    told = files.read_json(tmp_path / "run" / TRAINING_FILE)["stages"]["ldr"]
    assert told["elbow"]["floor"] == tiny.model().bayes_floor("elbow")
    assert told["wrist"]["floor"] is None


@pytest.mark.parametrize(
    ("counts", "few"),
    [((50, 50, 50), None), ((0, 50, 49), "49 images"), ((50, 60, 1), "1 image"), ((9, 9, 0), "0 images")],
)
def test_too_few_images_under_a_policy_are_named(
    counts: tuple[int, ...], few: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Images without intervention may be few."""
    regimes = Regime(), Regime("elbow", 1), Regime("elbow", 2)
    warn_of_few_images(np.repeat(np.arange(3), counts), regimes)
    line = f"ropes: warning: {few} to train on under elbow/2; from fewer than 50 under each policy nothing is learnt"
    assert capsys.readouterr().err == (f"{line} (ropes inspect)\n" if few else "")

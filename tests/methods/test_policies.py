"""What a data set may tell about its policies, whole or in part."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


@pytest.mark.parametrize(("anchors", "said"), [(49, True), (50, False)])
def test_too_few_images_under_a_policy_are_named(
    anchors: int, said: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=anchors, tests=0)
    warn_of_few_images(open_dataset(data))
    line = f"ropes: warning: {data} has 49 images under elbow/1; from fewer than 50 under each policy nothing is learnt"
    assert capsys.readouterr().err == (f"{line} (ropes inspect)\n" if said else "")

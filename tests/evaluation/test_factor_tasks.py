"""Which metrics are defined for the joints of an arm."""

from dataclasses import replace
from pathlib import Path

from ropes.common import files
from ropes.data import schema
from ropes.data.layout import open_dataset
from ropes.evaluation.factor_tasks import factor_task
from tests import tiny


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

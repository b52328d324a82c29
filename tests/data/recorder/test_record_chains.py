"""A recording of chains drives the arm from move to move, goes on after a kill, and can be fitted."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.common import files
from ropes.common.arrays import Images
from ropes.data import schema
from ropes.data.chains import TURNS, frames_per_move, has_chains
from ropes.data.layout import open_dataset
from ropes.data.recorder.folder import LOG
from ropes.data.recorder.plan import Plan, draw_plan
from ropes.data.recorder.record import RecordOptions
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.evaluation.inspection.inspect import inspect_data
from ropes.inference.policy_calibration import calibrate_commanded
from ropes.methods.anchored.fit import fit
from tests import tiny
from tests.data.recorder.conftest import JOINTS, MakeOptions
from tests.data.recorder.doubles import ScriptedKind, record

#: Poses of a chain.
POSES = 1 + TURNS * len(JOINTS)


def plan_of(options: RecordOptions) -> Plan:
    speed = options.limits.speeds(options.model.joints)
    return draw_plan(options.protocol, options.episodes, options.seed, speed)


def content(out: Path) -> dict[str, str]:
    """Digests of all files but the log, which has times."""
    return {name: digest for name, digest in tiny.tree(out).items() if name != LOG}


@pytest.mark.slow
def test_arm_goes_through_the_moves_of_each_chain(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out, options = tmp_path / "D", make_options(kind="scripted", chains=3)
    lines = record(options, out)
    assert lines[0] == f"plan: 3 chains of {POSES} poses, joints shoulder, elbow"
    assert any(line.startswith("robot time: about ") for line in lines)
    assert lines[-1].startswith("recorded 3 chains in ")
    plan = plan_of(options)
    assert np.array_equal(kind.robots[0].goals, np.concatenate(plan.poses))
    assert f"in {3 * POSES} frames of 3 episodes (train 3)" in validate(out, progress=False)
    dataset = open_dataset(out)
    assert has_chains(dataset)
    assert frames_per_move(dataset) == 0
    assert list(dataset.splits) == ["train"]
    assert dataset.frames("train").regime.tolist() == plan.regimes.ravel().tolist()
    np.testing.assert_allclose(dataset.states("train"), np.concatenate(plan.poses), atol=1e-5)
    provenance = files.read_json(out / schema.PROVENANCE)
    assert provenance["chains"] == {"chains": 3, "turns": TURNS, "frames_per_move": 0}
    log = files.read_json(out / LOG)["chains"]
    assert [entry["chain"] for entry in log] == [0, 1, 2]
    assert [entry["order"] for entry in log] == plan.regimes.tolist()
    assert {len(entry["seconds"]) for entry in log} == {POSES}
    assert inspect_data(out, show=False).chains


@pytest.mark.slow
def test_killed_recording_continues_with_the_same_bytes(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out, options = tmp_path / "D", make_options(kind="scripted", chains=4)

    def die(goals: int) -> None:
        if goals == 2 * POSES + 4:  # in the middle of the third chain
            raise KeyboardInterrupt

    kind.fault = die
    with pytest.raises(KeyboardInterrupt):
        record(options, out)
    assert kind.robots[0].stops > 0
    assert len(tiny.tree(out / "data")) == 2
    with pytest.raises(UserError, match="unfinished; run the same ropes record command again"):
        open_dataset(out)
    kind.fault = lambda goals: None
    lines = record(options, out)
    assert lines[0].startswith(f"plan: 2 are recorded, 2 are left; 4 chains of {POSES} poses")
    assert np.array_equal(kind.robots[1].goals, np.concatenate(plan_of(options).poses[2:]))  # the third from its start
    record(options, tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")


@pytest.mark.slow
def test_a_damaged_file_costs_its_own_chain_alone(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out, options = tmp_path / "D", make_options(kind="scripted", chains=3)
    record(options, out)
    before = content(out)
    (out / schema.data_file(1)).write_bytes(b"torn")
    record(options, out)
    assert len(kind.robots[1].goals) == POSES
    assert content(out) == before


@pytest.mark.slow
def test_a_larger_number_of_chains_extends_the_recording(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path
) -> None:
    out = tmp_path / "D"
    record(make_options(kind="scripted", chains=1), out)
    before = tiny.tree(out)
    assert record(make_options(kind="scripted", chains=1), out) == []
    assert tiny.tree(out) == before
    record(make_options(kind="scripted", chains=3), out)
    assert len(kind.robots) == 2
    assert tiny.tree(out).items() >= {name: digest for name, digest in before.items() if name[:5] == "data/"}.items()
    record(make_options(kind="scripted", chains=3), tmp_path / "whole")
    assert content(out) == content(tmp_path / "whole")
    with pytest.raises(UserError, match="holds 3 chains already; give --chains 3 or more"):
        record(make_options(kind="scripted", chains=2), out)


@pytest.mark.slow
def test_anchors_and_chains_do_not_mix(kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path) -> None:
    record(make_options(kind="scripted", anchors=1), tmp_path / "anchors")
    record(make_options(kind="scripted", chains=1), tmp_path / "chains")
    before = tiny.tree(tmp_path)
    with pytest.raises(UserError, match="anchors holds anchors, not chains; give --anchors to go on, or choose an"):
        record(make_options(kind="scripted", chains=2), tmp_path / "anchors")
    with pytest.raises(UserError, match="chains holds chains, not anchors; give --chains to go on, or choose an"):
        record(make_options(kind="scripted", anchors=2), tmp_path / "chains")
    with pytest.raises(UserError, match=r"holds another recording \(seed 0\)"):
        record(make_options(kind="scripted", chains=2, seed=1), tmp_path / "chains")
    note = files.read_json(tmp_path / "chains" / schema.PROVENANCE)
    assert tiny.tree(tmp_path) == before
    files.write_json(tmp_path / "chains" / schema.PROVENANCE, {**note, "chains": {**note["chains"], "turns": 10}})
    with pytest.raises(UserError, match=r"holds chains of another kind .*'turns': 10"):
        record(make_options(kind="scripted", chains=2), tmp_path / "chains")
    for counts in ({"anchors": 1, "chains": 1}, {"chains": None}, {"chains": 0}):
        with pytest.raises(UserError, match="give either a number of anchors or a number of chains, at least 1"):
            make_options(**counts)


def test_a_blurred_chain_is_recorded_again(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def blurred(image: Images, number: int) -> Images:
        return image // 8 + 100 if len(kind.robots[-1].goals) == 5 else image

    kind.change = blurred
    record(make_options(kind="scripted", chains=2), tmp_path / "D")
    assert len(kind.robots[0].goals) == 3 * POSES
    line = capsys.readouterr().err
    assert line.startswith("chain 0: camera cam: the frame of elbow/")
    assert line.endswith(" in move 4 is blurred; the chain is recorded again\n")
    assert [entry["faults"] for entry in files.read_json(tmp_path / "D" / LOG)["chains"]] == [[], []]


def test_a_fault_tells_how_many_chains_are_kept(kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path) -> None:
    def gone(goals: int) -> None:
        if goals == POSES + 3:
            raise ConnectionError("gone")

    kind.fault = gone
    with pytest.raises(UserError, match="gone; the arm is stopped; 1 chains are kept: run the same command again"):
        record(make_options(kind="scripted", chains=2), tmp_path / "D")
    assert kind.robots[0].stops > 0


@pytest.mark.slow
def test_recorded_chains_are_fitted_and_calibrated(
    kind: ScriptedKind, make_options: MakeOptions, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(make_options(kind="scripted", chains=30), tmp_path / "D")
    small = tiny.encoder_recipe()
    fitted = fit(tmp_path / "D", tmp_path / "R", replace(small, training=replace(small.training, epochs=1)), show=False)
    assert fitted.joints == JOINTS
    origin = calibrate_commanded(tmp_path / "R", tmp_path / "D").origin
    assert origin is not None
    assert origin.source == "commanded"
    assert "30 chains are fewer than 100" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.pybullet
def test_simulated_arm_records_chains(make_options: MakeOptions, tmp_path: Path) -> None:
    out, options = tmp_path / "D", make_options(chains=2)
    record(options, out)
    assert "every checksum agrees" in validate(out, progress=False)
    dataset, plan = open_dataset(out), plan_of(options)
    np.testing.assert_allclose(dataset.states("train"), np.concatenate(plan.poses), atol=0.05)
    assert dataset.frames("train").regime.tolist() == plan.regimes.ravel().tolist()
    found = [fault for entry in files.read_json(out / LOG)["chains"] for fault in entry["faults"]]
    assert not any("blurred" in fault or "something else moves" in fault for fault in found)


def test_a_setting_whose_joints_depend_on_one_another_is_refused(make_options: MakeOptions) -> None:
    setting = make_options().setting
    causal = replace(setting.splits["train"], weights={JOINTS: 0.5})
    line = f"joint {JOINTS[1]} of the setting depends on {JOINTS[0]}; a recording draws each joint by itself"
    with pytest.raises(UserError, match=line):
        make_options(setting=replace(setting, splits={"train": causal}))

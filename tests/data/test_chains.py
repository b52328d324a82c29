"""Chains of moves: drawn, stored and read back; a move holds also the joints that depend on the one that moves."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.causal.scm import Regime
from ropes.data.chains import MOVES, Chains, even_shares, frames_per_move, has_chains, known_policies
from ropes.data.generate import simulate
from ropes.data.layout import open_dataset
from ropes.data.validate import faults
from ropes.simulation.settings import setting_named
from tests import tiny, tiny_chains
from tests.command_line import refusal


def test_each_move_redraws_one_joint_under_the_policy_of_its_task() -> None:
    model = tiny.model()
    angles, regimes = model.sample_chains(np.random.default_rng(0), 400, 3)
    assert angles.shape == (400, 7, 2)
    assert (regimes[:, 0] == 0).all()
    changed = angles[:, 1:] != angles[:, :-1]
    assert (changed == np.array([[True, False], [False, True]] * 3)).all()
    for number, regime in enumerate(model.regimes):
        if regime.joint is None:
            continue
        column = model.joints.index(regime.joint)
        drawn = angles[..., column][regimes == number]
        mean, variance = model.interventions[regime.joint][regime.policy - 1].moments()
        assert drawn.mean() == pytest.approx(mean, abs=5 * (variance / len(drawn)) ** 0.5)
    first = angles[:, 0]
    assert np.abs(first.mean(0)).max() < 0.15  # observational


def test_a_move_holds_the_joints_that_depend_on_the_one_that_moves() -> None:
    model = replace(tiny.model(), weights={("elbow", "wrist"): 0.5})
    drawn = Chains.draw(model, 2000, 0, seed=0)
    first, second = model.joints
    changed = drawn.poses[:, 1:] != drawn.poses[:, :-1]
    assert (changed == np.tile([[True, False], [False, True]], (5, 1))).all()
    assert (first, second) == ("elbow", "wrist")
    usual = np.asarray(np.corrcoef(model.sample_observational(np.random.default_rng(1), 20_000).T))[0, 1]
    at_first, under_policies = (np.asarray(np.corrcoef(drawn.poses[:, k].T))[0, 1] for k in (0, 2))
    assert at_first == pytest.approx(usual, abs=0.06)
    assert abs(usual) > 0.2 > 0.06 > abs(under_policies)


def test_frames_on_the_way_are_evenly_spaced_between_the_poses() -> None:
    drawn = Chains.draw(tiny.model(), 3, 3, seed=0)
    on_the_way = drawn.states[MOVES].reshape(3, -1, 3, 2)
    before, after = drawn.poses[:, :-1, None], drawn.poses[:, 1:, None]
    np.testing.assert_allclose(on_the_way - before, even_shares(3)[:, None] * (after - before), atol=1e-12)
    np.testing.assert_allclose(even_shares(3), [0.25, 0.5, 0.75])


def test_known_policies_persist_until_the_joint_moves_again() -> None:
    regimes = tiny.model().regimes
    number = {regime: k for k, regime in enumerate(regimes)}
    moves = [Regime(), Regime("wrist", 2), Regime("elbow", 1), Regime("wrist", 1), Regime(), Regime("elbow", 2)]
    regime = np.array([number[each] for each in moves])
    found = known_policies(np.array([3, 3, 3, 3, 5, 5]), regime, regimes, ("elbow", "wrist"))
    assert found.tolist() == [[0, 0], [0, 2], [1, 2], [1, 1], [0, 0], [2, 0]]


def test_a_data_set_of_chains_is_valid_and_says_what_it_is(tmp_path: Path) -> None:
    dataset = open_dataset(tiny_chains.write_data(tmp_path / "chains", chains=3, frames=2, tests=4))
    assert has_chains(dataset)
    assert frames_per_move(dataset) == 2
    assert not list(faults(dataset))
    assert len(dataset.frames(MOVES)) == 3 * 10 * 2
    assert not has_chains(open_dataset(tiny.write_data(tmp_path / "anchors", anchors=2, tests=0)))
    assert frames_per_move(open_dataset(tiny_chains.write_data(tmp_path / "none", frames=0, tests=4))) == 0


@pytest.mark.pybullet
def test_simulate_films_chains_and_resumes_them(tmp_path: Path) -> None:
    setting = setting_named("panda-1c-independent")
    dataset = simulate(setting, out=tmp_path / "d", chains=2, frames_per_move=1, test_anchors=1, workers=1)
    assert {name: len(dataset.frames(name)) for name in dataset.splits} == {"train": 32, MOVES: 30, "test-id": 1}
    states, between = dataset.states("train").reshape(2, 16, 3), dataset.states(MOVES).reshape(2, 15, 3)
    np.testing.assert_allclose(between, (states[:, 1:] + states[:, :-1]) / 2, atol=1e-6)
    before = {path.name: path.read_bytes() for path in dataset.data_files}
    dataset.data_files[-1].unlink()
    simulate(setting, out=tmp_path / "d", chains=2, frames_per_move=1, test_anchors=1, workers=1)
    assert {path.name: path.read_bytes() for path in dataset.data_files} == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--chains", "2", "--anchors", "2"], "give either --anchors or --chains, not both"),
        (["--chains", "0"], "--chains is 0; it must be 1 or more"),
        (["--anchors", "2", "--frames-per-move", "-1"], "--frames-per-move is -1; it must be 0 or more"),
        (["--chains", "2", "--frames-per-move", "-1"], "--frames-per-move is -1; it must be 0 or more"),
    ],
)
def test_wrong_options_are_one_line(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["simulate", "--setting", "panda-2c-independent", *options, "--out", str(tmp_path / "d")]
    assert message in refusal(capsys, *given)
    assert not (tmp_path / "d").exists()

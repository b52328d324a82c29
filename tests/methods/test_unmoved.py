"""The targets of the student are means over the poses in which a joint does not move."""

from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.causal.scm import Regime
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.methods.anchored.anchor_poses import AnchoredPoses
from ropes.methods.anchored.chain_poses import ChainPoses
from ropes.methods.anchored.descendants import descendants
from ropes.methods.anchored.stage import AnchoredStage
from ropes.methods.anchored.unmoved import anchor_groups, averaged, chain_groups, moving_joints
from tests import tiny, tiny_chains
from tests.tiny_stage import stage_of

REGIMES = [Regime(), Regime("a", 1), Regime("a", 2), Regime("b", 1), Regime("b", 2)]


def stage(*, independent: bool = False) -> AnchoredStage:
    made = stage_of(independent=independent)
    made.change = torch.tensor([2.0, 1.0])
    return made


def coordinates(effect: float) -> torch.Tensor:
    """400 anchors of joints a and b; b follows a by that effect."""
    rng = np.random.default_rng(1)
    a, own = rng.normal(size=(2, 400))
    poses = [np.stack([a, effect * a + own], axis=1)]
    for policy in (-1.5, 1.5):
        moved = policy + 0.5 * rng.normal(size=400)
        poses.append(np.stack([moved, effect * moved + own], axis=1))
    poses += [np.stack([a, policy + 0.5 * rng.normal(size=400)], axis=1) for policy in (-1.5, 1.5)]
    return torch.from_numpy(np.stack(poses, axis=1)).float()


def test_own_interventions_move_a_joint_and_those_on_what_it_follows() -> None:
    own = [[False, False], [True, False], [True, False], [False, True], [False, True]]
    assert moving_joints(REGIMES, ["a", "b"]).tolist() == own
    follows = torch.tensor([[False, True], [False, False]])
    assert moving_joints(REGIMES, ["a", "b"], follows)[:3].tolist() == [[False, False], [True, True], [True, True]]


def test_joints_that_follow_others_are_found_unless_all_are_independent() -> None:
    assert stage().following(coordinates(0.8)).tolist() == [[False, True], [False, False]]
    assert not stage().following(coordinates(0.0)).any()
    assert not stage(independent=True).following(coordinates(0.8)).any()
    assert not stage().following(coordinates(0.8)[:1]).any()  # too few anchors
    few = coordinates(0.4)[:30]  # the graph has no edge
    assert not descendants(few, stage().target).any()
    assert stage().following(few).tolist() == [[False, True], [False, False]]


def test_poses_of_an_anchor_share_the_angle_until_the_joint_moves() -> None:
    anchor = np.array([7, 7, 7, 9, 9])
    moving = np.array([[False, False], [True, False], [False, True], [False, False], [False, True]])
    z = torch.tensor([[1.0, 10.0], [5.0, 20.0], [3.0, 90.0], [4.0, 40.0], [6.0, 70.0]])
    means = averaged(z, anchor_groups(anchor, moving))
    assert means.tolist() == [[2.0, 15.0], [5.0, 15.0], [2.0, 90.0], [5.0, 40.0], [5.0, 70.0]]


def test_poses_of_a_chain_share_the_angle_until_its_next_move() -> None:
    anchor = np.array([3, 3, 3, 3, 4])
    moving = np.array([[False, False], [True, False], [False, True], [True, False], [False, False]])
    z = torch.tensor([[1.0, 10.0], [2.0, 20.0], [4.0, 30.0], [8.0, 50.0], [9.0, 60.0]])
    means = averaged(z, chain_groups(anchor, moving))
    assert means.tolist() == [[1.0, 15.0], [3.0, 15.0], [3.0, 40.0], [8.0, 40.0], [9.0, 60.0]]


def test_untrusted_poses_do_not_count(many_anchors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = open_dataset(many_anchors)
    images = TrainingImages(ImageCache(dataset, "train", tiny.SIDE), dataset.frames("train"), dataset.regimes)
    trusted = np.arange(len(images)) % 7 != 0
    poses = AnchoredPoses.of(dataset, images.trusting(trusted), None, 0.1, 0)
    kept, held = (part.trusted_rows() for part in (poses.kept, poses.held))
    given = [torch.from_numpy(np.random.default_rng(0).normal(size=(len(part), 2))) for part in (kept, held)]
    follows = torch.tensor([[False, True], [False, False]])
    seen: list[torch.Tensor] = []
    trained = stage()

    def following(of: torch.Tensor) -> torch.Tensor:
        seen.append(of)
        return follows

    monkeypatch.setattr(trained, "following", following)
    joint = [regime.joint for regime in dataset.regimes]
    for part, before, after in zip((kept, held), given, poses.smooth(trained, dataset.joints, *given), strict=True):
        for k, movers in enumerate([dataset.joints[:1], dataset.joints]):  # the second joint follows the first
            for row in range(len(part)):
                same = part.anchor == part.anchor[row]
                same &= np.array([joint[regime] not in movers for regime in part.regime])
                alone = joint[part.regime[row]] in movers
                assert float(after[row, k]) == pytest.approx(float(before[[row] if alone else same, k].mean()))
    whole = poses.table[poses.kept.trusted[poses.table].all(1)]
    assert seen[0].shape == (len(whole), 5, 2)
    trusted_before = int(poses.kept.trusted[: whole[0, 3]].sum())
    assert torch.equal(seen[0][0, 3], given[0][trusted_before])


def test_stretches_of_chains_are_those_of_all_poses(tmp_path: Path) -> None:
    data = tmp_path / "data"
    tiny_chains.write_data(data)
    dataset = open_dataset(data)
    images = TrainingImages(ImageCache(dataset, "train", tiny.SIDE), dataset.frames("train"), dataset.regimes)
    trusted = np.arange(len(images)) % 5 != 2  # also where joints move
    poses = ChainPoses.of(images.trusting(trusted), None, dataset.joints, 0.2, 0)
    angles = dataset.states("train")
    parts = [np.isin(images.anchor, part.anchor) for part in (poses.kept, poses.held)]
    given = [torch.from_numpy(angles[there & images.trusting(trusted).trusted]) for there in parts]
    for before, after in zip(given, poses.smooth(stage(), dataset.joints, *given), strict=True):
        torch.testing.assert_close(after, before)  # angles are the same between two moves
    noisy = [each + torch.from_numpy(np.random.default_rng(0).normal(size=each.shape)) for each in given]
    for before, after in zip(given, poses.smooth(stage(), dataset.joints, *noisy), strict=True):
        assert float((after - before).square().mean()) < 0.75

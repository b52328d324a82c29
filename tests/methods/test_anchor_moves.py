"""Method `anchored` on anchors with frames on the way: their terms, fits, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.common.files import read_json
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.chains import MOVES
from ropes.data.layout import open_dataset
from ropes.data.robot_time import robot_seconds
from ropes.errors import UserError
from ropes.evaluation.inspection.inspect import inspect_data
from ropes.methods.anchored import fit as anchored
from ropes.methods.anchored.anchor_moves import AnchorMoves, off_way_variance
from ropes.methods.anchored.chain_poses import moves_of
from ropes.methods.anchored.stage import AnchoredStage
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.run import TRAINING_FILE
from tests import tiny, tiny_anchor_moves
from tests.kills import killed


def coordinates(anchors: int = 50, joints: int = 2) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """True angles of anchors and of one frame on the way of each joint, regimes and shares."""
    rng = torch.Generator().manual_seed(0)
    poses = torch.randn(anchors, 1, joints, generator=rng).repeat(1, 1 + 2 * joints, 1)
    for k in range(joints):
        poses[:, 1 + 2 * k : 3 + 2 * k, k] = torch.randn(anchors, 2, generator=rng)
    regime = 1 + 2 * torch.arange(joints) + torch.randint(2, (anchors, joints), generator=rng)
    share = torch.rand(anchors, joints, generator=rng)
    ends = poses[torch.arange(anchors)[:, None], regime]
    frames = poses[:, :1] + share[..., None] * (ends - poses[:, :1])
    every = torch.cat([torch.arange(1 + 2 * joints).expand(anchors, -1), regime], dim=1)
    return torch.cat([poses, frames], dim=1), every, share


def test_true_angles_are_on_the_way_and_bent_ones_are_not() -> None:
    angles, regime, share = coordinates()
    trusted = torch.ones(regime.shape) > 0
    assert off_way_variance(angles, regime, share, trusted).abs().max() < 1e-10
    bent = torch.stack([angles[..., 0] ** 3, angles[..., 1]], dim=-1)
    off = off_way_variance(bent, regime, share, trusted)
    assert off[0] > 0.01
    assert off[1] < 1e-10
    spoilt = angles.clone()
    spoilt[7, -1] = 1e3  # the frame of the last joint
    assert off_way_variance(spoilt, regime, share, trusted).max() > 0.1
    trusted[7, -1] = False
    assert off_way_variance(spoilt, regime, share, trusted).max() < 1e-10


def test_frames_lead_to_the_regime_that_they_name(tmp_path: Path, cache_home: Path) -> None:
    dataset = open_dataset(tiny_anchor_moves.write_data(tmp_path / "d", anchors=6, frames=3))
    images = TrainingImages(
        ImageCache(dataset, "train", tiny.SIDE, progress=False), dataset.frames("train"), dataset.regimes
    )
    between = moves_of(dataset, ImageCache(dataset, MOVES, tiny.SIDE, progress=False))
    kept = images.take(np.flatnonzero(images.anchor % 2 == 1))
    moves = AnchorMoves.of(between, kept, dataset.joints)
    assert moves.table.shape == (3, 4, 3)
    drawn = moves.draw(np.array([2, 0]), np.random.default_rng(0))
    poses, angles = dataset.states("train").reshape(6, 5, 2), dataset.states(MOVES)
    for row, anchor in enumerate((5, 1)):
        for joint in range(2):
            regime, share = int(drawn.regime[row, joint]), float(drawn.share[row, joint])
            assert regime in (1 + 2 * joint, 2 + 2 * joint)
            pose = poses[anchor, 0] + share * (poses[anchor, regime] - poses[anchor, 0])
            place = int(np.abs(angles - pose).max(axis=1).argmin())
            assert np.abs(angles[place] - pose).max() < 1e-6
            assert (drawn.images[row, joint].numpy() == between.pixels([place])[0]).all()


def recipe() -> EncoderRecipe:
    small = tiny.encoder_recipe()
    return replace(small, training=replace(small.training, epochs=4, batch=20), foreign=0.0)


@pytest.mark.slow
def test_frames_are_read_and_a_killed_fit_goes_on_with_the_same_bytes(tmp_path: Path, cache_home: Path) -> None:
    data = tiny_anchor_moves.write_data(tmp_path / "d", anchors=40, frames=2)
    anchored.fit(data, tmp_path / "run", recipe(), show=False)
    with killed(AnchoredStage, 20):
        anchored.fit(data, tmp_path / "resumed", recipe(), show=False)
    anchored.fit(data, tmp_path / "resumed", recipe(), show=False)
    assert tiny.weights(tmp_path / "run") == tiny.weights(tmp_path / "resumed")
    without = tiny_anchor_moves.write_data(tmp_path / "n", anchors=40, frames=0)
    anchored.fit(without, tmp_path / "other", recipe(), show=False)
    steps = [read_json(tmp_path / name / TRAINING_FILE)["planned_steps"] for name in ("run", "other")]
    assert steps[0] == steps[1]
    assert tiny.weights(tmp_path / "run") != tiny.weights(tmp_path / "other")
    found = inspect_data(data, show=False)
    assert (found.frames_per_move, found.chains, found.complete) == (2, False, 1.0)
    assert robot_seconds(open_dataset(data)) > robot_seconds(open_dataset(without))


@pytest.mark.slow
def test_what_cannot_work_is_refused(tmp_path: Path) -> None:
    path = tiny_anchor_moves.write_data(tmp_path / "d", anchors=8, frames=1)
    with pytest.raises(UserError, match="has frames on the way of moves, in shards of their own; leave --shards-in-w"):
        anchored.fit(path, tmp_path / "run", replace(recipe(), shards_in_window=1), show=False)
    info = read_json(path / "meta" / "info.json")
    assert info["splits"]["moves"] == "8:16"
    info["splits"] |= {"moves": "9:16"}
    (path / "meta" / "info.json").write_text(json.dumps(info))
    for check in (anchored.fit, None):
        with pytest.raises(
            UserError, match="split 'moves' is not that of the moves between the poses of split 'train'"
        ):
            inspect_data(path, show=False) if check is None else check(path, tmp_path / "run", recipe(), show=False)
    assert not (tmp_path / "run").exists()

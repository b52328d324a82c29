"""Method `ldr` on poses that share no anchors: in any numbers, recorded at different times, or anchored after all."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch

from ropes.causal.scm import Regime
from ropes.common import png
from ropes.common.files import read_json
from ropes.data import schema, writer
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.methods.anchored import fit as anchored
from ropes.methods.anchored.contrast import head_regimes, regime_loss, targets
from ropes.methods.anchored.regime_poses import RegimePoses, log_shares
from ropes.methods.recipes import Optimisation
from ropes.methods.ropes import fit as ropes
from ropes.methods.run import TRAINING_FILE
from ropes.methods.student import fit as student
from ropes.methods.training.criteria import coordinate_contrast, policy_contrasts
from tests import tiny

REGIMES = tiny.model().regimes
RECIPE = tiny.encoder_recipe(anchor_weight=0.0)


def write_apart(path: Path, counts: Sequence[int], regimes: Sequence[Regime] = REGIMES, frames: int = 1) -> np.ndarray:
    """Each pose its own anchor: `counts` episodes of `frames` poses under each regime, one after the other.

    Gives the angles, (poses, 2).
    """
    rng, model = np.random.default_rng(0), tiny.model()
    poses = [
        model.sample(rng, count * frames)[:, REGIMES.index(regime)]
        for count, regime in zip(counts, regimes, strict=True)
    ]
    features = schema.features(tiny.CAMERAS, (tiny.SIDE, tiny.SIDE), None)
    plans = [
        writer.SplitPlan(name="train", episodes=count, tasks=(task,) * frames)
        for task, count in enumerate(counts)
        if count
    ]
    shards, angles = writer.plan_shards(plans, len(tiny.CAMERAS)), np.concatenate(poses)
    for shard in shards:
        images = tiny.draw(angles[shard.first_row : shard.first_row + shard.frames])
        pictures = [[png.encode(view) for view in views] for views in images]
        writer.write_shard(path, shard, features, pictures, None)
    note = {"schema": 1, "cameras": [{"name": name} for name in tiny.CAMERAS]}
    writer.finish(path, shards=shards, features=features, regimes=regimes, provenance=note)
    return angles


def images_of(path: Path) -> TrainingImages:
    dataset = open_dataset(path)
    return TrainingImages(ImageCache(dataset, "train", tiny.SIDE), dataset.frames("train"), dataset.regimes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("counts", "regimes"),
    [((200, 80, 100, 140, 90), REGIMES), ((120, 160, 200, 140), REGIMES[1:])],
    ids=["unequal numbers", "no observational images"],
)
def test_ldr_learns_both_joints_without_anchors(
    counts: tuple[int, ...], regimes: tuple[Regime, ...], tmp_path: Path, cache_home: Path
) -> None:
    angles = write_apart(tmp_path / "data", counts, regimes)
    run = anchored.fit(tmp_path / "data", tmp_path / "run", RECIPE, method="ldr", show=False)
    assert run.method == "ldr"
    dataset = open_dataset(tmp_path / "data")
    found = Estimator.load(tmp_path / "run").coordinates(dataset.read_images(dataset.frames("train").index))
    assert min(abs(np.corrcoef(found[:, k], angles[:, k])[0, 1]) for k in range(2)) > 0.8
    stages = read_json(tmp_path / "run" / TRAINING_FILE)["stages"]
    assert all(stages["ldr"][joint]["best"] < 0.6 for joint in tiny.JOINTS)
    assert stages["encoder"]["held_out"][-1] < stages["encoder"]["held_out"][0]
    assert "held_out_within" not in stages["encoder"]


def test_anchored_without_complete_anchors_suggests_ldr(tmp_path: Path, cache_home: Path) -> None:
    write_apart(tmp_path / "apart", (4, 4, 4, 4, 4))
    with pytest.raises(UserError, match=r"anchor \d+ has no pose under .*; record it, .* --method ldr, which does"):
        anchored.fit(tmp_path / "apart", tmp_path / "run", tiny.encoder_recipe(), show=False)
    angles = tiny.model().sample(np.random.default_rng(0), 6)[:, 1:]
    tiny.write_data(tmp_path / "blind", images={"train": tiny.draw(angles)}, states=None, regimes=REGIMES[1:])
    with pytest.raises(UserError, match=r"has no observational images; anchors need .* --method ldr, which does"):
        anchored.fit(tmp_path / "blind", tmp_path / "run", tiny.encoder_recipe(), show=False)
    assert tiny.tree(tmp_path / "run") == {}


def test_ropes_refuses_held_out_episodes_without_a_policy_before_training(tmp_path: Path, cache_home: Path) -> None:
    write_apart(tmp_path / "data", (4, 4, 4, 4, 4))
    line = r"of 20 anchors \(episodes\) 2 are held out, and the held-out ones have no image under .*--method ldr"
    with pytest.raises(UserError, match=line):
        ropes.fit(tmp_path / "data", tmp_path / "run", tiny.recipe(val_fraction=0.1), show=False)
    assert tiny.tree(tmp_path / "run") == {}


def test_policy_from_one_recording_is_refused_before_writing(tmp_path: Path, cache_home: Path) -> None:
    write_apart(tmp_path / "data", (4, 4, 4, 1, 4), frames=3)
    with pytest.raises(UserError, match=r"all images under wrist/1 are of one anchor \(episode\).*; split the rec"):
        anchored.fit(tmp_path / "data", tmp_path / "run", RECIPE, method="ldr", show=False)
    assert tiny.tree(tmp_path / "run") == {}


def test_mixed_episodes_that_cannot_be_split_are_refused(tmp_path: Path, cache_home: Path) -> None:
    features = schema.features(tiny.CAMERAS, (tiny.SIDE, tiny.SIDE), None)
    plans = [
        writer.SplitPlan(name="train", episodes=1, tasks=tasks) for tasks in ((0, 1, 2), (1, 2), (0, 3, 4), (3, 4))
    ]
    shards = writer.plan_shards(plans, len(tiny.CAMERAS))
    image = png.encode(np.zeros((tiny.SIDE, tiny.SIDE), np.uint8))
    for shard in shards:
        writer.write_shard(tmp_path, shard, features, [[image, image]] * shard.frames, None)
    note = {"schema": 1, "cameras": [{"name": name} for name in tiny.CAMERAS]}
    writer.finish(tmp_path, shards=shards, features=features, regimes=REGIMES, provenance=note)
    line = (
        r"of the 2 anchors \(episodes\) with images under (elbow|wrist)/1 none could be held out, .* several episodes"
    )
    with pytest.raises(UserError, match=line):
        RegimePoses.of(images_of(tmp_path), tiny.JOINTS, 0.25, 0)


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        (6, "--anchors 6: of the first 6 of 20 anchors none has images under elbow/2; choose more"),
        (13, "--anchors 13: of the first 13 of 20 anchors only one has images under wrist/1; choose more"),
    ],
)
def test_regimes_excluded_by_the_anchors_option_are_reported(
    asked: int, line: str, tmp_path: Path, cache_home: Path
) -> None:
    write_apart(tmp_path / "data", (4, 4, 4, 4, 4))
    recipe = tiny.encoder_recipe(anchor_weight=0.0, anchors=asked)
    with pytest.raises(UserError, match=line):
        anchored.fit(tmp_path / "data", tmp_path / "run", recipe, method="ldr", show=False)
    assert tiny.tree(tmp_path / "run") == {}


def test_same_seed_gives_the_same_weights(tmp_path: Path, cache_home: Path) -> None:
    write_apart(tmp_path / "data", (9, 5, 7, 6, 8))
    short = tiny.encoder_recipe(anchor_weight=0.0, training=Optimisation(epochs=1, batch=10, learning_rate=1e-2))
    for name in ("a", "b"):
        anchored.fit(tmp_path / "data", tmp_path / name, short, method="ldr", show=False)
    anchored.fit(tmp_path / "data", tmp_path / "c", short, 1, method="ldr", show=False)
    assert tiny.weights(tmp_path / "a") == tiny.weights(tmp_path / "b") != tiny.weights(tmp_path / "c")


def test_batches_pair_each_image_with_its_regime_index(tmp_path: Path, cache_home: Path) -> None:
    shuffled = (REGIMES[3], REGIMES[0], REGIMES[2], REGIMES[4], REGIMES[1])
    write_apart(tmp_path / "data", (3, 4, 5, 6, 7), shuffled)
    images = images_of(tmp_path / "data")
    joints = open_dataset(tmp_path / "data").joints
    assert joints == ("wrist", "elbow")
    poses = RegimePoses.of(images, joints, 0.3, seed=0)
    places = poses.head_index(images)
    order = head_regimes(joints)
    assert [order[int(place)] for place in places] == [shuffled[task] for task in images.regime]


def test_regime_shares_enter_as_in_bayes_rule() -> None:
    regime = torch.tensor([0, 0, 0, 1, 2, 2])
    np.testing.assert_allclose(log_shares(regime, 4).exp(), [1 / 2, 1 / 6, 1 / 3, 0])
    # Images that tell nothing: the best logits are 0, and the loss is the entropy of the shares.
    loss = regime_loss(torch.zeros(6, 4), regime, log_shares(regime, 4))
    assert float(loss) == pytest.approx(-(np.log(1 / 2) / 2 + np.log(1 / 6) / 6 + np.log(1 / 3) / 3))


def test_contrast_uses_equal_numbers_of_both_policies() -> None:
    rng = np.random.default_rng(0)
    regime = torch.tensor([0] * 50 + [1] * 30 + [2] * 40 + [3] * 60 + [4] * 20)
    coordinates = torch.from_numpy(rng.normal(size=(200, 2)))
    coordinates[regime == 1, 0] += 2
    target = targets(head_regimes(tiny.JOINTS), tiny.JOINTS)
    first, second = policy_contrasts(coordinates, regime, target).values()
    own = torch.cat([coordinates[regime == 1, 0], coordinates[regime == 2, 0][:30]]).numpy()
    assert first == pytest.approx(coordinate_contrast(own, np.repeat([1.0, 0.0], 30)))
    assert first < 0.5 < second <= np.log(2)


def test_evaluation_takes_fewer_poses_of_large_images(
    tmp_path: Path, cache_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_apart(tmp_path / "data", (8, 8, 8, 8, 8))
    held = images_of(tmp_path / "data")
    rows = student.evaluated_rows(held, 3)
    assert sorted(rows.tolist()) == list(range(len(held)))
    monkeypatch.setattr(student, "EVALUATED_BYTES", 5 * held.pixels([0]).nbytes)
    assert student.evaluated_rows(held, 3).tolist() == rows[:5].tolist()

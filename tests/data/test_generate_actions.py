"""Pairs before and after an action: what differs, what stays, what each split holds, the same bytes again."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.common.files import sha256
from ropes.data.dataset import Dataset
from ropes.data.generate_actions import STEP, simulate_arm_actions, simulate_pairs
from ropes.data.layout import open_dataset
from ropes.data.pairs import ActionPairs, encode_labels
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.simulation import objects as things
from ropes.simulation.actions import ACTIONS, COMPOSITIONAL, SPLITS, SYSTEMATIC, TRAIN, PairsSetting
from ropes.simulation.settings import setting_named

SMALL = PairsSetting(image_size=24)


def made(out: Path, setting: PairsSetting = SMALL, samples: int = 120, tests: int = 40, **options: int) -> Dataset:
    return simulate_pairs(setting, out=out, samples=samples, test_samples=tests, workers=1, progress=False, **options)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return made(tmp_path_factory.mktemp("pairs") / "data")


@pytest.mark.slow
def test_splits_match_the_setting(pairs: Dataset) -> None:
    held_out = SMALL.held_out
    assert tuple(pairs.splits) == SPLITS
    for split in SPLITS:
        found = {pairs.actions[task] for task in pairs.frames(split).regime}
        wanted = split if split in (COMPOSITIONAL, SYSTEMATIC) else None
        assert {held_out.split_of(action) for action in found} == {wanted}
    assert pairs.actions == ACTIONS
    assert pairs.antonyms["open"] == "close"
    assert pairs.joints == ()
    assert "85 actions" in validate(pairs.path, progress=False)


def test_action_data_set_has_no_regimes(pairs: Dataset) -> None:
    with pytest.raises(UserError, match="has actions and no policies; methods cde-global"):
        _ = pairs.regimes


@pytest.mark.slow
def test_pair_differs_mostly_by_its_action(tmp_path: Path, cache_home: Path) -> None:
    still = made(tmp_path / "still", PairsSetting(image_size=24, jitter=0.0), samples=40, tests=0)
    moving = made(tmp_path / "moving", PairsSetting(image_size=24), samples=40, tests=0)
    changes = []
    for dataset in (still, moving):
        of = ActionPairs(dataset, TRAIN, 24, progress=False)
        before, after = (of.pixels(np.arange(len(of)))[:, k].astype(int) for k in (0, 1))
        changes.append((np.abs(before - after).max(axis=-1) > 2).mean(axis=(1, 2, 3)))
    assert (changes[0] > 0).all()
    assert np.median(changes[0]) < 0.5 * np.median(changes[1])


@pytest.mark.slow
def test_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    first, again, other = (
        made(tmp_path / name, samples=12, tests=0, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    digests = [sha256(dataset.data_files[0]) for dataset in (first, again, other)]
    assert digests[0] == digests[1] != digests[2]


def test_data_set_with_other_object_meshes_is_not_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path / "data", samples=12, tests=0)
    monkeypatch.setitem(things.BUILDERS, "melon", things.BUILDERS["bread"])
    with pytest.raises(UserError, match="holds something else, a data set with things_sha256"):
        made(tmp_path / "data", samples=12, tests=0)


def test_scene_contains_several_objects(tmp_path: Path) -> None:
    dataset = made(tmp_path / "many", PairsSetting(image_size=24, objects=4), samples=8, tests=0)
    assert len(dataset.frames(TRAIN)) == 8


@pytest.mark.slow
def test_one_joint_moves_and_the_others_hardly_change(tmp_path: Path) -> None:
    dataset = simulate_arm_actions(
        setting_named("panda-1c-independent"),
        out=tmp_path / "arm",
        samples=24,
        test_samples=12,
        workers=1,
        progress=False,
    )
    angles = dataset.factors(TRAIN)
    moved = angles[1::2] - angles[::2]
    tasks = dataset.frames(TRAIN).regime[::2]
    assert sorted(np.bincount(tasks).tolist()) == [2] * 6
    for change, task in zip(moved, tasks, strict=True):
        joint, way = dataset.actions[task].verb.split()
        place = (dataset.state_names or ()).index(joint)
        assert STEP[0] <= abs(change[place]) <= STEP[1]
        assert (change[place] > 0) == (way == "up")
        assert np.abs(np.delete(change, place)).max() < 0.15
    assert dataset.antonyms["panda_joint2 up"] == "panda_joint2 down"
    assert "6 actions" in validate(tmp_path / "arm", progress=False)


def test_odd_sizes_and_dependent_joints_are_refused(tmp_path: Path) -> None:
    for samples, tests in ((3, 0), (0, 0), (4, 1), (4, -2)):
        with pytest.raises(UserError, match="even numbers"):
            made(tmp_path / "no", samples=samples, tests=tests)
    with pytest.raises(UserError, match="is affected by others in setting panda-2c-causal"):
        simulate_arm_actions(setting_named("panda-2c-causal"), out=tmp_path / "no", samples=4, progress=False)
    webcam = replace(setting_named("panda-2c-independent"), camera_level="webcam")
    with pytest.raises(UserError, match="clean cameras, and panda-2c-independent has webcam ones"):
        simulate_arm_actions(webcam, out=tmp_path / "no", samples=4, progress=False)
    assert not (tmp_path / "no").exists()


def test_data_set_without_pairs_is_refused(pairs: Dataset, tmp_path: Path, finger_data: Path, cache_home: Path) -> None:
    with pytest.raises(UserError, match="has no actions; see ropes simulate --setting action-pairs"):
        ActionPairs(open_dataset(finger_data), TRAIN, 16)
    with pytest.raises(UserError, match="has no split 'nowhere'"):
        ActionPairs(pairs, "nowhere", 16)
    assert encode_labels(["b", "x"], ("a", "b")).tolist() == [1, -1]

"""What a fit has not learnt by heart: whole anchors, of every kind, and all of other data."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ropes.common.files import write_json
from ropes.data.batches import first_anchors
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.methods.anchored.regime_poses import RegimePoses
from ropes.methods.run import MOVED_ANCHORS, TRAINING_FILE, Run
from ropes.methods.training.validation_split import (
    fitted_frames,
    held_out_frames,
    rows_to_label,
    stratified_held_out,
    without_intervention,
)
from tests import tiny
from tests.methods.test_regime_poses import images_of, write_apart


def mask_of(data: Path, fraction: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    frames = open_dataset(data).frames("train")
    return frames.anchor, frames.regime, stratified_held_out(frames.anchor, frames.regime, fraction, 0)


def test_whole_recordings_of_every_regime_are_held_out(tmp_path: Path, cache_home: Path) -> None:
    write_apart(tmp_path / "data", (10, 4, 2, 6, 3), frames=3)
    anchor, regime, held = mask_of(tmp_path / "data", 0.25)
    assert not set(anchor[~held]) & set(anchor[held])
    assert [len(np.unique(anchor[held & (regime == k)])) for k in range(5)] == [2, 1, 1, 2, 1]


def test_whole_anchors_are_held_out(tiny_data: Path) -> None:
    anchor, _, held = mask_of(tiny_data, 0.25)
    assert not set(anchor[~held]) & set(anchor[held])
    assert (len(np.unique(anchor[~held])), len(np.unique(anchor[held]))) == (12, 4)
    assert set(np.bincount(anchor[held])) == {0, 5}


@pytest.fixture
def dataset(tiny_data: Path) -> Dataset:
    return open_dataset(tiny_data)


@pytest.mark.parametrize("method", ["ropes", "anchored", "ldr"])
def test_held_out_frames_match_the_fit(method: str, dataset: Dataset, tiny_data: Path) -> None:
    recipe = tiny.recipe_of(method)
    run = Run.of(dataset, method=method, recipe=recipe, seed=2)
    images = images_of(tiny_data)
    if method == "ldr":
        held = RegimePoses.of(images, dataset.joints, recipe.val_fraction, 2).held
    else:
        held = images.split_anchors(recipe.val_fraction, 2)[1]
    found = held_out_frames(run, dataset)
    assert 0 < found.sum() < len(found)
    assert set(dataset.frames("train").anchor[found]) == set(held.anchor)
    assert held_out_frames(replace(run, data_checksum="another"), dataset).all()


def test_excluded_anchors_count_as_held_out(dataset: Dataset, tiny_data: Path) -> None:
    anchors = np.unique(dataset.frames("train").anchor)
    recipe = replace(tiny.recipe_of("anchored"), anchors=6)
    found = held_out_frames(Run.of(dataset, method="anchored", recipe=recipe, seed=2), dataset)
    images = images_of(tiny_data)
    held = images.take(np.flatnonzero(first_anchors(images.anchor, 6))).split_anchors(recipe.val_fraction, 2)[1]
    assert set(dataset.frames("train").anchor[found]) == set(held.anchor) | set(anchors[6:])


@pytest.mark.parametrize("method", ["ropes", "anchored", "ldr"])
def test_held_out_frames_match_a_fit_that_left_out_anchors_of_a_pushed_camera(
    method: str, dataset: Dataset, tiny_data: Path, tmp_path: Path
) -> None:
    recipe, frames = tiny.recipe_of(method), dataset.frames("train")
    images = images_of(tiny_data).from_one_place(frames.anchor < np.unique(frames.anchor)[11])
    write_json(tmp_path / TRAINING_FILE, {MOVED_ANCHORS: images.moved_anchors.tolist()})
    run = replace(Run.of(dataset, method=method, recipe=recipe, seed=2), folder=tmp_path)
    still = images.still_anchors()
    if method == "ldr":
        held = RegimePoses.of(still, dataset.joints, recipe.val_fraction, 2).held
    else:
        held = still.split_anchors(recipe.val_fraction, 2)[1]
    assert set(frames.anchor[held_out_frames(run, dataset)]) == set(held.anchor)
    assert set(frames.anchor[fitted_frames(run, dataset)]) == set(still.anchor)
    assert held_out_frames(replace(run, data_checksum="another"), dataset).all()


@pytest.mark.parametrize("method", ["ropes", "anchored", "ldr"])
def test_labels_are_drawn_only_from_held_out_poses(method: str, dataset: Dataset) -> None:
    run = Run.of(dataset, method=method, recipe=tiny.recipe_of(method), seed=2)
    fresh = np.flatnonzero(held_out_frames(run, dataset))
    anchor = dataset.frames("train").anchor
    held = len(np.unique(anchor[fresh]))
    for seed in range(5):
        rows = rows_to_label(run, dataset, held, seed)
        assert set(rows) <= set(fresh)
        assert len(np.unique(anchor[rows])) == held  # a pose of each anchor before a second one of any
        more = rows_to_label(run, dataset, held + 1, seed)
        assert set(rows) < set(more) <= set(fresh)
    np.testing.assert_array_equal(rows_to_label(run, dataset, len(fresh), 0), fresh)
    assert (rows_to_label(run, dataset, held + 2, 0) != rows_to_label(run, dataset, held + 2, 1)).any()


def test_observational_poses_are_labelled_first(dataset: Dataset) -> None:
    run = Run.of(dataset, method="anchored", recipe=tiny.recipe_of("anchored"), seed=2)
    fresh, usual = held_out_frames(run, dataset), without_intervention(dataset)
    number = int((fresh & usual).sum())
    assert 0 < number < fresh.sum()
    for count in (number - 1, number, number + 3):
        assert usual[rows_to_label(run, dataset, count, 0)].sum() == min(count, number)
    few = [rows_to_label(run, dataset, number - 1, seed).tolist() for seed in range(8)]
    assert len(set(map(tuple, few))) > 1


def test_every_recording_is_labelled_once_before_a_second_pose(tmp_path: Path) -> None:
    write_apart(tmp_path / "data", (4, 4, 4, 4, 4), frames=6)
    dataset = open_dataset(tmp_path / "data")
    run = replace(Run.of(dataset, method="ldr", recipe=tiny.recipe_of("ldr"), seed=2), data_checksum="of other data")
    anchor = dataset.frames("train").anchor
    for count in (20, 33):
        drawn = np.bincount(anchor[rows_to_label(run, dataset, count, 0)], minlength=20)
        assert (drawn.min(), drawn.max()) == (count // 20, -(-count // 20))

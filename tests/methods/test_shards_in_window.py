"""Batches from windows of shards, for data whose decoded images exceed the disk."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Semaphore, Thread
from typing import Any

import numpy as np
import pytest

from ropes.data import windows
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache, decode_frames
from ropes.data.layout import open_dataset
from ropes.data.windows import WindowedImages, Windows
from ropes.errors import UserError
from ropes.methods.anchored.stage import AnchoredStage
from ropes.methods.fit import fit
from ropes.methods.training.sampling import EpochShuffle
from tests import tiny, tiny_chains
from tests.kills import killed
from tests.timeouts import PATIENCE


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny data set in shards of two anchors."""
    return tiny.write_data(tmp_path_factory.mktemp("shards") / "data", tests=4, images_per_shard=20)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache-home"))
    return tmp_path / "cache-home/ropes"


def test_windows_hold_the_images_of_the_whole_split(data: Path, cache: Path) -> None:
    dataset = open_dataset(data)
    whole, windows = ImageCache(dataset, "train", 8, progress=False), WindowedImages(dataset, "train", 8, 2)
    assert windows.shape == whole.shape
    assert len(windows) == len(whole) == 80
    assert sorted(set(windows.shard)) == list(range(8))
    for rows in (np.random.default_rng(0).permutation(80), np.array([79, 3, 3])):
        np.testing.assert_array_equal(windows.read(rows), whole.read(rows))
    with pytest.raises(UserError, match="keeps no changed images of a whole split; add --no-registration"):
        windows.transformed()
    with pytest.raises(UserError, match="they cannot be resized to 64x64"):
        WindowedImages(dataset, "train", 64, 2)


def test_decoded_shards_keep_the_limit_of_the_cache(data: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROPES_CACHE_GB", "0")
    windows = WindowedImages(open_dataset(data), "train", 8, 1)
    for row in range(80):
        windows.read([row])
    assert len(list(cache.glob("*-shard-*.npy"))) <= 3  # two windows of one shard, and the last one written


def test_closed_windows_decode_no_shard_in_the_queue(data: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = Semaphore(0), Event()

    def decode(*given: Any, **named: Any) -> Iterator[int]:
        begun.release()
        assert go_on.wait(PATIENCE)
        yield from decode_frames(*given, **named)

    monkeypatch.setattr(windows, "decode_frames", decode)
    monkeypatch.setattr(windows, "usable_cores", lambda: 1)
    images = WindowedImages(open_dataset(data), "train", tiny.SIDE, 2)
    images.prepare(np.unique(images.shard)[:3])
    assert begun.acquire(timeout=PATIENCE)
    closing = Thread(target=images.close)
    closing.start()
    go_on.set()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert not begun.acquire(blocking=False)


@pytest.mark.parametrize("batch", [5, 16, 33])
def test_an_epoch_has_every_sample_once_and_windows_one_after_the_other(data: Path, batch: int) -> None:
    dataset = open_dataset(data)
    images = TrainingImages(WindowedImages(dataset, "train", 8, 3), dataset.frames("train"), dataset.regimes)
    order = EpochShuffle(80, batch, 0, images.windows(np.arange(80)))
    drawn = np.concatenate([order(step) for step in range(-(-160 // batch))])[:160]
    windows = [np.unique(np.arange(80)[part] // 10) for part in np.split(drawn, [30, 60, 80, 110, 140])]
    assert [len(shards) for shards in windows] == [3, 3, 2, 3, 3, 2]
    for epoch in np.split(drawn, 2):
        assert sorted(epoch) == list(range(80))
    assert list(drawn[:80]) != list(drawn[80:])
    later = EpochShuffle(80, batch, 0, images.windows(np.arange(80)))
    np.testing.assert_array_equal(later(4), order(4))


def test_the_first_window_of_an_epoch_is_decoded_during_the_last_one_before(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, prepared = WindowedImages(open_dataset(data), "train", 8, 3), list[set[int]]()
    monkeypatch.setattr(images, "prepare", lambda shards: prepared.append(set(shards.tolist())))
    order = EpochShuffle(80, 10, 0, Windows(images.shard, images))  # eight shards, in windows of 3, 3 and 2
    steps = [set(images.shard[order(step)].tolist()) for step in range(7)]
    last = list(prepared[-2:])
    steps += [set(images.shard[order(step)].tolist()) for step in range(7, 11)]
    assert last == [steps[6] | steps[7], steps[8] | steps[9] | steps[10]]


@pytest.mark.parametrize("method", ["anchored", "ldr"])
def test_a_killed_fit_in_windows_resumes_to_the_same_weights(method: str, data: Path, tmp_path: Path) -> None:
    recipe = replace(tiny.short(tiny.recipe_of(method), 2.0), shards_in_window=2, registration=False)
    fit(data, tmp_path / "whole", recipe, method=method, show=False)
    if method == "anchored":
        with killed(AnchoredStage, 5):
            fit(data, tmp_path / "killed", recipe, method=method, show=False)
    fit(data, tmp_path / "killed", recipe, method=method, show=False)
    assert tiny.weights(tmp_path / "killed") == tiny.weights(tmp_path / "whole")


def test_windows_of_chains_and_of_no_shards_are_refused(tmp_path: Path) -> None:
    chains = tiny_chains.write_data(tmp_path / "chains", tests=4)
    recipe = replace(tiny.recipe_of("anchored"), shards_in_window=2)
    with pytest.raises(UserError, match="has chains of moves, which span shards; leave --shards-in-window out"):
        fit(chains, tmp_path / "run", recipe, show=False)
    with pytest.raises(UserError, match="shards_in_window is 0; it must be at least 1"):
        replace(recipe, shards_in_window=0)

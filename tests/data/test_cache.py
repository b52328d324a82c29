import fcntl
import os
import pickle
import time
from pathlib import Path
from typing import IO

import numpy as np
import pytest

from ropes.common import files
from ropes.common.cached_files import cache_limit
from ropes.data import cache as cache_module
from ropes.data import parquet
from ropes.data.cache import ImageCache
from ropes.data.layout import copy_without_labels, open_dataset
from ropes.errors import UserError
from tests.data.conftest import MakeTiny, Tiny


def test_the_cache_holds_the_split_in_order(tiny: Tiny, tmp_path: Path) -> None:
    cache = ImageCache(tiny.dataset, "train", 16, tmp_path)
    assert cache.shape == (35, 2, 16, 16)
    assert len(cache) == 35
    images = tiny.images["train"].reshape(-1, 2, 16, 16)
    np.testing.assert_array_equal(cache.read(np.arange(35)), images)
    np.testing.assert_array_equal(cache.read([30, 2, 2]), images[[30, 2, 2]])
    np.testing.assert_array_equal(np.load(cache.path, allow_pickle=False), images)


def test_smaller_image_is_the_mean_of_the_pixels(tiny: Tiny, tmp_path: Path) -> None:
    small = ImageCache(tiny.dataset, "test-id", 8, tmp_path).read(np.arange(9))
    mean = tiny.images["test-id"].reshape(9, 2, 8, 2, 8, 2).mean(axis=(3, 5))
    assert np.abs(small - mean).max() <= 0.5


def test_the_cache_is_built_once_and_shared_with_a_stripped_copy(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ImageCache(tiny.dataset, "train", 8, tmp_path / "cache")
    monkeypatch.setattr(parquet, "decode_rows", lambda *args: pytest.fail("decoded again"))
    stripped = copy_without_labels(tiny.path, tmp_path / "stripped")
    second = ImageCache(stripped, "train", 8, tmp_path / "cache")
    assert first.path == second.path
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [first.path.name]


def test_a_damaged_cache_is_built_again(tiny: Tiny, tmp_path: Path) -> None:
    cache = ImageCache(tiny.dataset, "train", 16, tmp_path)
    expected = cache.path.read_bytes()
    pixel = bytes([expected[-100] ^ 1])
    for content in (
        expected[:-1],
        expected[:20],
        b"",
        b"\x93NUMPY\x02\x00" + expected[8:],
        expected[:-100] + pixel + expected[-99:],
        expected[:-1] + bytes([expected[-1] ^ 1]),
    ):
        cache.path.write_bytes(content)
        ImageCache(tiny.dataset, "train", 16, tmp_path)
        assert cache.path.read_bytes() == expected


def test_cache_can_be_pickled(tiny: Tiny, tmp_path: Path) -> None:
    cache = ImageCache(tiny.dataset, "train", 16, tmp_path)
    sent = pickle.loads(pickle.dumps(cache))  # noqa: S301 (our own, as multiprocessing does it)
    np.testing.assert_array_equal(sent.read([4]), cache.read([4]))


def test_images_are_read_again_after_pages_are_released(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "RESIDENT_LIMIT", 0)
    cache = ImageCache(tiny.dataset, "train", 16, tmp_path)
    images = tiny.images["train"].reshape(-1, 2, 16, 16)
    for _ in range(2):
        np.testing.assert_array_equal(cache.read([7, 3]), images[[7, 3]])


def test_a_changed_shard_never_enters_the_cache(tiny: Tiny, tmp_path: Path) -> None:
    path = tiny.path / "data/chunk-000/file-000.parquet"
    table = parquet.read_table(path)
    name = "observation.images.left"
    swapped = table.set_column(table.column_names.index(name), table.field(name), table["observation.images.right"])
    parquet.write_table(path, swapped)
    with pytest.raises(UserError, match=r"file-000.parquet has changed since it was written"):
        ImageCache(open_dataset(tiny.path), "train", 16, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_unsupported_image_sizes_are_refused(tiny: Tiny, tmp_path: Path, make_tiny: MakeTiny) -> None:
    with pytest.raises(UserError, match="cannot be resized to 32x32"):
        ImageCache(tiny.dataset, "train", 32, tmp_path)
    wide = make_tiny("wide", images={"train": np.zeros((2, 5, 2, 8, 16), np.uint8)}, states=None)
    with pytest.raises(UserError, match="8x16 images"):
        ImageCache(wide.dataset, "train", 17, tmp_path)


def test_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert files.cache_folder() == tmp_path / "ropes"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.cache_folder() == tmp_path / ".cache" / "ropes"


@pytest.mark.slow
def test_resident_memory_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def resident() -> float:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    frames = 30_000  # 492 MB, as holes in the file
    (tmp_path / "big.npy").touch()
    os.truncate(tmp_path / "big.npy", frames * 2 * 64 * 128 + 128 + 32)
    cache = ImageCache.__new__(ImageCache)
    cache.__setstate__({"path": tmp_path / "big.npy", "shape": (frames, 2, 64, 128)})
    monkeypatch.setattr(cache_module, "RESIDENT_LIMIT", cache_module.mapped_bytes() + (1 << 26))
    order, before, most = np.random.default_rng(0).permutation(frames), resident(), 0.0
    for rows in np.split(order, 100):
        cache.read(rows)
        most = max(most, resident() - before)
    assert most < 200


def test_a_full_disk_leaves_no_cache(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="No space left"):
            ImageCache(tiny.dataset, "train", 16, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())
    assert len(ImageCache(tiny.dataset, "train", 16, tmp_path / "cache")) == 35


def aged(path: Path, age: float) -> Path:
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_least_recently_used_cache_is_evicted(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [ImageCache(tiny.dataset, "train", size, tmp_path).path for size in (16, 15, 14)]
    for path, age in zip(paths, (30, 20, 10), strict=True):
        aged(path, age)
    ImageCache(tiny.dataset, "train", 16, tmp_path)  # which is read again, and so the last to go
    (tmp_path / "notes.txt").write_text("somebody's")
    sizes = {path: path.stat().st_size for path in paths}
    new = 35 * 2 * 13 * 13
    monkeypatch.setenv("ROPES_CACHE_GB", str((sizes[paths[0]] + sizes[paths[2]] + new) / 1e9))
    ImageCache(tiny.dataset, "train", 13, tmp_path)
    assert [path.exists() for path in paths] == [True, False, True]
    assert (tmp_path / "notes.txt").exists()


def test_cache_in_use_is_never_evicted(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROPES_CACHE_GB", "0")
    first = ImageCache(tiny.dataset, "train", 16, tmp_path)
    images = first.read(np.arange(35))
    second = ImageCache(tiny.dataset, "test-id", 16, tmp_path)  # and what is asked for is made whatever the limit
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).read(np.arange(35)), images)  # noqa: S301
    assert (first.path.exists(), second.path.exists()) == (True, True)
    path = first.path
    del first
    ImageCache(tiny.dataset, "train", 8, tmp_path)
    assert (path.exists(), second.path.exists()) == (False, True)


def test_simplified_meshes_count_and_stay_for_a_day(
    tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ImageCache(tiny.dataset, "train", 16, tmp_path).path
    aged(first, 3 * 86400)
    for name, days in (("meshes/used", 0.5), ("meshes/old", 4), ("finger/old.urdf", 4)):
        path = tmp_path / name
        (path.parent if path.suffix else path).mkdir(parents=True, exist_ok=True)
        (path if path.suffix else path / "link.obj").write_bytes(bytes(10_000))
        aged(path, days * 86400)
    room = first.stat().st_size + 10_000 + 35 * 2 * 8 * 8
    monkeypatch.setenv("ROPES_CACHE_GB", str(room / 1e9))
    ImageCache(tiny.dataset, "train", 8, tmp_path)
    assert first.exists()
    assert [path.name for path in (*(tmp_path / "meshes").iterdir(), *(tmp_path / "finger").iterdir())] == ["used"]
    monkeypatch.setenv("ROPES_CACHE_GB", "0")
    ImageCache(tiny.dataset, "train", 6, tmp_path)
    assert not first.exists()
    assert (tmp_path / "meshes" / "used" / "link.obj").exists()


def test_stale_partial_files_are_removed(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROPES_CACHE_GB", "0")
    old, new = tmp_path / ".a.npy.0.part", tmp_path / ".b.npy.0.part"
    for path, days in ((old, 2), (new, 0)):
        path.write_bytes(b"half")
        aged(path, days * 86400)
    ImageCache(tiny.dataset, "train", 16, tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


def test_cache_removed_while_opening_is_rebuilt(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ImageCache(tiny.dataset, "train", 16, tmp_path).path
    lock, locked = fcntl.flock, list[int]()

    def remove_first(stream: IO[bytes], how: int) -> None:
        if not locked:
            path.unlink()
        locked.append(how)
        lock(stream, how)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    cache = ImageCache(tiny.dataset, "train", 16, tmp_path)
    assert locked
    assert path.exists()
    np.testing.assert_array_equal(cache.read([3]), tiny.images["train"].reshape(-1, 2, 16, 16)[[3]])


@pytest.mark.parametrize("text", ["much", "-1", "nan"])
def test_invalid_cache_limit_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROPES_CACHE_GB", text)
    with pytest.raises(UserError, match=f"ROPES_CACHE_GB is '{text}'; give the gigabytes"):
        cache_limit()
    monkeypatch.delenv("ROPES_CACHE_GB")
    assert cache_limit() == 20e9


def test_cache_works_without_linux_only_calls(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "posix_fallocate")
    monkeypatch.delattr(os, "sched_getaffinity")
    assert len(ImageCache(tiny.dataset, "train", 16, tmp_path)) == 35

"""Arrays in the cache folder are computed once, and again if their file is damaged."""

from pathlib import Path

import numpy as np
import pytest

from ropes.common.cached_arrays import cached_array
from ropes.common.files import cache_folder


@pytest.fixture
def computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows with each computation; the cache folder is empty at first."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return []


def given(computed: list[int], name: str = "codes") -> np.ndarray:
    def compute() -> np.ndarray:
        computed.append(1)
        return np.arange(6, dtype=np.float32).reshape(2, 3)

    return cached_array(name, compute)


def test_an_array_is_computed_once(computed: list[int]) -> None:
    first, second = given(computed), given(computed)
    assert len(computed) == 1
    assert first.dtype == second.dtype == np.float32
    assert np.array_equal(first, second)
    given(computed, "others")
    assert len(computed) == 2


@pytest.mark.parametrize("content", [b"", b"damaged"])
def test_a_damaged_array_is_computed_again(computed: list[int], content: bytes) -> None:
    given(computed)
    path = cache_folder() / "codes.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"\0" if content else content)
    assert np.array_equal(given(computed), given(computed))
    assert len(computed) == 2


def test_an_array_above_the_limit_is_not_stored(computed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROPES_CACHE_GB", "0")
    given(computed)
    given(computed)
    assert len(computed) == 2
    assert not cache_folder().exists()

"""Memory is kept where the C library can, and what the user has set stays."""

import ctypes
import os
from types import SimpleNamespace

import pytest
import torch

from ropes import hardware


@pytest.mark.parametrize(("before", "after"), [(None, "1"), ("0", "0")])
def test_memory_is_kept_unless_told_otherwise(before: str | None, after: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda name, value: asked.append((name, value)))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    if before is not None:
        monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", before)
    hardware.keep_memory()
    assert os.environ["THP_MEM_ALLOC_ENABLE"] == after
    assert asked == [(-3, 32 << 20), (-1, 2**31 - 1)]


def test_a_c_library_without_such_settings_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "1")
    looked: list[object] = []
    monkeypatch.setattr(ctypes, "CDLL", lambda name: looked.append(name) or SimpleNamespace())
    hardware.keep_memory()
    assert looked == [None]


@pytest.mark.parametrize(
    ("cuda", "amx", "avx512", "precision"),
    [
        (False, False, False, "32-true"),
        (False, True, False, "bf16-mixed"),
        (False, False, True, "bf16-mixed"),
        (True, False, False, "bf16-mixed"),
    ],
)
def test_bf16_is_for_what_multiplies_it(
    cuda: bool, amx: bool, avx512: bool, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    known = {"amx_tile": amx, "avx512_bf16": avx512}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    assert hardware.training_precision() == precision
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # as before torch 2.10
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512, raising=False)
    assert hardware.training_precision() == precision
    monkeypatch.delattr(torch.cpu, "_is_amx_tile_supported")
    assert hardware.training_precision() == ("32-true" if amx and not avx512 and not cuda else precision)


def test_results_name_the_cores_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    assert hardware.device_name().endswith(", 2 cores")
    monkeypatch.delattr(os, "sched_getaffinity")  # not on every system
    assert hardware.device_name().endswith(", 64 cores")

"""Memory is kept where the C library can, and what the user has set stays."""

import ctypes
import os
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch

from ropes.cli.entry import main
from ropes.common import hardware
from ropes.errors import UserError


@pytest.mark.parametrize(("before", "after"), [(None, "1"), ("0", "0")])
def test_allocator_is_tuned_unless_the_user_has_set_it(
    before: str | None, after: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    library = SimpleNamespace(mallopt=lambda name, value: asked.append((name, value)))
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    monkeypatch.delenv("THP_MEM_ALLOC_ENABLE", raising=False)
    if before is not None:
        monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", before)
    hardware.tune_process()
    assert os.environ["THP_MEM_ALLOC_ENABLE"] == after
    assert asked == [(-3, 32 << 20), (-1, 2**31 - 1)]


@pytest.mark.parametrize(
    ("before", "after"),
    [({}, "10000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)],
)
def test_commands_limit_how_long_threads_spin_unless_the_user_has_set_it(
    before: dict[str, str], after: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in before.items():
        monkeypatch.setenv(name, value)
    assert main(["--version"]) == 0
    assert os.environ.pop("GOMP_SPINCOUNT", None) == after


def test_allocator_tuning_tolerates_a_c_library_without_mallopt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THP_MEM_ALLOC_ENABLE", "1")
    looked: list[str | None] = []

    def library(name: str | None) -> SimpleNamespace:
        looked.append(name)
        return SimpleNamespace()

    monkeypatch.setattr(ctypes, "CDLL", library)
    hardware.tune_process()
    assert looked == [None]


@pytest.mark.parametrize(
    ("cuda", "amx", "avx512", "precision"),
    [
        (False, False, False, "32-true"),
        (False, True, False, "bf16-mixed"),
        (False, False, True, "bf16-mixed"),
        ("Ampere", False, False, "bf16-mixed"),
        ("Turing", True, True, "32-true"),
    ],
)
def test_bf16_is_used_only_with_hardware_support(
    cuda: str | Literal[False], amx: bool, avx512: bool, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(cuda))
    multiplies = {True: True, False: cuda == "Ampere"}  # by whether emulation counts
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: multiplies[including_emulation])
    known = {"amx_tile": amx, "avx512_bf16": avx512, "avx512_f": True, "avx2": True}
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    best = "cuda" if cuda else "amx" if amx else "avx512-bf16" if avx512 else "avx512"
    assert (hardware.training_precision(), hardware.capability()) == (precision, best)
    monkeypatch.delattr(torch.cpu, "get_capabilities")  # as before torch 2.10
    private = {"amx_tile": amx, "avx512_bf16": avx512, "avx512": True, "avx2": True}
    for name, has in private.items():
        monkeypatch.setattr(torch.cpu, f"_is_{name}_supported", lambda has=has: has, raising=False)
    assert (hardware.training_precision(), hardware.capability()) == (precision, best)
    for name in private:
        monkeypatch.delattr(torch.cpu, f"_is_{name}_supported")
    assert hardware.capability() == ("cuda" if cuda else "other")


@pytest.mark.parametrize(
    ("kept_to", "found"),
    [
        ("AVX2", "avx2"),
        ("avx512_core", "avx512"),
        ("AVX512_CORE_BF16", "avx512-bf16"),
        ("SSE41", "other"),
        ("ALL", "amx"),
    ],
)
def test_onednn_isa_limit_is_respected(kept_to: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"amx_tile": True, "avx512_bf16": True, "avx512_f": True, "avx2": True}
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: known, raising=False)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", kept_to)
    assert hardware.capability() == found


def test_precision_is_resolved_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    assert [hardware.resolve_precision(asked) for asked in ("auto", "32-true", "bf16-mixed")] == [
        "32-true",
        "32-true",
        "bf16-mixed",
    ]
    unknown: Any = "half"
    with pytest.raises(UserError, match=r"unknown precision 'half': choose one of auto, bf16-mixed, 32-true"):
        hardware.resolve_precision(unknown)


def test_emulated_bf16_prints_a_warning(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")
    hardware.warn_if_emulated("32-true")
    assert capsys.readouterr().err == ""
    hardware.warn_if_emulated("bf16-mixed")
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "this machine (avx2) has no known hardware support for bf16; emulated, convolutions take several" in said


def test_device_name_includes_the_usable_core_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5})
    assert hardware.device_name().endswith(", 2 cores")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert hardware.device_name().endswith(", 1 core")
    monkeypatch.delattr(os, "sched_getaffinity")  # not on every system
    assert hardware.device_name().endswith(", 64 cores")

"""Detects the device and whether bf16 is faster on it."""

import ctypes
import os
import sys
from typing import Literal, get_args

from ropes.errors import one_of

Precision = Literal["bf16-mixed", "32-true"]
AskedPrecision = Literal["auto", "bf16-mixed", "32-true"]
#: What processors are told apart by, from the plainest on; and those that multiply bf16 themselves.
_RANKS = ("other", "avx2", "avx512", "avx512-bf16", "amx")
_MULTIPLY_BF16 = ("avx512-bf16", "amx", "cuda")
#: Values of ONEDNN_MAX_CPU_ISA, and the rank that oneDNN is kept to.
_KEPT_TO = {
    "SSE41": 0,
    "AVX": 0,
    "AVX2": 1,
    "AVX2_VNNI": 1,
    "AVX2_VNNI_2": 1,
    "AVX512_CORE": 2,
    "AVX512_CORE_VNNI": 2,
    "AVX512_CORE_BF16": 3,
    "AVX512_CORE_FP16": 3,
}
#: Their numbers in glibc's malloc.h.
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1


def keep_memory() -> None:
    """Let the process keep freed memory, and take it in large pages; to be called before torch is imported.

    A step of a training frees and takes again some hundred megabytes, and on two cores an eighth of it went into the
    system's clearing of pages.  Where the C library has no such settings nothing changes.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch's: large tensors in transparent huge pages
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_MMAP_THRESHOLD, 32 << 20)  # the most that glibc takes
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def usable_cores() -> int:
    """The cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def device_kind() -> Literal["cuda", "cpu"]:
    """The accelerator that training and prediction use."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def training_precision() -> Precision:
    """What `auto` stands for: bf16 autocast on a CUDA device or a processor that multiplies bf16 itself, else float32.

    AMX tiles are several times as fast as float32, AVX-512's own bf16 products up to twice (`benchmarks/precision.py`).
    Other processors emulate bf16, and read images at a fifth of their float32 speed (docs/processors.md), as GPUs
    before Ampere do.
    """
    import torch

    kind = capability()
    emulated = kind == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16-mixed" if kind in _MULTIPLY_BF16 and not emulated else "32-true"


def precision_of(asked: AskedPrecision) -> Precision:
    """The precision that is asked for; `auto` is what this machine is fast in.

    Raises:
        UserError: no such precision.
    """
    chosen = require_precision(asked)
    return training_precision() if chosen == "auto" else chosen


def require_precision(asked: str) -> AskedPrecision:
    """The precision of that name.

    Raises:
        UserError: there is none.
    """
    chosen: AskedPrecision = one_of(get_args(AskedPrecision), asked, "precision")
    return chosen


def warn_if_emulated(precision: AskedPrecision) -> None:
    """Say on standard error that this machine is slow in a precision, if it is."""
    if precision == "bf16-mixed" and training_precision() != precision:
        print(
            f"ropes: warning: no fast bf16 is known of this machine ({capability()}); where it is emulated, "
            "convolutions take several times as long as in 32-true",
            file=sys.stderr,
        )


def say_precision(precision: Precision) -> None:
    """Say on standard error what a training computes in and with, and that this is slow, if it is."""
    print(f"ropes: training in {precision} on {capability()}", file=sys.stderr)
    warn_if_emulated(precision)


def capability() -> str:
    """What networks are computed with: "cuda", or the best of "amx", "avx512-bf16", "avx512", "avx2" and "other".

    The same seed and precision give the same weights on machines of one capability and one setting of
    ONEDNN_MAX_CPU_ISA, ATEN_CPU_CAPABILITY and MKL_ENABLE_INSTRUCTIONS.  The first of them counts here, which keeps the
    library of convolutions from what a processor could do.
    """
    import torch

    if torch.cuda.is_available():
        return "cuda"
    can = _processor_can()
    best = next(rank for rank in reversed(range(len(_RANKS))) if rank == 0 or can[_RANKS[rank]])
    return _RANKS[min(best, _KEPT_TO.get(os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper(), best))]


def _processor_can() -> dict[str, bool]:
    """What torch says of the processor; in public from 2.10 on."""
    import torch

    if hasattr(torch.cpu, "get_capabilities"):
        known = torch.cpu.get_capabilities()
        flags = {"amx": "amx_tile", "avx512-bf16": "avx512_bf16", "avx512": "avx512_f", "avx2": "avx2"}
        return {name: bool(known.get(flag)) for name, flag in flags.items()}
    asked = {
        "amx": "_is_amx_tile_supported",
        "avx512-bf16": "_is_avx512_bf16_supported",
        "avx512": "_is_avx512_supported",
        "avx2": "_is_avx2_supported",
    }
    return {name: bool(getattr(torch.cpu, function, bool)()) for name, function in asked.items()}


def device_name() -> str:
    """The device as results files record it: the GPU's name, or the processor's and the cores that may be used."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{_processor()}, {usable_cores()} cores"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [line.partition(":")[2].strip() for line in stream if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else "CPU"

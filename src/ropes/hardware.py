"""What the machine can do, asked once: the device, and whether bf16 pays."""

import ctypes
import os
from typing import Literal

Precision = Literal["bf16-mixed", "32-true"]
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
    """bf16 autocast on a CUDA device or a processor that multiplies bf16 itself, float32 elsewhere.

    AMX tiles are several times as fast as float32, AVX-512's own bf16 products up to twice (`benchmarks/precision.py`).
    Other processors emulate bf16 and run convolutions at a third of their float32 speed.
    """
    import torch

    return "bf16-mixed" if torch.cuda.is_available() or _multiplies_bf16() else "32-true"


def _multiplies_bf16() -> bool:
    """Whether the processor has AMX tiles or AVX-512's bf16 products; as torch says, from 2.10 on in public."""
    import torch

    if hasattr(torch.cpu, "get_capabilities"):
        can = torch.cpu.get_capabilities()
        return bool(can.get("amx_tile") or can.get("avx512_bf16"))
    asked = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, name, bool)() for name in asked)


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

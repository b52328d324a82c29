"""Detects the device, and whether bf16 is fast on it."""

import ctypes
import os
import sys
from typing import TYPE_CHECKING, Literal, get_args

from ropes.errors import UserError, one_of

if TYPE_CHECKING:
    import torch

Precision = Literal["bf16-mixed", "32-true"]
RequestedPrecision = Literal["auto", "bf16-mixed", "32-true"]
Accelerator = Literal["auto", "cpu", "gpu"]
#: Instruction sets of processors from the oldest on, and the devices with bf16 multiplication in hardware.
_RANKS = ("other", "avx2", "avx512", "avx512-bf16", "amx")
_MULTIPLY_BF16 = ("avx512-bf16", "amx", "cuda")
#: Values of ONEDNN_MAX_CPU_ISA that limit oneDNN to each of these ranks, from the lowest on.
_LIMITS = (
    ("SSE41", "AVX"),
    ("AVX2", "AVX2_VNNI", "AVX2_VNNI_2"),
    ("AVX512_CORE", "AVX512_CORE_VNNI"),
    ("AVX512_CORE_BF16", "AVX512_CORE_FP16"),
)
#: libgomp's variable for how often a waiting thread looks before it sleeps, and its value here.
SPIN_COUNT, SPINS = "GOMP_SPINCOUNT", 10_000
#: Parameters of glibc's mallopt (malloc.h).
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1


def tune_process() -> None:
    """Prepare the process for training; call it before torch is imported.  What the user has set stays.

    It keeps freed memory and uses huge pages.  A training step frees and allocates some hundred megabytes: on two cores
    an eighth of its time went into clearing pages.  Without glibc nothing changes.

    A thread that waits for the others of a parallel loop soon lets other processes have its core.  By default libgomp,
    torch's OpenMP, lets it spin for milliseconds, which beside other work can make a step several times longer
    (`benchmarks/spinning.py`).  Processes that this one starts inherit the variable.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault(SPIN_COUNT, str(SPINS))
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # torch puts large tensors into transparent huge pages
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_MMAP_THRESHOLD, 32 << 20)  # glibc's maximum
        mallopt(_TRIM_THRESHOLD, 2**31 - 1)


def usable_cores() -> int:
    """The number of cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def device_kind() -> Literal["cuda", "cpu"]:
    """The accelerator that training and prediction use."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def choose_accelerator(accelerator: Accelerator) -> None:
    """Choose the accelerator of this process, and of those that it starts; call it before CUDA is used.

    Raises:
        UserError: there is no GPU, or CUDA was used before.
    """
    if accelerator == "cpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if accelerator != "auto" and device_kind() != {"cpu": "cpu", "gpu": "cuda"}[accelerator]:
        raise UserError(f"accelerator {accelerator} cannot be used: this process computes on {device_kind()}")


def training_precision() -> Precision:
    """The precision that `auto` selects: bf16 autocast on devices that multiply bf16 in hardware, else float32.

    AMX tiles are several times as fast as float32, AVX-512's bf16 products up to twice (`benchmarks/precision.py`).
    Other processors and GPUs before Ampere emulate bf16; processors then read images at a fifth of their float32
    speed (docs/processors.md).
    """
    import torch

    kind = capability()
    emulated = kind == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False)
    return "bf16-mixed" if kind in _MULTIPLY_BF16 and not emulated else "32-true"


def resolve_precision(asked: RequestedPrecision) -> Precision:
    """Resolve a precision option; `auto` is the fastest on this machine.

    Raises:
        UserError: no such precision.
    """
    precision = require_precision(asked)
    return training_precision() if precision == "auto" else precision


def require_precision(asked: str) -> RequestedPrecision:
    """Check that `asked` names a precision.

    Raises:
        UserError: it does not.
    """
    precision: RequestedPrecision = one_of(get_args(RequestedPrecision), asked, "precision")
    return precision


def warn_if_emulated(precision: RequestedPrecision) -> None:
    """Warn on standard error if this machine is slow in a precision."""
    if precision == "bf16-mixed" and training_precision() != precision:
        print(
            f"ropes: warning: this machine ({capability()}) has no known hardware support for bf16; emulated, "
            "convolutions take several times as long as in 32-true",
            file=sys.stderr,
        )


def report_precision(precision: Precision) -> None:
    """Print precision and device of a training on standard error, with a warning if they are slow."""
    print(f"ropes: training in {precision} on {capability()}", file=sys.stderr)
    warn_if_emulated(precision)


def capability() -> str:
    """The device's capability: "cuda", or the best of "amx", "avx512-bf16", "avx512", "avx2" and "other".

    The same seed and precision give the same weights on machines of one capability and one setting of
    ONEDNN_MAX_CPU_ISA, ATEN_CPU_CAPABILITY and MKL_ENABLE_INSTRUCTIONS.  The result respects the first of these, which
    limits the convolutions.
    """
    import torch

    if torch.cuda.is_available():
        return "cuda"
    supported = _instruction_sets()
    best = next(rank for rank in reversed(range(len(_RANKS))) if rank == 0 or supported[_RANKS[rank]])
    limit = os.environ.get("ONEDNN_MAX_CPU_ISA", "").upper()
    return _RANKS[next((min(best, rank) for rank, values in enumerate(_LIMITS) if limit in values), best)]


def _instruction_sets() -> dict[str, bool]:
    """Whether the processor supports each instruction set; torch before 2.10 has only private functions for it."""
    import torch

    if hasattr(torch.cpu, "get_capabilities"):
        capabilities = torch.cpu.get_capabilities()
        flags = {"amx": "amx_tile", "avx512-bf16": "avx512_bf16", "avx512": "avx512_f", "avx2": "avx2"}
        return {name: bool(capabilities.get(flag)) for name, flag in flags.items()}
    flags = {"amx": "amx_tile", "avx512-bf16": "avx512_bf16", "avx512": "avx512", "avx2": "avx2"}
    return {name: bool(getattr(torch.cpu, f"_is_{flag}_supported", bool)()) for name, flag in flags.items()}


def memory_bytes(device: "torch.device") -> int:
    """Memory of a GPU, or of the computer where the device is the processor, in bytes."""
    import torch

    if device.type == "cuda":
        return int(torch.cuda.get_device_properties(device).total_memory)
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def device_name() -> str:
    """The device's name in results files: that of the GPU, or of the processor with the number of usable cores."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    cores = usable_cores()
    return f"{_processor()}, {cores} {'core' if cores == 1 else 'cores'}"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [line.partition(":")[2].strip() for line in stream if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else "CPU"

"""What the machine can do, asked once: the device, and whether bf16 pays."""

import os
from typing import Literal

Precision = Literal["bf16-mixed", "32-true"]


def device_kind() -> Literal["cuda", "cpu"]:
    """The accelerator that training and prediction use."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def training_precision() -> Precision:
    """bf16 autocast on a CUDA device or a processor with AMX tiles, float32 elsewhere.

    AVX-512 machines without AMX emulate bf16 and run convolutions at a third of their float32 speed.
    """
    import torch

    amx = torch.cpu._is_amx_tile_supported()
    return "bf16-mixed" if torch.cuda.is_available() or amx else "32-true"


def device_name() -> str:
    """The device as results files record it: the GPU's name, or the processor's and its core count."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{_processor()}, {os.cpu_count()} cores"


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as stream:
            names = [line.partition(":")[2].strip() for line in stream if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else "CPU"

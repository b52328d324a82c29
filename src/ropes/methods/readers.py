"""Loads the inference wrapper of a run."""

from pathlib import Path

import torch

from ropes.common.hardware import RequestedPrecision, require_precision
from ropes.errors import UserError
from ropes.methods.reader import Reader
from ropes.methods.registry import method_named
from ropes.methods.run import Run, read_training


def weight_files(run: Run) -> list[str]:
    """The weight files that the run's reader loads, relative to its folder."""
    files: list[str] = method_named(run.method).load("weights")(run)
    return files


def load_reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision = "auto") -> Reader:
    """The reader of the run in `folder`.

    Args:
        run: its identity.
        folder: of the run.
        device: of the networks.
        precision: of the networks; "auto": float32 for convolutions, for others the faster one on this machine.

    Raises:
        UserError: no such precision; weights are missing, damaged or of another shape; or the method predicts actions.
    """
    require_precision(precision)
    method = method_named(run.method)
    if method.reader is None:
        raise UserError(f"{folder} is of method {run.method}, which predicts actions, not joints")
    reader: Reader = method.load("reader")(run, folder, device, precision)
    return reader


def finished_reader(folder: Path, device: torch.device, precision: RequestedPrecision = "auto") -> tuple[Run, Reader]:
    """The finished run in `folder` with its reader, see `load_reader`.

    Raises:
        UserError: no run there, or one of another version, without weights, unfinished or damaged.
    """
    run = Run.read(folder)
    reader = load_reader(run, folder, device, precision)
    read_training(folder)
    return run, reader

"""Writes an exported estimator as a file of ONNX or of torch.export, and runs such a file."""

import importlib
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch.export import Dim, ExportedProgram

from ropes.errors import UserError, install_command
from ropes.inference.single_network import ExportedEstimator

Format = Literal["onnx", "torch-export"]
#: Name of the file of each format.
FILES: Mapping[Format, str] = {"onnx": "model.onnx", "torch-export": "model.pt2"}
#: Version of ONNX's operators: the first with those of the graph that the common runtimes all have.
OPSET = 18
#: Images of each camera, uint8 (n, s, s) or (n, s, s, 3) → outputs by name.
Runner = Callable[[Sequence[NDArray[np.uint8]]], dict[str, NDArray[np.float32]]]
#: Poses of the example that the graph is traced with; the number of poses stays free.
_POSES = 3


def require_packages(kind: Format) -> None:
    """Check that the packages of a format are installed.

    Raises:
        UserError: one is missing; the message says how to install it.
    """
    if kind == "onnx":
        for name in ("onnx", "onnxscript", "onnxruntime"):
            _import(name)


def write(network: ExportedEstimator, path: Path, kind: Format, inputs: Sequence[str]) -> None:
    """Write a network to `path`.

    Args:
        network: the estimator.
        path: of the file.
        kind: its format.
        inputs: names of the inputs, one for each camera.

    Raises:
        UserError: torch cannot export this network, or the file is no valid ONNX.
    """
    example = tuple(torch.zeros((_POSES, *shape), dtype=torch.uint8) for shape in network.shapes)
    free = {"images": tuple({0: Dim.DYNAMIC} for _ in example)}
    try:
        with _quiet(), torch.no_grad():
            program = torch.export.export(network, example, dynamic_shapes=free)
            if kind == "torch-export":
                torch.export.save(program, path)
            else:
                _write_onnx(program, path, inputs, network.outputs)
    except (RuntimeError, TypeError, ValueError) as error:
        cause = error.__cause__ or error  # torch's exporter says the reason there
        reason = (str(cause).strip() or type(cause).__name__).splitlines()[0]
        raise UserError(f"this run cannot be exported as {kind}: {reason}") from error


def _write_onnx(program: ExportedProgram, path: Path, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    made = torch.onnx.export(
        program,
        dynamo=True,
        opset_version=OPSET,
        input_names=list(inputs),
        output_names=list(outputs),
        verbose=False,
    )
    assert made is not None  # it is for the exporter without dynamo
    made.save(path)
    onnx = _import("onnx")
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except onnx.checker.ValidationError as error:
        raise ValueError(f"onnx.checker: {error}") from error


def read(path: Path, kind: Format, outputs: Sequence[str], *, threads: int | None = None) -> Runner:
    """A function that runs the file at `path`.

    `torch.export.load` may run code that is in the file: load only files that you trust.

    Args:
        path: of the file.
        kind: its format.
        outputs: names of its outputs, in their order.
        threads: of onnxruntime; None for one a core.
    """
    if kind == "torch-export":
        with _quiet():
            module = torch.export.load(path).module()

        def run(images: Sequence[NDArray[np.uint8]]) -> dict[str, NDArray[np.float32]]:
            with torch.no_grad():
                found = module(*(torch.from_numpy(np.ascontiguousarray(each)) for each in images))
            return dict(zip(outputs, (part.numpy() for part in found), strict=True))

        return run
    runtime = _import("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    if threads is not None:
        options.intra_op_num_threads = threads
    session = runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [each.name for each in session.get_inputs()]

    def run_onnx(images: Sequence[NDArray[np.uint8]]) -> dict[str, NDArray[np.float32]]:
        found = session.run(list(outputs), dict(zip(names, images, strict=True)))
        return dict(zip(outputs, found, strict=True))

    return run_onnx


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise UserError(f"--format onnx needs the package {error.name}: {install_command('export')}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence what exporters say about their own affairs."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)

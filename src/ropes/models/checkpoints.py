"""Checkpoints without pickle: a tree of dicts, lists, numbers and tensors in one safetensors file.

The file's header contains the tree as JSON, with references to its tensors.
"""

import json
import re
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ropes.common.files import atomic_path
from ropes.errors import UserError
from ropes.models.eight_bits import from_eight_bits

WEIGHTS = "weights.safetensors"
#: Temporary files of safetensors; a killed process leaves them behind.
_UNFINISHED = re.compile(r"\.tmp[A-Za-z0-9]{6}")


def save_tree(path: Path, tree: Any) -> None:
    """Write `tree` to `path` atomically.

    Raises:
        TypeError: a node is neither a container, a plain value nor a tensor.
    """
    tensors: dict[str, Tensor] = {}
    text = json.dumps(_encode(tree, tensors))
    with atomic_path(path) as temporary:
        save_file(tensors, temporary, metadata={"tree": text})


def load_tree(path: Path) -> Any:
    """Read a file of `save_tree`.

    Raises:
        UserError: the file is missing, truncated or of another kind.
    """
    try:
        with safe_open(path, framework="pt") as stream:
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118 (not a dict)
            metadata = stream.metadata() or {}
        return _decode(json.loads(metadata["tree"]), tensors)
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing") from error
    except (SafetensorError, KeyError, json.JSONDecodeError) as error:
        raise UserError(f"{path} is damaged ({error}); delete it and run the same command again") from error


def _encode(node: Any, tensors: dict[str, Tensor]) -> Any:
    match node:
        case Tensor():
            name = str(len(tensors))
            tensors[name] = node.detach().to("cpu", copy=True).contiguous()
            return {"tensor": name}
        case dict():
            return {"dict": [[_encode(key, tensors), _encode(value, tensors)] for key, value in node.items()]}
        case list():
            return {"list": [_encode(value, tensors) for value in node]}
        case tuple():
            return {"tuple": [_encode(value, tensors) for value in node]}
        case None | bool() | int() | float() | str():
            return node
        case _:
            raise TypeError(f"cannot store {type(node).__name__} in a checkpoint")


def _decode(node: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(node, dict):
        return node
    ((kind, content),) = node.items()
    match kind:
        case "tensor":
            return tensors[content]
        case "dict":
            return {_decode(key, tensors): _decode(value, tensors) for key, value in content}
        case "tuple":
            return tuple(_decode(value, tensors) for value in content)
        case _:
            return [_decode(value, tensors) for value in content]


class ArrayTree:
    """Base of dataclasses of float64 arrays and floats, stored in single precision."""

    def to_tree(self) -> dict[str, Any]:
        """The fields for `save_tree`."""
        return {
            name: torch.from_numpy(value).float() if isinstance(value, np.ndarray) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> Self:
        """The inverse of `to_tree`."""
        return cls(**{name: each if isinstance(each, float) else each.double().numpy() for name, each in tree.items()})


def load_weights(module: torch.nn.Module, path: Path) -> None:
    """Load the weights of `module` from the safetensors file at `path`.

    Raises:
        UserError: the file is missing, damaged or of another architecture.
    """
    from safetensors.torch import load_file

    try:
        module.load_state_dict(from_eight_bits(load_file(path)))
    except FileNotFoundError as error:
        raise UserError(f"{path} is missing: the run has no weights; finish it with `ropes fit`") from error
    except (SafetensorError, RuntimeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} does not hold this network's weights ({reason}); fit the run again") from error


def save_weights(module: torch.nn.Module, path: Path) -> None:
    """Write the weights of `module` to `path` atomically, as safetensors."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()}
    with atomic_path(path) as temporary:
        save_file(tensors, temporary)


def remove_leftovers(folder: Path) -> None:
    """Delete temporary files of killed processes in `folder` and below, ours and those of safetensors."""
    for path in folder.rglob(".*"):
        if path.is_file() and (path.suffix == ".part" or _UNFINISHED.fullmatch(path.name)):
            path.unlink()

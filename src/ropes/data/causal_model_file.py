"""Reads a JSON file with the causal model of each split, in the form of `setting.splits` in meta/ropes.json."""

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ropes.causal.scm import CausalModel
from ropes.common.files import read_json
from ropes.errors import UserError, require_name

_SPLITS = ("train", "test-id", "test-ood")


def read_causal_models(path: Path, joints: Sequence[str]) -> dict[str, CausalModel]:
    """The causal model of each split.

    Args:
        path: JSON file with an object for each split: "train", and if wanted "test-id" and "test-ood".
        joints: names that each model must have, in their order.

    Returns:
        Split → model, with "train" first; "test-id" is the model of training unless the file has another one.

    Raises:
        UserError: the file is missing or no JSON, has no "train" or an unknown split, or a model is invalid or of other
            joints.
    """
    content = read_json(path)
    if not isinstance(content, dict) or "train" not in content:
        raise UserError(f"{path} has no causal model of the split train")
    for split in content:
        require_name(split, _SPLITS, "split")
    models = {split: _model(path, split, described, joints) for split, described in content.items()}
    return {split: models.get(split, models["train"]) for split in _SPLITS if split != "test-ood" or split in models}


def _model(path: Path, split: str, described: Any, joints: Sequence[str]) -> CausalModel:
    """The causal model of a split.

    Raises:
        UserError: it is invalid or of other joints.
    """
    try:
        for entry in described:
            require_name(entry, [field.name for field in fields(CausalModel)], f"entry of {split} in {path}")
        model = CausalModel.from_dict(described)
    except KeyError as error:
        raise UserError(f"{path}: {split} has no entry {error.args[0]}") from error
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{path}: {split} is no causal model ({error})") from error
    if model.joints != tuple(joints):
        raise UserError(f"{path}: {split} has the joints {', '.join(model.joints)}, not {', '.join(joints)}")
    return model

"""The commanded distributions of the policies, from a data set or from the user's file."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ropes.causal.scm import TruncatedNormal
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.policies import described_model

_DRAWN = 20_000
_TURN = 2 * math.pi
#: Standard deviations from its interval beyond which a normal cannot be drawn from within it.
_FAR = 5.0
_NORMAL, _UNIFORM = ("mean", "std", "low", "high"), ("low", "high")
Array = NDArray[np.float64]


class Distribution(Protocol):
    """What is asked of a policy's distribution, in radians."""

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""

    def quantile(self, probability: ArrayLike) -> Array:
        """Inverse of the distribution function."""


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Every angle of an interval (radians) alike."""

    low: float
    high: float

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        return (self.low + self.high) / 2, (self.high - self.low) ** 2 / 12

    def quantile(self, probability: ArrayLike) -> Array:
        """Inverse of the distribution function."""
        return self.low + (self.high - self.low) * np.asarray(probability, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Commanded:
    """What is told of one joint.

    Attributes:
        policies: what policy 1 and policy 2 draw.
        usual: mean angle without intervention, radians; None where it is not told.
    """

    policies: tuple[Distribution, Distribution]
    usual: float | None

    @property
    def means(self) -> tuple[float, float]:
        """Mean angle under policy 1 and policy 2, radians."""
        return self.policies[0].moments()[0], self.policies[1].moments()[0]

    @property
    def width(self) -> float:
        """Standard deviation under a policy, root mean square over both, radians."""
        return float(np.sqrt(np.mean([policy.moments()[1] for policy in self.policies])))


def described_by(dataset: Dataset, joints: Sequence[str]) -> tuple[Commanded, ...]:
    """What the description of a data set's training split tells of these joints.

    Raises:
        UserError: it tells nothing, or nothing of a joint; or what no images can confirm, see `_checked`.
    """
    model = described_model(dataset)
    if model is None:
        raise UserError(
            f"{dataset.path} does not tell its policies' distributions; tell them in a file, --commanded FILE.json, or "
            "calibrate on labelled samples"
        )
    if missing := [joint for joint in joints if joint not in model.interventions]:
        raise UserError(f"{dataset.path} tells no commanded distribution for {missing[0]}")
    usual = model.sample_observational(np.random.default_rng(0), _DRAWN).mean(axis=0)
    return tuple(
        _checked(
            f"{dataset.path}: joint {joint}",
            Commanded(policies=model.interventions[joint], usual=float(usual[model.joints.index(joint)])),
        )
        for joint in joints
    )


def read_commanded(path: Path, joints: Sequence[str]) -> tuple[Commanded, ...]:
    """What an operator's JSON file tells of these joints.

    It has an entry for each joint: under "policies" the distributions of policy 1 and policy 2 and, where known, under
    "observational" that without intervention.  A distribution is a normal restricted to an interval, with mean and
    standard deviation before the restriction, {"mean", "std", "low", "high"}, or uniform, {"low", "high"}; in radians.

    Args:
        path: of the file.
        joints: of the run.

    Raises:
        UserError: no such file, no JSON, a joint missing or unknown, a key missing or unknown, a value that is no
            number or makes no distribution; or what no images can confirm, see `_checked`.
    """
    content = _object(_parsed(path), str(path))
    if missing := [joint for joint in joints if joint not in content]:
        raise UserError(
            f"{path} tells nothing of joint {missing[0]}; it needs an entry for each of {', '.join(joints)}"
        )
    if unknown := [name for name in content if name not in joints]:
        raise UserError(f"{path}: the run has no joint {unknown[0]}; it has {', '.join(joints)}")
    return tuple(_joint(content[joint], f"{path}: joint {joint}") for joint in joints)


def _parsed(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_once)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # text that is no UTF-8, no JSON, or `_once`
        raise UserError(f"{path} is not valid JSON ({error}); mend it") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} is there twice")
    return found


def _object(content: object, where: str) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise UserError(f"{where}: expected an object in braces, with names and values")
    return content


def _joint(content: object, where: str) -> Commanded:
    entry = _with_keys(_object(content, where), where, needed=("policies",), allowed=("policies", "observational"))
    policies = entry["policies"]
    if not isinstance(policies, list) or len(policies) != 2:
        raise UserError(f"{where}: 'policies' is no list of two distributions, of policy 1 and policy 2")
    first, second = (_distribution(policy, f"{where}, policy {k}") for k, policy in enumerate(policies, start=1))
    usual = None
    if "observational" in entry:
        usual = _distribution(entry["observational"], f"{where}, observational").moments()[0]
    return _checked(where, Commanded(policies=(first, second), usual=usual))


def _distribution(content: object, where: str) -> Distribution:
    told = _object(content, where)
    kind = _NORMAL if {"mean", "std"} & told.keys() else _UNIFORM
    entry = _with_keys(told, where, needed=kind, allowed=_NORMAL)
    numbers = {name: _number(entry[name], f"{where}: {name}") for name in kind}
    if not numbers["low"] < numbers["high"]:
        raise UserError(f"{where}: low {numbers['low']:g} is not below high {numbers['high']:g}")
    if kind is _UNIFORM:
        return Uniform(**numbers)
    std = numbers.pop("std")
    if not std > 0:
        raise UserError(f"{where}: std is {std:g}; it must be above 0")
    drawn = TruncatedNormal(variance=std**2, **numbers)
    if not max(numbers["low"] - drawn.mean, drawn.mean - numbers["high"]) < _FAR * std:
        raise UserError(f"{where}: mean {drawn.mean:g} is more than {_FAR:g} std outside of low and high")
    return drawn


def _with_keys(
    content: Mapping[str, Any], where: str, *, needed: Sequence[str], allowed: Sequence[str]
) -> Mapping[str, Any]:
    if unknown := [name for name in content if name not in allowed]:
        raise UserError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(allowed)}")
    if missing := [name for name in needed if name not in content]:
        raise UserError(f"{where}: no {missing[0]!r}; it needs {', '.join(needed)}")
    return content


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{where} is {json.dumps(value)}, which is no number")
    return float(value)


def _checked(where: str, told: Commanded) -> Commanded:
    """Refuse what no images can confirm.

    Raises:
        UserError: both policies have one mean, or together they span more than a turn.
    """
    first, second = told.means
    if math.isclose(first, second, abs_tol=1e-6):
        raise UserError(f"{where}: both policies have mean {first:.2f} rad; a line to radians needs two different ones")
    ends = np.stack([policy.quantile([0.001, 0.999]) for policy in told.policies])
    if (span := float(ends.max() - ends.min())) > _TURN:
        raise UserError(
            f"{where}: the policies span {span:.1f} rad; images tell angles within one turn, {_TURN:.2f} rad, apart "
            "(angles are in radians, not degrees)"
        )
    return told

"""The commanded distributions of the policies, from a data set or a JSON file."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ropes.causal.scm import TruncatedNormal
from ropes.common.arrays import Floats
from ropes.common.units import TURN, in_both_units
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.policies import described_model

#: Poses drawn to estimate the observational means.
_SAMPLES = 20_000
#: Largest distance of a normal's mean from its interval, in standard deviations.
_MAX_DISTANCE = 5.0
#: Quantiles between which nearly all angles of a distribution lie.
_ENDS = (0.001, 0.999)
_NORMAL, _UNIFORM = ("mean", "std", "low", "high"), ("low", "high")


class Distribution(Protocol):
    """A policy's distribution of the joint angle, radians."""

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""

    def quantile(self, probability: ArrayLike) -> Floats:
        """Inverse of the distribution function."""


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """The uniform distribution on an interval, radians."""

    low: float
    high: float

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        return (self.low + self.high) / 2, (self.high - self.low) ** 2 / 12

    def quantile(self, probability: ArrayLike) -> Floats:
        """Inverse of the distribution function."""
        return self.low + (self.high - self.low) * np.asarray(probability, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Sampled:
    """The distribution of a sample of angles, radians (n,)."""

    angles: Floats

    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        return float(self.angles.mean()), float(self.angles.var())

    def quantile(self, probability: ArrayLike) -> Floats:
        """Inverse of the distribution function, linear between the angles."""
        return np.quantile(self.angles, np.asarray(probability, dtype=np.float64))


@dataclass(frozen=True, kw_only=True)
class Commanded:
    """The commanded distributions of one joint.

    Attributes:
        policies: distributions of policy 1 and policy 2.
        observational_mean: mean angle without intervention, radians; None where unknown.
        observational: distribution without intervention; None where unknown, or where other joints have a part in it.
        marginal: distribution without intervention, also where other joints have a part in it; None where unknown.
    """

    policies: tuple[Distribution, Distribution]
    observational_mean: float | None
    observational: Distribution | None = None
    marginal: Distribution | None = None

    @property
    def means(self) -> tuple[float, float]:
        """Mean angle under policy 1 and policy 2, radians."""
        return self.policies[0].moments()[0], self.policies[1].moments()[0]

    @property
    def width(self) -> float:
        """Standard deviation under the policies, root mean square of both, radians."""
        return float(np.sqrt(np.mean([policy.moments()[1] for policy in self.policies])))

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest angle of all distributions, less 0.1% at each end, radians."""
        known = [*self.policies, *([] if self.observational is None else [self.observational])]
        ends = np.stack([each.quantile(_ENDS) for each in known])
        return float(ends.min()), float(ends.max())


def described_by(dataset: Dataset, joints: Sequence[str]) -> tuple[Commanded, ...]:
    """The commanded distributions of these joints, from the description of a data set's training split.

    Raises:
        UserError: there is no description, or a joint is missing or invalid, see `_checked`.
    """
    model = described_model(dataset)
    if model is None:
        raise UserError(
            f"{dataset.path} does not describe its policies' distributions; give them in a file, --commanded FILE.json,"
            " or calibrate on labelled samples"
        )
    if missing := [joint for joint in joints if joint not in model.interventions]:
        raise UserError(f"{dataset.path} describes no distributions of joint {missing[0]}")
    sample = model.sample_observational(np.random.default_rng(0), _SAMPLES)
    drawn = {joint: Sampled(angles) for joint, angles in zip(model.joints, sample.T, strict=True)}
    alone = not model.weights and not model.noise
    return tuple(
        _checked(
            f"{dataset.path}: joint {joint}",
            Commanded(
                policies=model.interventions[joint],
                observational_mean=drawn[joint].moments()[0],
                observational=model.observational[joint] if alone else None,
                marginal=model.observational[joint] if alone else drawn[joint],
            ),
        )
        for joint in joints
    )


def read_commanded(path: Path, joints: Sequence[str]) -> tuple[Commanded, ...]:
    """The commanded distributions of these joints, from a JSON file.

    The file has an entry for each joint: "policies", the distributions of policy 1 and policy 2, and optionally
    "observational", that without intervention.  A distribution is a normal truncated to an interval, {"mean", "std",
    "low", "high"}, with mean and standard deviation before the truncation, or uniform, {"low", "high"}; in radians.

    Args:
        path: path of the file.
        joints: joints of the run.

    Raises:
        UserError: no such file, no JSON, a missing or unknown joint or key, a value that is no number or gives no
            distribution, or see `_checked`.
    """
    content = _object(_parsed(path), str(path))
    if missing := [joint for joint in joints if joint not in content]:
        raise UserError(f"{path} has no entry for joint {missing[0]}; it needs one for each of {', '.join(joints)}")
    if unknown := [name for name in content if name not in joints]:
        raise UserError(f"{path}: the run has no joint {unknown[0]}; it has {', '.join(joints)}")
    return tuple(_joint(content[joint], f"{path}: joint {joint}") for joint in joints)


def _parsed(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_without_repeats)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # no UTF-8, no JSON, or a repeated name
        raise UserError(f"{path} is not valid JSON ({error}); correct it") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if repeated := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{repeated[0]!r} is there twice")
    return dict(pairs)


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
    mean, observational = None, None
    if "observational" in entry:
        observational = _distribution(entry["observational"], f"{where}, observational")
        mean = observational.moments()[0]
    commanded = Commanded(
        policies=(first, second), observational_mean=mean, observational=observational, marginal=observational
    )
    return _checked(where, commanded)


def _distribution(content: object, where: str) -> Distribution:
    entry = _object(content, where)
    kind = _NORMAL if {"mean", "std"} & entry.keys() else _UNIFORM
    entry = _with_keys(entry, where, needed=kind, allowed=_NORMAL)
    numbers = {name: _number(entry[name], f"{where}: {name}") for name in kind}
    if not numbers["low"] < numbers["high"]:
        raise UserError(f"{where}: low {numbers['low']:g} is not below high {numbers['high']:g}")
    if kind is _UNIFORM:
        return Uniform(**numbers)
    std = numbers.pop("std")
    if not std > 0:
        raise UserError(f"{where}: std is {std:g}; it must be above 0")
    normal = TruncatedNormal(variance=std**2, **numbers)
    if not max(numbers["low"] - normal.mean, normal.mean - numbers["high"]) < _MAX_DISTANCE * std:
        raise UserError(f"{where}: mean {normal.mean:g} is more than {_MAX_DISTANCE:g} std outside of low and high")
    return normal


def _with_keys(
    content: Mapping[str, Any], where: str, *, needed: Sequence[str], allowed: Sequence[str]
) -> Mapping[str, Any]:
    if unknown := [name for name in content if name not in allowed]:
        raise UserError(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(allowed)}")
    if missing := [name for name in needed if name not in content]:
        raise UserError(f"{where}: no {missing[0]!r}; it needs {', '.join(needed)}")
    return content


def _number(value: object, where: str) -> float:
    if isinstance(value, int) and value.bit_length() > 1023:
        raise UserError(f"{where} has too many digits")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UserError(f"{where} is {json.dumps(value)}, which is no number")
    return float(value)


def _checked(where: str, commanded: Commanded) -> Commanded:
    """The distributions, where they allow a calibration.

    Raises:
        UserError: both policies have the same mean, or together they span more than a turn.
    """
    first, second = commanded.means
    if math.isclose(first, second, abs_tol=1e-6):
        raise UserError(
            f"{where}: both policies have mean {in_both_units(first)}; a line to radians needs two different ones"
        )
    ends = np.stack([policy.quantile(_ENDS) for policy in commanded.policies])
    if (span := float(ends.max() - ends.min())) > TURN:
        raise UserError(
            f"{where}: the policies span {in_both_units(span)}; images show angles within one turn, "
            f"{in_both_units(TURN)}, only "
            "(angles are in radians, not degrees)"
        )
    return commanded

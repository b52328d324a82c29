"""Structural causal models over joint angles: sampling, interventions, exact density ratios and Bayes floors.

A joint without parents is drawn from its observational distribution; a joint with parents is a sum of functions of
them, linear ones unless others are named; either may have noise.  A hard intervention redraws one joint and propagates
it to its descendants by the same equations.  *Twin sampling* uses the same exogenous draws of an anchor under all
interventions, so joints that an intervention does not reach are equal to the last bit.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import integrate, special, stats

from ropes.causal.effects import EFFECTS, Effect, require_effects
from ropes.common.arrays import Floats, Ints


@dataclass(frozen=True, kw_only=True)
class TruncatedNormal:
    """TN(mean, variance): a normal truncated to the interval from low to high.

    `mean` and `variance` are those of the normal *before* truncation, in radians and rad²; the second number of
    the paper's notation is the variance (ROPES App. D).

    Deviation: that number is the variance before truncation, and not that of the truncated normal or a standard
    deviation.  Why: the paper does not say; its MSE / (1 − MCC²) of Table 7's joints is .35 to .37 rad², as so read
    (.34 and .35; .16 as a standard deviation).  Effect: none if it is the paper's reading.

    Raises:
        ValueError: the variance is not positive or the interval is empty.
    """

    mean: float
    variance: float
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.variance > 0:
            raise ValueError(f"variance must be positive, got {self.variance}")
        if not self.low < self.high:
            raise ValueError(f"empty interval [{self.low}, {self.high}]")

    @cached_property
    def _distribution(self) -> Any:
        scale = self.variance**0.5
        bounds = (self.low - self.mean) / scale, (self.high - self.mean) / scale
        return stats.truncnorm(*bounds, loc=self.mean, scale=scale)

    def quantile(self, probability: ArrayLike) -> Floats:
        """Inverse of the distribution function, in radians."""
        return np.asarray(self._distribution.ppf(probability), dtype=np.float64)

    def sample(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        """Draw `size` values, in radians."""
        return np.clip(self.quantile(rng.random(size)), self.low, self.high)

    def log_density(self, x: ArrayLike) -> Floats:
        """Log density at `x` (−inf outside the interval), in nats."""
        return np.asarray(self._distribution.logpdf(x), dtype=np.float64)

    def cdf(self, x: ArrayLike) -> Floats:
        """Distribution function at `x`."""
        return np.asarray(self._distribution.cdf(x), dtype=np.float64)

    def moments(self) -> tuple[float, float]:
        """Mean and variance after truncation."""
        mean, variance = self._distribution.stats(moments="mv")
        return float(mean), float(variance)


@dataclass(frozen=True)
class Regime:
    """The policy under which an image is recorded: observational, or policy 1 or 2 on one joint."""

    joint: str | None = None
    policy: int = 0

    def __post_init__(self) -> None:
        if (self.joint is None) != (self.policy == 0) or self.policy not in (0, 1, 2):
            raise ValueError(f"no such regime: joint {self.joint}, policy {self.policy}")

    @property
    def name(self) -> str:
        """The word "observational", or the joint's name, a slash and the policy."""
        return "observational" if self.joint is None else f"{self.joint}/{self.policy}"

    @classmethod
    def parse(cls, name: str) -> "Regime":
        """The inverse of `name`.

        Raises:
            ValueError: `name` is not the name of a regime.
        """
        if name == "observational":
            return cls()
        joint, _, policy = name.rpartition("/")
        if not joint or policy not in ("1", "2"):
            raise ValueError(f"not a regime: {name!r}")
        return cls(joint, int(policy))


@dataclass(frozen=True, kw_only=True)
class CausalModel:
    """An additive structural model over named joints with two hard interventions on each (ROPES Section 2, App. F).

    z_j = sum_k weights[k, j] f_kj(z_k) + root_j + noise_j, with root_j ~ `observational[j]` and noise_j ~ `noise[j]`,
    or 0 for joints without one, and f_kj(z) = z unless `effects` names another function.  Under an intervention (i, m),
    z_i ~ `interventions[i][m − 1]` instead, without its noise, and descendants keep their equations.

    Deviation: the noise of joint 6 stays in its equation under interventions on joint 1.  Why: the equations printed
    for do(J2), do(J3) and do(J5) have it, that for do(J1) omits it, and an intervention changes one mechanism alone.
    Effect: none beyond that noise, whose standard deviation is .19 rad.

    Deviation: all poses of an anchor share their noise, and joints with parents are not truncated again.  Why: the
    paper says neither.  Effect: not measured.

    Attributes:
        joints: names, in the order of the columns of every array of angles.
        observational: distribution of the root term of each joint that has one.
        noise: distribution of the additive noise of each joint that has one.
        weights: (parent, child) → coefficient.
        effects: (parent, child) → "sin" or "tanh", of the parent's angle in radians, where the effect is not linear.
        interventions: joint → its two policies.

    Raises:
        ValueError: an unknown joint or effect, an effect without a weight, a joint without a distribution and parents,
            or a cycle.
    """

    joints: tuple[str, ...]
    observational: Mapping[str, TruncatedNormal]
    interventions: Mapping[str, tuple[TruncatedNormal, TruncatedNormal]]
    noise: Mapping[str, TruncatedNormal] = field(default_factory=dict)
    weights: Mapping[tuple[str, str], float] = field(default_factory=dict)
    effects: Mapping[tuple[str, str], Effect] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sources = {*self.observational, *self.noise, *(child for _, child in self.weights)}
        named = {*sources, *self.interventions, *(parent for parent, _ in self.weights)}
        if unknown := named - set(self.joints):
            raise ValueError(f"not among the joints: {sorted(unknown)}")
        if empty := set(self.joints) - sources:
            raise ValueError(f"nothing to draw these joints from: {sorted(empty)}")
        require_effects(self.effects, self.weights)
        try:
            self.order  # noqa: B018 (evaluated for its check)
        except CycleError as error:
            raise ValueError(f"the weights form a cycle: {error.args[1]}") from error

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The joints in topological order: parents first."""
        parents = {joint: [p for p, child in self.weights if child == joint] for joint in self.joints}
        return tuple(TopologicalSorter(parents).static_order())

    @cached_property
    def regimes(self) -> tuple[Regime, ...]:
        """Observational first, then policy 1 and policy 2 of each joint that has interventions."""
        pairs = (Regime(joint, policy) for joint in self.joints if joint in self.interventions for policy in (1, 2))
        return (Regime(), *pairs)

    def descendants(self, joint: str) -> frozenset[str]:
        """The descendants of `joint`, itself included."""
        reached = {joint}
        for name in self.order:
            if any(parent in reached and child == name for parent, child in self.weights):
                reached.add(name)
        return frozenset(reached)

    def _propagate(self, exogenous: Floats, intervention: Mapping[str, Floats]) -> Floats:
        """Solve the structural equations, (n, d) exogenous terms → (n, d) angles, given the angles of some joints."""
        column = {joint: k for k, joint in enumerate(self.joints)}
        angles = np.empty_like(exogenous)
        for joint in self.order:
            k = column[joint]
            angles[:, k] = intervention.get(joint, exogenous[:, k])
            for (parent, child), weight in self.weights.items():
                if child == joint and joint not in intervention:
                    angles[:, k] += weight * self.effect(parent, child, angles[:, column[parent]])
        return angles

    def effect(self, parent: str, child: str, angles: Floats) -> Floats:
        """f_kj of the parent's angles, radians."""
        name = self.effects.get((parent, child))
        return angles if name is None else EFFECTS[name](angles)

    def _exogenous(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw the root and noise terms, (n, d)."""
        terms = np.zeros((n, len(self.joints)))
        for k, joint in enumerate(self.joints):
            for source in (self.observational, self.noise):
                if joint in source:
                    terms[:, k] += source[joint].sample(rng, n)
        return terms

    def sample(self, rng: np.random.Generator, anchors: int) -> Floats:
        """Twin sampling: every anchor under every regime, with the same exogenous draws (ROPES Section 3.2).

        Returns:
            Angles in radians, (anchors, regimes, joints).
        """
        exogenous = self._exogenous(rng, anchors)
        poses = []
        for regime in self.regimes:
            intervention = {}
            if regime.joint is not None:
                intervention = {regime.joint: self.interventions[regime.joint][regime.policy - 1].sample(rng, anchors)}
            poses.append(self._propagate(exogenous, intervention))
        return np.stack(poses, axis=1)

    def sample_chains(self, rng: np.random.Generator, chains: int, turns: int) -> tuple[Floats, Ints]:
        """Chains of moves: every pose but the first redraws one joint of the pose before it, under a random policy.

        The joints with interventions take turns.  Earlier interventions persist, so from the end of the first turn on
        each of these joints is under a known policy.  The first pose is observational.  A move holds all other joints,
        also those that depend on the one that moves; joints without interventions keep their first angles.

        Args:
            rng: of the draws.
            chains: number of chains.
            turns: number of moves of each joint in a chain.

        Returns:
            Angles in radians, (chains, 1 + moves, joints); and the index in `regimes` of the intervention that leads to
            each pose, (chains, 1 + moves), 0 for the first.
        """
        column = {joint: k for k, joint in enumerate(self.joints)}
        moved = [joint for joint in self.joints if joint in self.interventions] * turns
        angles = np.repeat(self.sample_observational(rng, chains)[:, None], 1 + len(moved), axis=1)
        policy = rng.integers(1, 3, (chains, len(moved)))
        for k, joint in enumerate(moved, 1):
            drawn = np.stack([distribution.sample(rng, chains) for distribution in self.interventions[joint]], axis=1)
            angles[:, k:, column[joint]] = drawn[np.arange(chains), policy[:, k - 1] - 1, None]
        first = np.array([self.regimes.index(Regime(joint, 1)) for joint in moved], dtype=np.int64)
        return angles, np.concatenate([np.zeros((chains, 1), np.int64), first + policy - 1], axis=1)

    def sample_observational(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw `n` poses without any intervention, (n, joints), in radians."""
        return self._propagate(self._exogenous(rng, n), {})

    def log_density_ratio(self, joint: str, angles: ArrayLike) -> Floats:
        """Log density ratio log q_i(z_i) / q̄_i(z_i) of policies 1 and 2 at angles (radians) of joint i, in nats.

        It equals the log density ratio of the images, because every other mechanism cancels (ROPES Section 3.1).
        NaN where both densities vanish.
        """
        first, second = self.interventions[joint]
        x = np.asarray(angles, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            return first.log_density(x) - second.log_density(x)

    def bayes_floor(self, joint: str) -> float:
        """The minimum, in nats, of the cross-entropy of classifiers between the two policies, to about 1e-9.

        H = ½ E_q[log(1 + q̄/q)] + ½ E_q̄[log(1 + q/q̄)], for balanced classes.
        """
        first, second = self.interventions[joint]

        def integrand(x: float) -> float:
            a, b = float(first.log_density(x)), float(second.log_density(x))
            terms = ((a, b), (b, a))
            return sum(0.5 * np.exp(p) * special.softplus(q - p) for p, q in terms if np.isfinite(p))

        # Narrow policies would fall between the points of a quadrature over the whole range.
        low, *inner, high = np.unique([each.quantile([1e-15, 0.5, 1 - 1e-15]) for each in (first, second)])
        value, _ = integrate.quad(integrand, low, high, points=inner, limit=200)
        return float(value)

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description; `from_dict` is its inverse."""
        return {
            "joints": list(self.joints),
            "observational": {joint: asdict(tn) for joint, tn in self.observational.items()},
            "noise": {joint: asdict(tn) for joint, tn in self.noise.items()},
            "weights": [[parent, child, weight] for (parent, child), weight in self.weights.items()],
            # Older descriptions have none.
            **({"effects": [[*pair, effect] for pair, effect in self.effects.items()]} if self.effects else {}),
            "interventions": {joint: [asdict(tn) for tn in pair] for joint, pair in self.interventions.items()},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "CausalModel":
        """Build a model from the description of `to_dict`."""
        pairs = {joint: [TruncatedNormal(**tn) for tn in pair] for joint, pair in content["interventions"].items()}
        return cls(
            joints=tuple(content["joints"]),
            observational={joint: TruncatedNormal(**tn) for joint, tn in content["observational"].items()},
            noise={joint: TruncatedNormal(**tn) for joint, tn in content["noise"].items()},
            weights={(parent, child): weight for parent, child, weight in content["weights"]},
            effects={(parent, child): effect for parent, child, effect in content.get("effects", ())},
            interventions={joint: (first, second) for joint, (first, second) in pairs.items()},
        )

"""From effects to a graph: an edge where a direct effect is large enough to matter and too large for chance."""

from collections.abc import Iterable
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ropes.graph.effects import Array, Ints, direct_effects, total_effects

Edge = tuple[int, int]
#: The weakest edge of Table 9's model measures .16 (.12 with a mild cubic distortion).  What one coordinate of a
#: trained network takes over from another joint has measured up to .08 where there is no edge.
BOUND = 0.1
#: Chance that any one edge of a graph without edges is found, whatever the number of joints.
_LEVEL = 0.01
_RESAMPLED = 200
#: The difference between a joint's policies must be so many times its standard error.
_KNOWN = 5.0


@dataclass(frozen=True, kw_only=True)
class CausalGraph:
    """What was found between d joints.

    Attributes:
        effects: (d, d), direct effect of the row's joint on the column's, in shares of what the policies on the
            column's joint do to it; its sign depends on which policy is called the first.
        errors: (d, d), standard errors of `effects`.
        edges: parent and child, the strongest first; no cycle among them.
        undecided: pairs of an effect above the bound that may still be chance: more poses would tell.
        cyclic: pairs left out because stronger edges lead the other way.
    """

    effects: Array
    errors: Array
    edges: tuple[Edge, ...]
    undecided: tuple[Edge, ...]
    cyclic: tuple[Edge, ...]

    @property
    def matrix(self) -> NDArray[np.bool_]:
        """The edges as a (d, d) matrix, row parent, column child."""
        found = np.zeros(self.effects.shape, dtype=bool)
        for edge in self.edges:
            found[edge] = True
        return found


def estimate_graph(
    coordinates: Array, target: Ints, policy: Ints, anchor: Ints, *, bound: float = BOUND, seed: int = 0
) -> CausalGraph:
    """Infer which joint causes which, assuming a linear structural model without hidden causes of two joints.

    An edge is a direct effect of at least `bound` that differs from zero at the level .01, corrected for the number
    of pairs.  Its standard error comes from a Bayesian bootstrap over anchors (exponential weights), so poses of one
    anchor may depend on one another; without anchors give every pose a number of its own.  Edges enter from the
    strongest on; one that would close a cycle stays out.

    Args:
        coordinates: (n, d), estimated; any sign, offset and scale.
        target: (n,), column of the joint that the pose's policy is on, −1 for observational poses.
        policy: (n,), 1 or 2, 0 for observational poses.
        anchor: (n,), equal for poses of the same anchor.
        bound: see above, in shares of what a joint's own policies do to it.
        seed: of the bootstrap.

    Raises:
        ValueError: a joint has fewer than two poses under a policy, a coordinate does not answer to the policies on its
            joint, or two answer alike; joints are counted from 1.
    """
    d = coordinates.shape[1]
    for joint in range(d):
        _require_answer(coordinates[:, joint], target == joint, policy, joint)
    effects = direct_effects(total_effects(coordinates, target, policy, np.ones(len(coordinates))))
    rng = np.random.default_rng(seed)
    _, number = np.unique(anchor, return_inverse=True)
    drawn = [rng.exponential(size=number.max() + 1)[number] for _ in range(_RESAMPLED)]
    resampled = [np.eye(d) - np.linalg.inv(total_effects(coordinates, target, policy, weight)) for weight in drawn]
    # Ratios have long tails: the quartiles' distance tells their spread better than the variance does.
    errors = np.asarray(stats.iqr(resampled, axis=0, scale="normal"))
    threshold = stats.norm.ppf(1 - _LEVEL / (2 * max(1, d * (d - 1))))
    strength = np.abs(effects)
    large = (strength >= bound) & ~np.eye(d, dtype=bool)
    sure = large & (strength > threshold * errors)
    edges, cyclic = _without_cycles(_strongest_first(sure, strength))
    return CausalGraph(
        effects=effects,
        errors=errors,
        edges=edges,
        undecided=tuple(_strongest_first(large & ~sure, strength)),
        cyclic=cyclic,
    )


def _require_answer(coordinate: Array, own: NDArray[np.bool_], policy: Ints, joint: int) -> None:
    """Check that the unit that effects on a joint are measured in is known to a fifth at least."""
    first, second = (coordinate[own & (policy == kind)] for kind in (1, 2))
    if min(len(first), len(second)) < 2:
        raise ValueError(f"joint {joint + 1} has fewer than two poses under one of its policies")
    error = (first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)) ** 0.5
    if not abs(first.mean() - second.mean()) > _KNOWN * error:
        raise ValueError(f"coordinate {joint + 1} does not answer to the policies on its own joint")


def _strongest_first(chosen: NDArray[np.bool_], strength: Array) -> list[Edge]:
    pairs = [(int(parent), int(child)) for parent, child in np.argwhere(chosen)]
    return sorted(pairs, key=lambda pair: -strength[pair])


def _without_cycles(candidates: Iterable[Edge]) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """The edges that can be had without a cycle, earlier ones first, and the others."""
    kept: list[Edge] = []
    left: list[Edge] = []
    for edge in candidates:
        (kept if _acyclic([*kept, edge]) else left).append(edge)
    return tuple(kept), tuple(left)


def _acyclic(edges: Iterable[Edge]) -> bool:
    parents: dict[int, list[int]] = {}
    for parent, child in edges:
        parents.setdefault(child, []).append(parent)
    try:
        TopologicalSorter(parents).prepare()
    except CycleError:
        return False
    return True

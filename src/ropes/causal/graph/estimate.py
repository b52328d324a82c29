"""Turns effects into a causal graph: an edge, no edge or no answer for each ordered pair of joints."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from ropes.causal.graph.effects import (
    direct_effects,
    effects_after_unmixing,
    normal_scores,
    policy_distances,
    total_effects,
)
from ropes.common.arrays import Bools, Floats, Ints

Edge = tuple[int, int]
#: The weakest edge of Table 9's model measures .16 (.12 with a mild cubic distortion).
BOUND = 0.1
#: Probability of any edge in the graph of independent joints.
_LEVEL = 0.01
#: Standard errors by which an effect must fall short of the bound to count as none: 5% per pair, one-sided.
_SHORT = 1.645
#: A mixture of the opposite sign may cancel an effect of up to this many bounds.
_CANCELLED = 2.0
#: Effect after unmixing that a strong nonlinearity of mixed coordinates leaves (root mean square, measured).
_NONLINEAR = 0.025
_RESAMPLED = 200
#: Reasons why a joint is not read.
SILENT = "its coordinate does not respond to the policies on it"
BLURRED = "coordinates hardly discriminate its policies from each other, or from those on other joints"
_REFUSALS = {
    SILENT: "the coordinate of {} does not respond to the policies on it",
    BLURRED: "the policies on {} hardly change the coordinates, or cannot be told apart from those on others",
}
#: Minimal distance between a joint's policies, in standard errors and in standard deviations under the policies.
_STANDARD_ERRORS, _DEVIATIONS = 5.0, 0.7


@dataclass(frozen=True, kw_only=True)
class CausalGraph:
    """The estimated graph of d joints; NaN in the rows and columns of joints that are not read.

    Attributes:
        effects: (d, d), direct effect of the row's joint on the column's, as a share of the effect of the policies on
            the column's joint; its sign depends on the order of the policies.
        errors: (d, d), standard errors of `effects`.
        cleared: (d, d), total effects after unmixing (`ropes.causal.graph.effects.effects_after_unmixing`) of normal
            scores, as such shares.
        cleared_errors: (d, d), standard errors of `cleared`.
        edges: parent and child, the strongest first; without cycles.
        undecided: pairs with an effect above the bound that may be chance or a mixture; more poses may decide.
        cyclic: pairs omitted because stronger edges lead the other way.
        undetermined: every pair without an answer, including `undecided` and the pairs of joints that are not read.
            A pair neither here nor in `edges` is no edge.
        unread: joint → why it is not read.
    """

    effects: Floats
    errors: Floats
    cleared: Floats
    cleared_errors: Floats
    edges: tuple[Edge, ...]
    undecided: tuple[Edge, ...]
    cyclic: tuple[Edge, ...]
    undetermined: tuple[Edge, ...]
    unread: Mapping[int, str] = field(default_factory=dict)

    @property
    def matrix(self) -> Bools:
        """The edges as a (d, d) matrix, row parent, column child."""
        return _adjacency(self.edges, len(self.effects))

    @property
    def descendants(self) -> Bools:
        """Whether the column's joint is a descendant of the row's, (d, d)."""
        return _descendants(self.edges, len(self.effects))


def estimate_graph(
    coordinates: Floats,
    target: Ints,
    policy: Ints,
    anchor: Ints,
    *,
    bound: float = BOUND,
    seed: int = 0,
    names: Sequence[str] = (),
) -> CausalGraph:
    """Estimate the causal graph, assuming a linear structural model without hidden common causes.

    Only joints whose policies the coordinates separate are read.  A pair is an edge if

    - its direct effect is at least `bound` and differs from zero at the level .01, corrected for the number of pairs;
    - its total effect after unmixing has the same sign, is at least `bound`, and exceeds .025 at the same level,
      because a nonlinear mixture may leave that much;
    - its direct effect after unmixing does not fall short of the bound.

    So the probability of any edge between independent joints is .01, for any linear mixture.  A pair is no edge if

    - its total effect after unmixing falls short of the bound by 1.645 standard errors;
    - its direct effect does so, and its total effect after unmixing falls short of twice the bound;
    - its direct effect does so, and its total effect after unmixing is certain: it passes through other joints;
    - it leads back from a descendant.

    Everything else is undetermined.

    Standard errors come from a Bayesian bootstrap over anchors (exponential weights), so poses of one anchor may be
    dependent; without anchors give every pose its own number.  Edges are added from the strongest on; one that would
    close a cycle is omitted.

    Args:
        coordinates: (n, d), estimated; any sign, offset and scale.
        target: (n,), column of the joint that the pose's policy is on, −1 for observational poses.
        policy: (n,), 1 or 2, 0 for observational poses.
        anchor: (n,), equal for poses of the same anchor.
        bound: smallest effect of an edge, as a share of the effect of a joint's own policies.
        seed: seed of the bootstrap.
        names: of the joints, for messages; their numbers from 1 on if empty.

    Raises:
        ValueError: a joint has fewer than two poses under a policy, or fewer than two joints are read (of a single
            joint: none); the message names the first such joint and the reason.
    """
    d = coordinates.shape[1]
    names = names or [f"joint {number}" for number in range(1, d + 1)]
    unread = _unread(coordinates, target, policy, names)
    if d - len(unread) < min(2, d):
        joint, why = next(iter(unread.items()))
        raise ValueError(_REFUSALS[why].format(names[joint]))
    read = [joint for joint in range(d) if joint not in unread]
    rows, targets = _restrict(read, target, d)
    graph = _graph_of_read(coordinates[rows][:, read], targets, policy[rows], anchor[rows], bound, d, seed)

    def whole(matrix: Floats) -> Floats:
        expanded = np.full((d, d), np.nan)
        expanded[np.ix_(read, read)] = matrix
        return expanded

    def renumbered(pairs: Iterable[Edge]) -> tuple[Edge, ...]:
        return tuple((read[parent], read[child]) for parent, child in pairs)

    missing = [(i, j) for i in range(d) for j in range(d) if i != j and (i in unread or j in unread)]
    return CausalGraph(
        effects=whole(graph.effects),
        errors=whole(graph.errors),
        cleared=whole(graph.cleared),
        cleared_errors=whole(graph.cleared_errors),
        edges=renumbered(graph.edges),
        undecided=renumbered(graph.undecided),
        cyclic=renumbered(graph.cyclic),
        undetermined=(*renumbered(graph.undetermined), *missing),
        unread=unread,
    )


def _unread(coordinates: Floats, target: Ints, policy: Ints, names: Sequence[str]) -> dict[int, str]:
    """Joints that cannot be read, and why; the other joints are checked again without them."""
    d = coordinates.shape[1]
    unread = {j: SILENT for j in range(d) if not _responds(coordinates[:, j], target == j, policy, names[j])}
    while joints := [joint for joint in range(d) if joint not in unread]:
        rows, targets = _restrict(joints, target, d)
        distances = policy_distances(coordinates[rows][:, joints], targets, policy[rows])
        errors = [sum(1 / np.sum((target == j) & (policy == kind)) for kind in (1, 2)) ** 0.5 for j in joints]
        minima = [max(_DEVIATIONS, _STANDARD_ERRORS * error) for error in errors]
        poor = [j for j, distance, least in zip(joints, distances, minima, strict=True) if distance < least]
        if not poor:
            break
        unread |= dict.fromkeys(poor, BLURRED)
    return dict(sorted(unread.items()))


def _restrict(joints: list[int], target: Ints, d: int) -> tuple[Bools, Ints]:
    """The poses without a policy on other joints, and their targets numbered within `joints`."""
    number = np.full(d + 1, -2)
    number[joints], number[-1] = np.arange(len(joints)), -1  # the last entry is for the target −1
    rows = number[target] > -2
    return rows, number[target[rows]]


def _responds(coordinate: Floats, own: Bools, policy: Ints, name: str) -> bool:
    """Whether the distance between the means under a joint's policies exceeds five standard errors."""
    first, second = (coordinate[own & (policy == kind)] for kind in (1, 2))
    if min(len(first), len(second)) < 2:
        raise ValueError(f"{name} has fewer than two poses under one of its policies")
    error = (first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)) ** 0.5
    return bool(abs(first.mean() - second.mean()) > _STANDARD_ERRORS * error)


def _graph_of_read(
    coordinates: Floats, target: Ints, policy: Ints, anchor: Ints, bound: float, joints: int, seed: int
) -> CausalGraph:
    """The graph of d joints that are all read, out of `joints`."""
    d = coordinates.shape[1]
    _, number = np.unique(anchor, return_inverse=True)
    anchors = int(number.max()) + 1
    weights = np.random.default_rng(seed).exponential(size=(_RESAMPLED, anchors))
    weights = np.concatenate([np.ones((1, anchors)), weights])
    total = total_effects(coordinates, target, policy, np.take(weights, number, axis=1))
    effects = direct_effects(total[0])
    # Ratios have long tails, so the interquartile range measures their spread better than the variance does.
    errors = _standard_errors(np.eye(d) - np.linalg.inv(total[1:]))
    totals, reliable = effects_after_unmixing(normal_scores(coordinates), target, policy, number, weights)
    cleared, cleared_errors = totals[0], totals[1:].std(0)
    threshold = stats.norm.ppf(1 - _LEVEL / (2 * max(1, joints * (joints - 1))))
    strength, size, off = np.abs(effects), np.abs(cleared), ~np.eye(d, dtype=bool)
    large = (strength >= bound) & off
    causes = (size >= bound) & (size > _NONLINEAR + threshold * cleared_errors) & off
    # A pair stays open if a mixture of the opposite sign cancels its effect.
    causes &= (cleared * total[0] > 0) & (np.abs(total[0]) >= bound)
    direct = np.eye(d) - np.linalg.pinv(np.where(causes | ~off, totals, 0.0))
    indirect = causes & (np.sign(effects) * direct[0] + _SHORT * _standard_errors(direct[1:]) < bound)
    certain = large & (strength > threshold * errors) & causes & ~indirect
    edges, cyclic = _without_cycles(_strongest_first(certain, strength), d)
    small, largest = strength + _SHORT * errors < bound, size + _SHORT * cleared_errors
    none = reliable[:, None] & (largest < bound) | small & (largest < _CANCELLED * bound)
    none |= (causes & small) | indirect | _descendants(edges, d).T
    undetermined = off & ~certain & ~none
    return CausalGraph(
        effects=effects,
        errors=errors,
        cleared=cleared,
        cleared_errors=cleared_errors,
        edges=edges,
        undecided=tuple(_strongest_first(large & undetermined, strength)),
        cyclic=cyclic,
        undetermined=tuple(_strongest_first(undetermined, strength)),
    )


def _standard_errors(resampled: Floats) -> Floats:
    return np.asarray(stats.iqr(resampled, axis=0, scale="normal"))


def _adjacency(edges: Iterable[Edge], d: int) -> Bools:
    matrix = np.zeros((d, d), dtype=bool)
    for edge in edges:
        matrix[edge] = True
    return matrix


def _descendants(edges: Iterable[Edge], d: int) -> Bools:
    """Whether a path of edges leads from the row's joint to the column's, (d, d)."""
    reached = _adjacency(edges, d)
    for via in range(d):
        reached |= reached[:, via, None] & reached[via]
    return reached


def _strongest_first(mask: Bools, strength: Floats) -> list[Edge]:
    pairs = [(int(parent), int(child)) for parent, child in np.argwhere(mask)]
    return sorted(pairs, key=lambda pair: -strength[pair])


def _without_cycles(candidates: Iterable[Edge], d: int) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """Add edges in order unless they close a cycle; the added and the omitted edges."""
    kept: list[Edge] = []
    omitted: list[Edge] = []
    for parent, child in candidates:
        closes = _descendants(kept, d)[child, parent]
        (omitted if closes else kept).append((parent, child))
    return tuple(kept), tuple(omitted)

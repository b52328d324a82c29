"""Turns effects into a graph: an edge, no edge or no answer for each ordered pair of joints."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ropes.causal.graph.cleared import cleared_effects, distances, normal_scores
from ropes.causal.graph.effects import Array, Ints, direct_effects, total_effects

Edge = tuple[int, int]
Mask = NDArray[np.bool_]
#: The weakest edge of Table 9's model measures .16 (.12 with a mild cubic distortion).
BOUND = 0.1
#: Chance that any one edge of a graph without edges is found, whatever the number of joints.
_LEVEL = 0.01
#: Standard errors by which an effect must fall short of the bound to count as none: 5% a pair, one-sided.
_SHORT = 1.645
#: A mixture of the opposite sign may hide an effect of up to so many bounds where a coordinate does not respond.
_CANCELLED = 2.0
#: What a strong bend of mixed coordinates leaves in a cleared effect (root mean square, measured).
_BENT = 0.025
_RESAMPLED = 200
#: Why a joint is not read.
SILENT = "its coordinate does not answer to the policies on it"
BLURRED = "coordinates hardly tell its policies from one another, or not from those on other joints"
_REFUSALS = {
    SILENT: "coordinate {} does not answer to the policies on its own joint",
    BLURRED: "the policies on joint {} hardly move the coordinates, or cannot be told apart from those on others",
}
#: The difference between a joint's policies must be so many times its standard error, and of its spread under them.
_KNOWN, _TOLD = 5.0, 0.7


@dataclass(frozen=True, kw_only=True)
class CausalGraph:
    """What was found between d joints; NaN in the rows and columns of joints that are not read.

    Attributes:
        effects: (d, d), direct effect of the row's joint on the column's, in shares of what the policies on the
            column's joint do to it; its sign depends on which policy is called the first.
        errors: (d, d), standard errors of `effects`.
        cleared: (d, d), total effects without mixtures (`ropes.causal.graph.cleared`), of normal scores, in such
            shares.
        cleared_errors: (d, d), standard errors of `cleared`.
        edges: parent and child, the strongest first; no cycle among them.
        undecided: pairs of an effect above the bound that may be chance or a mixture: more poses would tell.
        cyclic: pairs left out because stronger edges lead the other way.
        undetermined: every pair without an answer, those of `undecided` and of joints that are not read included.
            What is neither here nor in `edges` is no edge.
        unread: joint → why nothing can be said of it.
    """

    effects: Array
    errors: Array
    cleared: Array
    cleared_errors: Array
    edges: tuple[Edge, ...]
    undecided: tuple[Edge, ...]
    cyclic: tuple[Edge, ...]
    undetermined: tuple[Edge, ...]
    unread: Mapping[int, str] = field(default_factory=dict)

    @property
    def matrix(self) -> Mask:
        """The edges as a (d, d) matrix, row parent, column child."""
        found = np.zeros(self.effects.shape, dtype=bool)
        for edge in self.edges:
            found[edge] = True
        return found

    @property
    def descendants(self) -> Mask:
        """Which joint (column) the edges reach from which (row), (d, d)."""
        return _descendants(self.edges, len(self.effects))


def estimate_graph(
    coordinates: Array, target: Ints, policy: Ints, anchor: Ints, *, bound: float = BOUND, seed: int = 0
) -> CausalGraph:
    """Infer which joint causes which, assuming a linear structural model without hidden causes of two joints.

    Only joints are asked of whose policies the coordinates tell.  An edge is a direct effect of at least `bound` that
    differs from zero at the level .01, corrected for the number of pairs.  The total effect that is left when mixtures
    are cleared away must have the same sign, be at least `bound`, and exceed .025 at the same level: as much may be
    left of a mixture where coordinates are bent.  The cleared direct effect must not fall short of the bound.  So the
    chance of any edge between joints that are independent is .01, whatever linear mixtures coordinates are.
    No edge is

    - a cleared effect that falls short of the bound by 1.645 standard errors;
    - a direct effect that does so, where the cleared effect falls short of twice the bound;
    - a direct effect that does so, where the cleared effect is beyond doubt: it leads through other joints;
    - what would lead back from a descendant.

    Everything else is undetermined.

    Standard errors come from a Bayesian bootstrap over anchors (exponential weights), so poses of one anchor may
    depend on one another; without anchors give every pose a number of its own.  Edges enter from the strongest on;
    one that would close a cycle stays out.

    Args:
        coordinates: (n, d), estimated; any sign, offset and scale.
        target: (n,), column of the joint that the pose's policy is on, −1 for observational poses.
        policy: (n,), 1 or 2, 0 for observational poses.
        anchor: (n,), equal for poses of the same anchor.
        bound: see above, in shares of what a joint's own policies do to it.
        seed: of the bootstrap.

    Raises:
        ValueError: a joint has fewer than two poses under a policy, or fewer than two joints are read (one, where
            there is one): a coordinate does not answer to the policies on its joint, or no coordinates tell them from
            those on others; joints are counted from 1.
    """
    d = coordinates.shape[1]
    unread = _unread(coordinates, target, policy)
    if d - len(unread) < min(2, d):
        joint, why = next(iter(unread.items()))
        raise ValueError(_REFUSALS[why].format(joint + 1))
    read = [joint for joint in range(d) if joint not in unread]
    kept, among = _among(read, target, d)
    found = _among_read(coordinates[kept][:, read], among, policy[kept], anchor[kept], (bound, d), seed)
    whole = np.ix_(read, read)
    matrices = [np.full((d, d), np.nan) for _ in range(4)]
    for matrix, part in zip(matrices, (found.effects, found.errors, found.cleared, found.cleared_errors), strict=True):
        matrix[whole] = part
    lists = [
        tuple((read[parent], read[child]) for parent, child in pairs)
        for pairs in (found.edges, found.undecided, found.cyclic, found.undetermined)
    ]
    silent = [(i, j) for i in range(d) for j in range(d) if i != j and (i in unread or j in unread)]
    return CausalGraph(
        effects=matrices[0],
        errors=matrices[1],
        cleared=matrices[2],
        cleared_errors=matrices[3],
        edges=lists[0],
        undecided=lists[1],
        cyclic=lists[2],
        undetermined=(*lists[3], *silent),
        unread=unread,
    )


def _unread(coordinates: Array, target: Ints, policy: Ints) -> dict[int, str]:
    """Joints of which nothing can be said, and why; what is left is checked again without them."""
    d, left = coordinates.shape[1], list(range(coordinates.shape[1]))
    unread = {j: SILENT for j in left if not _answers(coordinates[:, j], target == j, policy, j)}
    while left := [joint for joint in range(d) if joint not in unread]:
        kept, among = _among(left, target, d)
        told = distances(coordinates[kept][:, left], among, policy[kept])
        error = [sum(1 / np.sum((target == j) & (policy == kind)) for kind in (1, 2)) ** 0.5 for j in left]
        poor = [j for j, far, chance in zip(left, told, error, strict=True) if far < max(_TOLD, _KNOWN * chance)]
        if not poor:
            break
        unread |= dict.fromkeys(poor, BLURRED)
    return dict(sorted(unread.items()))


def _among(joints: list[int], target: Ints, d: int) -> tuple[Mask, Ints]:
    """Which poses are without a policy on other joints, and the targets of those, counted among `joints`."""
    place = np.full(d + 1, -2)
    place[joints], place[-1] = np.arange(len(joints)), -1  # the last for observational poses, whose target is −1
    kept = place[target] > -2
    return kept, place[target[kept]]


def _answers(coordinate: Array, own: Mask, policy: Ints, joint: int) -> bool:
    """Whether the unit that effects on a joint are measured in is known to a fifth at least."""
    first, second = (coordinate[own & (policy == kind)] for kind in (1, 2))
    if min(len(first), len(second)) < 2:
        raise ValueError(f"joint {joint + 1} has fewer than two poses under one of its policies")
    error = (first.var(ddof=1) / len(first) + second.var(ddof=1) / len(second)) ** 0.5
    return bool(abs(first.mean() - second.mean()) > _KNOWN * error)


def _among_read(
    coordinates: Array, target: Ints, policy: Ints, anchor: Ints, sizes: tuple[float, int], seed: int
) -> CausalGraph:
    """The graph among joints that are all read; `sizes` are the bound and the number of all joints."""
    (bound, joints), d = sizes, coordinates.shape[1]
    _, number = np.unique(anchor, return_inverse=True)
    anchors = int(number.max()) + 1
    weights = np.random.default_rng(seed).exponential(size=(_RESAMPLED, anchors))
    weights = np.concatenate([np.ones((1, anchors)), weights])
    total = np.stack([total_effects(coordinates, target, policy, weight[number]) for weight in weights])
    effects = direct_effects(total[0])
    # Ratios have long tails: the quartiles' distance tells their spread better than the variance does.
    errors = _spread(np.eye(d) - np.linalg.inv(total[1:]))
    every, reliable = cleared_effects(normal_scores(coordinates), target, policy, number, weights)
    cleared, cleared_errors = every[0], every[1:].std(0)
    threshold = stats.norm.ppf(1 - _LEVEL / (2 * max(1, joints * (joints - 1))))
    strength, size, off = np.abs(effects), np.abs(cleared), ~np.eye(d, dtype=bool)
    large = (strength >= bound) & off
    causes = (size >= bound) & (size > _BENT + threshold * cleared_errors) & off
    # What a mixture of the opposite sign cancels, or more than that, stays open.
    causes &= (cleared * total[0] > 0) & (np.abs(total[0]) >= bound)
    direct = np.eye(d) - np.linalg.pinv(np.where(causes | ~off, every, 0.0))
    through = causes & (np.sign(effects) * direct[0] + _SHORT * _spread(direct[1:]) < bound)
    sure = large & (strength > threshold * errors) & causes & ~through
    edges, cyclic = _without_cycles(_strongest_first(sure, strength))
    small, most = strength + _SHORT * errors < bound, size + _SHORT * cleared_errors
    none = reliable[:, None] & (most < bound) | small & (most < _CANCELLED * bound)
    none |= (causes & small) | through | _descendants(edges, d).T
    open_ = off & ~sure & ~none
    return CausalGraph(
        effects=effects,
        errors=errors,
        cleared=cleared,
        cleared_errors=cleared_errors,
        edges=edges,
        undecided=tuple(_strongest_first(large & open_, strength)),
        cyclic=cyclic,
        undetermined=tuple(_strongest_first(open_, strength)),
    )


def _spread(resampled: Array) -> Array:
    return np.asarray(stats.iqr(resampled, axis=0, scale="normal"))


def _descendants(edges: Iterable[Edge], d: int) -> Mask:
    """Which joint (column) the edges reach from which (row)."""
    reached = np.zeros((d, d), dtype=bool)
    for edge in edges:
        reached[edge] = True
    for via in range(d):
        reached |= reached[:, via, None] & reached[via]
    return reached


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

"""Estimates the causal graph from a run's coordinates and compares it with the data set's true graph."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.causal.graph import CausalGraph, estimate_graph
from ropes.causal.graph.estimate import BOUND
from ropes.common.files import strip_folder, write_json
from ropes.common.seeds import generator
from ropes.common.stores import Location
from ropes.data.chains import has_chains
from ropes.data.dataset import Dataset, Frames
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of
from ropes.methods.policies import described_model, require_both_policies
from ropes.methods.training.validation_split import held_out_frames
from ropes.metrics import structural_hamming_distance

GRAPH_FILE = "graph.json"
#: Largest number of poses per regime. Standard errors of effects after unmixing are then about 1/60 (roots) to 1/15.
MAX_POSES = 5000


@dataclass(frozen=True, kw_only=True)
class FoundGraph:
    """A causal graph between named joints.

    Attributes:
        joints: names, in the order of the graph's rows and columns.
        graph: the estimate.
        true: (d, d), row parent, column child; None if the data set does not describe it.
        poses: number of poses that the estimate uses.
    """

    joints: tuple[str, ...]
    graph: CausalGraph
    true: NDArray[np.bool_] | None
    poses: int

    @property
    def distance(self) -> int | None:
        """Structural Hamming distance to the true graph; None if that is unknown."""
        return None if self.true is None else structural_hamming_distance(self.graph.matrix, self.true)

    def to_dict(self) -> dict[str, Any]:
        """The content of graph.json: edges as [parent, child]; effects with a row per parent and a column per child."""

        def named(edges: Any) -> list[list[str]]:
            return [[self.joints[parent], self.joints[child]] for parent, child in edges]

        return {
            "joints": list(self.joints),
            **{name: _listed(getattr(self.graph, name)) for name in ("effects", "errors", "cleared", "cleared_errors")},
            **{name: named(getattr(self.graph, name)) for name in ("edges", "undecided", "cyclic")},
            "undetermined": [
                {"parent": self.joints[parent], "child": self.joints[child], "why": self._why(parent, child)}
                for parent, child in self.graph.undetermined
            ],
            "unread": {self.joints[joint]: why for joint, why in self.graph.unread.items()},
            "true": None if self.true is None else named(np.argwhere(self.true)),
            "distance": self.distance,
            "poses": self.poses,
        }

    def _why(self, parent: int, child: int) -> str:
        """Why the edge between an ordered pair is undetermined."""
        for joint in (parent, child):
            if joint in self.graph.unread:
                return self.graph.unread[joint]
        if (parent, child) in self.graph.undecided:
            return "too few poses to distinguish an effect from entangled coordinates"
        return "too few poses to rule an effect out"


def _listed(matrix: NDArray[np.float64]) -> list[list[float | None]]:
    """The rows of a matrix for JSON; None for values that are not finite."""
    return [[float(value) if np.isfinite(value) else None for value in row] for row in matrix]


def causal_graph(run: Path, data: Location, *, bound: float = BOUND, seed: int = 0) -> FoundGraph:
    """Estimate the causal graph of the joints from a run's coordinates under the interventions of a data set.

    Args:
        run: folder of the run.
        data: data set with both policies on every joint; its angles are not read.
        bound: see `ropes.causal.graph.estimate_graph`.
        seed: seed of the choice of anchors and the bootstrap.

    Raises:
        UserError: an unfinished run, missing cameras, joints or policies, or uninformative coordinates.
    """
    return graph_of(Estimator.load(run), open_dataset(data), bound=bound, seed=seed)


def graph_of(estimator: Estimator, dataset: Dataset, *, bound: float = BOUND, seed: int = 0) -> FoundGraph:
    """As `causal_graph`, of an open run and data set."""
    require_both_policies(dataset)
    if has_chains(dataset):
        raise UserError(
            f"{dataset.path} holds chains of moves, in which no joint can follow another: a graph needs anchors"
        )
    joints, frames = estimator.run.joints, dataset.frames("train")
    if missing := [joint for joint in joints if joint not in dataset.joints]:
        raise UserError(f"{dataset.path} has no interventions on {missing[0]} (it has {', '.join(dataset.joints)})")
    column = np.array([-1 if r.joint not in joints else joints.index(r.joint) for r in dataset.regimes])
    policy = np.array([regime.policy for regime in dataset.regimes])
    rows = held_out_rows(estimator, dataset, frames, (column >= 0) | (policy == 0), seed)
    regime = frames.regime[rows]
    coordinates = estimator.coordinates(images_of(estimator.run, dataset, frames.index[rows]))
    try:
        regimes = column[regime], policy[regime]
        graph = estimate_graph(coordinates, *regimes, frames.anchor[rows], bound=bound, seed=seed, names=joints)
    except ValueError as error:
        raise UserError(
            f"{dataset.path} and this run show no graph: {error}; fit longer, or on more anchors"
        ) from error
    return FoundGraph(joints=joints, graph=graph, true=_true_graph(dataset, joints), poses=len(rows))


def held_out_rows(
    estimator: Estimator, dataset: Dataset, frames: Frames, regimes: NDArray[np.bool_], seed: int
) -> NDArray[np.int64]:
    """Choose at most `MAX_POSES` held-out poses under each of some regimes, preferably of the same anchors.

    Images of the training set are left out: a network may have memorised their policies. The joint's own policies then
    lack the mixture of joints that other images have, which looks like a cause of the joint.

    Args:
        estimator: estimator of the run; of a run on another data set, all poses are held out.
        dataset: the data set.
        frames: its training frames.
        regimes: mask of the data set's regimes, (R,).
        seed: seed of the choice of anchors.

    Returns:
        Positions among `frames`, in ascending order, int64 (n,).
    """
    anchors, number = np.unique(frames.anchor, return_inverse=True)
    order = generator(seed, "causal graph").permutation(len(anchors))[number]
    ranked = np.argsort(order, kind="stable")
    ranked = ranked[held_out_frames(estimator.run, dataset)[ranked]]
    parts = [ranked[frames.regime[ranked] == regime][:MAX_POSES] for regime in np.flatnonzero(regimes)]
    return np.sort(np.concatenate(parts))


def _true_graph(dataset: Dataset, joints: tuple[str, ...]) -> NDArray[np.bool_] | None:
    """The adjacency matrix that a data set describes, or None.

    A path through joints that are not among `joints` is an edge between its ends, as it is for the estimate.
    """
    model = described_model(dataset)
    if model is None or any(joint not in model.joints for joint in joints):
        return None
    matrix = np.zeros((len(joints), len(joints)), dtype=bool)
    for row, parent in enumerate(joints):
        reached, open_ends = set[str](), [parent]
        while open_ends:
            cause = open_ends.pop()
            children = {child for (each, child), weight in model.weights.items() if weight and each == cause} - reached
            reached |= children
            open_ends += children.difference(joints)
        matrix[row] = [joint in reached for joint in joints]
    return matrix


def write_graph(path: Path, estimator: Estimator, dataset: Dataset, *, seed: int = 0) -> None:
    """Write the estimate of `graph_of`, or the reason why there is none, for the report."""
    try:
        content = graph_of(estimator, dataset, seed=seed).to_dict()
    except UserError as error:
        content = {"absent": strip_folder(str(error), dataset.path)}
    write_json(path, content)

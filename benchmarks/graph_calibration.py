"""Measures the error rates of the causal graph on coordinates of graded quality, from poses of the Panda's models.

    python -m benchmarks.graph_calibration [--seeds 20] [--anchors 500] [--out FILE]

No images are rendered. For the independent setting, `false` is the share of runs with any edge, and `edges` the number
of edges in all runs. For the causal setting the figures are the true edges found, the false edges, and the true edges
reported as no edge (each as a share, or per run). A run in which no joint can be read has no edge and thirty
undetermined pairs.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from benchmarks.figures import options, publish
from ropes.causal.graph import estimate_graph
from ropes.causal.scm import CausalModel
from ropes.common.arrays import Floats
from ropes.simulation.settings import setting_named

Quality = Callable[[Floats, np.random.Generator], Floats]


def _mixed(z: Floats, rng: np.random.Generator, most: float) -> Floats:
    mixing = rng.uniform(-most, most, (z.shape[1], z.shape[1]))
    np.fill_diagonal(mixing, 1.0)
    return np.asarray(z @ mixing)


def _noisy(z: Floats, rng: np.random.Generator, size: float) -> Floats:
    return np.asarray(z + size * rng.normal(size=z.shape))


def _blind(z: Floats, rng: np.random.Generator) -> Floats:
    z = _noisy(_mixed(z, rng, 0.3), rng, 0.3)
    z[:, 2] = rng.normal(size=len(z))
    return z


def _weak_coordinates(z: Floats, rng: np.random.Generator) -> Floats:
    """Coordinates 3, 5 and 6 hardly discriminate their policies, and contain more of other joints than of their own."""
    mixing = rng.uniform(-0.5, 0.5, (6, 6))
    np.fill_diagonal(mixing, [1, 1, 0.15, 1, 0.15, 0.15])
    return _noisy(z @ mixing, rng, 0.7)


#: Quality → coordinates of standardised angles (n, 6).
QUALITIES: dict[str, Quality] = {
    "clean": lambda z, rng: z,
    "noise_0.3": lambda z, rng: _noisy(z, rng, 0.3),
    "noise_1": lambda z, rng: _noisy(z, rng, 1.0),
    "noise_3": lambda z, rng: _noisy(z, rng, 3.0),
    "mixed_0.3": lambda z, rng: _mixed(z, rng, 0.3),
    "mixed_0.3_noise_0.3": lambda z, rng: _noisy(_mixed(z, rng, 0.3), rng, 0.3),
    "mixed_0.6_noise_0.3": lambda z, rng: _noisy(_mixed(z, rng, 0.6), rng, 0.3),
    "mixed_0.6_noise_1": lambda z, rng: _noisy(_mixed(z, rng, 0.6), rng, 1.0),
    "rotated": lambda z, rng: z @ np.linalg.qr(rng.normal(size=(6, 6)))[0],
    "one_blind": _blind,
    "three_weak_coordinates": _weak_coordinates,
    "bent_then_mixed": lambda z, rng: _noisy(_mixed(z + 0.1 * z**3, rng, 0.3), rng, 0.3),
    "mixed_then_bent": lambda z, rng: _noisy(np.tanh(_mixed(z, rng, 0.4)), rng, 0.1),
}


@dataclass(kw_only=True)
class Tally:
    """Counts over runs."""

    runs: int = 0
    wrong_runs: int = 0
    false: int = 0
    found: int = 0
    denied: int = 0
    undetermined: int = 0
    unread: int = 0


def tally(model: CausalModel, quality: Quality, seeds: Iterable[int], anchors: int) -> Tally:
    """Count right and wrong edges over seeds."""
    count, d = Tally(), len(model.joints)
    true = {(model.joints.index(parent), model.joints.index(child)) for parent, child in model.weights}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        angles = model.sample(rng, anchors).reshape(-1, d)
        target = [-1 if r.joint is None else model.joints.index(r.joint) for r in model.regimes]
        policy = [r.policy for r in model.regimes]
        coordinates = quality((angles - angles.mean(0)) / angles.std(0), rng)
        design = np.tile(target, anchors), np.tile(policy, anchors), np.repeat(np.arange(anchors), len(target))
        count.runs += 1
        try:
            graph = estimate_graph(coordinates, *design, seed=seed)
        except ValueError:  # nothing can be read
            count.undetermined, count.unread = count.undetermined + d * (d - 1), count.unread + d
            continue
        edges = set(graph.edges)
        count.wrong_runs += bool(edges - true)
        count.false += len(edges - true)
        count.found += len(edges & true)
        count.denied += len(true - edges - set(graph.undetermined))
        count.undetermined += len(graph.undetermined)
        count.unread += len(graph.unread)
    return count


def study(seeds: int, anchors: int, names: tuple[str, ...] = tuple(QUALITIES)) -> dict[str, float]:
    """The figures of every quality."""
    found: dict[str, float] = {}
    for name in names:
        for short, setting in (("independent", "panda-2c-independent"), ("causal", "panda-2c-causal")):
            model = setting_named(setting).splits["train"]
            count, place = tally(model, QUALITIES[name], range(seeds), anchors), f"{name}_{short}"
            found[f"{place}_runs_with_a_false_edge"] = count.wrong_runs / count.runs
            found[f"{place}_false_edges"] = count.false
            if model.weights:
                found[f"{place}_true_edges_found"] = count.found / (count.runs * len(model.weights))
                found[f"{place}_true_edges_denied"] = count.denied / (count.runs * len(model.weights))
            found[f"{place}_pairs_undetermined"] = count.undetermined / count.runs
            found[f"{place}_joints_unread"] = count.unread / count.runs
    return found


def page_table(found: dict[str, float]) -> str:
    """The table of docs/graph.md."""
    lines = [
        "| coordinates | runs with a false edge, independent | false edges | open | true edges found | denied "
        "| runs with a false edge, causal | open |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in QUALITIES:
        free, causal = f"{name}_independent", f"{name}_causal"
        cells = [
            name.replace("_", " "),
            f"{found[f'{free}_runs_with_a_false_edge']:.0%}",
            f"{found[f'{free}_false_edges']:.0f}",
            f"{found[f'{free}_pairs_undetermined']:.1f}",
            f"{found[f'{causal}_true_edges_found']:.0%}",
            f"{found[f'{causal}_true_edges_denied']:.0%}",
            f"{found[f'{causal}_runs_with_a_false_edge']:.0%}",
            f"{found[f'{causal}_pairs_undetermined']:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="runs of each quality and setting (20)")
    parser.add_argument("--anchors", type=int, default=500, help="poses under each policy (500)")
    given = parser.parse_args()
    found = study(given.seeds, given.anchors)
    publish(found, given.out)
    print(f"\n{given.seeds} runs of each line, {given.anchors} anchors\n\n{page_table(found)}")


if __name__ == "__main__":
    main()

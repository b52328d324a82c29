"""Learns joints that depend on one another from interventions held together, and from anchors in the same robot time.

    python -m benchmarks.held_interventions --work FOLDER [--setting panda-2c-causal] [--hours 8]
        [--graph-anchors 5000] [--seed 0] [--out FILE] [--page]

Chains of moves hold every joint that does not move, also those that depend on the one that does (docs/graph.md). Each
recording is fitted and calibrated without a label, and evaluated on the test poses of the setting, in which the joints
depend on one another. The graph of either run is that of other anchors, which neither run has seen. The commands are
those of a user; run the same command again to resume. --page also writes the table of docs/graph.md.
"""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.budget_entries import MIN_SAMPLES, SECONDS
from benchmarks.figures import described, keep, options, origin, table
from benchmarks.road import ropes
from ropes.evaluation.causal_graph import causal_graph
from ropes.evaluation.results import read
from ropes.evaluation.summary import JointErrors, over_seeds, without_labels
from ropes.report.words import fixed, joint_label, rms

PAGE = Path(__file__).parents[1] / "docs" / "graph.md"
SCENE = "panda-gym"
#: Frames on the way of each move of a chain: those of `ropes reproduce robot-hours`.
_ON_THE_WAY = 2
#: Added to the seed for the anchors of the graph.
_OTHER = 1000


def simulated(out: Path, setting: str, seed: int, *size: object) -> Path:
    """A data set of a setting, simulated where it is not there."""
    ropes("simulate", "--setting", setting, "--scene", SCENE, *size, "--seed", seed, "--out", out)
    return out


def measured(work: Path, setting: str, recording: str, hours: float, seed: int, others: Path) -> dict[str, Any]:
    """Record for some hours, fit, calibrate and evaluate.

    Args:
        work: folder of data, runs and evaluations.
        setting: of the arm.
        recording: "anchors" or "chains".
        hours: of robot time.
        seed: of data and training.
        others: anchors for the graph.

    Returns:
        `fit_seconds`, of the training of all networks; `errors` without a label on test poses in distribution, joint →
        MSE (rad²), MCC and the paper's MCC; `distance` of the graph to the true one (structural Hamming distance);
        `wrong`, see `wrong_edges`.
    """
    count = int(hours * 3600 / SECONDS[recording][setting])
    way = ("--frames-per-move", _ON_THE_WAY) if recording == "chains" else ()
    data = simulated(work / recording, setting, seed, f"--{recording}", count, *way)
    run = work / f"run-{recording}"
    ropes("fit", "--data", data, "--seed", seed, "--training.min-samples", MIN_SAMPLES, "--out", run)
    ropes("calibrate", run, "--data", data, "--commanded")
    evaluation = work / f"evaluation-{recording}"
    ropes("evaluate", run, "--data", data, "--occlusions", 0, "--out", evaluation)
    found, graph = read(evaluation / "results.json"), causal_graph(run, others)
    seconds = found.fit_rows[0].seconds
    return {
        "recording": recording,
        "count": count,
        "fit_seconds": None if seconds is None else round(seconds),
        "errors": {
            cell.joint: {"mse": cell.mse, "mcc": cell.mcc, "paper_mcc": cell.paper_mcc}
            for cell in unlabelled(over_seeds(found.rows))
        },
        "distance": graph.distance,
        "wrong": wrong_edges(graph.to_dict()),
    }


def unlabelled(cells: Iterable[JointErrors]) -> list[JointErrors]:
    """Those in distribution whose map to radians has no label, and that nothing hides, beside the paper's figures."""
    return [cell for cell in without_labels(cells) if (cell.split, cell.occlusion) == ("id", 0)]


def wrong_edges(graph: Mapping[str, Any]) -> list[str]:
    """The edges by which a graph (the content of graph.json) differs from the true one, in words."""
    found, true = ({tuple(edge) for edge in graph[name]} for name in ("edges", "true"))
    wrong = [(edge, "too many") for edge in sorted(found - true)] + [(edge, "missing") for edge in sorted(true - found)]
    return [f"{joint_label(cause)} → {joint_label(effect)} {how}" for (cause, effect), how in wrong]


def written(found: Mapping[str, Any]) -> str:
    """The Markdown table of such figures, and what they are of."""
    joints = list(found["rows"][0]["errors"])
    lines = []
    for row in found["rows"]:
        errors = [row["errors"][joint] for joint in joints]
        cells = [f"{rms(each['mse'])} ({fixed(each['mcc'])})" for each in errors]
        shown = f"{row['distance']}: {'; '.join(row['wrong'])}" if row["wrong"] else str(row["distance"])
        lines.append([f"{row['count']:,} {row['recording']}", *cells, shown, str(row["fit_seconds"])])
    paper = [f"({fixed(found['rows'][0]['errors'][joint]['paper_mcc'])})" for joint in joints]
    lines.append(["the paper's ROPES, 10,000 anchors", *paper, "", ""])
    heads = [f"learnt from, {found['hours']:g} h", *map(joint_label, joints), "graph's distance", "fit, s"]
    about = (
        "Root mean square errors in degrees without a label, and MCC in brackets, on test poses of "
        f"`{found['setting']}`; graphs of {found['graph_anchors']:,} other anchors. "
        f"Scene {SCENE}, seed {found['seed']}; {origin(found)}."
    )
    return f"{table(heads, lines)}\n{about}\n"


def main() -> None:
    """Learn from both recordings and print the table."""
    parser = options(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of data and runs")
    parser.add_argument("--setting", default="panda-2c-causal", choices=tuple(SECONDS["chains"]))
    parser.add_argument("--hours", type=float, default=8.0, help="of robot time, for each recording")
    parser.add_argument("--graph-anchors", type=int, default=5_000)
    parser.add_argument("--recordings", nargs="+", default=list(SECONDS), choices=tuple(SECONDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", action="store_true", help="also write the table of docs/graph.md")
    given, began = parser.parse_args(), time.monotonic()
    size = ("--anchors", given.graph_anchors, "--test-anchors", 0)
    others = simulated(given.work / "others", given.setting, given.seed + _OTHER, *size)
    rows = [measured(given.work, given.setting, each, given.hours, given.seed, others) for each in given.recordings]
    about = {name: getattr(given, name) for name in ("setting", "hours", "graph_anchors", "seed")}
    found = {"rows": rows, **about, **described(began)}
    keep(found, "held-interventions", written(found), given.out, PAGE if given.page else None)


if __name__ == "__main__":
    main()

"""Learns joints that depend on one another from interventions held together, and from anchors in the same robot time.

    python -m benchmarks.held_interventions --work FOLDER [--settings panda-2c-causal panda-2c-chain panda-2c-collider]
        [--hours 8] [--graph-anchors 5000] [--recordings anchors chains] [--seed 0] [--fit OPTION=VALUE ...]
        [--out FILE] [--page]

Chains of moves hold every joint that does not move, also those that depend on the one that does (docs/graph.md). Each
recording is fitted and calibrated without a label, and evaluated on the test poses of the setting, in which the joints
depend on one another. The table compares these errors with those of a line on 1,000 labels. The graph of either run is
that of other anchors, which neither run has seen. The commands are those of a user; run the same command again to
resume. --page also writes the table of docs/graph.md.
"""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import budget_entries
from benchmarks.budget_entries import MIN_SAMPLES
from benchmarks.figures import described, keep, options, origin, table
from benchmarks.road import ropes
from ropes.errors import UserError
from ropes.evaluation.causal_graph import causal_graph
from ropes.evaluation.paper import CALIBRATION_LABELS
from ropes.evaluation.results import read
from ropes.evaluation.summary import JointErrors, over_seeds, without_labels
from ropes.report.words import fixed, joint_label, rms

PAGE = Path(__file__).parents[1] / "docs" / "graph.md"
SCENE = "panda-gym"
#: Recording → setting whose joints depend on one another → seconds of robot time of an anchor or a chain.
SECONDS: Mapping[str, Mapping[str, float]] = {
    recording: {"panda-2c-causal": budget_entries.SECONDS[recording]["panda-2c-causal"], **others}
    for recording, others in (
        ("anchors", {"panda-2c-chain": 18.3, "panda-2c-collider": 18.5}),
        ("chains", {"panda-2c-chain": 50.8, "panda-2c-collider": 50.8}),
    )
}
SETTINGS = tuple(SECONDS["anchors"])
#: Frames on the way of each move of a chain: those of `ropes reproduce robot-hours`.
_ON_THE_WAY = 2
#: Added to the seed for the anchors of the graph.
_OTHER = 1000


def simulated(out: Path, setting: str, seed: int, *size: object) -> Path:
    """A data set of a setting, simulated where it is not there."""
    ropes("simulate", "--setting", setting, "--scene", SCENE, *size, "--seed", seed, "--out", out)
    return out


def measured(
    work: Path, setting: str, recording: str, hours: float, seed: int, others: Path, further: Sequence[str] = ()
) -> dict[str, Any]:
    """Record for some hours, fit, calibrate and evaluate.

    Args:
        work: folder of data, runs and evaluations.
        setting: of the arm.
        recording: "anchors" or "chains".
        hours: of robot time.
        seed: of data and training.
        others: anchors for the graph.
        further: options of `ropes fit`.

    Returns:
        `fit_seconds`, of the training of all networks; `errors` without a label on test poses in distribution, joint →
        MSE (rad²), MCC, the paper's MCC (None for other settings than the paper's), and the MSE after a line on 1,000
        labels; `distance` of the graph to the true one (structural Hamming distance) and `wrong`, see `graph_of`.
    """
    count = int(hours * 3600 / SECONDS[recording][setting])
    way = ("--frames-per-move", _ON_THE_WAY) if recording == "chains" else ()
    data = simulated(work / recording, setting, seed, f"--{recording}", count, *way)
    run = work / f"run-{recording}"
    ropes("fit", "--data", data, "--seed", seed, "--training.min-samples", MIN_SAMPLES, *further, "--out", run)
    ropes("calibrate", run, "--data", data, "--commanded")
    evaluation = work / f"evaluation-{recording}"
    ropes("evaluate", run, "--data", data, "--occlusions", 0, "--out", evaluation)
    found = read(evaluation / "results.json")
    distance, wrong = graph_of(run, others)
    seconds, cells = found.fit_rows[0].seconds, over_seeds(found.rows)
    with_labels = {cell.joint: cell.mse for cell in labelled(cells)}
    return {
        "setting": setting,
        "recording": recording,
        "count": count,
        "fit_seconds": None if seconds is None else round(seconds),
        "errors": {
            cell.joint: {
                "mse": cell.mse,
                "mcc": cell.mcc,
                "paper_mcc": cell.paper_mcc,
                "labelled_mse": with_labels[cell.joint],
            }
            for cell in unlabelled(cells)
        },
        "distance": distance,
        "wrong": wrong,
    }


def graph_of(run: Path, others: Path) -> tuple[int | None, list[str]]:
    """Distance of a run's graph to the true one, and its wrong edges; None and none, with a line, where it has none."""
    try:
        graph = causal_graph(run, others)
    except UserError as error:
        print(f"no graph: {error}", file=sys.stderr)
        return None, []
    return graph.distance, wrong_edges(graph.to_dict())


def unlabelled(cells: Iterable[JointErrors]) -> list[JointErrors]:
    """Those in distribution whose map to radians has no label, and that nothing hides, beside the paper's figures."""
    return [cell for cell in without_labels(cells) if (cell.split, cell.occlusion) == ("id", 0)]


def labelled(cells: Iterable[JointErrors]) -> list[JointErrors]:
    """Those in distribution after a line on 1,000 labels, and that nothing hides."""
    chosen = ("id", 0, CALIBRATION_LABELS)
    return [cell for cell in cells if (cell.split, cell.occlusion, cell.calibration_labels) == chosen]


def wrong_edges(graph: Mapping[str, Any]) -> list[str]:
    """The edges by which a graph (the content of graph.json) differs from the true one, in words."""
    found, true = ({tuple(edge) for edge in graph[name]} for name in ("edges", "true"))
    wrong = [(edge, "too many") for edge in sorted(found - true)] + [(edge, "missing") for edge in sorted(true - found)]
    return [f"{joint_label(cause)} → {joint_label(effect)} {how}" for (cause, effect), how in wrong]


def written(found: Mapping[str, Any]) -> str:
    """The Markdown table of such figures, and what they are of."""
    joints = list(found["rows"][0]["errors"])
    lines, of_paper = [], {}
    for row in found["rows"]:
        errors = [row["errors"][joint] for joint in joints]
        learnt = [f"`{row['setting']}`, {row['count']:,} {row['recording']}"]
        distance = "no graph" if row["distance"] is None else str(row["distance"])
        graph = f"{distance}: {'; '.join(row['wrong'])}" if row["wrong"] else distance
        none = [f"{rms(each['mse'])} ({fixed(each['mcc'])})" for each in errors]
        line = [rms(each["labelled_mse"]) for each in errors]
        ratio = [fixed(each["mse"] / each["labelled_mse"], 2) for each in errors]
        lines.append([*learnt, "0", *none, graph, str(row["fit_seconds"])])
        lines.append([*learnt, f"{CALIBRATION_LABELS:,}", *line, "", ""])
        lines.append([*learnt, "ratio of squared errors", *ratio, "", ""])
        if all(each["paper_mcc"] is not None for each in errors):
            paper = [f"({fixed(each['paper_mcc'])})" for each in errors]
            of_paper[row["setting"]] = [f"`{row['setting']}`, the paper's ROPES, 10,000 anchors", "", *paper, "", ""]
    heads = [f"learnt from, {found['hours']:g} h", "labels", *map(joint_label, joints), "graph's distance", "fit, s"]
    about = (
        "Root mean square errors in degrees on test poses, without a label and after a line on "
        f"{CALIBRATION_LABELS:,} labels; MCC in brackets; the third row of a fit divides the squared error without a "
        f"label by that with labels. Graphs of {found['graph_anchors']:,} other anchors. Scene {SCENE}, seed "
        f"{found['seed']}; {origin(found)}."
    )
    return f"{table(heads, [*lines, *of_paper.values()])}\n{about}\n"


def main() -> None:
    """Learn from both recordings of each setting and print the table."""
    parser = options(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of data and runs, one folder a setting")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--hours", type=float, default=8.0, help="of robot time, for each recording")
    parser.add_argument("--graph-anchors", type=int, default=5_000)
    parser.add_argument("--recordings", nargs="+", default=list(SECONDS), choices=tuple(SECONDS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fit", nargs="*", default=[], help="further options of ropes fit for a trial, as foreign=0")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/graph.md")
    given, began = parser.parse_args(), time.monotonic()
    size = ("--anchors", given.graph_anchors, "--test-anchors", 0)
    further = [word for option in given.fit for word in f"--{option}".split("=")]
    rows = []
    for setting in given.settings:
        work = given.work / setting
        others = simulated(work / "others", setting, given.seed + _OTHER, *size)
        for recording in given.recordings:
            rows.append(measured(work, setting, recording, given.hours, given.seed, others, further))
    about = {name: getattr(given, name) for name in ("settings", "hours", "graph_anchors", "seed")}
    found = {"rows": rows, **about, **described(began)}
    keep(found, "held-interventions", written(found), given.out, PAGE if given.page else None)


if __name__ == "__main__":
    main()

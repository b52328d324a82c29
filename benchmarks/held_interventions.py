"""Learns joints that depend on one another from interventions held together, and from anchors in the same robot time.

    python -m benchmarks.held_interventions --work FOLDER [--settings panda-2c-causal panda-2c-chain panda-2c-collider]
        [--hours 8] [--graph-anchors 5000] [--recordings anchors chains] [--seeds 0 ...] [--fit OPTION=VALUE ...]
        [--out FILE] [--page]

Chains of moves hold every joint that does not move, also those that depend on the one that does (docs/graph.md). Each
recording is fitted and calibrated without a label, and evaluated on the test poses of the setting, in distribution and
shifted; in the former the joints depend on one another. The table compares these errors with those of a line on 1,000
labels. The graph of either run is that of other anchors, which neither run has seen; recording them is not among the
hours. The commands are those of a user; run the same command again to resume. --page also writes the table of
docs/graph.md.
"""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import budget_entries
from benchmarks.budget_entries import MIN_SAMPLES
from benchmarks.figures import described, keep, options, origin, table
from benchmarks.road import ropes
from ropes.data.chains import ON_THE_WAY
from ropes.errors import UserError
from ropes.evaluation.causal_graph import causal_graph
from ropes.evaluation.paper import CALIBRATION_LABELS, mse_comparable
from ropes.evaluation.results import read
from ropes.evaluation.summary import JointErrors, over_seeds, without_labels
from ropes.report.table import grouped
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
#: Added to the seed for the anchors of the graph.
_OTHER = 1000
#: Split of test poses → what they are.
_POSES = {"id": "in distribution", "ood": "shifted"}


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
        `fit_seconds`, of the training of all networks; `errors`, split → joint → MSE (rad²) and MCC without a label,
        `labelled_mse` after a line on 1,000 labels, and the paper's MCC and MSE (None where they do not compare);
        `distance` of the graph to the true one (structural Hamming distance), `wrong` and `undetermined`, see
        `graph_of`.
    """
    count = int(hours * 3600 / SECONDS[recording][setting])
    way = ("--frames-per-move", ON_THE_WAY) if recording == "chains" else ()
    data = simulated(work / recording, setting, seed, f"--{recording}", count, *way)
    run = work / f"run-{recording}"
    ropes("fit", "--data", data, "--seed", seed, "--training.min-samples", MIN_SAMPLES, *further, "--out", run)
    ropes("calibrate", run, "--data", data, "--commanded")
    evaluation = work / f"evaluation-{recording}"
    ropes("evaluate", run, "--data", data, "--occlusions", 0, "--out", evaluation)
    found = read(evaluation / "results.json")
    distance, wrong, undetermined = graph_of(run, others)
    seconds, cells = found.fit_rows[0].seconds, [cell for cell in over_seeds(found.rows) if cell.occlusion == 0]
    return {
        "setting": setting,
        "recording": recording,
        "count": count,
        "seed": seed,
        "fit_seconds": None if seconds is None else round(seconds),
        "errors": {split: errors_of(cells, split) for split in _POSES},
        "distance": distance,
        "wrong": wrong,
        "undetermined": undetermined,
    }


def errors_of(cells: Iterable[JointErrors], split: str) -> dict[str, dict[str, float | None]]:
    """Joint → its errors on one split of test poses, see `measured`."""
    own = [cell for cell in cells if cell.split == split]
    labelled = {cell.joint: cell.mse for cell in own if cell.calibration_labels == CALIBRATION_LABELS}
    return {
        cell.joint: {
            "mse": cell.mse,
            "mcc": cell.mcc,
            "labelled_mse": labelled[cell.joint],
            "paper_mcc": cell.paper_mcc,
            "paper_mse": cell.paper_mse if mse_comparable(cell.setup, split) else None,
        }
        for cell in without_labels(own)
    }


def graph_of(run: Path, others: Path) -> tuple[int | None, list[str], int]:
    """Distance of a run's graph to the true one, its wrong edges, and how many pairs it leaves undetermined.

    None, none and 0, with a line on standard error, where a graph is refused.
    """
    try:
        graph = causal_graph(run, others)
    except UserError as error:
        print(f"no graph: {error}", file=sys.stderr)
        return None, [], 0
    content = graph.to_dict()
    return graph.distance, wrong_edges(content), len(content["undetermined"])


def wrong_edges(graph: Mapping[str, Any]) -> list[str]:
    """The edges by which a graph (the content of graph.json) differs from the true one, in words."""
    found, true = ({tuple(edge) for edge in graph[name]} for name in ("edges", "true"))
    wrong = [(edge, "too many") for edge in sorted(found - true)] + [(edge, "missing") for edge in sorted(true - found)]
    return [f"{joint_label(cause)} → {joint_label(effect)} {how}" for (cause, effect), how in wrong]


def written(found: Mapping[str, Any]) -> str:
    """The Markdown table of such figures, means over seeds, and what they are of."""
    lines = []
    for (setting, recording), own in grouped(found["rows"], lambda row: (row["setting"], row["recording"])).items():
        for split, poses in _POSES.items():
            learnt = [f"`{setting}`, {own[0]['count']:,} {recording}", poses]
            means = [_means([row["errors"][split][joint] for row in own]) for joint in own[0]["errors"][split]]
            none = [f"{rms(each['mse'])} ({fixed(each['mcc'])})" for each in means]
            line = [rms(each["labelled_mse"]) for each in means]
            ratio = [fixed(each["mse"] / each["labelled_mse"], 2) for each in means]
            graphs, seconds = [_graph(row) for row in own], [str(row["fit_seconds"]) for row in own]
            lines.append([*learnt, "0", *none, "; ".join(graphs), ", ".join(seconds)])
            lines.append([*learnt, f"{CALIBRATION_LABELS:,}", *line, "", ""])
            lines.append([*learnt, "ratio of squared errors", *ratio, "", ""])
    for setting, own in grouped(found["rows"], lambda row: row["setting"]).items():
        for split, poses in _POSES.items():
            errors = own[0]["errors"][split].values()
            if any(each["paper_mcc"] is not None or each["paper_mse"] is not None for each in errors):
                shown = [_paper(each) for each in errors]
                lines.append([f"`{setting}`, the paper's ROPES, 10,000 anchors", poses, "1,000", *shown, "", ""])
    joints = [joint_label(joint) for joint in found["rows"][0]["errors"]["id"]]
    heads = [f"learnt from, {found['hours']:g} h", "test poses", "labels", *joints, "graph's distance", "fit, s"]
    several = (
        f"means over seeds {', '.join(map(str, seeds))}" if len(seeds := found["seeds"]) > 1 else f"seed {seeds[0]}"
    )
    about = (
        "Root mean square errors in degrees on test poses, without a label and after a line on "
        f"{CALIBRATION_LABELS:,} labels; MCC in brackets; the third row of a fit divides the squared error without a "
        f"label by that with labels. Graphs, one for each seed, of {found['graph_anchors']:,} other anchors, whose "
        f"recording is not among the {found['hours']:g} hours. Scene {SCENE}, {several}; {origin(found)}."
    )
    return f"{table(heads, lines)}\n{about}\n"


def _means(errors: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([each[name] for each in errors])) for name in ("mse", "mcc", "labelled_mse")}


def _graph(row: Mapping[str, Any]) -> str:
    """The distance of a graph, what is wrong, and how many pairs are undetermined."""
    if row["distance"] is None:
        return "no graph"
    parts = [*row["wrong"], *([f"{row['undetermined']} undetermined"] if row["undetermined"] else [])]
    return f"{row['distance']}: {', '.join(parts)}" if parts else str(row["distance"])


def _paper(errors: Mapping[str, float | None]) -> str:
    """RMS error where squared errors compare, and the MCC in brackets where the paper has one."""
    error, mcc = errors["paper_mse"], errors["paper_mcc"]
    return " ".join([*([] if error is None else [rms(error)]), *([] if mcc is None else [f"({fixed(mcc)})"])])


def main() -> None:
    """Learn from both recordings of each setting and print the table."""
    parser = options(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of data and runs")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=SETTINGS)
    parser.add_argument("--hours", type=float, default=8.0, help="of robot time, for each recording")
    parser.add_argument("--graph-anchors", type=int, default=5_000)
    parser.add_argument("--recordings", nargs="+", default=list(SECONDS), choices=tuple(SECONDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of data and training")
    parser.add_argument("--fit", nargs="*", default=[], help="further options of ropes fit for a trial, as foreign=0")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/graph.md")
    given, began = parser.parse_args(), time.monotonic()
    size = ("--anchors", given.graph_anchors, "--test-anchors", 0)
    further = [word for option in given.fit for word in f"--{option}".split("=")]
    rows = []
    for setting, seed in product(given.settings, given.seeds):
        work = given.work / setting / f"seed-{seed}"
        others = simulated(work / "others", setting, seed + _OTHER, *size)
        for recording in given.recordings:
            rows.append(measured(work, setting, recording, given.hours, seed, others, further))
    about = {name: getattr(given, name) for name in ("settings", "hours", "graph_anchors", "seeds")}
    found = {"rows": rows, **about, **described(began)}
    keep(found, "held-interventions", written(found), given.out, PAGE if given.page else None)


if __name__ == "__main__":
    main()

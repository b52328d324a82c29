"""Counts the responses that fits of `anchored` without --independent exclude.

    python -m benchmarks.descendants --work FOLDER [--fits SETTING:ANCHORS:SEED ...] [--out FILE] [--page]

In settings of independent joints no response should be excluded; in the others only those of descendants. There
is one data set for each setting and number of anchors, on panda-gym's scene. Fits have no student. Data sets and fits
that are in FOLDER are not made again, and rows of other fits in FILE are kept. --page also writes the table of
docs/anchored.md.
"""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.figures import described, keep, options, simulate, table
from ropes.common.files import read_json
from ropes.errors import UserError
from ropes.evaluation.causal_graph import causal_graph
from ropes.methods.anchored.fit import fit
from ropes.methods.recipes import encoder_recipe
from ropes.methods.run import TRAINING_FILE

PAGE = Path(__file__).parents[1] / "docs" / "anchored.md"
#: Setting, anchors, training seed.
FITS = (
    *(f"panda-1c-independent:1000:{seed}" for seed in range(3)),
    *(f"panda-2c-independent:1000:{seed}" for seed in range(3)),
    "panda-2c-causal:5000:0",
    "panda-2c-chain:5000:0",
    "panda-2c-collider:5000:0",
)


def measured(work: Path, asked: str, *, scene: str = "panda-gym") -> dict[str, Any]:
    """Simulate and fit what is not done yet, and what was excused.

    Args:
        work: folder of data and runs.
        asked: SETTING:ANCHORS:SEED.
        scene: behind the arm.

    Returns:
        `certain`, pairs that the causal graph found to follow at a record, and `excused`, pairs whose response was
        excused, each the most of all records; `last`, those excused at the last one; `distance`, of the
        fitted coordinates' graph to the true one (structural Hamming distance), and `edges` of the true one; None where
        the coordinates show no graph.
    """
    setting, anchors, seed = asked.split(":")
    data, run = work / f"{setting}-{anchors}", work / asked.replace(":", "-")
    if not (data / "meta" / "info.json").exists():
        simulate(f"--setting {setting} --scene {scene} --anchors {anchors} --test-anchors 0", data)
    fit(data, run, replace(encoder_recipe("compact"), foreign=0.0), int(seed))
    summary = read_json(run / TRAINING_FILE)
    curves = summary["stages"]["encoder"]
    try:
        graph = causal_graph(run, data)
        distance, edges = graph.distance, None if graph.true is None else int(graph.true.sum())
    except UserError:  # the coordinates tell too little
        distance, edges = None, None
    return {
        "setting": setting,
        "anchors": int(anchors),
        "seed": int(seed),
        "certain": int(max(curves["certain_followers"])),
        "excused": int(max(curves["followers"])),
        "last": int(curves["followers"][-1]),
        "distance": distance,
        "edges": edges,
        "fit_seconds": summary["provenance"]["seconds"]["encoder"],
        "device": summary["provenance"]["device"],
    }


def written(found: dict[str, Any]) -> str:
    """The Markdown table of such figures, and what they are of."""
    heads = [
        "setting, anchors, seed",
        "found by the graph at most",
        "excused at most",
        "at the end",
        "graph's distance",
        "fit, s",
    ]
    lines = []
    for row in found["fits"]:
        shown = "no graph" if row["distance"] is None else f"{row['distance']} (of {row['edges']} edges)"
        name = f"{row['setting']}, {row['anchors']:,}, {row['seed']}"
        lines.append(
            [name, *(str(row[key]) for key in ("certain", "excused", "last")), shown, f"{row['fit_seconds']:.0f}"]
        )
    devices = " and ".join(dict.fromkeys(row["device"] for row in found["fits"]))
    return f"{table(heads, lines)}\nPairs of joints. Scene panda-gym; {devices}, version {found['version']}.\n"


def main() -> None:
    """Measure and print the table."""
    parser = options(__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--fits", nargs="+", default=list(FITS), metavar="SETTING:ANCHORS:SEED")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/anchored.md")
    arguments, began = parser.parse_args(), time.monotonic()
    fits = [measured(arguments.work, asked) for asked in arguments.fits]
    known = read_json(arguments.out)["fits"] if arguments.out and arguments.out.exists() else []
    named = {(row["setting"], row["anchors"], row["seed"]): row for row in (*known, *fits)}
    found = {**described(began), "fits": [named[key] for key in sorted(named)]}
    keep(found, "descendants", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()

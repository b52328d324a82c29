"""Measures the accuracy of action recognition against jitter: other changes between the two images of a pair.

    python -m benchmarks.jitter RUN ... --work FOLDER [--jitters 0 0.5 1 2 4] [--pairs 1000] [--out FILE] [--page]

RUN are finished fits on action-pairs (`ropes reproduce causal-triplet`), for instance
runs/actions/action-pairs/cde-global/seed-0. Test pairs of seed 1 are drawn for each jitter. Jitter 1 is that of the
training: camera and objects move by about a degree and a hundredth, and the light changes by a twentieth. Several seeds
of a method are shown as mean ± standard deviation. --page also writes the table of docs/deltas.md.
"""

import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import described, keep, options, table
from ropes.data.generate_actions import simulate_pairs
from ropes.data.layout import open_dataset
from ropes.data.pairs import ActionPairs, encode_labels
from ropes.evaluation.actions import DeltaReader
from ropes.report.action_numbers import METHODS, spread
from ropes.simulation.actions import IID, SYSTEMATIC, PairsSetting

PAGE = Path(__file__).parents[1] / "docs" / "deltas.md"
JITTERS = (0.0, 0.5, 1.0, 2.0, 4.0)
_SEED = 1
#: Training images that each data set has although nothing learns from them.
_LEAST = 200


def accuracies(reader: DeltaReader, data: Path) -> dict[str, float]:
    """Test split → share of its pairs whose verb is predicted correctly."""
    dataset, found = open_dataset(data), {}
    for split in (IID, SYSTEMATIC):
        pairs = ActionPairs(dataset, split, reader.size, progress=False)
        found[split] = float((reader.read(pairs).predicted == encode_labels(pairs.verbs, reader.verbs)).mean())
    return found


def measured(runs: list[Path], work: Path, jitters: tuple[float, ...], pairs: int) -> list[dict[str, Any]]:
    """A row for each run and jitter; data sets that are there are not drawn again."""
    rows = []
    for jitter in jitters:
        data = work / f"jitter-{jitter:g}"
        setting = PairsSetting(jitter=jitter)
        simulate_pairs(setting, out=data, samples=_LEAST, test_samples=2 * pairs, seed=_SEED, progress=False)
        for folder in runs:
            reader = DeltaReader(folder)
            about = {"method": folder.resolve().parent.name, "seed": reader.run.seed, "jitter": jitter, "pairs": pairs}
            rows.append({**about, **accuracies(reader, data)})
    return rows


def written(found: dict[str, Any]) -> str:
    """The Markdown table of such figures, and what they are of."""
    groups: dict[tuple[str, float], list[dict[str, Any]]] = defaultdict(list)
    for row in found["rows"]:
        groups[row["method"], row["jitter"]].append(row)
    jitters = sorted({jitter for _, jitter in groups})
    lines = []
    for split, words in ((IID, "in distribution"), (SYSTEMATIC, "systematic shift")):
        for method in dict.fromkeys(method for method, _ in groups):
            shares = [spread(np.array([row[split] for row in groups[method, jitter]]), 2) for jitter in jitters]
            lines.append([f"{METHODS.get(method, method)}, {words}", *shares])
    heads = ["accuracy at a jitter of", *(f"{jitter:g}" for jitter in jitters)]
    return (
        f"{table(heads, lines)}\n{found['rows'][0]['pairs']:,} pairs each; 1 is what training saw. {found['device']}, "
        f"version {found['version']}.\n"
    )


def main() -> None:
    """Measure and print the table."""
    parser = options(__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--jitters", nargs="+", type=float, default=list(JITTERS))
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--page", action="store_true", help="also write the table of docs/deltas.md")
    arguments, began = parser.parse_args(), time.monotonic()
    rows = measured(arguments.runs, arguments.work, tuple(arguments.jitters), arguments.pairs)
    found = {**described(began), "rows": rows}
    keep(found, "jitter", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()

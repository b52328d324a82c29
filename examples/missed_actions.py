"""Accuracy of a method of actions for each object, or each action, over its seeds; the most frequent errors come first.

python examples/missed_actions.py runs/actions/action-pairs/data runs/actions/action-pairs/cde-global/seed-*
python examples/missed_actions.py DATA RUN... --split test-comp --by action
"""

import argparse
from pathlib import Path

import numpy as np

from ropes.data.layout import open_dataset
from ropes.data.pairs import ActionPairs, encode_labels
from ropes.evaluation.actions import DeltaReader
from ropes.simulation.actions import SYSTEMATIC, Action


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--split", default=SYSTEMATIC)
    parser.add_argument("--by", choices=("thing", "action"), default="thing")
    options = parser.parse_args()

    dataset, readers = open_dataset(options.data), [DeltaReader(folder) for folder in options.runs]
    pairs = ActionPairs(dataset, options.split, readers[0].size)
    missed = np.array([reader.read(pairs).predicted != encode_labels(pairs.verbs, reader.verbs) for reader in readers])
    actions = [Action(verb, noun).name for verb, noun in zip(pairs.verbs, pairs.nouns, strict=True)]
    kinds = np.array(actions) if options.by == "action" else pairs.nouns
    print(f"accuracy {1 - missed.mean():.3f} over {len(pairs):,} pairs")
    for kind in sorted(set(kinds.tolist()), key=lambda one: -missed[:, kinds == one].sum()):
        own = missed[:, kinds == kind]
        accuracy, share = 1 - own.mean(), own.sum() / missed.size
        print(f"{kind}: accuracy {accuracy:.3f} over {own.shape[1]} pairs; {share:.3f} of all pairs are errors here")


if __name__ == "__main__":
    main()

"""Evaluates action recognition: accuracy under each shift, and the geometry of the deltas.

Source: causal delta embeddings (arXiv 2508.04492); Causal Triplet (Liu et al. 2023).
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.arrays import Floats, Rows
from ropes.common.files import write_arrays
from ropes.common.hardware import Precision, RequestedPrecision, device_kind, resolve_precision, warn_if_emulated
from ropes.common.seeds import generator
from ropes.common.stores import Location
from ropes.data.layout import open_dataset
from ropes.data.pairs import ActionPairs, encode_labels
from ropes.errors import UserError
from ropes.evaluation.arm_moves import DELTAS_FILE, delta_figures, delta_norms, displacements_of, recall_of
from ropes.evaluation.record import claim_evaluation, require_views
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ActionRow
from ropes.methods.delta.fit import network_of
from ropes.methods.reader import autocast
from ropes.methods.recipes import DeltaRecipe
from ropes.methods.run import Run, read_training, training_seconds
from ropes.metrics.deltas import mean_cosines, nearest, principal_axes
from ropes.models.blocks import as_levels
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.simulation.actions import COMPOSITIONAL, IID, SYSTEMATIC

TESTS = (IID, COMPOSITIONAL, SYSTEMATIC)
_CHUNK = 128
#: Example pairs of each test split, and deltas in the figure.
_EXAMPLES, _PLOTTED = 6, 600
#: Example pairs with their nearest neighbours, and neighbours of each.
_QUERIES, _NEIGHBOURS = 6, 4


@dataclass(frozen=True)
class ActionPredictions:
    """Predictions for the pairs of a split.

    Attributes:
        predicted: number of the predicted verb, (n,).
        deltas: φ(x̃) − φ(x), mean over the selected patches, (n, l).
        patches: numbers of the selected patches, (n, K).
    """

    predicted: NDArray[np.int64]
    deltas: Floats
    patches: NDArray[np.int64]


class DeltaReader:
    """The network of a finished run.

    Args:
        folder: folder of the run.
        precision: precision of inference, see `ropes.common.hardware.resolve_precision`.

    Raises:
        UserError: the run is of another kind of method, or unfinished.
    """

    def __init__(self, folder: Path, precision: RequestedPrecision = "auto") -> None:
        self.run = Run.read(folder)
        recipe = self.run.recipe
        if not isinstance(recipe, DeltaRecipe):
            raise UserError(f"{folder} is a run of {self.run.method}, which reads no pairs")
        self.training: Mapping[str, Any] = read_training(folder)
        self.size, self.verbs = recipe.delta.image_size, tuple(self.training["verbs"])
        self.channels = int(self.training["channels"])
        shape = recipe.delta, self.channels, len(self.verbs), len(self.training["nouns"])
        self._network = network_of(self.run.method, *shape, stored=self.training.get("backbone"))
        load_weights(self._network, folder / "delta" / WEIGHTS)
        self._network.to(device_kind()).eval()
        torch.nn.utils.convert_conv2d_weight_memory_format(self._network, torch.channels_last)
        self.grid = self._network.backbone.grid
        self.precision: Precision = resolve_precision(precision)
        warn_if_emulated(self.precision)

    @torch.no_grad()
    def read(self, pairs: ActionPairs) -> ActionPredictions:
        """Predictions for all pairs of a split."""
        count = len(pairs)
        verbs, found, patches = Rows[np.int64](count), Rows[np.float64](count), Rows[np.int64](count)
        for start in range(0, count, _CHUNK):
            images = torch.from_numpy(pairs.pixels(np.arange(start, min(start + _CHUNK, count)))).to(device_kind())
            with autocast(images, self.precision):
                output = self._network(as_levels(images[:, 0]), as_levels(images[:, 1]))
            deltas = output.after - output.before if output.before.shape[1] else output.deltas.mean(1)
            verbs.put(start, output.shares.argmax(1).cpu().numpy())
            found.put(start, deltas.double().cpu().numpy())
            patches.put(start, output.patches.cpu().numpy())
        return ActionPredictions(verbs.all(), found.all(), patches.all())


def evaluate_actions(
    run: Path,
    data: Location,
    out: Path,
    *,
    name: str = "evaluation",
    label: str | None = None,
    precision: RequestedPrecision = "auto",
    show: bool = True,
) -> Results:
    """Measure the accuracy of action recognition on every test split of a data set of actions.

    Args:
        run: folder of the run.
        data: data set of actions.
        out: folder for `results.json` and `artefacts/` (input of the report).
        name: name of the results.
        label: name of the method in the row; the run's method if None.
        precision: precision of inference, see `ropes.common.hardware.resolve_precision`.
        show: show progress.

    Raises:
        UserError: an unfinished run, other data, no test split, or a folder with something else.
    """
    began = time.monotonic()
    reader, dataset = DeltaReader(run, precision), open_dataset(data)
    require_views(reader.run, dataset, reader.channels)
    splits = [split for split in TESTS if split in dataset.splits]
    if not splits:
        raise UserError(f"{data} has no test split of actions ({', '.join(TESTS)})")
    precisions = precision, reader.precision
    folder = claim_evaluation(out, run, reader.run, dataset, label, precisions, began=began, measures="actions")
    pairs: dict[str, ActionPairs] = {}
    predictions: dict[str, ActionPredictions] = {}
    accuracy, recall, arrays = {}, {}, dict[str, Any]()
    for split in splits:
        pairs[split] = ActionPairs(dataset, split, reader.size, progress=show)
        predictions[split] = reader.read(pairs[split])
        verbs = pairs[split].verbs
        correct = predictions[split].predicted == encode_labels(verbs, reader.verbs)
        accuracy[split], recall[split] = float(correct.mean()), recall_of(correct, verbs)
        arrays |= _examples(split, pairs[split], predictions[split], reader.verbs)
    # The geometry of deltas is measured in distribution, if there is such a split.
    deltas, verbs = predictions[splits[0]].deltas, pairs[splits[0]].verbs
    displacements = displacements_of(dataset, splits[0], verbs)
    row = ActionRow(
        setup=reader.run.setting,
        method=folder.fit_row.method,
        seed=reader.run.seed,
        seconds=training_seconds(reader.training),
        accuracy=accuracy,
        pairs={split: len(each) for split, each in pairs.items()},
        recall=recall,
        **delta_figures(deltas, verbs, dataset.antonyms, displacements),
    )
    plotted = generator(0, "drawn").permutation(len(deltas))[:_PLOTTED]
    arrays |= {"grid": np.array(reader.grid), "plane": principal_axes(deltas)[plotted], "plane_verbs": verbs[plotted]}
    arrays |= mean_cosines(deltas, verbs, dataset.antonyms)[0]
    if displacements is not None:
        arrays |= delta_norms(deltas, *displacements)
    if {IID, SYSTEMATIC} <= pairs.keys():
        arrays |= _neighbours(pairs[SYSTEMATIC], pairs[IID], predictions[SYSTEMATIC].deltas, deltas)
    write_arrays(folder.artefacts() / DELTAS_FILE, arrays)
    return folder.write(name, action_rows=(row,))


def _examples(split: str, pairs: ActionPairs, predictions: ActionPredictions, verbs: tuple[str, ...]) -> dict[str, Any]:
    """Example pairs of a split with their predictions."""
    rows = generator(0, "shown", split).permutation(len(pairs))[:_EXAMPLES]
    return {
        f"{split}_images": pairs.pixels(rows)[:, :, 0],
        f"{split}_patches": predictions.patches[rows],
        f"{split}_verbs": pairs.verbs[rows],
        f"{split}_nouns": pairs.nouns[rows],
        f"{split}_predicted": np.array([verbs[k] for k in predictions.predicted[rows]]),
    }


def _neighbours(queries: ActionPairs, pairs: ActionPairs, deltas: Floats, pair_deltas: Floats) -> dict[str, Any]:
    """Example queries and the `pairs` whose deltas are nearest to theirs; images (n, 1 + k, 2, …)."""
    rows = np.sort(generator(0, "neighbours").permutation(len(queries))[:_QUERIES])
    near = nearest(deltas[rows], pair_deltas, _NEIGHBOURS)
    images = [
        np.concatenate([queries.pixels(rows[[place]]), pairs.pixels(neighbours)])[:, :, 0]
        for place, neighbours in enumerate(near)
    ]
    return {
        "near_images": np.stack(images),
        "near_verbs": np.column_stack([queries.verbs[rows], pairs.verbs[near]]),
        "near_nouns": np.column_stack([queries.nouns[rows], pairs.nouns[near]]),
    }

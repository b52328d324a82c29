"""Evaluates methods that tell actions: accuracy under each shift, and the geometry of their deltas.

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

from ropes.common.files import write_arrays
from ropes.common.hardware import AskedPrecision, Precision, device_kind, precision_of, warn_if_emulated
from ropes.common.seeds import generator
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.pairs import ActionPairs, numbers_of
from ropes.errors import UserError
from ropes.evaluation.arm_moves import DELTAS_FILE, lengths_of, moves_of, steps_of
from ropes.evaluation.record import ARTEFACTS, RESULTS_FILE, claim_evaluation
from ropes.evaluation.results import Results, write_measured
from ropes.evaluation.rows.action import ActionRow
from ropes.methods.delta import network_of
from ropes.methods.reader import autocast
from ropes.methods.recipes import DeltaRecipe
from ropes.methods.run import Run, read_training, training_seconds
from ropes.metrics.deltas import action_variance, active_share, mean_cosines, nearest, principal_axes
from ropes.models.blocks import as_levels
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.simulation.actions import COMPOSITIONAL, IID, SYSTEMATIC

TESTS = (IID, COMPOSITIONAL, SYSTEMATIC)
Floats = NDArray[np.float64]
_CHUNK = 128
#: Pairs of each test split that are shown, and deltas of each that are drawn.
_SHOWN, _DRAWN = 6, 600
#: Pairs whose nearest neighbours are shown, and how many of these.
_ASKED, _NEAREST = 6, 4


@dataclass(frozen=True)
class Told:
    """What a run makes of the pairs of a split.

    Attributes:
        told: number of the verb that it says, (n,).
        deltas: φ(x̃) − φ(x), mean over the patches asked, (n, l).
        patches: numbers of those, (n, K).
    """

    told: NDArray[np.int64]
    deltas: Floats
    patches: NDArray[np.int64]


class DeltaReader:
    """The network of a finished run.

    Args:
        folder: of the run.
        precision: that pairs are read in, see `ropes.common.hardware.precision_of`.

    Raises:
        UserError: the run is of another method, or unfinished.
    """

    def __init__(self, folder: Path, precision: AskedPrecision = "auto") -> None:
        self.run = Run.read(folder)
        recipe = self.run.recipe
        if not isinstance(recipe, DeltaRecipe):
            raise UserError(f"{folder} is a run of {self.run.method}, which reads no pairs")
        self.story: Mapping[str, Any] = read_training(folder)
        self.size, self.verbs = recipe.delta.image_size, tuple(self.story["verbs"])
        channels, nouns = int(self.story["channels"]), len(self.story["nouns"])
        self.channels = channels
        shape = recipe.delta, channels, len(self.verbs), nouns
        self._network = network_of(self.run.method, *shape, stored=self.story.get("backbone"))
        load_weights(self._network, folder / "delta" / WEIGHTS)
        self._network.to(device_kind()).eval()
        torch.nn.utils.convert_conv2d_weight_memory_format(self._network, torch.channels_last)
        self.grid = self._network.backbone.grid
        self.precision: Precision = precision_of(precision)
        warn_if_emulated(self.precision)

    @torch.no_grad()
    def read(self, pairs: ActionPairs) -> Told:
        """All pairs of a split."""
        parts = []
        for first in range(0, len(pairs), _CHUNK):
            images = torch.from_numpy(pairs.pixels(np.arange(first, min(first + _CHUNK, len(pairs))))).to(device_kind())
            with autocast(images, self.precision):
                found = self._network(as_levels(images[:, 0]), as_levels(images[:, 1]))
            deltas = found.after - found.before if found.before.shape[1] else found.deltas.mean(1)
            parts.append((found.shares.argmax(1), deltas.double(), found.patches))
        told, deltas, patches = (torch.cat(column).cpu().numpy() for column in zip(*parts, strict=True))
        return Told(told, deltas, patches)


def evaluate_actions(
    run: Path,
    data: Path,
    out: Path,
    *,
    name: str = "evaluation",
    label: str | None = None,
    precision: AskedPrecision = "auto",
    show: bool = True,
) -> Results:
    """Measure how often a run tells what was done, on every test split of a data set of actions.

    Args:
        run: folder of the run.
        data: data set of actions.
        out: folder for `results.json` and `artefacts/` (what the report shows).
        name: of the results.
        label: what the row calls the method; its own name where None.
        precision: that pairs are read in, see `ropes.common.hardware.precision_of`.
        show: show progress.

    Raises:
        UserError: an unfinished run, other data, no test split, or a folder with something else.
    """
    began = time.monotonic()
    reader, dataset = DeltaReader(run, precision), open_dataset(data)
    found = reader.run
    _require_images(reader, dataset)
    splits = [split for split in TESTS if split in dataset.splits]
    if not splits:
        raise UserError(f"{data} has no test split of actions ({', '.join(TESTS)})")
    precisions = precision, reader.precision
    fitted = claim_evaluation(out, run, found, dataset, label or found.method, precisions, measures="actions")
    accuracy, counts, recall = {}, {}, {}
    shown: dict[str, Any] = {}
    deltas, verbs, every = [], [], {}
    for split in splits:
        pairs = every[split] = ActionPairs(dataset, split, reader.size, progress=show)
        read, wanted = reader.read(pairs), numbers_of(pairs.verbs, reader.verbs)
        right = read.told == wanted
        accuracy[split], counts[split] = float(right.mean()), len(pairs)
        recall[split] = {verb: float(right[pairs.verbs == verb].mean()) for verb in sorted(set(pairs.verbs.tolist()))}
        deltas.append(read.deltas)
        verbs.append(pairs.verbs)
        few = generator(0, "shown", split).permutation(len(pairs))[:_SHOWN]
        shown |= {
            f"{split}_images": pairs.pixels(few)[:, :, 0],
            f"{split}_patches": read.patches[few],
            f"{split}_verbs": pairs.verbs[few],
            f"{split}_nouns": pairs.nouns[few],
            f"{split}_told": np.array([reader.verbs[k] for k in read.told[few]]),
        }
    # How deltas lie is asked where nothing has shifted, if there is such a split.
    own, of = deltas[0], verbs[0]
    cosines, between = mean_cosines(own, of, dataset.antonyms)
    asked = steps_of(dataset, splits[0], of)
    row = ActionRow(
        setup=found.setting,
        method=label or found.method,
        seed=found.seed,
        seconds=training_seconds(reader.story),
        accuracy=accuracy,
        pairs=counts,
        recall=recall,
        cosines=between,
        moves={} if asked is None else moves_of(own, *asked),
        active=active_share(own),
        variance=action_variance(own, of),
    )
    drawn = generator(0, "drawn").permutation(len(own))[:_DRAWN]
    shown |= {"grid": np.array(reader.grid), "plane": principal_axes(own)[drawn], "plane_verbs": of[drawn], **cosines}
    if asked is not None:
        shown |= lengths_of(own, *asked)
    if {IID, SYSTEMATIC} <= every.keys():
        shown |= _neighbours(every[SYSTEMATIC], every[IID], deltas[splits.index(SYSTEMATIC)], own)
    path = out / ARTEFACTS / found.setting / row.method / f"seed-{row.seed}" / DELTAS_FILE
    write_arrays(path, shown)
    return write_measured(out / RESULTS_FILE, name, found.recipe.preset, began, action_rows=(row,), fit_rows=(fitted,))


def _neighbours(asked: ActionPairs, known: ActionPairs, deltas: Floats, of_known: Floats) -> dict[str, Any]:
    """Pairs of things never trained on, and the pairs in distribution whose deltas are nearest, (n, 1 + k, 2, …)."""
    rows = np.sort(generator(0, "neighbours").permutation(len(asked))[:_ASKED])
    near = nearest(deltas[rows], of_known, _NEAREST)
    images = [
        np.concatenate([asked.pixels(rows[[place]]), known.pixels(found)])[:, :, 0] for place, found in enumerate(near)
    ]
    return {
        "near_images": np.stack(images),
        "near_verbs": np.column_stack([asked.verbs[rows], known.verbs[near]]),
        "near_nouns": np.column_stack([asked.nouns[rows], known.nouns[near]]),
    }


def _require_images(reader: DeltaReader, dataset: Dataset) -> None:
    """Check that a data set has images as the run reads them.

    Raises:
        UserError: it has others.
    """
    colour = len(dataset.image_shape) > 2
    channels = 3 if colour else len(dataset.cameras)
    if channels != reader.channels or dataset.cameras != reader.run.cameras:
        kind = "colour" if reader.channels == 3 else "grey"
        cameras = ", ".join(reader.run.cameras)
        raise UserError(f"{dataset.path} has other images; the run reads {kind} ones of {cameras}")

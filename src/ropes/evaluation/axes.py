"""Disentanglement of the two axes of MPI3D's arm, by the same metrics on the same points for every method."""

import time
from pathlib import Path

import numpy as np
import torch

from ropes.common.hardware import RequestedPrecision, device_kind
from ropes.common.stores import Location
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.evaluation.factor_latents import encode
from ropes.evaluation.factors import disentanglement
from ropes.evaluation.record import claim_evaluation
from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ModelRow
from ropes.inference.prediction import views_of
from ropes.methods.readers import finished_reader
from ropes.methods.run import read_training, training_seconds
from ropes.simulation.settings import MPI3D_GRID

_SPLIT = "test-id"


def evaluate_axes(
    run: Path,
    data: Location,
    out: Path,
    *,
    seed: int = 0,
    name: str = "axes",
    label: str | None = None,
    workers: int | None = None,
    precision: RequestedPrecision = "auto",
) -> Results:
    """Measure how a run's code represents the two axes, on points of `ropes.data.mpi3d_points.import_points`.

    The code is all coordinates, or all latents of a VAE.  The factors are the axes alone, also for a VAE, which learns
    the five others too.  Each of the 40 positions of an axis is a class in MIG, modularity and InfoMEC.

    Args:
        run: folder of a run of any method with a reader, on MPI3D's photographs.
        data: the points; the run reads those of their cameras that it was trained on.
        out: folder for `results.json`, whose rows are `axes_rows`.
        seed: seed of the metrics' splits of samples.
        name: name of the results.
        label: name of the method in the row; the run's method if None.
        workers: threads of the trees; None for torch's number of threads.
        precision: precision of inference, see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: an unfinished run, a missing camera, too few points, or a folder with something else.
    """
    began = time.monotonic()
    fitted, reader = finished_reader(run, torch.device(device_kind()), precision)
    dataset = open_dataset(data)
    views = views_of(fitted, dataset)
    precisions = precision, reader.precision
    folder = claim_evaluation(out, run, fitted, dataset, label, precisions, began=began, measures="axes")
    images = ImageCache(dataset, _SPLIT, reader.size, progress=False)
    latents = encode(reader, images, np.arange(len(images)), views)
    measured = disentanglement(
        latents,
        dataset.states(_SPLIT),
        dataset.labelled_joints,
        factor_bins=None,
        seed=seed,
        workers=workers or torch.get_num_threads(),
    )
    row = ModelRow(
        setup=MPI3D_GRID,
        method=folder.fit_row.method,
        seed=fitted.seed,
        seconds=training_seconds(read_training(run)),
        settings={"photographs": len(views)},
        sizes={"tested": len(images)},
        **measured,
    )
    return folder.write(name, axes_rows=(row,))

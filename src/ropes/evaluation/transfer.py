"""Joint errors of a run on test images of another renderer or camera than its training images."""

import time
from pathlib import Path

from ropes.common.hardware import RequestedPrecision
from ropes.data.layout import open_dataset
from ropes.evaluation.joint_protocol import TestedPoses, conditions_of_images
from ropes.evaluation.joints import test_splits
from ropes.evaluation.pictures import SPLITS
from ropes.evaluation.record import claim_evaluation
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of, states_of, views_of
from ropes.methods.run import scene_of
from ropes.metrics import PAPER_SIZES, ProtocolSizes


def evaluate_transfer(
    run: Path,
    data: Path,
    out: Path,
    *,
    seed: int = 0,
    name: str = "transfer",
    label: str | None = None,
    sizes: ProtocolSizes = PAPER_SIZES,
    precision: RequestedPrecision = "auto",
) -> Results:
    """Measure the errors of a run on other images of the same arm, by the protocol of `ropes.evaluation.joints`.

    The coordinates are those of the training images; lines to radians of methods without labels are fitted on poses of
    the other images.

    Args:
        run: folder of the run.
        data: data set with the other images.
        out: folder for `results.json`, whose rows are `transfer_rows`.
        seed: seed of the draws.
        name: name of the results.
        label: name of the method in the rows; the run's method if None.
        sizes: sizes of the draws.
        precision: precision of inference, see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: the data set has too few test poses, other cameras or joints, the run is unfinished, or the folder
            holds something else.
    """
    began = time.monotonic()
    estimator, dataset = Estimator.load(run, precision=precision), open_dataset(data)
    splits = test_splits(dataset, sizes)
    views_of(estimator.run, dataset)
    precisions = precision, estimator.precision
    setting = estimator.run.setting
    folder = claim_evaluation(out, run, estimator.run, dataset, label, precisions, began=began, setting=setting)
    tested = TestedPoses(
        estimator=estimator,
        method=folder.fit_row.method,
        seed=seed,
        sizes=sizes,
        angles={split: states_of(estimator.run, dataset, SPLITS[split]) for split in splits},
        images=conditions_of_images(estimator.run, dataset),
    )
    rows: list[Row] = []
    for split in splits:
        condition = split, 0
        images = images_of(estimator.run, dataset, dataset.frames(SPLITS[split]).index)
        tested.readings[condition] = estimator.read(images)
        rows += tested.rows(condition, tested.measured(condition))
    return folder.write(name, transfer_rows=tuple(rows), scene=scene_of(dataset))

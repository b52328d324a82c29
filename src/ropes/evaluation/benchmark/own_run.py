"""Predictions of one of our runs for the test poses of a task."""

from pathlib import Path

from ropes.common.hardware import RequestedPrecision
from ropes.common.stores import Location
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.benchmark.predictions import Predictions, require_archive, write_predictions
from ropes.evaluation.benchmark.task import task_named
from ropes.evaluation.benchmark.test_data import require_test_poses
from ropes.inference.estimator import Estimator


def predict_test_poses(run: Path | str, data: Location, out: Path, *, precision: RequestedPrecision = "auto") -> None:
    """Write the angles and intervals that a run predicts for the test poses of its setting.

    Args:
        run: folder of the run, or name of a packaged estimator.
        data: data set with the test poses of the benchmark.
        out: archive .npz of predictions.
        precision: see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: `out` does not end in .npz, the run is not calibrated, its setting is no task of the benchmark, or
            the data set has other poses.
    """
    require_archive(out)
    estimator, dataset = Estimator.load(run, precision=precision), open_dataset(data)
    task, calibration = task_named(estimator.run.setting), estimator.calibration
    if calibration is None:
        raise UserError(f"{run} is not calibrated; run `ropes calibrate` first")
    require_test_poses(dataset, task)
    predictions, columns = {}, [estimator.run.joints.index(joint) for joint in task.joints]
    for split in task.splits:
        reading, intervals = estimator.read(estimator.images(dataset, split)), estimator.intervals
        ends = {}
        if intervals is not None:
            low, high = intervals.around(reading.coordinates, reading.deviation, calibration.angles)
            ends = {"lower": low[:, columns], "upper": high[:, columns]}
        predictions[split] = Predictions(angles=calibration.angles(reading.coordinates)[:, columns], **ends)
    write_predictions(out, task, predictions)

"""Packages a finished run for prediction: verified weights, calibration, and a model card."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from ropes.common.files import atomic_path, replaced_folder, write_text
from ropes.common.stores import Location
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.views import Views
from ropes.errors import UserError
from ropes.evaluation import results as results_file
from ropes.evaluation.results import Results
from ropes.inference.calibration import Calibration, read_calibration, write_calibration
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of
from ropes.methods.readers import weight_files
from ropes.methods.run import REGISTRATION_FILE, RUN_FILE, TRAINING_FILE, UNCERTAINTY_FILE, Run, read_training
from ropes.methods.training.registration import CLEANER_FOLDER
from ropes.methods.weights import weights_digest
from ropes.models.checkpoints import WEIGHTS
from ropes.models.eight_bits import from_eight_bits, to_eight_bits
from ropes.models.registry import CARD_FILE, README_FILE
from ropes.report.hub_card import package_readme
from ropes.report.model_card import model_card

#: Largest size of a packaged estimator, bytes.
MOST_BYTES = 8_000_000
#: Bytes reserved for card, README and calibration, which are written last.
_RESERVED = 32_000
#: Form of the weights → largest root mean square difference of coordinates from the run's, as a share of their standard
#: deviation; and number of poses. Not the largest difference: where a glimpse's centre lies between two pixels, the
#: last bit decides.
_TOLERANCE = {"float16": 0.01, "int8": 0.03}
_COMPARED = 256


def package(run: Path, *, name: str, data: Location, results: Path | None, out: Path, most: int = MOST_BYTES) -> Path:
    """Write the packaged estimator `out`/`name` atomically; an existing one of that name is replaced.

    Weights are copied; if the folder would be too large, the largest become float16, and then integers of eight bits
    (see `ropes.models.eight_bits`).  The packaged estimator must give
    the run's coordinates on images of the data set.

    Args:
        run: folder of a calibrated run, or of a supervised one, whose networks give radians.
        name: name of the packaged estimator.
        data: training data set of the run.
        results: results.json of `ropes evaluate` or `ropes reproduce` with figures of the run's present weights, for
            the card; None if it was not evaluated, as after a recording without test poses.
        out: folder of packaged estimators.
        most: largest size, bytes.

    Returns:
        The folder of the packaged estimator.

    Raises:
        UserError: the run is unfinished or not calibrated, data or results are of another run, the name is invalid, the
            folder holds something else, or the estimator is too large or gives other coordinates.
    """
    require_name(name)
    estimator, dataset = Estimator.load(run), open_dataset(data)
    calibration = read_calibration(run, estimator.run)
    if calibration is None and not estimator.is_supervised:
        raise UserError(
            f"{run} is not calibrated: run `ropes calibrate` first, since a packaged estimator predicts radians"
        )
    require_same_data(run, estimator.run, dataset)
    evaluation = None if results is None else read_results(results, run, estimator.run)
    target = out / name
    if target.exists() and not (target / CARD_FILE).exists():
        raise UserError(f"{target} holds something else (no {CARD_FILE} in it); choose another --name or --out")
    with replaced_folder(target) as new:
        _fill(run, new, name, estimator, dataset, calibration, evaluation, most)
    return target


def require_name(name: str) -> None:
    """Check the name of a packaged estimator.

    Raises:
        UserError: it has other characters than small letters, digits and single hyphens.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UserError(f"--name {name!r}: use small letters, digits and single hyphens, as panda-2c")


def require_same_data(folder: Path, run: Run, dataset: Dataset) -> None:
    """Check that the run in `folder` was fitted on a data set.

    Raises:
        UserError: it was not.
    """
    if dataset.checksum != run.data_checksum:
        raise UserError(f"{dataset.path} is not the data set that {folder} was fitted on; its images or regimes differ")


def read_results(path: Path, folder: Path, run: Run) -> Results:
    """The results in a file, which must be of the present weights of the run in `folder`.

    Raises:
        UserError: they are not, or the file is damaged.
    """
    evaluation = results_file.read(path)
    fits = [
        row for row in evaluation.fit_rows if (row.setup, row.method, row.seed) == (run.setting, run.method, run.seed)
    ]
    if not evaluation.fit_rows:
        raise UserError(f"{path} does not say which fit it is of; evaluate {folder} again with `ropes evaluate`")
    if not fits:
        raise UserError(f"{path} has no figures of the fit in {folder}; evaluate it with `ropes evaluate`")
    if any(row.data_checksum != run.data_checksum for row in fits):
        raise UserError(f"{path} is of a run that was fitted on other data; evaluate {folder}")
    if any(row.weights != weights_digest(folder) for row in fits):
        raise UserError(f"{path} is of another fit: its weights are not those of {folder}; evaluate {folder} again")
    return evaluation


def _fill(
    run: Path,
    new: Path,
    name: str,
    estimator: Estimator,
    dataset: Dataset,
    calibration: Calibration | None,
    evaluation: Results | None,
    most: int,
) -> None:
    """Write all files of a packaged estimator to the folder `new`, and check its size and coordinates."""
    weights = weight_files(estimator.run)
    # Runs of older versions lack the first, runs on renderings the others.
    cleaner = f"{CLEANER_FOLDER}/{WEIGHTS}"
    others = [file for file in (UNCERTAINTY_FILE, REGISTRATION_FILE, cleaner) if (run / file).exists()]
    for file in (RUN_FILE, TRAINING_FILE, *others, *weights):
        (new / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run / file, new / file)
    _shrink([new / file for file in weights], _size(new) + _RESERVED - most)
    if calibration is not None:
        write_calibration(new, estimator.run, calibration)
    stored = [load_file(new / file) for file in weights]
    precisions = {str(tensor.dtype).removeprefix("torch.") for tensors in stored for tensor in tensors.values()}
    card = model_card(
        name,
        estimator.run,
        dataset,
        calibration,
        evaluation,
        read_training(run),
        weights=sum(tensor.numel() for tensors in stored for tensor in from_eight_bits(tensors).values()),
        precision=", ".join(sorted(precisions)),
        size=_size(new),
    )
    write_text(new / CARD_FILE, card)
    write_text(new / README_FILE, package_readme(name, estimator.run, card, evaluation))
    if (size := _size(new)) > most:
        raise UserError(f"{run} takes {size / 1e6:.1f} MB even in eight bits; at most {most / 1e6:g} MB are packaged")
    rows = dataset.frames("train").index[:_COMPARED]
    form = "int8" if "int8" in precisions else "float16"
    _require_agreement(estimator, Estimator.load(new), images_of(estimator.run, dataset, rows), form)


def _shrink(paths: Sequence[Path], excess: int) -> None:
    """Save `excess` bytes: tensors become float16, then layers' weights eight bits, the largest first.

    float16 has a longer mantissa than bfloat16.  Small tensors, such as those of the attention layers, keep their
    precision if the large ones suffice.  What is not a layer's weight never has eight bits: backgrounds, from which
    images are subtracted, need more.
    """
    files = {path: load_file(path) for path in paths}
    entries = [(path, name, tensor) for path, tensors in files.items() for name, tensor in tensors.items()]
    entries.sort(key=lambda entry: -entry[2].nbytes)
    for path, name, tensor in entries:
        if excess > 0 and tensor.is_floating_point():
            files[path][name] = tensor.to(torch.float16)
            excess -= tensor.nbytes - files[path][name].nbytes
    for path, name, tensor in entries:
        if excess > 0 and tensor.is_floating_point() and tensor.ndim > 1 and name.endswith(".weight"):
            small = to_eight_bits(name, tensor)
            excess -= files[path][name].nbytes - sum(each.nbytes for each in small.values())
            files[path] |= small
    for path, tensors in files.items():
        with atomic_path(path) as temporary:
            save_file(tensors, temporary)


def _require_agreement(first: Estimator, second: Estimator, images: Views, form: str) -> None:
    """Check that two estimators give the same coordinates; the weights of the second are stored in `form`."""
    before, after = first.coordinates(images), second.coordinates(images)
    difference = float((np.sqrt(((after - before) ** 2).mean(axis=0)) / before.std(axis=0)).max())
    if not difference <= _TOLERANCE[form]:  # also where NaN, from an overflow of float16
        raise UserError(
            f"as {form} the weights read coordinates that differ by {difference:.3f} of their "
            f"standard deviation, more than {_TOLERANCE[form]}; fit a smaller network"
        )


def _size(folder: Path) -> int:
    """The size of all files in a folder, bytes."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

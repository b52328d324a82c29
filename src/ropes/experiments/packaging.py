"""Packages a finished run: only what prediction needs, verified, with a model card."""

import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

from ropes.common.files import atomic_path, write_text
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation import results as results_file
from ropes.evaluation.results import Results
from ropes.inference.calibration import Calibration, write_calibration
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of
from ropes.methods.readers import weight_files
from ropes.methods.run import RUN_FILE, TRAINING_FILE, TRUST_FILE, Run, read_training
from ropes.methods.weights import weights_digest
from ropes.models.registry import CARD_FILE
from ropes.report.model_card import model_card

#: What a packaged estimator may take, bytes.
MOST_BYTES = 14_500_000
#: Bytes left for the card and the calibration, which are written last.
_WORDS = 16_000
#: Coordinates may differ from the run's by this share of their spread, root mean square over so many poses.  Not the
#: most of one pose: where a window's centre lies between two pixels, the last bit decides which.
_TOLERANCE = 0.01
_COMPARED = 256


def package(run: Path, *, name: str, data: Path, results: Path, out: Path, most: int = MOST_BYTES) -> Path:
    """Write the packaged estimator `out`/`name`, whole or not at all; one of that name that is there is replaced.

    Weights stay as they are; the largest as float16 where the folder would be too large otherwise.  In either case the
    packaged estimator must read the same coordinates off images of the data set.

    Args:
        run: folder of a calibrated run.
        name: what it will be called.
        data: the data set that the run was fitted on.
        results: results.json of `ropes evaluate` or `ropes reproduce`, with the run as it is now among its fits, for
            the card.
        out: folder of packaged estimators.
        most: bytes that it may take.

    Returns:
        Its folder.

    Raises:
        UserError: the run is unfinished, not calibrated or of a baseline that reads labels, data or results are another
            run's, the name is no name, the folder holds something else, or the estimator is too large or reads
            otherwise.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise UserError(f"--name {name!r}: use small letters, digits and single hyphens, as panda-2c")
    estimator, dataset = Estimator.load(run), open_dataset(data)
    if estimator.learnt_from_labels:
        raise UserError(f"{run} learnt from labels, as a baseline; estimators that read none are packaged")
    calibration = estimator.calibration
    if calibration is None:
        raise UserError(f"{run} is not calibrated: run `ropes calibrate` first, a packaged estimator gives radians")
    if dataset.checksum != estimator.run.data_checksum:
        raise UserError(f"{data} is not the data set that {run} was fitted on; its images or regimes differ")
    evaluated = _read_results(results, run, estimator.run)
    target = out / name
    if target.exists() and not (target / CARD_FILE).exists():
        raise UserError(f"{target} holds something else (no {CARD_FILE} in it); choose another --name or --out")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=out) as folder:
        new = Path(folder) / name
        _fill(run, new, name, estimator, dataset, calibration, evaluated, most)
        if target.exists():
            shutil.rmtree(target)
        new.rename(target)
    return target


def _read_results(path: Path, folder: Path, run: Run) -> Results:
    """The results at `path`, which must say that they are of the very weights of the run in `folder`."""
    found = results_file.read(path)
    fits = [row for row in found.fit_rows if (row.setup, row.method, row.seed) == (run.setting, run.method, run.seed)]
    if not found.fit_rows:
        raise UserError(f"{path} does not say which fit it is of; evaluate {folder} again with `ropes evaluate`")
    if not fits:
        raise UserError(f"{path} has no figures of the fit in {folder}; evaluate it with `ropes evaluate`")
    if any(row.data_checksum != run.data_checksum for row in fits):
        raise UserError(f"{path} is of a run that was fitted on other data; evaluate {folder}")
    if any(row.weights != weights_digest(folder) for row in fits):
        raise UserError(f"{path} is of another fit: its weights are not those of {folder}; evaluate {folder} again")
    return found


def _fill(
    run: Path,
    new: Path,
    name: str,
    estimator: Estimator,
    dataset: Dataset,
    calibration: Calibration,
    evaluated: Results,
    most: int,
) -> None:
    weights = weight_files(estimator.run)
    trust = [TRUST_FILE] if (run / TRUST_FILE).exists() else []  # runs of older versions have none
    for file in (RUN_FILE, TRAINING_FILE, *trust, *weights):
        (new / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(run / file, new / file)
    _halve([new / file for file in weights], _size(new) + _WORDS - most)
    write_calibration(new, estimator.run, calibration)  # bound to the weights as they are now
    tensors = [tensor for file in weights for tensor in load_file(new / file).values()]
    card = model_card(
        name,
        estimator.run,
        dataset,
        calibration,
        evaluated,
        read_training(run),
        weights=sum(tensor.numel() for tensor in tensors),
        precision=" and ".join(sorted({str(tensor.dtype).removeprefix("torch.") for tensor in tensors})),
        size=_size(new),
    )
    write_text(new / CARD_FILE, card)
    if (size := _size(new)) > most:
        raise UserError(f"{run} takes {size / 1e6:.1f} MB even in float16; at most {most / 1e6:g} MB are packaged")
    rows = dataset.frames("train").index[:_COMPARED]
    _require_agreement(estimator, Estimator.load(new), images_of(estimator.run, dataset, rows))


def _halve(paths: Sequence[Path], excess: int) -> None:
    """Store tensors as float16, the largest first, until `excess` bytes are saved or nothing is left to halve.

    Of the two short formats it is the one with the longer mantissa.  Small tensors, as of the layers that tell where to
    look, stay as they are where that is enough.
    """
    held = {path: load_file(path) for path in paths}
    every = [(path, name, tensor) for path, tensors in held.items() for name, tensor in tensors.items()]
    for path, name, tensor in sorted(every, key=lambda one: -one[2].nbytes):
        if excess > 0 and tensor.is_floating_point():
            held[path][name] = tensor.to(torch.float16)
            excess -= tensor.nbytes // 2
    for path, tensors in held.items():
        with atomic_path(path) as temporary:
            save_file(tensors, temporary)


def _require_agreement(first: Estimator, second: Estimator, images: NDArray[np.uint8]) -> None:
    before, after = first.coordinates(images), second.coordinates(images)
    apart = float((np.sqrt(((after - before) ** 2).mean(axis=0)) / before.std(axis=0)).max())
    if not apart <= _TOLERANCE:  # not a number, where float16 overflowed
        raise UserError(
            f"as float16 the weights read coordinates that differ by {apart:.3f} of their spread, more than "
            f"{_TOLERANCE}; fit a smaller network"
        )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())

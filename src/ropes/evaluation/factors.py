"""Evaluates one model of the disentanglement study: metrics of its latents, and transfer errors.

Source: Dittadi et al. 2021, Sections 3 to 5.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.files import sha256
from ropes.common.hardware import AskedPrecision, device_kind
from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.photographs import read_photographs
from ropes.errors import UserError
from ropes.evaluation.factor_latents import LATENTS_FILE, Latents, kept_latents, make_latents, write_latents
from ropes.evaluation.factor_pictures import PICTURES_FILE, SHOWN, write_pictures
from ropes.evaluation.factor_scores import disentanglement
from ropes.evaluation.factor_tasks import PHOTOGRAPHS, FactorTask, Samples, Trial, factor_task, with_photographs
from ropes.evaluation.record import ARTEFACTS, RESULTS_FILE, claim_evaluation
from ropes.evaluation.results import Results, write_measured
from ropes.evaluation.rows.model import ModelRow
from ropes.methods.reader import Reader
from ropes.methods.readers import finished_reader
from ropes.methods.recipes import VAERecipe
from ropes.methods.run import Run, read_training, training_seconds
from ropes.methods.vae_reader import VAEReader
from ropes.metrics import assignment, correlation_matrix
from ropes.metrics.transfer import classifier_errors, transfer_errors

Floats = NDArray[np.float64]
Images = NDArray[np.uint8]


def evaluate_factors(
    run: Path,
    data: Path,
    out: Path,
    *,
    seed: int = 0,
    name: str = "evaluation",
    label: str | None = None,
    photographs: Path | None = None,
    workers: int | None = None,
    precision: AskedPrecision = "auto",
) -> Results:
    """Measure a run's latents, or coordinates, against the factors of a data set: finger and cube's, or joint angles.

    Disentanglement is of the split test-id; hue is a class there.  Regressors from latents to factors learn and are
    tested as `factor_task` says; a transfer score is the mean of their errors over the factors but the one that shifts.
    Latents and factors are left in `out`/latents.safetensors, and read from there by the next call.

    Deviation: regressors learn from images that the encoder never saw, and are tested on others, in OOD1 too.  Why: the
    compact training has fewer images of a hue than the regressors learn from, and a test on training images would not
    tell whether the encoder generalises.  Effect: OOD1 is harder than in the paper, whose D1 and D2 lie within D.

    Args:
        run: folder of the run, of any method.
        data: data set with its factors.
        out: folder for `results.json` and `artefacts/` (what the report shows).
        seed: of regressors and splits of samples.
        name: of the results.
        label: what the row calls the method; its own name where None.
        photographs: of finger and cube, see `ropes.data.photographs`, to test regressors on as well.
        workers: threads of the trees; None for as many as torch has.
        precision: that images are read in, see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: an unfinished run, other data, too few images, or a folder with something else.
    """
    began = time.monotonic()
    found, reader = finished_reader(run, torch.device(device_kind()), precision)
    dataset = open_dataset(data)
    _require_views(found, dataset)
    task, images = factor_task(dataset), None
    if photographs is not None:
        images, factors = read_photographs(photographs, reader.size)
        task = with_photographs(task, factors)
    shown = None if photographs is None else sha256(photographs)
    about = {"measures": "factors", "photographs": shown}
    called, precisions = label or found.method, (precision, reader.precision)
    fitted = claim_evaluation(out, run, found, dataset, called, precisions, **about)
    workers = workers or torch.get_num_threads()
    of = {
        "weights": fitted.weights,
        "data": dataset.checksum,
        "precision": reader.precision,
        "photographs": shown or "",
    }
    pictures = out / ARTEFACTS / found.setting / called / f"seed-{found.seed}" / PICTURES_FILE
    latents = _latents(reader, dataset, task, images, out / LATENTS_FILE, of, pictures)
    told = latents.of["test-id"], task.factors["test-id"]
    measured = disentanglement(
        *told, task.names, categorical=task.categorical, complete=task.complete, seed=seed, workers=workers
    )
    try:
        errors = _transfer(task, latents.of, seed, workers)
        graded = _graded(task, latents.of, workers) if task.graded else {}
    except ValueError as error:
        raise UserError(f"{run}: regressors cannot be fitted: {error}") from error
    story = read_training(run)
    scores = {
        **measured.pop("scores"),
        "mcc": _matched_correlation(*told),
        **latents.label_free,
        **({"classifier": float(np.mean(list(graded.values())))} if graded else {}),
        **{score: _mean_error(task.trials[score.partition("_")[2]], own) for score, own in errors.items()},
    }
    row = ModelRow(
        setup=found.setting,
        method=called,
        seed=found.seed,
        seconds=training_seconds(story),
        settings=_settings(found, story),
        scores=scores,
        errors={**errors, **({"classifier": graded} if graded else {})},
        sizes={"tested": len(told[1]), **{name: len(trial.learnt.rows) for name, trial in task.trials.items()}},
        **measured,
    )
    return write_measured(out / RESULTS_FILE, name, found.recipe.preset, began, model_rows=(row,), fit_rows=(fitted,))


def _require_views(run: Run, dataset: Dataset) -> None:
    """Check that a data set has the run's cameras, in colour where the run reads colour.

    Raises:
        UserError: it has others.
    """
    colour = isinstance(run.recipe, VAERecipe) and run.recipe.vae.channels != len(run.cameras)
    if dataset.cameras != run.cameras or colour != (len(dataset.image_shape) > 2):
        kind = "colour" if colour else "grey"
        raise UserError(f"{dataset.path} has other images; the run reads {kind} ones of {', '.join(run.cameras)}")


def _latents(
    reader: Reader,
    dataset: Dataset,
    task: FactorTask,
    photographs: Images | None,
    kept: Path,
    of: dict[str, str],
    pictures: Path,
) -> Latents:
    """The latents of a task's images, of a file where they are kept; otherwise also its pictures are made, of a VAE."""
    of |= {"images": ", ".join(f"{split} {len(rows)}" for split, rows in task.frames.items())}
    drawn = pictures.exists() or not isinstance(reader, VAEReader)
    of |= {"label_free": f"{len(task.judged.rows)} of {task.judged.split}"}
    if drawn and (known := kept_latents(kept, task.factors, of)) is not None:
        return known
    caches = {split: ImageCache(dataset, split, reader.size, progress=False) for split in task.frames}
    latents = make_latents(reader, task, caches, photographs)
    if isinstance(reader, VAEReader):
        tested = dict.fromkeys(trial.tested.split for trial in task.trials.values())
        examples = {
            split: caches[split].read(np.arange(min(SHOWN, len(caches[split])))) for split in tested if split in caches
        }
        if photographs is not None:
            examples[PHOTOGRAPHS] = photographs[:SHOWN]
        write_pictures(pictures, reader, examples, latents.of["test-id"])
    write_latents(kept, latents, task.factors, of)
    return latents


def _matched_correlation(latents: Floats, factors: Floats) -> float:
    """Mean absolute correlation of each factor with a latent of its own, of as many as there are."""
    matrix = correlation_matrix(latents, factors)
    if len(matrix) < matrix.shape[1]:
        matrix = np.pad(matrix, ((0, matrix.shape[1] - len(matrix)), (0, 0)))
    chosen = assignment(matrix, "hungarian")
    return float(matrix[chosen, np.arange(len(chosen))].mean())


def _transfer(task: FactorTask, latents: Mapping[str, Floats], seed: int, workers: int) -> dict[str, dict[str, float]]:
    """REGRESSOR_TEST → factor → error; regressors of the same samples are learnt once."""
    groups: dict[tuple[str, bytes], list[str]] = {}
    for name, trial in task.trials.items():
        groups.setdefault((trial.learnt.split, trial.learnt.rows.tobytes()), []).append(name)
    found = {}
    for regressor in task.regressors:
        for names in groups.values():
            trials = [task.trials[name] for name in names]
            learnt, *others = (
                _samples(task, latents, each) for each in (trials[0].learnt, *(t.tested for t in trials))
            )
            asked: dict[str, Any] = {"regressor": regressor, "trained": latents["train"], "workers": workers}
            errors = transfer_errors(learnt, *others, seed=seed, **asked)
            for name, own in zip(names, errors, strict=True):
                found[f"{regressor}_{name}"] = dict(zip(task.names, own.tolist(), strict=True))
    return found


def _graded(task: FactorTask, latents: Mapping[str, Floats], workers: int) -> dict[str, float]:
    """Factor → share of test images in which a classifier gets its value wrong, in distribution."""
    trial = task.trials["id"]
    learnt, tested = (_samples(task, latents, each) for each in (trial.learnt, trial.tested))
    return dict(zip(task.names, classifier_errors(learnt, tested, workers=workers).tolist(), strict=True))


def _samples(task: FactorTask, latents: Mapping[str, Floats], samples: Samples) -> tuple[Floats, Floats]:
    """Latents and shares of factors of some samples."""
    split, rows = samples
    return latents[split][rows], task.shares[split][rows]


def _mean_error(test: Trial, of_factor: Mapping[str, float]) -> float:
    """The transfer score: over the factors but the one that shifts."""
    return float(np.mean([error for name, error in of_factor.items() if name != test.left_out]))


def _settings(run: Run, story: Mapping[str, Any]) -> dict[str, float]:
    """What may differ between the models of a study."""
    settings: dict[str, float] = {"images": story["provenance"]["poses"] * len(run.cameras)}
    if isinstance(recipe := run.recipe, VAERecipe):
        settings |= {"beta": recipe.beta, "latents": recipe.vae.latents, "warm_up": recipe.warm_up}
        settings["noise"] = recipe.noise
    return {name: float(value) for name, value in settings.items()}

"""The disentanglement study's measures of one model: its latents against the factors, and what transfers.

Source: Dittadi et al. 2021, Sections 3 to 5.
"""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.photographs import read_photographs
from ropes.errors import UserError
from ropes.evaluation_record import ARTEFACTS, RESULTS_FILE, claim_evaluation
from ropes.factor_scores import disentanglement
from ropes.factor_tasks import PHOTOGRAPHS, FactorTask, Trial, factor_task, with_photographs
from ropes.files import atomic_path, sha256
from ropes.hardware import AskedPrecision, device_kind
from ropes.methods.readers import Reader, VAEReader, finished_reader
from ropes.methods.run import Run, read_training
from ropes.metrics import assignment, correlation_matrix
from ropes.metrics.transfer import Regressor, transfer_errors
from ropes.model_rows import ModelRow
from ropes.recipes import VAERecipe
from ropes.results import Results, write_measured

PICTURES_FILE = "pictures.npz"
Floats = NDArray[np.float64]
Images = NDArray[np.uint8]
REGRESSORS: tuple[Regressor, ...] = ("trees", "mlp")
_CHUNK = 256
#: Images of each split that are shown with what the decoder makes of them; and how a latent is swept.
_SHOWN, _SWEEP = 6, np.linspace(-2.0, 2.0, 7)
#: Latents that are swept at most, those first that vary most over images.
_SWEPT = 10


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

    Disentanglement is of the split test-id; hue is a class there.  Regressors from latents to factors learn from
    training images with their factors, and are tested as `factor_task` says; a transfer score is the mean of their
    errors over the factors but the one that shifts.

    Deviation: regressors are tested on images that the encoder never saw, in OOD1 too.  Why: a test on training images
    would not tell whether the encoder generalises.  Effect: OOD1 is harder than in the paper, whose D1 and D2 lie
    within D.

    Deviation: up to 10,000 training images are taken first and then those of a scenario's hues.  Why: none; to be
    mended.  Effect: OOD1-A's regressors learn from some 1,250 images, B's and C's from 5,000, those of ID and OOD2 from
    10,000, so differences between scenarios mix the shift with the number of images.

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
    task = factor_task(dataset)
    if photographs is not None:
        images, factors = read_photographs(photographs, reader.size)
        task = with_photographs(task, factors)
    shown = None if photographs is None else sha256(photographs)
    about = {"measures": "factors", "photographs": shown}
    called, precisions = label or found.method, (precision, reader.precision)
    fitted = claim_evaluation(out, run, found, dataset, called, precisions, **about)
    workers = workers or torch.get_num_threads()
    caches = {split: ImageCache(dataset, split, reader.size, progress=False) for split in task.frames}
    latents = {split: _latents(reader, caches[split], rows) for split, rows in task.frames.items()}
    if photographs is not None:
        latents[PHOTOGRAPHS] = _latents(reader, images, np.arange(len(images)))
    told = latents["test-id"], task.factors["test-id"]
    measured = disentanglement(
        *told, task.names, categorical=task.categorical, complete=task.complete, seed=seed, workers=workers
    )
    try:
        errors = _transfer(task, latents, seed, workers)
    except ValueError as error:
        raise UserError(f"{run}: regressors cannot be fitted: {error}") from error
    story = read_training(run)
    scores = {
        **measured.pop("scores"),
        "mcc": _matched_correlation(*told),
        **_label_free(story),
        **{score: _mean_error(task.trials[score.partition("_")[2]], own) for score, own in errors.items()},
    }
    row = ModelRow(
        setup=found.setting,
        method=label or found.method,
        seed=found.seed,
        seconds=float(sum(story["provenance"]["seconds"].values())),
        settings=_settings(found, story),
        scores=scores,
        errors=errors,
        **measured,
    )
    if isinstance(reader, VAEReader):
        pictures = out / ARTEFACTS / found.setting / row.method / f"seed-{row.seed}" / PICTURES_FILE
        tested = {split: cache for split, cache in caches.items() if split != "train"}
        examples = {split: cache.read(np.arange(min(_SHOWN, len(cache)))) for split, cache in tested.items()}
        if photographs is not None:
            examples[PHOTOGRAPHS] = images[:_SHOWN]
        _write_pictures(pictures, reader, examples, latents["test-id"])
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


@torch.no_grad()
def _latents(reader: Reader, images: Images | ImageCache, rows: NDArray[np.int64]) -> Floats:
    """What a reader makes of some images, (n, k)."""
    read = images.read if isinstance(images, ImageCache) else images.__getitem__
    chunks: Iterator[NDArray[np.int64]] = (rows[first : first + _CHUNK] for first in range(0, len(rows), _CHUNK))
    return torch.cat([reader.coordinates(_on_device(read(chunk))) for chunk in chunks]).double().cpu().numpy()


def _on_device(images: NDArray[np.uint8]) -> torch.Tensor:
    return torch.from_numpy(images).to(device_kind())


def _matched_correlation(latents: Floats, factors: Floats) -> float:
    """Mean absolute correlation of each factor with a latent of its own, of as many as there are."""
    matrix = correlation_matrix(latents, factors)
    if len(matrix) < matrix.shape[1]:
        matrix = np.pad(matrix, ((0, matrix.shape[1] - len(matrix)), (0, 0)))
    chosen = assignment(matrix, "hungarian")
    return float(matrix[chosen, np.arange(len(chosen))].mean())


def _transfer(task: FactorTask, latents: Mapping[str, Floats], seed: int, workers: int) -> dict[str, dict[str, float]]:
    """REGRESSOR_TEST → factor → error; regressors of the same samples are learnt once."""
    groups: dict[bytes, list[str]] = {}
    for name, test in task.trials.items():
        groups.setdefault(test.learnt.tobytes(), []).append(name)
    found = {}
    for regressor in REGRESSORS:
        for names in groups.values():
            tests = [task.trials[name] for name in names]
            rows = tests[0].learnt
            learnt = latents["train"][rows], task.shares["train"][rows]
            others = [(latents[test.split][test.tested], task.shares[test.split][test.tested]) for test in tests]
            errors = transfer_errors(learnt, *others, regressor=regressor, seed=seed, workers=workers)
            for name, own in zip(names, errors, strict=True):
                found[f"{regressor}_{name}"] = dict(zip(task.names, own.tolist(), strict=True))
    return found


def _mean_error(test: Trial, of_factor: Mapping[str, float]) -> float:
    """The transfer score: over the factors but the one that shifts."""
    return float(np.mean([error for name, error in of_factor.items() if name != test.left_out]))


def _label_free(story: Mapping[str, Any]) -> dict[str, float]:
    """Held-out ELBO and reconstruction loss of a VAE, nats an image; nothing of another method."""
    curves = story["stages"].get("vae")
    if curves is None:
        return {}
    return {"elbo": curves["held_out"][-1], "reconstruction": curves["held_out_reconstruction"][-1]}


def _settings(run: Run, story: Mapping[str, Any]) -> dict[str, float]:
    """What may differ between the models of a study."""
    settings: dict[str, float] = {"images": story["provenance"]["poses"] * len(run.cameras)}
    if isinstance(recipe := run.recipe, VAERecipe):
        settings |= {"beta": recipe.beta, "latents": recipe.vae.latents, "warm_up": recipe.warm_up}
        settings["noise"] = recipe.noise
    return {name: float(value) for name, value in settings.items()}


def _write_pictures(path: Path, reader: VAEReader, examples: Mapping[str, Images], latents: Floats) -> None:
    """Images of each test split with their reconstructions, and sweeps of single latents, uint8 (…, S, S[, 3]).

    Of several cameras the first one's.
    """
    shown: dict[str, Any] = {}
    colour = next(iter(examples.values())).ndim == 5
    for split, found in examples.items():
        images = _on_device(found)
        shown |= {f"{split}_images": found[:, 0], f"{split}_made": _as_bytes(reader.reconstructions(images)[0])}
    order = np.argsort(-latents.var(axis=0))[:_SWEPT]
    swept = np.repeat(latents[:1], len(order) * len(_SWEEP), axis=0)
    swept[np.arange(len(swept)), np.repeat(order, len(_SWEEP))] = np.tile(_SWEEP, len(order))
    drawn = _as_bytes(reader.decoded(torch.from_numpy(swept).float().to(device_kind()), colour=colour))
    shown |= {"latents": order, "sweeps": drawn.reshape(len(order), len(_SWEEP), *drawn.shape[1:])}
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, **shown)


def _as_bytes(made: torch.Tensor) -> NDArray[np.uint8]:
    """Levels in [0, 1] of the first camera, (n, cameras, S, S[, 3]) → uint8 (n, S, S[, 3])."""
    levels: NDArray[np.uint8] = (255 * made[:, 0]).round().byte().cpu().numpy()
    return levels

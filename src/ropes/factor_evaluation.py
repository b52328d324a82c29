"""The disentanglement study's measures of one model: its latents against the factors, and what transfers.

Source: Dittadi et al. 2021, Sections 3 to 5.
"""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ropes import __version__
from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation import ABOUT_FILE, ARTEFACTS, RESULTS_FILE
from ropes.factor_scores import disentanglement
from ropes.files import atomic_path, claim_folder, claim_record, read_json
from ropes.finger import HUE, NAMES, SCENARIOS, hues_of, scaled
from ropes.hardware import device_kind, device_name
from ropes.methods.readers import VAEReader, finished_reader
from ropes.methods.run import TRAINING_FILE, Run
from ropes.metrics.transfer import Regressor, transfer_errors
from ropes.model_rows import ModelRow
from ropes.recipes import VAERecipe
from ropes.results import Results, write

PICTURES_FILE = "pictures.npz"
Floats = NDArray[np.float64]
#: Splits of the data set, and how many of the training images regressors may learn from.
SPLITS = ("train", "test-id", "test-hues", "test-shifted")
LABELLED = 10_000
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
    workers: int | None = None,
) -> Results:
    """Measure a VAE on the test splits of a finger-cube data set.

    Disentanglement is of the test images that are like those of the training; hue is a class there.  Regressors from
    latents to factors learn from training images with their factors, and are tested in each of `SCENARIOS`; the
    transfer score is the mean of their errors over the factors but the hue, and over all where no hue shifts.

    Deviation: regressors are tested on images that the encoder never saw, in OOD1 too.

    Args:
        run: folder of the run.
        data: data set with its factors.
        out: folder for `results.json` and `artefacts/` (what the report shows).
        seed: of regressors and splits of samples.
        name: of the results.
        label: what the row calls the method; its own name where None.
        workers: threads of the trees; None for as many as torch has.

    Raises:
        UserError: an unfinished run or one of an arm, other data, too few images, or a folder with something else.
    """
    began = time.monotonic()
    found, reader = finished_reader(run, torch.device(device_kind()))
    if not isinstance(reader, VAEReader):
        raise UserError(f"{run} is of method {found.method}, which reads an arm's joints; give it data of an arm")
    dataset = open_dataset(data)
    _require_factors(dataset)
    claim_folder(out, ABOUT_FILE)
    about = {"method": found.method, "seed": found.seed, "fitted_on": found.data_checksum}
    refusal = "holds the evaluation of another run or data set; choose another --out"
    claim_record(out / ABOUT_FILE, {**about, "measured_on": dataset.checksum}, refusal)
    workers = workers or torch.get_num_threads()
    samples = {split: _samples(reader, dataset, split) for split in SPLITS}
    measured = disentanglement(
        *samples["test-id"], NAMES, categorical=(HUE,), complete=False, seed=seed, workers=workers
    )
    errors = _transfer(samples, seed, workers)
    history, seconds = _training(run)
    scores = {
        **measured.pop("scores"),
        "elbo": history["held_out"][-1],
        "reconstruction": history["held_out_reconstruction"][-1],
        **{score: _mean_error(score, of_factor) for score, of_factor in errors.items()},
    }
    row = ModelRow(
        setup=found.setting,
        method=label or found.method,
        seed=found.seed,
        seconds=seconds,
        settings=_settings(found),
        scores=scores,
        errors=errors,
        **measured,
    )
    pictures = out / ARTEFACTS / found.setting / row.method / f"seed-{row.seed}" / PICTURES_FILE
    _write_pictures(pictures, reader, dataset, samples["test-id"][0])
    results = Results(
        name=name,
        preset=found.recipe.preset,
        device=device_name(),
        version=__version__,
        seconds=round(time.monotonic() - began, 1),
        rows=(),
        model_rows=(row,),
    )
    write(out / RESULTS_FILE, results)
    return results


def _settings(run: Run) -> dict[str, float]:
    recipe = run.recipe
    assert isinstance(recipe, VAERecipe)
    settings = {"beta": recipe.beta, "latents": recipe.vae.latents, "warm_up": recipe.warm_up, "noise": recipe.noise}
    return {name: float(value) for name, value in settings.items()}


def _require_factors(dataset: Dataset) -> None:
    """Check that a data set has finger and cube's factors and splits.

    Raises:
        UserError: it has not.
    """
    if dataset.state_names != NAMES or not set(SPLITS) <= set(dataset.splits):
        raise UserError(
            f"{dataset.path} lacks the factors or the splits {', '.join(SPLITS)} of finger-cube; make it with "
            "ropes simulate --setting finger-cube --samples 16000"
        )


def _samples(reader: VAEReader, dataset: Dataset, split: str) -> tuple[Floats, Floats]:
    """Latents (n, k) and factors (n, f) of a split, of the first images alone in training."""
    factors = dataset.factors(split)[: LABELLED if split == "train" else None]
    cache = ImageCache(dataset, split, reader.size, progress=False)
    latents = [reader.coordinates(_images(cache, rows)) for rows in _chunks(len(factors))]
    return torch.cat(latents).double().cpu().numpy(), factors


def _chunks(count: int) -> Iterable[NDArray[np.int64]]:
    return (np.arange(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK))


def _images(cache: ImageCache, rows: NDArray[np.int64]) -> torch.Tensor:
    return torch.from_numpy(cache.read(rows)).to(device_kind())


def _transfer(samples: dict[str, tuple[Floats, Floats]], seed: int, workers: int | None) -> dict[str, dict[str, float]]:
    """Transfer score → factor → error, regressors of the same hues learnt once."""
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, scenario in SCENARIOS.items():
        groups.setdefault(scenario.learnt, []).append(name)
    found = {}
    for regressor in REGRESSORS:
        for learnt, names in groups.items():
            tests = [_of_hues(samples[SCENARIOS[name].split], SCENARIOS[name].tested) for name in names]
            errors = transfer_errors(
                _of_hues(samples["train"], learnt), *tests, regressor=regressor, seed=seed, workers=workers
            )
            for name, own in zip(names, errors, strict=True):
                found[f"{regressor}_{name}"] = dict(zip(NAMES, own.tolist(), strict=True))
    return found


def _of_hues(samples: tuple[Floats, Floats], hues: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Latents, and factors in shares of their ranges, of the samples with these hues.

    Raises:
        UserError: there are none.
    """
    latents, factors = samples
    chosen = np.isin(hues_of(factors), hues)
    if not chosen.any():
        raise UserError(f"no sample has one of the hues {', '.join(map(str, hues))}; simulate more")
    return latents[chosen], scaled(factors[chosen])


def _mean_error(score: str, of_factor: dict[str, float]) -> float:
    """The transfer score: over the factors but the one that shifts."""
    scenario = SCENARIOS[score.partition("_")[2]]
    shifts = scenario.learnt != scenario.tested
    return float(np.mean([error for name, error in of_factor.items() if not (shifts and name == NAMES[HUE])]))


def _training(run: Path) -> tuple[dict[str, list[float]], float]:
    """What the fit measured as it went, and its seconds."""
    story = read_json(run / TRAINING_FILE)
    return story["stages"]["vae"], float(sum(story["provenance"]["seconds"].values()))


@torch.no_grad()
def _write_pictures(path: Path, reader: VAEReader, dataset: Dataset, latents: Floats) -> None:
    """Images of each test split with their reconstructions, and sweeps of single latents, uint8 (…, S, S, 3)."""
    shown: dict[str, Any] = {}
    for split in SPLITS[1:]:
        images = _images(ImageCache(dataset, split, reader.size, progress=False), np.arange(_SHOWN))
        made = (255 * reader.reconstructions(images)[0]).round().byte()
        shown |= {f"{split}_images": images[:, 0].cpu().numpy(), f"{split}_made": made[:, 0].cpu().numpy()}
    order = np.argsort(-latents.var(axis=0))[:_SWEPT]
    swept = np.repeat(latents[:1], len(order) * len(_SWEEP), axis=0)
    swept[np.arange(len(swept)), np.repeat(order, len(_SWEEP))] = np.tile(_SWEEP, len(order))
    made = reader.decoded(torch.from_numpy(swept).float().to(device_kind()))
    drawn = (255 * made).round().byte().cpu().numpy()
    shown |= {"latents": order, "sweeps": drawn.reshape(len(order), len(_SWEEP), *drawn.shape[1:])}
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(stream, **shown)

"""Fits the uncertainty model on held-out anchors, as the last stage of a fit."""

import sys
from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.arrays import AnyFloats, Floats, Ints
from ropes.common.files import sha256
from ropes.common.hardware import RequestedPrecision
from ropes.common.progress import progress
from ropes.common.seeds import generator
from ropes.data.batches import TrainingImages
from ropes.data.chains import has_chains
from ropes.data.dataset import Dataset
from ropes.data.interventions import single_interventions
from ropes.errors import UserError
from ropes.methods.anchored.anchors import by_anchor
from ropes.methods.anchored.chain_poses import Moves
from ropes.methods.anchored.contrast import head_regimes, targets
from ropes.methods.anchored.descendants import descendants
from ropes.methods.context import Context
from ropes.methods.readers import load_reader
from ropes.methods.run import UNCERTAINTY_FILE
from ropes.methods.student.foreign import add_foreign_objects
from ropes.methods.uncertainty.model import (
    ImageFeatures,
    UncertaintyModel,
    downsample,
    extract_features,
    stored_fingerprint,
    write_uncertainty,
)
from ropes.methods.uncertainty.ood import fit_ood
from ropes.methods.uncertainty.residuals import chain_residuals, jackknife_residuals
from ropes.methods.uncertainty.variance import VarianceModel, fit_variance
from ropes.models.shapes import ViTConfig

_CHUNK = 256
#: Least number of held-out anchors, or of labels in each half of them.
_FEWEST = 4
#: Training images for the range of grey levels: enough to show nearly every place that an arm reaches.
_MOST = 30_000
#: Held-out poses: enough for a few hundred weights and a quantile; more would take memory (some 20 kB a pose).
_HELD = 15_000
#: Largest score, that of single precision, in which scores are stored.
_LARGEST = float(np.finfo(np.float32).max)


def fit_uncertainty(
    context: Context, dataset: Dataset, learnt_from: TrainingImages, held: TrainingImages, angles: Floats | None = None
) -> None:
    """Fit the uncertainty model on the held-out poses and store it with the run, unless it is stored already.

    Standard deviations are fitted on all held-out anchors; with a student also on the same poses with foreign objects.
    The conformal scores divide each error, on images without foreign objects, by a standard deviation fitted on the
    other half of the anchors. If there are more than 15,000 held-out poses, some of their anchors serve. One half of
    the anchors gives the mean and covariance of the network's features, the other half the scale of the distances. The
    range of grey levels also uses training images: no weight depends on it, and rare levels need many images. Without
    complete anchors there are no samples of the error, and therefore no standard deviations. With fewer than four
    held-out anchors there is no uncertainty model. One line on standard error reports either case.

    Args:
        context: of the fit.
        dataset: that the run is fitted on.
        learnt_from: training poses.
        held: held-out poses.
        angles: (n, d) of `held`, radians, NaN where not labelled, for a supervised method: gives its errors; None for
            the others.

    Raises:
        UserError: the stored file is damaged.
    """
    weights = {
        path.relative_to(context.folder).as_posix(): sha256(path)
        for path in sorted(context.folder.rglob("weights.safetensors"))
    }
    precision = _precision(context)
    rows = some_anchors(held.anchor)
    differs = [*([] if precision == "auto" else [precision]), *([_HELD] if len(rows) < len(held) else [])]
    fingerprint = context.digest("trust", 3, weights, *differs)
    if stored_fingerprint(context.folder) == fingerprint:
        return
    held, angles = held.take(rows), None if angles is None else angles[rows]
    anchors = np.unique(held.anchor)
    if len(anchors) < _FEWEST:
        (context.folder / UNCERTAINTY_FILE).unlink(missing_ok=True)
        print(f"ropes: no uncertainty model: {len(anchors)} held-out anchors are too few; record more", file=sys.stderr)
        return
    clean = features_of(context, held)
    first = np.isin(held.anchor, generator(context.run.seed, "trust").permutation(anchors)[: len(anchors) // 2])
    samples: Floats | None
    if angles is not None:
        samples = _labelled_errors(clean.coordinates - angles, first)
    else:
        estimate = error_samples(context, dataset, held, clean)
        samples = None if estimate is None else estimate[0] * estimate[1]
    features, val = clean.features[first], clean.take(np.flatnonzero(~first))
    pixels = _ends(chain([clean.pixels[first]], _downsampled(context, learnt_from)))
    ood = fit_ood(features, pixels, val.features, val.pixels, val.max_foreign)
    variance, scores = None, None
    if samples is not None:
        has_student = getattr(context.run.recipe, "foreign", 0.0) > 0
        hidden = features_of(context, held, hide=True) if has_student else None
        variance, scores = fit_variance_and_scores(clean, samples, first, hidden)
    write_uncertainty(context.folder, fingerprint, UncertaintyModel(ood, variance, scores))


def some_anchors(anchor: Ints, most: int = _HELD) -> Ints:
    """Rows of at most `most` poses, of whole anchors (at least four) that are evenly spread over all.

    Args:
        anchor: of each pose, (n,).
        most: number of poses.
    """
    anchors, counts = np.unique(anchor, return_counts=True)
    if len(anchor) <= most:
        return np.arange(len(anchor))
    count = min(max(_FEWEST, most // int(counts.max())), len(anchors))
    chosen = anchors[np.linspace(0, len(anchors) - 1, count).astype(np.int64)]
    return np.flatnonzero(np.isin(anchor, chosen))


def _precision(context: Context) -> RequestedPrecision:
    """Precision of inference: the run's own for transformers."""
    return context.precision if isinstance(context.run.recipe.shape, ViTConfig) else "auto"


def features_of(context: Context, held: TrainingImages, *, hide: bool = False) -> ImageFeatures:
    """Features of some poses, in their order.

    Args:
        context: of the fit.
        held: the poses.
        hide: insert foreign objects into the images first; a cleaner then removes what it finds.
    """
    reader = load_reader(context.run, context.folder, context.device, _precision(context))
    chunk = max(1, _CHUNK // getattr(context.run.recipe.shape, "zoom", 1) ** 2)

    def parts() -> Iterator[ImageFeatures]:
        with progress("uncertainty, poses", len(held), show=context.show) as update:
            for start in range(0, len(held), chunk):
                rows = np.arange(start, min(start + chunk, len(held)))
                pixels = torch.from_numpy(held.pixels(rows))
                if hide:
                    with torch.random.fork_rng():
                        torch.manual_seed(context.seed("trust", "hidden", start))
                        pixels = add_foreign_objects(pixels, held.channels)
                pixels = pixels.to(context.device)
                yield extract_features(reader, context.cleaned(pixels) if hide else pixels)
                update(start + len(rows))

    return ImageFeatures.join(parts(), len(held))


def _downsampled(context: Context, images: TrainingImages) -> Iterator[NDArray[np.float32]]:
    """Downsampled pixels of at most `_MOST` random images, a few at a time, (n, p)."""
    rows = np.sort(generator(context.run.seed, "what there is").permutation(len(images))[:_MOST])
    for chunk in np.split(rows, range(_CHUNK, len(rows), _CHUNK)):
        yield downsample(torch.from_numpy(images.pixels(chunk)))


def _ends(parts: Iterable[AnyFloats]) -> AnyFloats:
    """The ends of the range of each column over all parts, (2, p)."""
    least, greatest = zip(*((part.min(0), part.max(0)) for part in parts), strict=True)
    return np.stack([np.min(least, axis=0), np.max(greatest, axis=0)])


def error_samples(
    context: Context, dataset: Dataset, held: TrainingImages, features: ImageFeatures
) -> tuple[Floats, Floats] | None:
    """Residuals within anchors or chains, (n, d), and each joint's factor that makes them samples of the error, (d,).

    None without complete anchors, with a line on standard error that gives the reason.
    """
    joints = context.run.joints
    if len(joints) < 2:  # every intervention moves the only joint
        return None
    if has_chains(dataset):
        moves = Moves.of(held, None, joints)
        return chain_residuals(features.coordinates, moves.joint, moves.before)
    if single_interventions(dataset.regimes):
        reason = "joints have one intervention each, and errors are estimated from two"
        print(f"ropes: no standard deviations and intervals without labels: {reason}", file=sys.stderr)
        return None
    try:
        table = by_anchor(dataset, held)
    except UserError as error:
        print(f"ropes: no standard deviations and intervals without labels: {error}", file=sys.stderr)
        return None
    target = targets(head_regimes(joints), joints)
    coordinates = torch.from_numpy(features.coordinates[table])
    samples = np.full_like(features.coordinates, np.nan)
    independent = getattr(context.run.recipe, "independent", False)
    graph = torch.zeros(len(joints), len(joints)) if independent else descendants(coordinates, target)
    samples[table], factor = jackknife_residuals(coordinates, target, graph)
    return samples, factor


def _labelled_errors(errors: Floats, first: NDArray[np.bool_]) -> Floats | None:
    """The errors (n, d), NaN where unknown; None, with a line on standard error, if a half has too few."""
    fewest = min(int(np.isfinite(errors[half]).all(1).sum()) for half in (first, ~first))
    if fewest >= _FEWEST:
        return errors
    print(f"ropes: no standard deviations: {fewest} held-out labels in a half of the anchors", file=sys.stderr)
    return None


def fit_variance_and_scores(
    clean: ImageFeatures, samples: Floats, first: NDArray[np.bool_], hidden: ImageFeatures | None = None
) -> tuple[VarianceModel, Floats]:
    """Fit the variance model on all anchors, and the conformal scores |error| / σ with the σ of the other half.

    No score uses a σ fitted on its own error, and every error gives a score (Vovk, "Cross-conformal predictors", 2015).

    Deviation: predictions use the variance model that is fitted on all anchors, not those of the two halves.  Why: it
    fits new errors somewhat better.  Effect: coverage is measured, not guaranteed.

    The error that a foreign object adds, ẑ(with it) − ẑ(without), is known; σ is fitted on these errors too.

    Args:
        clean: features of n held-out poses.
        samples: their errors, (n, d), NaN where unknown, in units of the coordinates.
        first: mask of one half of the anchors, (n,).
        hidden: features of the same poses with foreign objects; None for no such errors.

    Returns:
        The variance model, and the scores, (at most n, d): each column in ascending order, with NaN at its end.
    """
    inputs, errors, source = clean.variance_inputs, samples, np.arange(len(samples))
    every = inputs
    if hidden is not None:
        every = np.concatenate([inputs, hidden.variance_inputs])
        errors = np.concatenate([errors, errors + hidden.coordinates - clean.coordinates])
        source = np.tile(source, 2)
    scores = np.empty_like(samples)
    for half in (first, ~first):
        other_half = fit_variance(every[~half[source]], errors[~half[source]])
        # The σ of a coordinate that is constant over most images is next to 0, and its scores exceed single precision.
        scores[half] = np.minimum(np.abs(samples[half]) / other_half(inputs[half]), _LARGEST)
    longest = int(np.isfinite(scores).sum(0).max())
    return fit_variance(every, errors), np.sort(scores, axis=0)[:longest]

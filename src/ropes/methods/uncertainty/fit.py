"""Fits the uncertainty model on held-out anchors, as the last stage of a fit."""

import sys

import numpy as np
import torch
from numpy.typing import NDArray

from ropes.common.files import sha256
from ropes.common.hardware import AskedPrecision
from ropes.common.progress import progress
from ropes.common.seeds import generator
from ropes.data.batches import TrainingImages
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.anchors import by_anchor
from ropes.methods.context import Context
from ropes.methods.contrast import head_regimes, targets
from ropes.methods.descendants import descendants
from ropes.methods.foreign import with_foreign_things
from ropes.methods.readers import load_reader
from ropes.methods.recipes import EncoderRecipe, JointNetRecipe
from ropes.methods.run import TRUST_FILE
from ropes.methods.uncertainty.model import Seen, Trust, coarse, see, stored_fingerprint, write_trust
from ropes.methods.uncertainty.ood import fit_novelty
from ropes.methods.uncertainty.residuals import deviations
from ropes.methods.uncertainty.variance import Spread, fit_spread

_CHUNK = 256
#: Fewer held-out anchors than this tell nothing of a distribution.
_FEWEST = 4
#: Enough images to have seen nearly every place that an arm reaches; read in seconds.
_MOST = 30_000
Array = NDArray[np.float64]
Indices = NDArray[np.int64]


def fit_trust(
    context: Context,
    dataset: Dataset,
    learnt_from: TrainingImages,
    held: TrainingImages,
    angles: Array | None = None,
) -> None:
    """Learn what to trust from the held-out poses, and store it with the run, unless it is stored already.

    The standard deviations of predictions are fitted on all held-out anchors, and where a student has learnt to read
    images with foreign things, also on the same poses with such things.  Errors, of images without them, are scored in
    units of standard deviations that were fitted on the other half of the anchors.  For the distance, one half of the
    anchors gives the mean and covariance of the network's features, the other the scale.  The range of grey levels is
    that of many images of the training: no weight enters there, and what is rare must have been seen once.  Without
    complete anchors there are no samples of the error, and no standard deviations; with fewer than four held-out ones
    there is nothing at all.  One line on standard error says so.

    Args:
        context: of the fit.
        dataset: what it was fitted on.
        learnt_from: poses that weights were fitted on.
        held: others.
        angles: (n, d) of `held`, radians, NaN where not labelled, for a method that reads labels: its errors are known;
            None for the others.

    Raises:
        UserError: what is stored is damaged.
    """
    weights = {
        path.relative_to(context.folder).as_posix(): sha256(path)
        for path in sorted(context.folder.rglob("weights.safetensors"))
    }
    precision = _read_in(context)
    fingerprint = context.digest("trust", 3, weights, *([] if precision == "auto" else [precision]))
    if stored_fingerprint(context.folder) == fingerprint:
        return
    anchors = np.unique(held.anchor)
    if len(anchors) < _FEWEST:
        (context.folder / TRUST_FILE).unlink(missing_ok=True)
        print(f"ropes: {len(anchors)} held-out anchors do not tell what to trust; record more", file=sys.stderr)
        return
    seen = look_at(context, held)
    first = np.isin(held.anchor, generator(context.run.seed, "trust").permutation(anchors)[: len(anchors) // 2])
    learnt, checked = np.flatnonzero(first), np.flatnonzero(~first)
    samples: Array | None
    if angles is not None:
        samples = _known(seen.coordinates - angles, first)
    else:
        apart = error_samples(context, dataset, held, seen)
        samples = None if apart is None else apart[0] * apart[1]
    pixels = np.concatenate([seen.pixels[learnt], _coarse(context, learnt_from)])
    others = seen.take(checked)
    novelty = fit_novelty(seen.features[learnt], pixels, others.features, others.pixels, others.surest)
    spread, scores = None, None
    if samples is not None:
        hidden = look_at(context, held, hide=True) if _has_student(context) else None
        spread, scores = _errors(seen, samples, first, hidden)
    write_trust(context.folder, fingerprint, Trust(novelty, spread, scores))


def _read_in(context: Context) -> AskedPrecision:
    """The precision that a run's networks see poses in: transformers in the run's own."""
    return context.precision if isinstance(context.run.recipe, JointNetRecipe) else "auto"


def _has_student(context: Context) -> bool:
    return isinstance(context.run.recipe, EncoderRecipe) and context.run.recipe.foreign > 0


def look_at(context: Context, held: TrainingImages, *, hide: bool = False) -> Seen:
    """What the run's networks see in some poses, in their order.

    Args:
        context: of the fit.
        held: the poses.
        hide: put foreign things into the images first.
    """
    reader = load_reader(context.run, context.folder, context.device, _read_in(context))
    parts = []
    with progress("what to trust, poses", len(held), show=context.show) as update:
        for start in range(0, len(held), _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, len(held)))
            pixels = torch.from_numpy(held.pixels(rows))
            if hide:
                with torch.random.fork_rng():
                    torch.manual_seed(context.seed("trust", "hidden", start))
                    pixels = with_foreign_things(pixels)
            parts.append(see(reader, pixels.to(context.device)))
            update(start + len(rows))
    return Seen.join(parts)


def _coarse(context: Context, images: TrainingImages) -> Array:
    """Coarse pixels (at most `_MOST`, p) of some images, drawn at random."""
    rows = np.sort(generator(context.run.seed, "what there is").permutation(len(images))[:_MOST])
    chunks = np.split(rows, range(_CHUNK, len(rows), _CHUNK))
    return np.concatenate([coarse(torch.from_numpy(images.pixels(chunk))) for chunk in chunks])


def error_samples(context: Context, dataset: Dataset, held: TrainingImages, seen: Seen) -> tuple[Array, Array] | None:
    """Deviations within anchors, (n, d), and what makes each joint's a sample of the whole error, (d,).

    Without complete anchors there are none, and a line on standard error says why.
    """
    joints = context.run.joints
    try:
        table = by_anchor(dataset, held)
    except UserError as error:
        print(f"ropes: no standard deviations and intervals without labels: {error}", file=sys.stderr)
        return None
    if len(joints) < 2:  # no intervention leaves the only joint alone
        return None
    target = targets(head_regimes(joints), joints)
    coordinates = torch.from_numpy(seen.coordinates[table])
    samples = np.full_like(seen.coordinates, np.nan)
    samples[table], enlarged = deviations(coordinates, target, descendants(coordinates, target))
    return samples, enlarged


def _known(samples: Array, first: NDArray[np.bool_]) -> Array | None:
    """Samples of the errors, (n, d), NaN where unknown; with too few in one half None, and a line that says why."""
    fewest = min(int(np.isfinite(samples[half]).all(1).sum()) for half in (first, ~first))
    if fewest >= _FEWEST:
        return samples
    print(f"ropes: no standard deviations: {fewest} held-out labels in a half of the anchors", file=sys.stderr)
    return None


def _errors(seen: Seen, samples: Array, first: NDArray[np.bool_], hidden: Seen | None = None) -> tuple[Spread, Array]:
    """Standard deviations from all anchors, and |error| / σ of each half by those of the other half, sorted, with NaN
    at the end of a joint that has fewer.

    So each error is scored by a σ that has not seen it, and none is lost, as in Vovk, "Cross-conformal predictors",
    2015.

    Deviation: predictions take the σ of all anchors.  Why: it fits new errors somewhat better than those of halves.
    Effect: coverage is measured, not guaranteed.

    What a foreign thing adds to an error, ẑ(with it) − ẑ(without), is known; σ is learnt from these errors too.
    """
    usual, errors, of = seen.describing, samples, np.arange(len(samples))
    describing = usual
    if hidden is not None:
        describing = np.concatenate([usual, hidden.describing])
        errors, of = np.concatenate([errors, errors + hidden.coordinates - seen.coordinates]), np.tile(of, 2)
    scores = np.empty_like(samples)
    for half in (first, ~first):
        by_others = fit_spread(describing[~half[of]], errors[~half[of]])
        scores[half] = np.abs(samples[half]) / by_others(usual[half])
    known = int(np.isfinite(scores).sum(0).max())
    return fit_spread(describing, errors), np.sort(scores, axis=0)[:known]

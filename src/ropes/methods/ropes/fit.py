"""Method `ropes`: joint angles from images under interventions, in three stages (ROPES Section 3).

AE1 compresses images to codes y.  One density ratio per joint gives the score difference Δs_i between its two policies.
AE2 maps codes to coordinates ẑ = h(y), with a decoder g, such that the latent score difference J_gᵀ Δs_i of joint i is
e_i.  A student may learn these coordinates from images with foreign objects.  Each stage is stored with a digest of its
data and settings and with those of the weights before it: it is skipped while all are the same, and resumed after a
kill.
"""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ropes.common.cached_arrays import cached_array
from ropes.common.files import sha256
from ropes.common.hardware import RequestedPrecision
from ropes.common.stores import Location
from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.context import Context
from ropes.methods.passers_by.fit import without_passers_by
from ropes.methods.policies import bayes_floors, require_contrast, require_policies_in_both, warn_of_few_images
from ropes.methods.recipes import RopesRecipe, recipe_to_dict
from ropes.methods.ropes.codes import Codes, encode, standardise
from ropes.methods.ropes.criteria import held_out_contrast
from ropes.methods.ropes.density_ratios import fit_ldrs, least_contrast
from ropes.methods.ropes.disentangle import fit_ae2
from ropes.methods.ropes.reader import RopesReader, stage_folders
from ropes.methods.ropes.stages import AE1Stage
from ropes.methods.run import Run, require_pretraining_precision
from ropes.methods.student.fit import ReaderTeacher, fit_student
from ropes.methods.training.image_size import require_size
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.loop import is_finished
from ropes.methods.training.registration import has_one_background, register
from ropes.methods.training.run_log import RunLog
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training_summary import write_training_summary
from ropes.methods.uncertainty.fit import fit_uncertainty
from ropes.models.autoencoder import AE1
from ropes.models.checkpoints import WEIGHTS
from ropes.models.shapes import CODE_SIDE

_HELD_OUT_IMAGES, _CHUNK = 512, 512
#: Nats below the Bayes floor from which a final training loss counts as memorising (it is a mean over few batches).
MEMORISED = 0.03
#: Largest distance from a half of policy 1's share of a joint's training poses at which that loss has this floor.
_IMBALANCE = 0.05


def fit(
    data: Location,
    out: Path,
    recipe: RopesRecipe,
    seed: int = 0,
    *,
    method: str = "ropes",
    pretrained: Path | None = None,
    precision: RequestedPrecision = "auto",
    show: bool = True,
    log: RunLog | None = None,
) -> Run:
    """Fit ROPES on the training split; for the arguments see `ropes.methods.fit.fit`.

    `pretrained` is a run of ropes on the same data with the same seed.  Its AE1 is reused, and its LDRs where their
    inputs and settings are the same.

    Raises:
        UserError: the data set or a part of it lacks what the method needs, the folder holds something else, AE1
            collapsed, `pretrained` holds another AE1, or there are more directions than a code has entries.
    """
    dataset = open_dataset(data)
    require_contrast(dataset, show=show)
    floors = bayes_floors(dataset)  # before the training: the description may be refused
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed)
    run.require_same(out)
    require_size(dataset, recipe)
    if recipe.directions > len(run.cameras) * CODE_SIDE**2:
        most = f"{len(run.cameras) * CODE_SIDE**2} entries of a code of {len(run.cameras)} cameras"
        raise UserError(f"{recipe.directions} directions are more than the {most}; choose fewer --directions")
    cache = ImageCache(dataset, "train", recipe.ae1.image_size, progress=show)
    images = TrainingImages(cache, dataset.frames("train"), dataset.regimes)
    wanted = recipe.registration and has_one_background(dataset)
    images, registration = register(images, dataset.cameras, wanted=wanted, show=show)
    images, moved = images.still_anchors(), images.moved_anchors
    fingerprint = _ae1_digest(Context(run, out, show, registration=registration))
    if pretrained is not None and not is_finished(out / "ae1", fingerprint):  # otherwise it is reused already
        _require_ae1(pretrained, fingerprint)
        require_pretraining_precision(pretrained, run.in_precision(out, precision).precision)
    # After all checks: data that are refused leave no run behind.
    require_policies_in_both(dataset, *images.split_anchors(recipe.val_fraction, seed))
    if show:
        warn_of_few_images(images.regime, dataset.regimes)
    context = Context.begin(run, out, precision=precision, show=show, log=log, registration=registration)
    context.pretrained = pretrained
    images = without_passers_by(context, images)
    parts = images.split_anchors(recipe.val_fraction, seed)
    kept, held = (part.trusted_rows() for part in parts)

    ae1, ae1_summary = _fit_ae1(context, kept, held)
    weights = sha256(out / "ae1" / WEIGHTS)
    if pretrained is not None:
        theirs = pretrained / "ae1" / WEIGHTS
        if not theirs.exists() or sha256(theirs) != weights:
            context.pretrained = None  # its density ratios are functions of other codes
    raw = _codes(context, ae1, weights, kept, "training"), _codes(context, ae1, weights, held, "held-out")
    scale, (kept_codes, held_codes) = standardise(*raw)
    codes = Codes(kept_codes, kept.regime, dataset.regimes)
    held_out = Codes(held_codes, held.regime, dataset.regimes)
    inputs = {"ae1": weights}
    ratios = fit_ldrs(context, codes, held_out, ae1_summary["fingerprint"], inputs)
    inputs |= {f"ldr/{joint}": sha256(out / "ldr" / joint / WEIGHTS) for joint in run.joints}
    contrasts = {
        joint: {**summary["history"], "floor": floors[joint], "best": least_contrast(summary)}
        for joint, summary in ratios.summaries.items()
    }
    balanced = [joint for joint in run.joints if abs(codes.first_share(joint) - 0.5) < _IMBALANCE]
    _report_distances(contrasts, balanced, show=show)
    seconds = {"ae1": ae1_summary["seconds"], "ldr": ratios.seconds}
    stages: dict[str, Any] = {"ae1": ae1_summary["history"], "ldr": contrasts}
    more: dict[str, Any] = {"ldr_search": ratios.search}
    if recipe.coordinates == "logits":
        context.store_once(scale, "codes", weights)
        more["coordinate_contrast"] = {
            joint: held_out_contrast(ratio.cpu().eval(), held_out, joint)
            for joint, ratio in zip(run.joints, ratios.networks, strict=True)
        }
    else:
        ae2 = fit_ae2(context, codes, held_out, ratios.networks, scale, ratios.fingerprints, inputs)
        stages["ae2"] = {name: summary["history"] for name, summary in ae2.summaries.items()}
        seconds["ae2"] = sum(summary["seconds"] for summary in ae2.summaries.values())
        more |= {
            "sparsity_matrix": ae2.matrix.tolist(),
            "tangent_share": dict(zip(run.joints, ae2.tangent.tolist(), strict=True)),
            "sparsity_weight": ae2.sparsity_weight,
            "search": ae2.search,
            "coordinate_contrast": ae2.contrasts,
        }
    if recipe.foreign:
        student = _fit_student(context, kept, held, raw[0])
        stages["student"], seconds["student"] = student["history"], student["seconds"]
    fit_uncertainty(context, dataset, kept, parts[1].trusted_anchors())
    write_training_summary(context, dataset, stages=stages, seconds=seconds, moved=moved, **more)
    return context.run


def _fit_student(context: Context, kept: TrainingImages, held: TrainingImages, kept_codes: Tensor) -> dict[str, Any]:
    """Train a student of the three stages; returns the summary of the training."""
    recipe = context.recipe
    reader = RopesReader(context.run, replace(recipe, foreign=0.0), context.folder, context.device)
    teacher = ReaderTeacher(reader, stage_folders(recipe, context.run.joints))

    @torch.no_grad()
    def known() -> Tensor:
        parts = kept_codes.split(_CHUNK)
        return torch.cat([reader.coordinates_of_codes(part.to(context.device)).cpu() for part in parts])

    return fit_student(context, teacher, recipe.student_encoder, recipe.student, recipe.foreign, kept, held, known)


def _codes(context: Context, ae1: AE1, weights: str, images: TrainingImages, part: str) -> Tensor:
    """AE1's codes of a part of the poses, which fits with the same AE1 share through the cache folder.

    Args:
        context: of the fit.
        ae1: the network.
        weights: SHA-256 of its weights.
        images: the poses.
        part: name of the part.
    """
    name = f"codes-{context.digest(weights, part)[:24]}"
    return torch.from_numpy(cached_array(name, lambda: encode(ae1, images, context.device, show=context.show).numpy()))


def _fit_ae1(context: Context, kept: TrainingImages, held: TrainingImages) -> tuple[AE1, dict[str, Any]]:
    recipe, views = context.recipe, len(context.run.cameras)
    poses = max(1, recipe.ae1_training.batch // views)
    order = EpochShuffle(len(kept), poses, context.seed("ae1", "order"))

    def batch_at(step: int) -> Tensor:
        return _single(kept.batch(order(step)).images, kept.channels)

    sample = EpochShuffle(len(held), min(len(held), _HELD_OUT_IMAGES // views), context.seed("ae1", "held out"))
    network = seeded(context.seed("ae1", "weights"), lambda: AE1(recipe.ae1, kept.channels))
    network = network.to(memory_format=torch.channels_last)
    stage = AE1Stage(
        network,
        recipe.ae1_training,
        steps=recipe.ae1_training.steps(len(kept) * views),
        seed=context.seed("ae1"),
        held_out=_single(held.batch(sample(0)).images, held.channels),
    )
    return network, context.train(stage, batch_at, "ae1", _ae1_digest(context), full=False)


def _ae1_digest(context: Context) -> str:
    return context.digest("ae1", asdict(context.recipe.ae1), recipe_to_dict(context.recipe.ae1_training))


def _require_ae1(pretrained: Path, fingerprint: str) -> None:
    """Raise `UserError` unless a run has trained this AE1."""
    if not is_finished(pretrained / "ae1", fingerprint):
        raise UserError(
            f"{pretrained} holds no AE1 of method ropes on these data, with this seed and these settings; "
            "leave --pretrained out"
        )


def _single(images: Tensor, channels: int) -> Tensor:
    """Poses in planes (B, V·C, S, S) → images of single cameras (B·V, C, S, S), channels last."""
    return images.unflatten(1, (-1, channels)).flatten(0, 1).contiguous(memory_format=torch.channels_last)


def _report_distances(contrasts: dict[str, dict[str, Any]], balanced: list[str], *, show: bool) -> None:
    """Print the distance of each held-out contrast from its Bayes floor; for balanced joints warn of memorisation.

    The floor is for as many poses under either policy.
    """
    for joint, curves in contrasts.items():
        if curves["floor"] is None:
            continue
        if show:
            print(f"{joint}: held-out contrast {curves['best']:.3f} nats, floor {curves['floor']:.3f}", file=sys.stderr)
        if joint in balanced and curves["train"][-1] < curves["floor"] - MEMORISED:
            message = (
                f"{joint}: the density ratio ended at {curves['train'][-1]:.3f} nats on its training poses, below the "
                f"Bayes floor of {curves['floor']:.3f}: it memorised them; the weights of the best "
                "held-out contrast are kept"
            )
            print(f"ropes: warning: {message}", file=sys.stderr)

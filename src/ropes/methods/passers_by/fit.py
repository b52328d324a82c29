"""Removes passers-by from the registered frames of a fit."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from ropes.common.files import sha256
from ropes.common.hardware import device_kind
from ropes.data.batches import TrainingImages
from ropes.methods.context import Context
from ropes.methods.passers_by.copies import CopiedObjects
from ropes.methods.passers_by.stage import OPTIMISATION, CleanerStage
from ropes.methods.recipe import cleaner_samples_of
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.loop import Inputs
from ropes.methods.training.registration import CLEANER_FOLDER, FIRST_CLEANER_FOLDER, new_cleaner, without_doubted
from ropes.methods.training.sampling import EpochShuffle
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.models.cleaner import CLEANER
from ropes.models.coarse_registration import zoom_of

#: Frames that give the spread of differences from the background, and held-out frames.
_ADAPTED, _HELD_OUT = 256, 256


def without_passers_by(context: Context, images: TrainingImages) -> TrainingImages:
    """Training images after a cleaner has removed foreign objects; unchanged if the recording has no passers-by.

    The cleaner learns from the trusted poses: first from synthetic objects, then also from copies of what it finds in
    the other poses, whose shapes and patterns are those of the recording.  Poses in which it leaves too much are not
    trusted afterwards.

    Args:
        context: of the fit; its registration gets the cleaner.
        images: registered.
    """
    registration = context.registration
    if registration is None or not registration.is_cleaned:
        return images
    trusted = images.trusted_rows()
    shuffled = trusted.take(EpochShuffle(len(trusted), len(trusted), context.seed("cleaner", "held out"))(0))
    held = shuffled.take(np.arange(min(_HELD_OUT, len(shuffled) // 4)))
    kept = shuffled.take(np.arange(len(held), len(shuffled)))
    network = seeded(context.seed("cleaner", "weights"), lambda: new_cleaner(registration))
    network.adapt(torch.from_numpy(kept.pixels(np.arange(min(_ADAPTED, len(kept))))))
    order = EpochShuffle(len(kept), min(OPTIMISATION.batch, len(kept)), context.seed("cleaner", "order"))
    steps = replace(OPTIMISATION, min_samples=cleaner_samples_of(context.run.recipe)).steps(len(kept))
    held_out = torch.from_numpy(held.pixels(np.arange(len(held))))
    zoom = zoom_of(registration)
    fingerprint = context.digest("cleaner", len(kept), kept.pixels([0]).shape[-1], zoom)

    def batch_at(step: int) -> Tensor:
        return torch.from_numpy(kept.pixels(order(step)))

    def train(folder: str, seed: int, *, copies: CopiedObjects | None = None, inputs: Inputs | None = None) -> None:
        stage = CleanerStage(network, steps=steps, seed=seed, held_out=held_out, copies=copies)
        context.train(stage, batch_at, folder, fingerprint, full=False, inputs=inputs)

    train(FIRST_CLEANER_FOLDER, context.seed("cleaner", "first"))
    first = {FIRST_CLEANER_FOLDER: sha256(context.folder / FIRST_CLEANER_FOLDER / WEIGHTS)}
    if context.finished(CLEANER_FOLDER, fingerprint, first) is None:
        copies = CopiedObjects.found(network.to(device_kind()).eval(), images, context.seed("cleaner", "copies"))
        network.cpu().train()
        train(CLEANER_FOLDER, context.seed("cleaner"), copies=copies, inputs=first)
    else:
        load_weights(network, context.folder / CLEANER_FOLDER / WEIGHTS)
    registration.cleaner = network.to(device_kind()).eval()
    return cleaned(context, images)


def cleaned(context: Context, images: TrainingImages) -> TrainingImages:
    """Registered frames after the fit's cleaner has removed foreign objects; unchanged without a cleaner."""
    registration = context.registration
    if registration is None or registration.cleaner is None:
        return images
    name = f"cleaned{CLEANER}-{sha256(context.folder / CLEANER_FOLDER / WEIGHTS)[:12]}"
    clean = registration.cleaner.clean
    changed = images.transformed(
        name, lambda planes, _: clean(planes), "removing passers-by, frames", progress=context.show
    )
    return without_doubted(changed, registration, show=context.show)

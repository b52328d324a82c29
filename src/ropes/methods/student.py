"""Fits a student encoder on images with foreign objects, by distillation of a trained encoder."""

from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.common.files import sha256
from ropes.common.progress import progress
from ropes.data.batches import TrainingImages
from ropes.methods.context import Context
from ropes.methods.foreign import add_foreign_objects
from ropes.methods.reader import autocast
from ropes.methods.recipes import EncoderRecipe, recipe_to_dict
from ropes.methods.sampling import EpochShuffle
from ropes.methods.stages import seeded
from ropes.methods.student_stage import Batch, StudentStage
from ropes.models.checkpoints import WEIGHTS
from ropes.models.encoder import PoseEncoder
from ropes.models.student import StudentNetwork

#: Version of the network and its targets: a training of an earlier one begins anew.
_STUDENT = 4
#: Held-out poses that a record evaluates, and the largest size of their images, of which there are two copies, bytes.
_EVALUATED, _EVALUATED_BYTES = 1_024, 1 << 29
_CHUNK = 256


def fit_student(
    context: Context, recipe: EncoderRecipe, teacher: PoseEncoder, kept: TrainingImages, held: TrainingImages
) -> dict[str, Any]:
    """Train a student of a trained encoder; returns the summary of the training.

    Args:
        context: of the fit, whose folder has the encoder's weights.
        recipe: of the fit.
        teacher: the encoder.
        kept: training poses.
        held: held-out poses.
    """
    depends_on = sha256(context.folder / "encoder" / WEIGHTS), recipe.foreign, recipe_to_dict(recipe.student), _STUDENT
    fingerprint = context.digest("student", *depends_on)
    rows = evaluated_rows(held, context.seed("student", "held out"))
    order = EpochShuffle(len(kept), min(len(kept), recipe.student.batch), context.seed("student", "order"))
    coordinates, attention = teacher_outputs(teacher, held.take(rows), context)

    @cache
    def targets() -> tuple[Tensor, Tensor | None]:  # computed at the first step, if there is one
        return teacher_outputs(teacher, kept, context)

    def batch_at(step: int) -> Batch:
        batch = order(step)
        expected, maps = targets()
        maps = None if maps is None else maps[batch]
        return torch.from_numpy(kept.pixels(batch)), expected[batch], maps

    def occlude(images: Tensor) -> Tensor:
        return context.cleaned(add_foreign_objects(images, kept.channels))

    views, joints = len(context.run.cameras), len(context.run.joints)
    network = seeded(
        context.seed("student", "weights"),
        lambda: StudentNetwork(recipe.encoder, views=views, joints=joints, channels=kept.channels),
    ).to(memory_format=torch.channels_last)
    network.initialise_from(teacher)
    stage = StudentStage(
        network,
        recipe,
        steps=recipe.student.steps(len(kept)),
        seed=context.seed("student"),
        scale=coordinates.std(0).clamp_min(1e-6),
        occlude=occlude,
        held_out=(torch.from_numpy(held.pixels(rows)), coordinates, attention),
    )
    return context.train(stage, batch_at, "student", fingerprint, full=False)


def evaluated_rows(held: TrainingImages, seed: int) -> NDArray[np.int64]:
    """Held-out poses that a record evaluates: at most 1,024, and fewer of large images, whose copies need memory."""
    fitting = max(1, _EVALUATED_BYTES // held.pixels([0]).nbytes)
    return EpochShuffle(len(held), min(len(held), _EVALUATED, fitting), seed)(0)


@torch.no_grad()
def teacher_outputs(teacher: PoseEncoder, images: TrainingImages, context: Context) -> tuple[Tensor, Tensor | None]:
    """The teacher's coordinates (n, d) and attention maps (n, V, s, s) in half precision; None for no attention.

    Chunks are the same in every call: their sizes affect the last bits.
    """
    teacher.to(context.device).eval()
    coordinates, attention = [], []
    with progress("student: its targets", len(images), show=context.show) as update:
        for start in range(0, len(images), _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, len(images)))
            pixels = torch.from_numpy(images.pixels(rows)).to(context.device)
            with autocast(pixels, context.precision):
                part, logits = teacher.look(pixels)
            coordinates.append(part.float().cpu())
            if logits is not None:
                attention.append(logits.float().flatten(2).softmax(-1).view_as(logits).half().cpu())
            update(start + len(rows))
    return torch.cat(coordinates), torch.cat(attention) if attention else None

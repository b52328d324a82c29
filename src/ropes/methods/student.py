"""Fits a student that reads images with foreign objects in them, from a trained encoder."""

from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.common.files import sha256
from ropes.common.progress import progress
from ropes.data.batches import TrainingImages
from ropes.methods.context import Context
from ropes.methods.reader import autocast
from ropes.methods.recipes import EncoderRecipe, recipe_to_dict
from ropes.methods.sampling import EpochShuffle
from ropes.methods.stages import seeded
from ropes.methods.student_stage import Batch, StudentStage
from ropes.models.checkpoints import WEIGHTS
from ropes.models.encoder import PoseEncoder
from ropes.models.student import StudentNetwork

#: Counts the changes of its network and of what it is taught: a training of an earlier number begins anew.
_STUDENT = 4
#: Held-out poses that the student is asked.
_ASKED = 1_024
_CHUNK = 256


def fit_student(
    context: Context, recipe: EncoderRecipe, teacher: PoseEncoder, kept: TrainingImages, held: TrainingImages
) -> dict[str, Any]:
    """Train a student of a trained encoder; returns the summary of the training.

    Args:
        context: of the fit, in whose folder the encoder's weights are.
        recipe: of the fit.
        teacher: the encoder.
        kept: poses to learn from.
        held: poses held out.
    """
    given = sha256(context.folder / "encoder" / WEIGHTS), recipe.foreign, recipe_to_dict(recipe.student), _STUDENT
    fingerprint = context.digest("student", *given)
    rows = EpochShuffle(len(held), min(len(held), _ASKED), context.seed("student", "held out"))(0)
    order = EpochShuffle(len(kept), min(len(kept), recipe.student.batch), context.seed("student", "order"))
    coordinates, looks = read_all(teacher, held.take(rows), context)

    @cache
    def taught() -> tuple[Tensor, Tensor | None]:  # not before a first step is taken
        return read_all(teacher, kept, context)

    def batch_at(step: int) -> Batch:
        chosen = order(step)
        told, look = taught()
        return torch.from_numpy(kept.pixels(chosen)), told[chosen], None if look is None else look[chosen]

    views, joints = len(context.run.cameras), len(context.run.joints)
    network = seeded(
        context.seed("student", "weights"), lambda: StudentNetwork(recipe.encoder, views=views, joints=joints)
    ).to(memory_format=torch.channels_last)
    network.learn_from(teacher)
    stage = StudentStage(
        network,
        recipe,
        steps=recipe.student.steps(len(kept)),
        seed=context.seed("student"),
        scale=coordinates.std(0).clamp_min(1e-6),
        held_out=(torch.from_numpy(held.pixels(rows)), coordinates, looks),
    )
    return context.train(stage, batch_at, "student", fingerprint, full=False)


@torch.no_grad()
def read_all(teacher: PoseEncoder, images: TrainingImages, context: Context) -> tuple[Tensor, Tensor | None]:
    """Coordinates (n, d) of all poses, and shares of where to look, (n, V, s, s), in half precision; None without any.

    The same chunks of poses are read together whenever this is called: their sizes decide the last bits.
    """
    teacher.to(context.device).eval()
    read, looks = [], []
    with progress("student: its targets", len(images), show=context.show) as update:
        for start in range(0, len(images), _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, len(images)))
            pixels = torch.from_numpy(images.pixels(rows)).to(context.device)
            with autocast(pixels, context.precision):
                coordinates, gaze = teacher.look(pixels)
            read.append(coordinates.float().cpu())
            if gaze is not None:
                looks.append(gaze.float().flatten(2).softmax(-1).view_as(gaze).half().cpu())
            update(start + len(rows))
    return torch.cat(read), torch.cat(looks) if looks else None

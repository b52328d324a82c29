"""Fits a student encoder on images with foreign objects, by distillation of a trained method."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.common.arrays import Rows
from ropes.common.files import sha256
from ropes.common.progress import progress
from ropes.data.batches import TrainingImages
from ropes.methods.context import Context
from ropes.methods.reader import Reader, autocast
from ropes.methods.recipes import Optimisation, recipe_to_dict
from ropes.methods.student.stage import Batch, Occlusion, StudentStage
from ropes.methods.training.background import adapt_background
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.sampling import EpochShuffle
from ropes.models.checkpoints import WEIGHTS
from ropes.models.encoder import PoseEncoder
from ropes.models.shapes import EncoderConfig
from ropes.models.student import StudentNetwork

#: Version of the network and its targets: a checkpoint of an earlier version is discarded and training restarts.
_STUDENT = 4
#: Largest number of held-out poses that a record evaluates.
_EVALUATED = 1_024
#: Largest size of their images in bytes; memory holds two copies.
EVALUATED_BYTES = 1 << 29
_CHUNK = 256


@dataclass(frozen=True)
class Smoothing:
    """Computes a student's targets from its teacher's coordinates.

    Attributes:
        version: of all that the targets depend on besides these; a training under another one starts again.
        targets: coordinates of the training poses, and of the held-out poses, (n, d) each → their targets.
    """

    version: str
    targets: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]


class Teacher(Protocol):
    """A trained method that a student reproduces.

    Attributes:
        weights: names of the folders of its weights.
    """

    weights: Sequence[str]

    @abstractmethod
    def look(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """uint8 (B, P, S, S) → coordinates (B, d), and attention logits (B, V, s, s) if it has attention."""

    @abstractmethod
    def student(self, config: EncoderConfig, context: Context, kept: TrainingImages) -> StudentNetwork:
        """The student before its training."""


class EncoderTeacher(Teacher):
    """A trained encoder; its student starts with its weights, and keeps a copy of it."""

    weights = ("encoder",)

    def __init__(self, encoder: PoseEncoder, context: Context) -> None:
        self.encoder, self.precision = encoder.to(context.device).eval(), context.precision

    def look(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """See `Teacher.look`."""
        with autocast(images, self.precision):
            return self.encoder.look(images)

    def student(self, config: EncoderConfig, context: Context, kept: TrainingImages) -> StudentNetwork:
        """See `Teacher.student`."""
        network = _seeded_student(config, context, kept, with_teacher=True)
        network.initialise_from(self.encoder)
        return network


class ReaderTeacher(Teacher):
    """Any method's reader; its student starts with random weights.

    Args:
        reader: of images of the student's size.
        weights: names of the folders of its weights.
    """

    def __init__(self, reader: Reader, weights: Sequence[str]) -> None:
        self.reader, self.weights = reader, weights

    def look(self, images: Tensor) -> tuple[Tensor, Tensor | None]:
        """See `Teacher.look`."""
        return self.reader.coordinates(images), None

    def student(self, config: EncoderConfig, context: Context, kept: TrainingImages) -> StudentNetwork:
        """See `Teacher.student`."""
        network = _seeded_student(config, context, kept, with_teacher=False)
        adapt_background(context, network.encoder, kept)
        return network


def fit_student(
    context: Context,
    teacher: Teacher,
    config: EncoderConfig,
    optimisation: Optimisation,
    share: float,
    kept: TrainingImages,
    held: TrainingImages,
    known: Callable[[], Tensor] | None = None,
    smooth: Smoothing | None = None,
) -> dict[str, Any]:
    """Train a student of a trained method; returns the summary of the training.

    Args:
        context: of the fit, whose folder has the teacher's weights.
        teacher: the trained method.
        config: shape of the student.
        optimisation: its optimiser.
        share: share of the poses with foreign objects.
        kept: training poses.
        held: held-out poses.
        known: computes the teacher's coordinates (n, d) of `kept`, for a teacher without attention; by default the
            teacher looks at their images.
        smooth: how targets follow from the teacher's coordinates; by default these are the targets.
    """
    hashes = [sha256(context.folder / name / WEIGHTS) for name in teacher.weights]
    shape = []
    if not isinstance(teacher, EncoderTeacher):  # the hash of an encoder's weights includes its shape
        shape = [{"window_image_size": None} | recipe_to_dict(config)]
    version = [_STUDENT] if smooth is None else [_STUDENT, smooth.version]
    fingerprint = context.digest("student", *hashes, share, recipe_to_dict(optimisation), *version, *shape)
    if (summary := context.finished("student", fingerprint)) is not None:
        return summary
    rows = evaluated_rows(held, context.seed("student", "held out"))
    size, windows = min(len(kept), optimisation.batch), kept.windows(np.arange(len(kept)))
    order = EpochShuffle(len(kept), size, context.seed("student", "order"), windows)
    expected, maps = teacher_outputs(teacher, kept, context) if known is None else (known(), None)
    if smooth is None:
        coordinates, _ = teacher_outputs(teacher, held.take(rows), context, "held-out targets")
    else:  # of all poses of an anchor
        expected, coordinates = smooth.targets(expected, teacher_outputs(teacher, held, context, "held-out targets")[0])
        coordinates = coordinates[rows]

    def batch_at(step: int) -> Batch:
        batch = order(step)
        return torch.from_numpy(kept.pixels(batch)), expected[batch], None if maps is None else maps[batch]

    stage = StudentStage(
        teacher.student(config, context, kept),
        optimisation,
        share=share,
        steps=optimisation.steps(len(kept)),
        seed=context.seed("student"),
        scale=coordinates.std(0).clamp_min(1e-6),
        occlude=Occlusion(kept.channels, None if context.registration is None else context.registration.cleaner),
        held_out=(torch.from_numpy(held.pixels(rows)), coordinates),
    )
    return context.train(stage, batch_at, "student", fingerprint, full=False)


def _seeded_student(
    config: EncoderConfig, context: Context, kept: TrainingImages, *, with_teacher: bool
) -> StudentNetwork:
    """A student with random weights."""
    views, joints = len(context.run.cameras), len(context.run.joints)
    made = seeded(
        context.seed("student", "weights"),
        lambda: StudentNetwork(config, views=views, joints=joints, channels=kept.channels, with_teacher=with_teacher),
    )
    network: StudentNetwork = made.to(memory_format=torch.channels_last)
    return network


def evaluated_rows(held: TrainingImages, seed: int) -> NDArray[np.int64]:
    """Held-out poses that a record evaluates: at most 1,024, and at most as many as `EVALUATED_BYTES` hold."""
    fitting = max(1, EVALUATED_BYTES // held.pixels([0]).nbytes)
    return EpochShuffle(len(held), min(len(held), _EVALUATED, fitting), seed)(0)


@torch.no_grad()
def teacher_outputs(
    teacher: Teacher, images: TrainingImages, context: Context, name: str = "targets"
) -> tuple[Tensor, Tensor | None]:
    """The teacher's coordinates (n, d) and attention maps (n, V, s, s) in half precision; None for no attention.

    Chunks are the same in every call: their sizes affect the last bits.
    """
    coordinates, attention = Rows[np.float32](len(images)), Rows[np.float16](len(images))
    with progress(f"student: its {name}", len(images), show=context.show) as update:
        for start in range(0, len(images), _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, len(images)))
            part, logits = teacher.look(torch.from_numpy(images.pixels(rows)).to(context.device))
            coordinates.put(start, part.float().cpu().numpy())
            if logits is not None:
                attention.put(start, logits.float().flatten(2).softmax(-1).view_as(logits).half().cpu().numpy())
            update(start + len(rows))
    maps = attention.values
    return torch.from_numpy(coordinates.all()), None if maps is None else torch.from_numpy(maps)

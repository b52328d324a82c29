"""The network of a student: an encoder, a detector of foreign objects, and the teacher."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.encoder import PoseEncoder
from ropes.models.frame_changes import MAD_TO_STD
from ropes.models.shapes import EncoderConfig

#: Channels and dilations of the detector of foreign objects: it needs context to distinguish a speck from the arm.
#: Channels are a multiple of 16, because oneDNN 3.12 under AVX-512 with bf16 computes the gradient of a dilated
#: convolution of 24 channels, channels last, wrong.
_WIDTH, _DILATIONS = 32, (1, 2, 4)
#: Initial logit of the detector.
_NOTHING = -3.0
#: Student and teacher agree if they differ by at most this many standard deviations of their usual difference.  Of 2 to
#: 9 the number with the least error on held-out anchors, clean and with foreign objects, estimated without labels.
_AGREE = 6.0


class ForeignMap(nn.Sequential):
    """Detector of foreign objects: `PoseEncoder.channels` (B, 2 P, S, S) → logits for each part, (B, V, s, s).

    Parts are squares of 4 by 4 pixels. Initially it detects nothing, and its residual branches are constant.

    Args:
        views: number of cameras.
        channels: planes of a view.
        dilations: of its residual blocks; larger ones see more of a large object.
    """

    def __init__(self, views: int, channels: int = 1, dilations: Sequence[int] = _DILATIONS) -> None:
        last = nn.Conv2d(_WIDTH, views, 1)
        assert last.bias is not None
        nn.init.zeros_(last.weight)
        nn.init.constant_(last.bias, _NOTHING)
        super().__init__(
            nn.Conv2d(2 * views * channels, _WIDTH, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(_WIDTH, _WIDTH, 3, stride=2, padding=1),
            *(_Dilated(_WIDTH, dilation) for dilation in dilations),
            nn.ReLU(),
            last,
        )


class _Dilated(nn.Module):
    """Residual block: x + 1×1 convolution of a dilated 3×3 convolution."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.around = nn.Conv2d(width, width, 3, padding=dilation, dilation=dilation)
        self.mixed = nn.Conv2d(width, width, 1)
        nn.init.zeros_(self.mixed.weight)

    def forward(self, x: Tensor) -> Tensor:
        """(B, width, s, s) → the same shape."""
        residual: Tensor = self.mixed(self.around(x.relu()).relu())
        return x + residual


class StudentNetwork(nn.Module):
    """A student encoder that gets images without their foreign parts and a mask of these, and its teacher.

    Parts with a logit above 0 are replaced by background. This is more cautious than the output of `ropes predict`:
    with the packaged estimator one in-distribution pose in six has such a part. The first stage of the encoder also
    gets the mask. Only its own loss trains the detector.

    If student and teacher agree on every joint, the prediction is the mean of their coordinates; the teacher gets the
    same images without foreign parts. Otherwise it is the student's. The mean of two networks has a smaller error. The
    teacher has large errors where the detector misses an occluder, and then the two differ.

    Args:
        config: shape of the student, and of its teacher.
        views: number of cameras.
        joints: d, number of coordinates.
        channels: of each camera's images.
        with_teacher: whether the teacher is an encoder of the same shape; otherwise the prediction is the student's.

    Attributes:
        encoder: the student.
        foreign: the detector of foreign objects.
        told: embedding of the mask for the encoder's first stage.
        teacher: the encoder before the student's training, frozen; None for a teacher of another kind.
        usual: (d,), usual difference of student and teacher, see `fit_agreement`; 0 to use the student only.
    """

    usual: Tensor

    def __init__(
        self, config: EncoderConfig, *, views: int, joints: int, channels: int = 1, with_teacher: bool = True
    ) -> None:
        super().__init__()
        self.encoder = PoseEncoder(config, views=views, joints=joints, channels=channels)
        self.foreign = ForeignMap(views, channels)
        self.told = nn.Conv2d(views, config.widths[0], 1, bias=False)  # no mask, no offset
        nn.init.zeros_(self.told.weight)
        self.teacher = None
        if with_teacher:
            self.teacher = PoseEncoder(config, views=views, joints=joints, channels=channels).requires_grad_(False)
        self.register_buffer("usual", torch.zeros(joints))

    def initialise_from(self, teacher: PoseEncoder) -> None:
        """Initialise student and teacher with the weights of a trained encoder."""
        for network in filter(None, (self.encoder, self.teacher)):
            network.load_state_dict(teacher.state_dict())

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        """For training, uint8 (B, P, N, N) → student's coordinates (B, d), attention, foreign logits (B, V, s, s)."""
        masked = self._mask_foreign(images)
        features, attention = self._student(masked, images)
        return self.encoder.read_off(features), attention, masked.foreign

    def read(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """uint8 (B, P, N, N) → coordinates (B, d), features (B, hidden), foreign logits (B, V, s, s)."""
        masked = self._mask_foreign(images)
        features, _ = self._student(masked, images)
        student = self.encoder.read_off(features)
        if self.teacher is None:
            return student, features, masked.foreign
        teacher = self._read_teacher(self.teacher, masked, images)
        agree = ((student - teacher).abs() <= _AGREE * self.usual).all(1, keepdim=True)
        return torch.where(agree, (student + teacher) / 2, student), features, masked.foreign

    @torch.no_grad()
    def fit_agreement(self, images: Iterable[Tensor]) -> None:
        """Set `usual` from batches of in-distribution images: 1.4826 times the median absolute difference."""
        if self.teacher is None:
            return
        differences = []
        for batch in images:
            masked = self._mask_foreign(batch)
            student = self.encoder.read_off(self._student(masked, batch)[0])
            differences.append(student - self._read_teacher(self.teacher, masked, batch))
        self.usual.copy_(MAD_TO_STD * torch.cat(differences).abs().float().median(0).values)

    def _read_teacher(self, teacher: PoseEncoder, masked: "_Masked", images: Tensor) -> Tensor:
        """The teacher's coordinates, (B, d)."""
        features, _ = teacher.features(masked.channels, images, hidden=masked.hidden)
        coordinates: Tensor = teacher.read_off(features)
        return coordinates

    def _student(self, masked: "_Masked", images: Tensor) -> tuple[Tensor, Tensor | None]:
        """The student's features and attention logits."""
        return self.encoder.features(masked.channels, images, offset=masked.embedded, hidden=masked.hidden)

    def _mask_foreign(self, images: Tensor) -> "_Masked":
        """Detect foreign parts, and mask them."""
        channels = self.encoder.channels(images)
        foreign = self.foreign(channels).float()
        mask = (foreign > 0).to(channels)
        visible = _enlarged(self.encoder.in_planes(1 - mask).repeat(1, 2, 1, 1), channels.shape[-1])
        embedded = self.told(_max_pooled(mask, channels.shape[-1] // self.encoder.config.stem))
        return _Masked(channels * visible, embedded, foreign > 0, foreign)


def _enlarged(parts: Tensor, side: int) -> Tensor:
    """(B, C, s, s) → (B, C, side, side) by nearest neighbours, channels last in memory.

    Rows of pixels with all their channels are copied whole, which takes less than half the time of `interpolate`.
    """
    nearest = torch.arange(side, device=parts.device) * parts.shape[-1] // side
    last = parts.permute(0, 2, 3, 1).contiguous()
    return last.index_select(2, nearest).index_select(1, nearest).permute(0, 3, 1, 2)


def _max_pooled(mask: Tensor, side: int) -> Tensor:
    """The greatest value in each of side × side cells; in an exported network by operators that ONNX has, too."""
    if torch.compiler.is_exporting() and side % mask.shape[-1] == 0:
        return functional.interpolate(mask, size=side)
    if torch.compiler.is_exporting() and mask.shape[-1] % side == 0:
        return functional.max_pool2d(mask, mask.shape[-1] // side)
    return functional.adaptive_max_pool2d(mask, side)


class _Masked(NamedTuple):
    """The encoder's channels with foreign parts set to background, the embedded mask, the mask, and its logits."""

    channels: Tensor
    embedded: Tensor
    hidden: Tensor
    foreign: Tensor

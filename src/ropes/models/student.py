"""The network of a student: an encoder, a detector of foreign objects, and the teacher."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from ropes.models.encoder import PoseEncoder
from ropes.models.shapes import EncoderConfig

#: Channels of the network that finds foreign things, and how far apart the places that its convolutions read lie, in
#: parts of an image: a speck is told from the arm by what is around.  Channels are a multiple of 16, because oneDNN
#: 3.12 under AVX-512 with bf16 computes the gradient of a dilated convolution of 24 channels, channels last, wrong.
_WIDTH, _DILATIONS = 32, (1, 2, 4)
#: The logit everywhere before anything is learnt.
_NOTHING = -3.0
#: Student and teacher agree where they differ by at most this many times what they usually differ by.  Of 2 to 9 the
#: number with the least sum of errors of held-out anchors, clean and with foreign things, as their own poses tell them.
_AGREE = 6.0
#: A normal distribution's standard deviation over the median of its absolute value.
_TO_DEVIATION = 1.4826


class ForeignMap(nn.Sequential):
    """What is read of images, (B, 2 V, S, S) → logits of "something foreign is in this part", (B, V, s, s).

    Parts are squares of four pixels.  It begins by finding nothing; residual branches begin as constants.
    """

    def __init__(self, views: int) -> None:
        last = nn.Conv2d(_WIDTH, views, 1)
        assert last.bias is not None
        nn.init.zeros_(last.weight)
        nn.init.constant_(last.bias, _NOTHING)
        super().__init__(
            nn.Conv2d(2 * views, _WIDTH, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(_WIDTH, _WIDTH, 3, stride=2, padding=1),
            *(_Dilated(_WIDTH, dilation) for dilation in _DILATIONS),
            nn.ReLU(),
            last,
        )


class _Dilated(nn.Module):
    """x + a 1×1 convolution of a dilated 3×3 one."""

    def __init__(self, width: int, dilation: int) -> None:
        super().__init__()
        self.around = nn.Conv2d(width, width, 3, padding=dilation, dilation=dilation)
        self.mixed = nn.Conv2d(width, width, 1)
        nn.init.zeros_(self.mixed.weight)

    def forward(self, x: Tensor) -> Tensor:
        """(B, width, s, s) → the same shape."""
        added: Tensor = self.mixed(self.around(x.relu()).relu())
        return x + added


class StudentNetwork(nn.Module):
    """An encoder that does not see what may be foreign in its images, and is told where that is; and its teacher.

    A part counts as background where its logit is above 0, which is more cautious than what `ropes predict` tells of:
    with the packaged estimator one usual pose in six has such a part.  Which parts these are is added to what the
    encoder's first stage makes of the whole images.  The map is taught by its own loss alone.

    What is read is the mean of the student's coordinates and the teacher's, who sees the same parts as background, for
    poses where the two agree on every joint; of other poses, what the student reads.  Two networks err less than one;
    the teacher errs much where what hides the arm was not found, and the two then differ.

    Attributes:
        encoder: the student's.
        foreign: where something foreign is.
        told: which parts these are, for the encoder.
        teacher: the encoder as it was before there was a student; not trained.
        usual: (d,), by how much student and teacher usually differ, see `measure_usual`; 0: the student alone reads.
    """

    usual: Tensor

    def __init__(self, config: EncoderConfig, *, views: int, joints: int) -> None:
        super().__init__()
        self.encoder = PoseEncoder(config, views=views, joints=joints)
        self.foreign = ForeignMap(views)
        self.told = nn.Conv2d(views, config.widths[0], 1, bias=False)  # where nothing is found, nothing is added
        nn.init.zeros_(self.told.weight)
        self.teacher = PoseEncoder(config, views=views, joints=joints).requires_grad_(False)
        self.register_buffer("usual", torch.zeros(joints))

    def learn_from(self, teacher: PoseEncoder) -> None:
        """Begin with the weights of a trained encoder, and keep them as the teacher's."""
        self.encoder.load_state_dict(teacher.state_dict())
        self.teacher.load_state_dict(teacher.state_dict())

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        """What is trained: uint8 (B, V, S, S) → the student's coordinates (B, d), where it looked, and logits of
        foreign things (B, V, s, s).
        """
        shown, told, foreign = self._without_foreign(images)
        features, gaze = self.encoder.features(shown, told)
        return self.encoder.read_off(features), gaze, foreign

    def read(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """uint8 (B, V, S, S) → coordinates (B, d), features (B, hidden), logits of foreign things (B, V, s, s)."""
        own, other, features, foreign = self._both(images)
        agree = ((own - other).abs() <= _AGREE * self.usual).all(1, keepdim=True)
        return torch.where(agree, (own + other) / 2, own), features, foreign

    @torch.no_grad()
    def measure_usual(self, images: Iterable[Tensor]) -> None:
        """Take from batches of usual images by how much student and teacher differ: 1.4826 times the median, the
        standard deviation of a normal distribution.
        """
        apart = torch.cat([own - other for own, other, *_ in map(self._both, images)])
        self.usual.copy_(_TO_DEVIATION * apart.abs().float().median(0).values)

    def _both(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Coordinates of student and teacher, (B, d) each, the student's features, and logits of foreign things."""
        shown, told, foreign = self._without_foreign(images)
        features, _ = self.encoder.features(shown, told)
        others, _ = self.teacher.features(shown)
        return self.encoder.read_off(features), self.teacher.read_off(others), features, foreign

    def _without_foreign(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What is seen of images with background where something may be foreign, what the encoder is told of where
        that is, and the logits of it.
        """
        seen = self.encoder.channels(images)
        foreign = self.foreign(seen).float()
        hidden = (foreign > 0).to(seen)
        kept = 1 - functional.interpolate(hidden, size=seen.shape[-1])
        shown = seen * torch.cat([kept, kept], dim=1)
        told = self.told(functional.adaptive_max_pool2d(hidden, seen.shape[-1] // self.encoder.config.stem))
        return shown, told, foreign

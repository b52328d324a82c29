"""The network of a student: an encoder, and a network of its own that says where something foreign is."""

from torch import Tensor, nn

from ropes.models.encoder import PoseEncoder
from ropes.models.shapes import EncoderConfig

#: Channels of the network that finds foreign things, and how far apart the places that its convolutions read lie, in
#: parts of an image: a speck is told from the arm by what is around.
_WIDTH, _DILATIONS = 24, (1, 2, 4)


class ForeignMap(nn.Sequential):
    """What differs from the background, (B, V, S, S) → logits of "something foreign is in this part", (B, V, s, s).

    Parts are squares of four pixels.  Residual branches begin as constants.
    """

    def __init__(self, views: int) -> None:
        super().__init__(
            nn.Conv2d(views, _WIDTH, 5, stride=2, padding=2),
            nn.ReLU(),
            nn.Conv2d(_WIDTH, _WIDTH, 3, stride=2, padding=1),
            *(_Dilated(_WIDTH, dilation) for dilation in _DILATIONS),
            nn.ReLU(),
            nn.Conv2d(_WIDTH, views, 1),
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
    """An encoder that also says in which parts of its images something foreign is."""

    def __init__(self, config: EncoderConfig, *, views: int, joints: int) -> None:
        super().__init__()
        self.encoder = PoseEncoder(config, views=views, joints=joints)
        self.foreign = ForeignMap(views)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
        """uint8 (B, V, S, S) → coordinates (B, d), where it looked, and logits of foreign things (B, V, s, s)."""
        seen = self.encoder.differences(images)
        features, gaze = self.encoder.features(seen)
        return self.encoder.read_off(features), gaze, self.foreign(seen).float()

    def read(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """uint8 (B, V, S, S) → coordinates (B, d), features (B, hidden), logits of foreign things (B, V, s, s)."""
        seen = self.encoder.differences(images)
        features, _ = self.encoder.features(seen)
        return self.encoder.read_off(features), features, self.foreign(seen).float()

"""Networks of the supervised baselines: images to joint angles."""

import torch
from torch import Tensor, nn

from ropes.models.encoder import PoseEncoder
from ropes.models.jepa import PatchEncoder, invert_levels
from ropes.models.shapes import EncoderConfig, ViTConfig


class Angles(nn.Module):
    """Affine map from standard units to radians; mean and standard deviation of the labels are buffers."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, joints: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(joints))
        self.register_buffer("deviation", torch.ones(joints))

    @torch.no_grad()
    def adapt(self, angles: Tensor) -> None:
        """Set mean and deviation from angles (n, d), radians; a constant joint keeps its scale."""
        self.mean.copy_(angles.mean(0))
        spread = angles.std(0, correction=0)
        self.deviation.copy_(torch.where(spread > 1e-6, spread, torch.ones_like(spread)))

    def forward(self, standard: Tensor) -> Tensor:
        """(n, d) → radians (n, d)."""
        return self.mean + self.deviation * standard.float()


class AngleCNN(nn.Module):
    """The encoder of `anchored` without its window, with outputs in radians."""

    def __init__(self, config: EncoderConfig, *, views: int, joints: int, channels: int = 1) -> None:
        super().__init__()
        self.encoder = PoseEncoder(config, views=views, joints=joints, channels=channels)
        self.radians = Angles(joints)

    def forward(self, images: Tensor) -> Tensor:
        """uint8 (B, P, S, S) → radians (B, d); P planes as in `PoseEncoder`."""
        return self.read(images)[0]

    def read(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """uint8 (B, P, S, S) → radians (B, d), and the dense features before the last layer (B, hidden)."""
        standard, features = self.encoder.read(images)
        return self.radians(standard), features


class JointNet(nn.Module):
    """Mean tokens of all cameras' images → angles, with iterative refinement.

    The estimate starts at zero. Each round reads the features and the estimate, and adds a correction. All rounds share
    their weights.

    Source: ROPES Section 4.4 and App. H, and RoboPEPP (Goswami et al. 2025) for the refinement.

    Deviation: the tokens of each image are averaged, four rounds of a network with two hidden layers correct the
    estimate, and the encoder is trained together with it.  Why: the paper says only that JointNet reads the
    concatenated embeddings of both cameras; the rounds are RoboPEPP's.  Effect: not measured.

    Deviation: the estimate is in units of the labels' deviation from their mean, not in radians.  Why: joints of small
    and of large ranges then have equal weight.  Effect: the loss weighs joints differently from one in radians.
    """

    def __init__(self, config: ViTConfig, *, views: int, joints: int) -> None:
        super().__init__()
        self.joints, self.rounds = joints, config.rounds
        wide = views * config.width + joints
        self.correct = nn.Sequential(
            nn.Linear(wide, config.hidden),
            nn.ReLU(),
            nn.Linear(config.hidden, config.hidden),
            nn.ReLU(),
            nn.Linear(config.hidden, joints),
        )

    def forward(self, features: Tensor) -> Tensor:
        """(n, V · width) → standard units (n, d)."""
        estimate = features.new_zeros(features.shape[0], self.joints)
        for _ in range(self.rounds):
            estimate = estimate + self.correct(torch.cat([features, estimate], dim=1))
        return estimate


class AngleTransformer(nn.Module):
    """I-JEPA's encoder on each camera's image, then JointNet, with outputs in radians."""

    def __init__(self, config: ViTConfig, *, views: int, joints: int, channels: int = 1) -> None:
        super().__init__()
        self.config, self.views = config, views
        self.encoder = PatchEncoder(config, channels)
        self.joints, self.radians = JointNet(config, views=views, joints=joints), Angles(joints)

    def forward(self, images: Tensor) -> Tensor:
        """uint8 (B, P, S, S) → radians (B, d); P planes as of `PoseEncoder`."""
        return self.read(images)[0]

    def read(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """uint8 (B, P, S, S) → radians (B, d), and the mean tokens of all cameras (B, V · width)."""
        tokens = self.encoder(invert_levels(images.unflatten(1, (self.views, -1)).flatten(0, 1)))
        features = tokens.float().mean(1).unflatten(0, (-1, self.views)).flatten(1)
        with torch.autocast(images.device.type, enabled=False):  # bf16 would round the estimate by up to 1/256
            return self.radians(self.joints(features)), features


def angle_network(
    config: EncoderConfig | ViTConfig, *, views: int, joints: int, channels: int = 1
) -> AngleCNN | AngleTransformer:
    """The network of `cnn` or of `jointnet`, channels last."""
    network: AngleCNN | AngleTransformer
    if isinstance(config, EncoderConfig):
        network = AngleCNN(config, views=views, joints=joints, channels=channels)
    else:
        network = AngleTransformer(config, views=views, joints=joints, channels=channels)
    torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
    return network

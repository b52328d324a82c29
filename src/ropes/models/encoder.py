"""One network from the images of all cameras to one coordinate a joint, and the head that it is trained through."""

import torch
from torch import Tensor, nn

from ropes.models.blocks import conv, group_norm, residual_stage
from ropes.models.shapes import EncoderConfig


class PoseEncoder(nn.Module):
    """Images of one pose → coordinates: a stem of patches, residual stages at falling resolution, two dense layers.

    The cameras are the channels of one image.  Nothing is pooled: where something is in the image is what counts.
    """

    def __init__(self, config: EncoderConfig, *, views: int, joints: int) -> None:
        super().__init__()
        self.config = config
        first = config.widths[0]
        layers: list[nn.Module] = [nn.Conv2d(views, first, config.stem, stride=config.stem)]
        channels, side = first, config.image_size // config.stem
        for k, (width, blocks) in enumerate(zip(config.widths, config.blocks, strict=True)):
            if k:
                layers += [group_norm(channels, config.groups), nn.ReLU(), conv(channels, width, stride=2)]
                side //= 2
            layers += residual_stage(width, width, blocks, config.groups)[1:]
            channels = width
        layers += [group_norm(channels, config.groups), nn.ReLU(), nn.Flatten()]
        layers += [nn.Linear(channels * side**2, config.hidden), nn.ReLU(), nn.Dropout(config.dropout)]
        self.body = nn.Sequential(*layers, nn.Linear(config.hidden, joints))

    def forward(self, images: Tensor) -> Tensor:
        """(B, V, S, S) in [0, 1] → (B, d)."""
        coordinates: Tensor = self.body(1 - images)
        return coordinates

    def read(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """(B, V, S, S) in [0, 1] → coordinates (B, d), and the dense features (B, hidden) that they are read from."""
        features: Tensor = self.body[:-1](1 - images)
        return self.body[-1](features), features


class RegimeHead(nn.Module):
    """Coordinates → the log density ratio of every regime against the observational one.

    An intervention replaces one mechanism, and all others cancel: log q_i^m(z_i) − log p(z_i | parents).  The
    second term is the same for both policies on joint i; with o_i for what they share,

        logit(i, 1) = o_i(ẑ) + ẑ_i / 2,    logit(i, 2) = o_i(ẑ) − ẑ_i / 2,    logit(observational) = 0,

    so that ẑ_i is the log ratio of the two policies: a function of joint i alone, and affine in its angle where
    both policies have the same variance and bounds (ROPES Section 3.1).
    """

    def __init__(self, joints: int, hidden: int = 64) -> None:
        super().__init__()
        self.joints = joints
        self.shared = nn.Sequential(nn.Linear(joints, hidden), nn.ReLU(), nn.Linear(hidden, joints))

    def forward(self, coordinates: Tensor) -> Tensor:
        """(B, d) → logits (B, 1 + 2 d): observational, then both policies of each joint in turn."""
        shared = self.shared(coordinates)
        both = torch.stack([shared + coordinates / 2, shared - coordinates / 2], dim=-1)
        return torch.cat([torch.zeros_like(coordinates[:, :1]), both.flatten(1)], dim=1)


class ContrastNetwork(nn.Module):
    """Encoder and head together: what is trained; the encoder alone is what reads an image."""

    def __init__(self, config: EncoderConfig, *, views: int, joints: int) -> None:
        super().__init__()
        self.encoder = PoseEncoder(config, views=views, joints=joints)
        self.head = RegimeHead(joints)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """(B, V, S, S) → coordinates (B, d) and logits (B, 1 + 2 d)."""
        coordinates = self.encoder(images)
        return coordinates, self.head(coordinates)

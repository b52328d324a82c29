"""Networks that read angles: what is rounded in mixed precision, and what is not."""

import torch

from ropes.models.angles import AngleTransformer
from ropes.models.shapes import ViTConfig

SMALL = ViTConfig(
    image_size=16,
    patch=4,
    width=32,
    depth=1,
    heads=2,
    predictor_width=16,
    predictor_depth=1,
    predictor_heads=2,
    hidden=32,
    rounds=2,
)


def test_tokens_may_be_rounded_but_angles_are_not() -> None:
    """Radians from the same features, in bf16 autocast and without, agree to float32's last bits."""
    torch.manual_seed(0)
    network = AngleTransformer(SMALL, views=2, joints=3).eval()
    network.radians.adapt(torch.randn(50, 3))
    images = torch.randint(0, 256, (4, 2, 16, 16), dtype=torch.uint8)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        radians, features = network.read(images)
    assert radians.dtype == features.dtype == torch.float32
    with torch.no_grad():
        torch.testing.assert_close(radians, network.radians(network.joints(features)))
        exact = network(images)
    assert float((radians - exact).abs().max()) > 0
    torch.testing.assert_close(radians, exact, rtol=0, atol=0.05)

"""Networks that read angles: what is rounded in mixed precision, and what is not."""

import torch

from ropes.models.angles import AngleTransformer
from tests import tiny


def test_angle_output_is_exact_under_autocast() -> None:
    """Radians from the same features, in bf16 autocast and without, agree to float32's last bits."""
    torch.manual_seed(0)
    network = AngleTransformer(tiny.jointnet_recipe().vit, views=2, joints=3).eval()
    network.radians.adapt(torch.randn(50, 3))
    images = torch.randint(0, 256, (4, 2, tiny.SIDE, tiny.SIDE), dtype=torch.uint8)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        radians, features = network.read(images)
    assert radians.dtype == features.dtype == torch.float32
    with torch.no_grad():
        torch.testing.assert_close(radians, network.radians(network.joints(features)))
        exact = network(images)
    assert float((radians - exact).abs().max()) > 0
    torch.testing.assert_close(radians, exact, rtol=0, atol=0.05)

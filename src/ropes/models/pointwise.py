"""Strided 1×1 convolutions as a slice and an unstrided convolution, to avoid a bug of oneDNN 3.12.

Under AVX2, in float32, oneDNN writes the weight gradient of a 1×1 convolution of stride 2 over channels-last images of
fewer than 8 channels past the end of its workspace (uxlfoundation/oneDNN issue 6035). The gradient may be entirely
wrong, or the heap corrupted. This module can go once torch ships a oneDNN with the fix.
"""

from torch import Tensor, nn
from torch.nn import functional

#: Least number of input channels with a correct gradient.
_CORRECT_FROM = 8


class SlicedConv2d(nn.Conv2d):
    """A strided 1×1 convolution, computed as an unstrided one on every stride-th pixel."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C', ⌈H / stride⌉, ⌈W / stride⌉)."""
        down, across = self.stride
        return functional.conv2d(x[..., ::down, ::across], self.weight, self.bias)


def slice_strided_pointwise(network: nn.Module) -> None:
    """Replace every affected convolution by a `SlicedConv2d` with the same weights."""
    for name, module in list(network.named_modules()):
        if not isinstance(module, nn.Conv2d) or isinstance(module, SlicedConv2d):
            continue
        plain = module.groups == 1 and module.padding in (0, (0, 0), "valid")
        if module.kernel_size == (1, 1) and max(module.stride) > 1 and module.in_channels < _CORRECT_FROM and plain:
            down, across = module.stride
            sliced = SlicedConv2d(module.in_channels, module.out_channels, 1, (down, across), device="meta")
            sliced.weight, sliced.bias = module.weight, module.bias
            sliced.train(module.training)
            network.set_submodule(name, sliced)

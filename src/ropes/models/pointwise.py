"""Strided 1×1 convolutions as a slice and an unstrided one; oneDNN 3.12 computes the others wrong.

Under AVX2, in float32, the gradient of the weights of a 1×1 convolution of stride 2 over channels-last images of fewer
than 8 channels is written past the end of its workspace (uxlfoundation/oneDNN issue 6035): it may be wrong by as much
as it is large, or break the heap.  Once torch comes with a oneDNN that has the mend, this module can go.
"""

from torch import Tensor, nn
from torch.nn import functional

#: Channels from which on the gradient is right.
_RIGHT_FROM = 8


class SlicedConv2d(nn.Conv2d):
    """A 1×1 convolution with a stride: the same function of the same weights, over the places that it reads."""

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C', ⌈H / stride⌉, ⌈W / stride⌉)."""
        down, across = self.stride
        return functional.conv2d(x[..., ::down, ::across], self.weight, self.bias)


def slice_strided_pointwise(network: nn.Module) -> None:
    """Replace every convolution that oneDNN computes wrong by a `SlicedConv2d` with the same weights."""
    for name, module in list(network.named_modules()):
        if not isinstance(module, nn.Conv2d) or isinstance(module, SlicedConv2d):
            continue
        plain = module.groups == 1 and module.padding in (0, (0, 0), "valid")
        if module.kernel_size == (1, 1) and max(module.stride) > 1 and module.in_channels < _RIGHT_FROM and plain:
            down, across = module.stride
            sliced = SlicedConv2d(module.in_channels, module.out_channels, 1, (down, across), device="meta")
            sliced.weight, sliced.bias = module.weight, module.bias
            sliced.train(module.training)
            network.set_submodule(name, sliced)

"""Compares a training step of the compact networks in bf16 autocast with one in float32 on this machine.

    python -m benchmarks.precision [--threads 1] [--out FILE]

`ropes.common.hardware.training_precision` chooses bf16 if the processor has instructions that multiply bf16. Images and
targets are random.
"""

import os
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.figures import options, publish
from ropes.common.hardware import training_precision
from ropes.methods.delta.fit import network_of
from ropes.methods.recipes import DeltaRecipe, VAERecipe
from ropes.methods.registry import recipe_of
from ropes.models.vae import VAE

STEPS, WARM = 5, 2
VERBS = 11


def vae_step() -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    """A VAE of finger and cube, and the loss of a batch."""
    recipe = recipe_of("ada-gvae", "compact")
    assert isinstance(recipe, VAERecipe)
    side = recipe.vae.image_size
    images = torch.rand(recipe.training.batch, 3, side, side).contiguous(memory_format=torch.channels_last)

    def loss(network: nn.Module) -> Tensor:
        _, logits = network(images)
        return functional.binary_cross_entropy_with_logits(logits, images)

    return VAE(recipe.vae), loss


def pair_step(method: str) -> tuple[nn.Module, Callable[[nn.Module], Tensor]]:
    """A network that tells actions, and the loss of a batch of pairs."""
    recipe = recipe_of(method, "compact")
    assert isinstance(recipe, DeltaRecipe)
    count, side = recipe.training.batch, recipe.delta.image_size
    before, after = (
        torch.rand(count, 3, side, side).contiguous(memory_format=torch.channels_last) for _ in ("before", "after")
    )
    verbs = torch.arange(count) % VERBS

    def loss(network: nn.Module) -> Tensor:
        return functional.cross_entropy(network(before, after).logits[:, 0], verbs)

    return network_of(method, recipe.delta, 3, VERBS, 0), loss


def seconds(network: nn.Module, loss: Callable[[nn.Module], Tensor], *, mixed: bool) -> float:
    """Of a step, the quickest of some."""
    torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), fused=True)
    found = []
    for _ in range(WARM + STEPS):
        begun = time.perf_counter()
        optimiser.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
            value = loss(network)
        value.backward()
        optimiser.step()
        found.append(time.perf_counter() - begun)
    return min(found[WARM:])


def measure(threads: int) -> dict[str, float]:
    """Every figure by its name."""
    torch.set_num_threads(threads)
    found: dict[str, float] = {"threads": threads, "bf16_is_taken": int(training_precision() == "bf16-mixed")}
    steps = {"vae": vae_step, "vit": lambda: pair_step("cde-global"), "resnet": lambda: pair_step("plain-resnet")}
    for name, make in steps.items():
        network, loss = make()
        single = seconds(network, loss, mixed=False)
        mixed = seconds(network, loss, mixed=True)
        found |= {f"{name}_float32_s": single, f"{name}_bf16_s": mixed, f"{name}_times_as_fast": single / mixed}
    return {**found, "load": os.getloadavg()[0]}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    publish(measure(given.threads), given.out)


if __name__ == "__main__":
    main()

"""Compares the sparsity term by a vector-Jacobian product with the whole Jacobian: time of the term and its gradient.

    python -m benchmarks.sparsity [--repeats 7] [--batch 256] [--out FILE]

The decoder is that of the compact preset's AE2 with two cameras and six joints. The gradient is that of its weights and
of the coordinates; the further path through the encoder is the same for both. `one` is a step of the recipe and of the
paper's AE2, which uses the score difference of one joint; `all` uses those of all six joints. Seconds are processor
time of one thread, so that other work on the machine changes the ratios little. The result is the median of the
repeats.
"""

import os
import statistics
import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import jacfwd, vmap

from benchmarks.figures import options, publish
from ropes.methods.recipes import ropes_recipe
from ropes.methods.ropes.objectives import decode_with_scores, sparsity_loss, sparsity_matrix
from ropes.models.autoencoder import AE2

VIEWS, JOINTS = 2, 6
Latent = Callable[[AE2, Tensor, Tensor], Tensor]


def by_product(network: AE2, coordinates: Tensor, scores: Tensor) -> Tensor:
    """J_gᵀ Δs as the stage computes it, (k, B, d)."""
    return decode_with_scores(network.decode, coordinates, scores)[1]


def by_jacobian(network: AE2, coordinates: Tensor, scores: Tensor) -> Tensor:
    """The same through J_g (B, V, 8, 8, d) itself."""
    jacobian = vmap(jacfwd(lambda z: network.decode(z[None])[0]))(coordinates)
    return torch.einsum("bvhwd,kbvhw->kbd", jacobian, scores)


def term_and_gradient(latent: Latent, network: AE2, coordinates: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
    """Value of the sparsity term, and its gradient in the decoder's weights and the coordinates as one vector."""
    network.zero_grad()
    leaf = coordinates.clone().requires_grad_()
    loss = sparsity_loss(sparsity_matrix(latent(network, leaf, scores)), torch.eye(JOINTS)[: len(scores)])
    loss.backward()
    gradient = torch.cat([p.grad.flatten() for p in (leaf, *network.decoder.parameters()) if p.grad is not None])
    return loss.detach(), gradient


def compare(network: AE2, batch: int, rows: int, repeats: int) -> dict[str, float]:
    """Milliseconds of both ways, their ratio, and how far apart they are relative to the larger value."""
    generator = torch.Generator().manual_seed(0)
    coordinates = torch.randn(batch, JOINTS, generator=generator)
    scores = torch.randn(rows, batch, VIEWS, 8, 8, generator=generator)
    ways: dict[str, Latent] = {"product": by_product, "jacobian": by_jacobian}
    values = {name: term_and_gradient(way, network, coordinates, scores) for name, way in ways.items()}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            begun = time.process_time()
            term_and_gradient(way, network, coordinates, scores)
            seconds[name].append(time.process_time() - begun)
    apart = [float((a - b).abs().max() / b.abs().max()) for a, b in zip(*values.values(), strict=True)]
    taken = {name: statistics.median(found) for name, found in seconds.items()}
    return {
        "product_ms": 1e3 * taken["product"],
        "jacobian_ms": 1e3 * taken["jacobian"],
        "times_as_fast": taken["jacobian"] / taken["product"],
        "relative_difference_of_term": apart[0],
        "relative_difference_of_gradient": apart[1],
    }


def measure(batch: int, repeats: int) -> dict[str, float]:
    """Every figure by its name."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    network = AE2(ropes_recipe("compact").ae2, views=VIEWS, joints=JOINTS)
    figures: dict[str, float] = {"weights": sum(map(torch.numel, network.decoder.parameters())), "batch": batch}
    for name, rows in (("one", 1), ("all", JOINTS)):
        figures |= {f"{name}_{key}": value for key, value in compare(network, batch, rows, repeats).items()}
    return {**figures, "load": os.getloadavg()[0]}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--repeats", type=int, default=7, help="repeats of each measurement")
    parser.add_argument("--batch", type=int, default=ropes_recipe("compact").ae2_training.batch, help="poses per step")
    given = parser.parse_args()
    warnings.filterwarnings("ignore", message=".*torch.jit.script.*")  # torch's own forward mode
    publish(measure(given.batch, given.repeats), given.out)


if __name__ == "__main__":
    main()

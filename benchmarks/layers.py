"""Compares each layer of each preset with float64 on this processor, forward and backward.

    python -m benchmarks.layers [--precision bf16-mixed] [--preset compact] [--threads 2] [--repeats 3] [--out FILE]
    ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 MKL_ENABLE_INSTRUCTIONS=AVX2 python -m benchmarks.layers

Each network of each method reads a small batch of random images, in the memory layout of the training. Each of its
layers is then computed again on the same inputs, several times, because some faults occur only now and then. Its output
and the gradients of its input and weights are compared with the same layer in float64, relative to the largest value.
Of layers with equal settings, in one network or in several, the first is measured. The script ends with code 1 if a
layer is off by more than 1e-4. With --precision bf16-mixed only layers that autocast computes in bf16 are compared.
Inputs, weights and expected results are rounded to bf16 first, and the limit is 2e-2.
"""

import copy
import math
import sys
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from benchmarks.figures import described, options
from ropes.common.files import write_json
from ropes.common.hardware import Precision, capability
from ropes.errors import UserError
from ropes.methods.delta.fit import network_of
from ropes.methods.recipes import CNNRecipe, DeltaRecipe, EncoderRecipe, JointNetRecipe, RopesRecipe, VAERecipe
from ropes.methods.registry import METHODS, recipe_of
from ropes.models.angles import AngleCNN, AngleTransformer
from ropes.models.autoencoder import AE1, AE2
from ropes.models.density_ratio import LDR
from ropes.models.encoder import ContrastNetwork
from ropes.models.pointwise import slice_strided_pointwise
from ropes.models.student import StudentNetwork
from ropes.models.vae import VAE

#: What autocast computes in bf16, and what it does not.
_IN_BF16: tuple[type[nn.Module], ...] = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
_IN_FLOAT32: tuple[type[nn.Module], ...] = (nn.GroupNorm, nn.LayerNorm, nn.BatchNorm2d)
#: Greatest error in shares of the largest value.
MOST: dict[Precision, float] = {"32-true": 1e-4, "bf16-mixed": 2e-2}
_BATCH, _VIEWS, _JOINTS, _VERBS, _NOUNS = 4, 2, 6, 11, 16
Call = Callable[[], object]
#: What layers that are alike have in common: type, settings, and the shapes of input and weights.
Kind = tuple[object, ...]


def networks(method: str, preset: str) -> Iterator[tuple[str, nn.Module, Call]]:
    """The networks that a method trains, each with a call that shows it a batch."""
    recipe = recipe_of(method, preset)
    side = recipe.shape.image_size
    grey = torch.randint(0, 256, (_BATCH, _VIEWS, side, side), dtype=torch.uint8)
    colour = torch.rand(_BATCH, 3, side, side).contiguous(memory_format=torch.channels_last)
    match recipe:
        case RopesRecipe():
            first = AE1(recipe.ae1)
            ldr, second = LDR(recipe.ldr, views=_VIEWS), AE2(recipe.ae2, views=_VIEWS, joints=_JOINTS)
            codes = first.encode_views(grey.float() / 255).detach()
            yield "ae1", first, lambda: first(grey[:, :1].float() / 255)
            yield "ldr", ldr, lambda: ldr(codes)
            yield "ae2", second, lambda: second(codes)
        case EncoderRecipe():
            encoder = ContrastNetwork(recipe.encoder, views=_VIEWS, joints=_JOINTS)
            yield "encoder", encoder, lambda: encoder(grey)
            if recipe.foreign:
                student = StudentNetwork(recipe.encoder, views=_VIEWS, joints=_JOINTS)
                with torch.no_grad():
                    student.told.weight.normal_(std=0.1)  # as after a training: it begins as zero
                parts = nn.ModuleDict({"foreign": student.foreign, "told": student.told})
                yield "student", parts, lambda: student(grey)
        case CNNRecipe():
            cnn = AngleCNN(recipe.encoder, views=_VIEWS, joints=_JOINTS)
            yield "angles", cnn, lambda: cnn(grey)
        case JointNetRecipe():
            transformer = AngleTransformer(recipe.vit, views=_VIEWS, joints=_JOINTS)
            yield "angles", transformer, lambda: transformer(grey)
        case VAERecipe():
            vae = VAE(recipe.vae)
            yield "vae", vae, lambda: vae(colour)
        case DeltaRecipe():
            delta = network_of(method, recipe.delta, 3, _VERBS, _NOUNS)
            yield "delta", delta, lambda: delta(colour, colour.flip(0))


def seen(network: nn.Module, call: Call, precision: Precision) -> dict[Kind, tuple[str, nn.Module, Tensor]]:
    """The layers of a network that count: name, layer and what it was given; of those that are alike the first."""
    kinds = _IN_BF16 if precision == "bf16-mixed" else _IN_BF16 + _IN_FLOAT32
    found: dict[Kind, tuple[str, nn.Module, Tensor]] = {}
    hooks = []
    for name, module in network.named_modules():
        if isinstance(module, kinds):

            def keep(module: nn.Module, given: tuple[Tensor, ...], name: str = name) -> None:
                shapes = [tuple(weight.shape) for weight in module.parameters()]
                key = (type(module), str(module), tuple(given[0].shape), *shapes)
                found.setdefault(key, (name, module, given[0].detach().float()))

            hooks.append(module.register_forward_pre_hook(keep))
    with torch.no_grad():
        call()
    for hook in hooks:
        hook.remove()
    return found


def passed(layer: nn.Module, given: Tensor, answer: Tensor) -> list[Tensor]:
    """Output, gradient of the input and gradients of the weights."""
    given = given.detach().requires_grad_()
    layer.zero_grad()
    made = layer(given)
    made.backward(answer.to(made))
    assert given.grad is not None
    return [made.detach(), given.grad, *(weight.grad for weight in layer.parameters() if weight.grad is not None)]


def error(layer: nn.Module, given: Tensor, repeats: int, precision: Precision = "32-true") -> float:
    """The largest error of a layer, in shares of the largest value of what is off; infinite where it is no number."""
    if precision == "bf16-mixed":
        layer, given = copy.deepcopy(layer).bfloat16(), given.bfloat16()
    with torch.no_grad():
        answer = torch.randn_like(copy.deepcopy(layer)(given))
    exact = copy.deepcopy(layer).double()
    for weight in exact.parameters():
        weight.data = weight.data.contiguous()
    right = passed(exact, given.double().contiguous(), answer)
    worst = 0.0
    for _ in range(repeats):
        ours = passed(copy.deepcopy(layer), given, answer)
        shares = [
            float((one.double() - other).abs().max() / other.abs().max().clamp_min(1e-30))
            for one, other in zip(ours, right, strict=True)
        ]
        worst = max(worst, *(share if share == share else math.inf for share in shares))
    return worst


def main() -> None:
    """Measure every layer and print the table."""
    parser = options(__doc__)
    parser.add_argument("--preset", action="append", choices=["compact", "paper"], help="both if omitted")
    parser.add_argument("--precision", choices=list(MOST), default="32-true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3, help="computations of each layer")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    began, found, precision = time.monotonic(), {}, arguments.precision
    errors: dict[Kind, float] = {}
    print(f"{capability()}, {precision}, {arguments.threads} threads\n")
    print("| preset | method | network | layers | largest error | of |\n|---|---|---|---:|---:|---|")
    for preset in arguments.preset or ("compact", "paper"):
        for method in METHODS:
            torch.manual_seed(0)
            try:
                made = list(networks(method, preset))
            except UserError as reason:  # its checkpoint is not on this machine
                print(f"| {preset} | {method} | {reason} | 0 | | |", flush=True)
                continue
            for name, network, call in made:
                slice_strided_pointwise(network)
                torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
                own = seen(network, call, precision)
                for kind, (_, module, given) in own.items():
                    if kind not in errors:
                        errors[kind] = error(module, given, arguments.repeats, precision)
                worst = max(own, key=errors.__getitem__)
                found[f"{preset} {method} {name}"] = errors[worst]
                row = preset, method, name, len(own), f"{errors[worst]:.1e}", own[worst][0]
                print(f"| {' | '.join(map(str, row))} |", flush=True)
    print(f"\n{time.monotonic() - began:.0f} s")
    if arguments.out:
        asked = {"precision": precision, "threads": arguments.threads}
        write_json(arguments.out, {**described(began), **asked, "largest_errors": found})
    sys.exit(max(found.values()) > MOST[precision])


if __name__ == "__main__":
    main()

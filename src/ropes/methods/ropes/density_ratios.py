"""The second stage of ROPES: trains the density ratio of each joint's two policies on codes."""

from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from ropes.methods.context import Context
from ropes.methods.recipes import recipe_to_dict
from ropes.methods.ropes.codes import Codes
from ropes.methods.ropes.stages import LDRStage
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.loop import Inputs
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training.steps import BatchAt
from ropes.models.density_ratio import LDR


@dataclass(frozen=True)
class DensityRatios:
    """Result of the second stage.

    Attributes:
        networks: one for each joint.
        summaries: joint → summary of the training of its network.
        search: joint → fraction of the recipe's epochs → least held-out contrast; empty for a single fraction.
        seconds: of all trainings.
    """

    networks: list[torch.nn.Module]
    summaries: dict[str, dict[str, Any]]
    search: dict[str, dict[str, float]]
    seconds: float

    @property
    def fingerprints(self) -> list[str]:
        """Digests of the trainings of the networks, part of the digests of the stages after them."""
        return [summary["fingerprint"] for summary in self.summaries.values()]


def least_contrast(summary: dict[str, Any]) -> float:
    """The held-out contrast of the weights that an LDR's training ended with."""
    return min(summary["history"]["held_out"])


def fit_ldrs(
    context: Context, codes: Codes, held_out: Codes, upstream: str, inputs: Inputs | None = None
) -> DensityRatios:
    """Train one LDR per joint, on the codes under its two policies and, as the recipe says, on all others.

    With several `ldr_shares` each joint's LDR is trained for each of them, and the one of the least held-out contrast
    is linked to the run's `ldr/JOINT`.

    Args:
        context: of the fit.
        codes: codes of the training poses.
        held_out: codes of the held-out poses.
        upstream: digest of AE1, part of each network's digest.
        inputs: AE1's weights, see `Context.train`.
    """
    networks: list[torch.nn.Module] = []
    summaries, search, seconds = {}, {}, 0.0
    shares = context.recipe.ldr_shares
    for joint in context.run.joints:
        data = _ldr_batches(context, codes, joint), held_out.contrast(joint, balanced=True)
        trained = {share: _fit_ldr(context, joint, share, *data, upstream, inputs) for share in shares}
        contrasts = {share: least_contrast(summary) for share, (_, summary) in trained.items()}
        chosen = min(contrasts, key=contrasts.__getitem__)
        network, summaries[joint] = trained[chosen]
        networks.append(network)
        seconds += sum(summary["seconds"] for _, summary in trained.values())
        if len(shares) > 1:
            context.link(_folder(context, joint, chosen), f"ldr/{joint}", summaries[joint]["fingerprint"])
            search[joint] = {f"{share:g}": contrast for share, contrast in contrasts.items()}
    return DensityRatios(networks, summaries, search, seconds)


def _folder(context: Context, joint: str, share: float) -> str:
    """Folder of an LDR's training in the run: its own for a single share, otherwise one of the search."""
    return f"ldr/{joint}" if len(context.recipe.ldr_shares) == 1 else f"search/ldr-{share:g}/{joint}"


def _fit_ldr(
    context: Context,
    joint: str,
    share: float,
    batches: tuple[BatchAt, int],
    held_out: TensorDataset,
    upstream: str,
    inputs: Inputs | None,
) -> tuple[LDR, dict[str, Any]]:
    """Train the LDR of a joint for a share of the recipe's epochs; returns it and the summary of its training.

    Args:
        context: of the fit.
        joint: its name.
        share: of the epochs.
        batches: see `_ldr_batches`.
        held_out: held-out codes under the joint's two policies, and their labels.
        upstream: digest of AE1.
        inputs: AE1's weights.
    """
    recipe = context.recipe
    # Digests of earlier versions, without a choice, are of the settings as they are.
    alone = recipe.ldr_shares == (1.0,)
    optimisation = recipe.ldr_training if alone else recipe.ldr_training.shortened(share)
    noise = recipe.code_noise / share
    batch_at, samples = batches
    network = seeded(context.seed("ldr", joint, "weights"), lambda: LDR(recipe.ldr, views=len(context.run.cameras)))
    stage = LDRStage(
        network,
        optimisation,
        steps=optimisation.steps(samples),
        seed=context.seed("ldr", joint),
        held_out=held_out,
        noise=noise,
    )
    settings = joint, asdict(recipe.ldr), recipe_to_dict(optimisation), upstream
    fingerprint = context.digest("ldr", *settings, *([noise] if noise else []))
    folder = _folder(context, joint, share)
    return network, context.train(stage, batch_at, folder, fingerprint, full=True, inputs=inputs)


def _ldr_batches(context: Context, codes: Codes, joint: str) -> tuple[BatchAt, int]:
    """Step → codes and labels of a batch, then as many codes under neither policy; and the number of labelled poses."""
    values, labels = codes.contrast(joint).tensors
    batch = context.recipe.ldr_training.batch
    order = EpochShuffle(len(values), batch, context.seed("ldr", joint, "order"))
    others = codes.others(joint) if context.recipe.ldr.others else values[:0]
    if not len(others):  # also of one joint with one intervention there are no others
        return lambda step: (values[order(step)], labels[order(step)]), len(values)
    order_of_others = EpochShuffle(len(others), batch, context.seed("ldr", joint, "others"))

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        return torch.cat([values[order(step)], others[order_of_others(step)]]), labels[order(step)]

    return batch_at, len(values)

"""The second stage of ROPES: trains the density ratio of each joint's two policies on codes."""

from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from ropes.methods.context import Context
from ropes.methods.recipes import recipe_to_dict
from ropes.methods.ropes.codes import Codes
from ropes.methods.ropes.stages import LDRStage
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training.steps import BatchAt
from ropes.models.density_ratio import LDR


def fit_ldrs(
    context: Context, codes: Codes, held_out: Codes, upstream: str
) -> tuple[list[torch.nn.Module], dict[str, dict[str, Any]]]:
    """Train one LDR per joint, on the codes under its two policies and, as the recipe says, on all others.

    Args:
        context: of the fit.
        codes: codes of the training poses.
        held_out: codes of the held-out poses.
        upstream: digest of AE1, part of each network's digest.

    Returns:
        The networks, and joint → summary of its training.
    """
    ratios: list[torch.nn.Module] = []
    summaries = {}
    optimisation = context.recipe.ldr_training
    for joint in context.run.joints:
        batch_at, samples = _ldr_batches(context, codes, joint)
        network = seeded(
            context.seed("ldr", joint, "weights"), lambda: LDR(context.recipe.ldr, views=len(context.run.cameras))
        )
        stage = LDRStage(
            network,
            optimisation,
            steps=optimisation.steps(samples),
            seed=context.seed("ldr", joint),
            held_out=held_out.contrast(joint),
            noise=context.recipe.code_noise,
        )
        settings = joint, asdict(context.recipe.ldr), recipe_to_dict(optimisation), upstream
        noise = [context.recipe.code_noise] if context.recipe.code_noise else []
        fingerprint = context.digest("ldr", *settings, *noise)
        summaries[joint] = context.train(stage, batch_at, f"ldr/{joint}", fingerprint, full=True)
        ratios.append(network)
    return ratios, summaries


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

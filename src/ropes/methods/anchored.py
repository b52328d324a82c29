"""One encoder straight from images: methods `ldr` (regimes alone) and `anchored` (anchors as well).

The log density ratio of a joint's two policies is a function of that joint's angle alone, and affine in it where the
policies have equal variance and bounds (ROPES Section 3.1): a network that tells the regimes apart as well as can be
has therefore read the joint.  Anchors say more: what an intervention does not move stays as it was, to the last bit.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ropes.data.batches import TrainingImages
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.anchors import by_anchor, in_order
from ropes.methods.context import Context
from ropes.methods.contrast import least_moving, targets
from ropes.methods.encoder_stage import EncoderStage
from ropes.methods.policies import bayes_floors, require_both_policies
from ropes.methods.run import Run
from ropes.methods.sampling import EpochShuffle
from ropes.methods.stages import seeded
from ropes.methods.story import write_story
from ropes.models.encoder import ContrastNetwork
from ropes.recipes import EncoderRecipe
from ropes.trust.stage import fit_trust

Indices = NDArray[np.int64]
_HELD_OUT_ANCHORS = 128
_ADAPTED_TO = 256


def fit(
    data: Path,
    out: Path,
    recipe: EncoderRecipe,
    seed: int = 0,
    *,
    method: str = "anchored",
    show: bool = True,
) -> Run:
    """Fit one encoder on the training split of the data set `data`; the run is left in the folder `out`.

    Interrupted or killed, the same call goes on and ends with the same weights.

    Raises:
        UserError: the data set lacks what the method needs, the recipe is another method's, or the folder holds
            something else.
        KeyboardInterrupt: interrupted; everything so far is stored.
    """
    if (method == "anchored") != (recipe.anchor_weight > 0):
        raise UserError(
            f"method {method} cannot have an anchor weight of {recipe.anchor_weight:g}; choose the other one"
        )
    dataset = open_dataset(data)
    require_both_policies(dataset)
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed)
    run.require_same(out)
    cache = ImageCache(dataset, "train", recipe.encoder.image_size, progress=show)
    images = TrainingImages(cache, dataset.frames("train"), dataset.regimes)
    kept, held = images.split_anchors(recipe.held_out, seed)
    tables = by_anchor(dataset, kept), by_anchor(dataset, held)
    context = Context.begin(run, out, show=show)  # only now: what the data lack must not leave a run behind
    summary = _fit_encoder(context, recipe, kept, held, tables)
    curves = summary["history"]
    ratios = _ratios(curves, bayes_floors(dataset))
    fit_trust(context, dataset, held)
    write_story(
        context,
        dataset,
        stages={"encoder": curves, "ldr": ratios},
        seconds={"encoder": summary["seconds"]},
        coordinate_contrast={joint: ratio["held_out"][-1] for joint, ratio in ratios.items()},
    )
    return run


def _ratios(curves: dict[str, list[float]], floors: dict[str, float | None]) -> dict[str, dict[str, Any]]:
    """Each joint's held-out contrast beside its Bayes floor, taken out of the encoder's curves."""
    held_out = {joint: curves.pop(f"contrast_{k}") for k, joint in enumerate(floors)}
    return {
        joint: {"steps": curves["steps"], "held_out": values, "floor": floors[joint], "best": min(values)}
        for joint, values in held_out.items()
    }


def _fit_encoder(
    context: Context,
    recipe: EncoderRecipe,
    kept: TrainingImages,
    held: TrainingImages,
    tables: tuple[Indices, Indices],
) -> dict[str, Any]:
    run, optimisation = context.run, recipe.training
    table, held_table = tables
    regimes = table.shape[1]
    anchors = max(2, optimisation.batch // regimes)
    together = recipe.anchor_weight > 0
    order = EpochShuffle(
        *((len(table), anchors) if together else (table.size, anchors * regimes)), context.seed("encoder", "order")
    )

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        drawn = order(step)
        rows = table[drawn] if together else table.flat[drawn]
        regime = torch.arange(regimes).expand(rows.shape) if together else torch.from_numpy(drawn % regimes)
        pixels = torch.from_numpy(kept.pixels(rows.reshape(-1))).float().div_(255)
        return pixels.unflatten(0, rows.shape), regime

    steps = optimisation.steps(table.size)
    sample = EpochShuffle(len(held_table), min(len(held_table), _HELD_OUT_ANCHORS), context.seed("held out"))
    shown = held_table[sample(0)]
    network = seeded(
        context.seed("encoder", "weights"),
        lambda: ContrastNetwork(recipe.encoder, views=len(run.cameras), joints=len(run.joints)),
    ).to(memory_format=torch.channels_last)
    few = EpochShuffle(len(kept), min(len(kept), _ADAPTED_TO), context.seed("background"))
    network.encoder.adapt(torch.from_numpy(kept.pixels(few(0))).float().div(255))
    held_out = torch.from_numpy(held.pixels(shown.reshape(-1))).unflatten(0, shown.shape)
    stage = EncoderStage(
        network,
        optimisation,
        steps=steps,
        seed=context.seed("encoder"),
        anchor_weight=recipe.anchor_weight,
        warm_up=round(recipe.alone * steps),
        log_prior=torch.full((regimes,), -float(np.log(regimes))),
        target=targets(in_order(run.joints), run.joints),
        held_out=held_out,
        gaze_joint=least_moving(held_out.float()) if together else 0,
    )
    fingerprint = context.digest(
        "encoder", asdict(recipe.encoder), asdict(optimisation), recipe.anchor_weight, recipe.alone
    )
    return context.train(stage, batch_at, "encoder", fingerprint, full=False)

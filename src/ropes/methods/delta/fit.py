"""Fits methods that predict an action from two images: `cde-global`, `cde-patch` and the baselines."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.common.hardware import RequestedPrecision
from ropes.common.seeds import generator
from ropes.common.stores import Location
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.pairs import ActionPairs, encode_labels
from ropes.errors import UserError
from ropes.methods.anchored.reader import finished_encoder
from ropes.methods.context import Context
from ropes.methods.delta.stage import Batch, DeltaStage
from ropes.methods.recipes import DeltaRecipe, recipe_to_dict
from ropes.methods.run import Run
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.registration import read_registration
from ropes.methods.training.run_log import RunLog
from ropes.methods.training.sampling import EpochShuffle
from ropes.methods.training_summary import write_training_summary
from ropes.models.backbones import PoseBackbone
from ropes.models.checkpoints import WEIGHTS
from ropes.models.delta import DeltaNetwork, PairNetwork
from ropes.models.delta_shape import DeltaConfig
from ropes.models.registry import PACKAGED, find_run
from ropes.simulation.actions import TRAIN, VALIDATION

#: Held-out pairs that a record evaluates.
_EVALUATED = 512


def fit(
    data: Location,
    out: Path,
    recipe: DeltaRecipe,
    seed: int = 0,
    *,
    method: str,
    precision: RequestedPrecision = "auto",
    show: bool = True,
    log: RunLog | None = None,
) -> Run:
    """Fit a method on the training pairs of a data set of actions; for the arguments see `ropes.methods.fit.fit`.

    The best weights are selected on the validation split, or on held-out training pairs where there is none; never on a
    test split.

    Raises:
        UserError: the data set has no pairs, fewer than two verbs or a verb with fewer than two pairs, or the folder
            holds something else.
    """
    dataset = open_dataset(data)
    _require_terms(method, recipe)
    run = Run.of(dataset, method=method, recipe=recipe, seed=seed)
    encoder = encoder_of(recipe.delta, dataset)
    size, channels = recipe.delta.image_size, 3 if len(dataset.image_shape) > 2 else len(dataset.cameras)
    pairs = ActionPairs(dataset, TRAIN, size, progress=show)
    order = generator(seed, "held-out pairs").permutation(len(pairs))
    if VALIDATION in dataset.splits:
        rows, validation = np.arange(len(pairs)), ActionPairs(dataset, VALIDATION, size, progress=show)
        held = np.sort(generator(seed, "asked pairs").permutation(len(validation))[:_EVALUATED])
    else:
        count = max(1, round(recipe.val_fraction * len(pairs)))
        rows, validation, held = np.sort(order[count:]), pairs, order[:count][:_EVALUATED]
    verbs, nouns = (tuple(sorted(set(texts[rows].tolist()))) for texts in (pairs.verbs, pairs.nouns))
    _require_enough(pairs.verbs[rows], verbs)
    numbers = encode_labels(pairs.verbs, verbs), encode_labels(pairs.nouns, nouns)

    def batch_of(source: ActionPairs, batch: np.ndarray, verb: np.ndarray, noun: np.ndarray) -> Batch:
        return torch.from_numpy(source.pixels(batch)), torch.from_numpy(verb[batch]), torch.from_numpy(noun[batch])

    validation_verbs = encode_labels(validation.verbs, verbs)
    held = held[validation_verbs[held] >= 0]
    if not len(held):
        raise UserError(f"{data} has no validation pair with a verb of the training; add some")
    stored = None if encoder is None else encoder.description
    shape = recipe.delta, channels, len(verbs), len(nouns)
    network = seeded(Context(run, out, show).seed("weights"), lambda: network_of(method, *shape, stored=stored))
    if encoder is not None:
        network.backbone.load_state_dict(encoder.state_dict())
    initial = None if recipe.delta.checkpoint is None else state_digest(network.backbone)
    recipe = _with_checkpoint_digest(recipe, initial)
    run = replace(run, recipe=recipe)
    # After all checks: data that are refused leave no run behind.
    context = Context.begin(run, out, precision=precision, show=show, log=log)
    shuffle = EpochShuffle(len(rows), recipe.training.batch, context.seed("order"))

    def batch_at(step: int) -> Batch:
        return batch_of(pairs, rows[shuffle(step)], *numbers)

    torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
    stage = DeltaStage(
        network,
        recipe,
        steps=recipe.training.steps(len(rows)),
        seed=context.seed("delta"),
        held_out=batch_of(validation, held, validation_verbs, encode_labels(validation.nouns, nouns)),
        block_of=blocks_of(verbs, dataset.antonyms),
    )
    settings = recipe_to_dict(recipe)
    if recipe.delta.checkpoint is not None:  # both spellings of a packaged estimator's name are equal
        settings["delta"]["checkpoint"] = recipe.delta.checkpoint.removeprefix(PACKAGED)
    fingerprint = context.digest("delta in hundredths", method, settings, initial)
    summary = context.train(stage, batch_at, "delta", fingerprint, full=False)
    write_training_summary(
        context,
        dataset,
        stages={"delta": summary["history"]},
        seconds={"delta": summary["seconds"]},
        poses=2 * len(pairs),
        verbs=list(verbs),
        nouns=list(nouns),
        channels=channels,
        backbone=network.backbone.description,
        **stage.steps_of(summary["history"]),
    )
    return context.run


def network_of(
    method: str, config: DeltaConfig, channels: int, verbs: int, nouns: int, stored: Mapping[str, Any] | None = None
) -> DeltaNetwork | PairNetwork:
    """The network of a method for that many verbs and nouns; `stored` as in `ropes.models.backbones.backbone_of`."""
    if method in ("cde-global", "cde-patch"):
        return DeltaNetwork(config, channels, verbs, patchwise=method == "cde-patch", stored=stored)
    return PairNetwork(config, channels, verbs, nouns=nouns if method == "icm" else 0, stored=stored)


def weights(run: Run) -> list[str]:
    """The weight file of a method of actions."""
    return [f"delta/{WEIGHTS}"]


def encoder_of(config: DeltaConfig, dataset: Dataset) -> PoseBackbone | None:
    """The pre-trained pose encoder of a network with backbone pose; None for other backbones.

    Raises:
        UserError: the checkpoint is no finished run of `anchored` or `ldr`, or takes other images.
    """
    if config.backbone != "pose":
        return None
    folder = find_run(str(config.checkpoint))
    run, encoder = finished_encoder(folder)
    if read_registration(folder) is not None:
        raise UserError(
            f"{config.checkpoint} reads registered frames, which methods of actions do not make; "
            "give a run fitted with --no-registration"
        )
    colour = len(dataset.image_shape) > 2
    if dataset.cameras != run.cameras or colour or run.channels > 1:
        raise UserError(
            f"{config.checkpoint} reads {'colour' if run.channels > 1 else 'grey'} images of {', '.join(run.cameras)}; "
            f"{dataset.path} has images{' in colour' if colour else ''} of {', '.join(dataset.cameras)}"
        )
    if config.image_size != (size := encoder.config.input_size):
        raise UserError(f"{config.checkpoint} reads images of {size} pixels; give --delta.image-size {size}")
    return PoseBackbone(encoder)


def _with_checkpoint_digest(recipe: DeltaRecipe, initial: str | None) -> DeltaRecipe:
    """The recipe with the name and digest of its checkpoint in place of the folder's path on this machine."""
    folder = Path(str(recipe.delta.checkpoint))
    if initial is None or not folder.is_dir():
        return recipe
    return replace(recipe, delta=replace(recipe.delta, checkpoint=f"{folder.resolve().name}@{initial[:16]}"))


def state_digest(network: torch.nn.Module) -> str:
    """SHA-256 of a network's weights, by which a changed checkpoint of the same name is recognised."""
    digest = hashlib.sha256()
    for name, value in sorted(network.state_dict().items()):
        digest.update(name.encode())
        digest.update(value.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def blocks_of(verbs: tuple[str, ...], antonyms: dict[str, str]) -> Tensor:
    """Index of each verb's block, (verbs,): a verb and its antonym share one."""
    groups = [min(verb, antonyms.get(verb, verb)) for verb in verbs]
    return torch.from_numpy(np.unique(groups, return_inverse=True)[1])


def _require_terms(method: str, recipe: DeltaRecipe) -> None:
    """Raise `UserError` if the method's network lacks a part that the recipe's loss terms need."""
    if recipe.blocks and method.startswith("cde"):
        raise UserError(f"method {method} has no blocks of φ; leave --blocks at 0, or take --method sms")
    if recipe.independence and method != "icm":
        raise UserError(f"method {method} has no critic of nouns; leave --independence at 0, or take --method icm")


def _require_enough(texts: np.ndarray, verbs: tuple[str, ...]) -> None:
    """Raise `UserError` unless there are two verbs or more, each with two pairs or more."""
    if len(verbs) < 2:
        raise UserError(f"training pairs have {len(verbs)} verb ({', '.join(verbs)}); two are the least")
    for verb in verbs:
        if (count := int((texts == verb).sum())) < 2:
            raise UserError(f"verb {verb!r} has {count} training pair; the contrastive loss needs two, add another")

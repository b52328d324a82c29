"""Writes training.json: curves, choices, settings and provenance of a finished fit."""

from collections.abc import Mapping
from typing import Any

from ropes.common.files import write_json
from ropes.common.hardware import device_name
from ropes.data.dataset import Dataset
from ropes.methods.context import Context
from ropes.methods.recipes import recipe_to_dict
from ropes.methods.run import TRAINING_FILE


def write_story(
    context: Context,
    dataset: Dataset,
    *,
    stages: Mapping[str, Any],
    seconds: Mapping[str, float],
    anchors: int | None = None,
    poses: int | None = None,
    **more: Any,
) -> None:
    """Store the story of a fit in its folder, unless that has one: then nothing was trained since.

    Args:
        context: of the fit.
        dataset: what it was fitted on.
        stages: stage → curves by name, or joint → curves.
        seconds: stage → seconds.
        anchors: that were learnt from or held out; all of the training split where None.
        poses: likewise.
        more: what else the method found, JSON-able.
    """
    run, path = context.run, context.folder / TRAINING_FILE
    if path.exists():
        return
    story = {
        "setup": run.setting,
        "method": run.method,
        "seed": run.seed,
        "joints": list(run.joints),
        "stages": stages,
        **more,
        "settings": recipe_to_dict(run.recipe),
        "provenance": {
            "version": run.version,
            "device": device_name(),
            "data_checksum": run.data_checksum,
            "anchors": len(dataset.splits["train"]) if anchors is None else anchors,
            "poses": len(dataset.frames("train")) if poses is None else poses,
            "seconds": {stage: round(value, 1) for stage, value in seconds.items()},
        },
    }
    write_json(path, story)

"""Writes the training summary of a finished fit, training.json: curves, settings and provenance."""

from collections.abc import Mapping
from typing import Any

from ropes.common.arrays import Ints
from ropes.common.files import read_json, write_json
from ropes.common.hardware import device_name
from ropes.data.dataset import Dataset
from ropes.methods.context import Context
from ropes.methods.recipes import recipe_to_dict
from ropes.methods.run import MOVED_ANCHORS, TRAINING_FILE
from ropes.methods.training.loop import SUMMARY
from ropes.methods.training.registration import CLEANER_FOLDER, FIRST_CLEANER_FOLDER


def write_training_summary(
    context: Context,
    dataset: Dataset,
    *,
    stages: Mapping[str, Any],
    seconds: Mapping[str, float],
    anchors: int | None = None,
    poses: int | None = None,
    moved: Ints | None = None,
    **more: Any,
) -> None:
    """Write the training summary of a fit, unless its folder has one: then no stage was trained in this call.

    A summary of an earlier version gets its `moved` anchors.

    Args:
        context: of the fit.
        dataset: its data set.
        stages: stage → curves by name, or joint → curves.
        seconds: stage → seconds; those of a cleaner are added.
        anchors: number used for training or held out; None for all of the training split.
        poses: number used for training or held out; None for all of the training split.
        moved: anchors that the fit leaves out because a camera was at another place; None for none.
        more: further results of the method, for JSON.
    """
    run, path = context.run, context.folder / TRAINING_FILE
    left_out = {} if moved is None or not len(moved) else {MOVED_ANCHORS: moved.tolist()}
    if path.exists():
        if left_out and MOVED_ANCHORS not in (content := read_json(path)):
            write_json(path, content | left_out)
        return
    if context.registration is not None and context.registration.is_cleaned:
        cleaners = FIRST_CLEANER_FOLDER, CLEANER_FOLDER
        seconds = {**{each: read_json(context.folder / each / SUMMARY)["seconds"] for each in cleaners}, **seconds}
    summary = {
        "setup": run.setting,
        "method": run.method,
        "seed": run.seed,
        "joints": list(run.joints),
        "stages": stages,
        **more,
        **left_out,
        "registered": context.registration is not None,
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
    write_json(path, summary)

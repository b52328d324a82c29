"""`ropes.predict`: predictions as dictionaries."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ropes.common.hardware import AskedPrecision
from ropes.inference.prediction import predict_lines
from ropes.models.registry import find_run


def predict(
    run: Path | str,
    images: Mapping[str, Path | str] | Path | str,
    *,
    poses: Sequence[str] | None = None,
    urdf: str | Path | None = None,
    precision: AskedPrecision = "auto",
) -> Iterator[dict[str, Any]]:
    """Predict joint angles from image files or a data set, a dictionary a pose as they come.

    Args:
        run: folder of the run, or name of a packaged estimator.
        images: an image file for each camera by name; a folder of images; one image, of a run with one camera; or a
            data set.
        poses: links whose poses to add; none named for the end effector's, "all" for all.
        urdf: the arm's URDF file, where the run's setting does not name it.
        precision: see `ropes.methods.readers.load_reader`.

    Returns:
        "images", "unit" ("rad", or "raw" before calibration), "joints" with a value each, and what to trust, as
        `ropes.inference.prediction.predict_lines` has them.

    Raises:
        UserError: see `ropes.inference.prediction.predict_lines`.
    """
    given = {name: Path(file) for name, file in images.items()} if isinstance(images, Mapping) else Path(images)
    return map(json.loads, predict_lines(find_run(run), given, poses=poses, urdf=urdf, precision=precision))

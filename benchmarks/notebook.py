"""Runs the example notebook from top to bottom, and checks that its results make sense.

    python -m benchmarks.notebook [--notebook examples/angles_without_labels.ipynb] [--out build]

`make notebook` installs nbconvert and runs this. The checks of angles, intervals and the graph run as a last cell, and
the written notebook does not have it. The exit code is 1 if a cell or a check fails. The duration is printed beside the
ten minutes that the notebook promises; a slower machine is no fault.
"""

import argparse
import base64
import io
import time
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "examples" / "angles_without_labels.ipynb"
#: Nominal coverage of the notebook's intervals, and the number of labelled poses that they come from.
_LEVEL, _LABELS = 0.9, 50
#: Standard deviations by which a coverage may miss its level.
_TOLERANCE = 4
#: Duration that the notebook promises on two cores, minutes.
PROMISED = 10
#: Least share of a figure's pixels that are not its background.
_DRAWN = 0.01


def check_angles(names: Mapping[str, Any], *, factor: float) -> None:
    """Check each joint's error against that of the mean pose, by the notebook's variables.

    The committed notebook has RMS errors of 4° to 5°, and the mean pose one of 33°.

    Args:
        names: variables of the notebook.
        factor: how many times as large the error of the mean pose must be.
    """
    angles, true = names["angles"], names["true"]
    assert angles.shape == true.shape, (angles.shape, true.shape)
    error, spread = np.sqrt(np.mean((angles - true) ** 2, axis=0)), true.std(axis=0)
    assert (factor * error < spread).all(), f"RMS {np.degrees(error)}°, of the mean pose {np.degrees(spread)}°"


def check_coverage(names: Mapping[str, Any]) -> None:
    """Check that each joint's intervals cover as many true angles as they say.

    Given n labels, the coverage has a variance of about .9 · .1 / (n + 2); m test poses add .9 · .1 / m.

    Args:
        names: variables of the notebook.
    """
    inside, poses = names["inside"], len(names["true"])
    deviation = np.sqrt(_LEVEL * (1 - _LEVEL) * (1 / (_LABELS + 2) + 1 / poses))
    assert (inside > _LEVEL - _TOLERANCE * deviation).all(), f"{inside} of the true angles lie inside"


def check_widths(names: Mapping[str, Any]) -> None:
    """Check that each joint's intervals are narrower than the middle 90% of all poses.

    Args:
        names: variables of the notebook.
    """
    width = np.median(names["high"] - names["low"], axis=0)
    everywhere = np.ptp(np.quantile(names["true"], (0.05, 0.95), axis=0), axis=0)
    assert (width < everywhere).all(), f"intervals of {np.degrees(width)}°, poses of {np.degrees(everywhere)}°"


def check_graph(names: Mapping[str, Any]) -> None:
    """Check that the estimated graph is nearer to the true one, of two edges, than a graph without edges is."""
    found = names["found"]
    assert found.distance is not None
    assert found.distance < 2, found


def check_figures(images: Iterable[bytes]) -> None:
    """Check that there are both figures of the notebook, as PNG, and that something is drawn in each."""
    pixels = [np.asarray(Image.open(io.BytesIO(each)).convert("L")) for each in images]
    assert len(pixels) == 2, len(pixels)
    assert all((each != each[0, 0]).mean() > _DRAWN for each in pixels)


def check(names: Mapping[str, Any]) -> None:
    """Check the variables of the whole notebook.

    Args:
        names: variables of the notebook.
    """
    check_angles(names, factor=3)
    check_coverage(names)
    check_widths(names)
    check_graph(names)


def pictures(notebook: Mapping[str, Any]) -> list[bytes]:
    """The PNG images among the outputs of a notebook."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    data = [output["data"]["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    return [base64.b64decode(each) for each in data]


def duration(seconds: float) -> str:
    """A sentence on how long the cells and the checks took.

    Args:
        seconds: wall time.
    """
    side = "within" if seconds <= 60 * PROMISED else "more than"
    return f"the notebook took {seconds / 60:.1f} minutes, {side} the {PROMISED} that it promises on two cores"


def main() -> None:
    """Run the notebook, check it, and write it with its outputs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--notebook", type=Path, default=NOTEBOOK, help="the notebook")
    parser.add_argument("--out", type=Path, default=Path("build"), help="folder for the executed notebook")
    arguments = parser.parse_args()
    nbformat, preprocessors = import_module("nbformat"), import_module("nbconvert.preprocessors")
    notebook = nbformat.read(arguments.notebook, as_version=4)
    checked = f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom benchmarks.notebook import check\ncheck(globals())"
    notebook.cells.append(nbformat.v4.new_code_cell(checked))
    runner = preprocessors.ExecutePreprocessor(timeout=None)
    began = time.monotonic()
    runner.preprocess(notebook, {"metadata": {"path": str(arguments.notebook.parent)}})
    print(duration(time.monotonic() - began))
    notebook.cells.pop()
    check_figures(pictures(notebook))
    arguments.out.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, arguments.out / arguments.notebook.name)


if __name__ == "__main__":
    main()

"""The pictures as PNG files on white, for the README and other pages that cannot hold the report."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ropes import files, results
from ropes.report import artefacts, figures, pictures
from ropes.report.artefacts import Evaluation


def write_figures(folder: Path, out: Path) -> tuple[Path, ...]:
    """Write the scatter plots and reconstructions of every setup and method as PNG files.

    Args:
        folder: as for `ropes.report.html.write_report`.
        out: folder for NAME-PRESET-SETUP-METHOD-scatter.png and NAME-PRESET-SETUP-METHOD-reconstructions.png.

    Returns:
        The files written; without the arrays there are none.

    Raises:
        UserError: results.json is missing or wrong, or an artefact is damaged.
    """
    found = results.read(folder / "results.json")
    written = []
    for artefact in artefacts.load(folder):
        for kind, content in _stills(artefact.evaluation) if artefact.evaluation else ():
            path = out / f"{found.name}-{found.preset}-{artefact.setup}-{artefact.method}-{kind}.png"
            with files.atomic_path(path) as temporary:
                temporary.write_bytes(content)
            written.append(path)
    return tuple(written)


def publish(folder: Path, out: Path) -> tuple[Path, ...]:
    """Copy an experiment's results.json to `out`/NAME-PRESET.json, and write its figures beside it.

    Raises:
        UserError: as `write_figures`.
    """
    found = results.read(folder / "results.json")
    table = out / f"{found.name}-{found.preset}.json"
    results.write(table, found)
    return table, *write_figures(folder, out)


def _stills(evaluation: Evaluation) -> Iterator[tuple[str, bytes]]:
    if evaluation.scatter:
        yield "scatter", figures.to_png(figures.scatter(evaluation.joints, evaluation.scatter))
    rows = [images for group in (evaluation.reconstructions, evaluation.occluded) if group for images in group.values()]
    if rows:
        # A row a stage in the order of the report; the cameras' strips side by side.
        strips = [pictures.strip(np.concatenate(images.swapaxes(0, 1))) for images in rows]
        yield "reconstructions", pictures.png(pictures.stack(strips))

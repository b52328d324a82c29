"""Reads image data sets of the causal chambers, such as `lt_crl_benchmark_v1`.

A data set is a folder with a folder NAME of each experiment.  That has the table NAME.csv, whose column image_file
names the images, and a folder of images of each size: images_64.  Experiments PREFIX_obs (or PREFIX_reference),
PREFIX_red, PREFIX_green and so on are one experiment here, PREFIX: without intervention, and with one on each factor.

Source: Gamella et al. 2025, *Sanity Checking Causal Representation Learning on a Simple Real-World System*, and the
data set's description.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from ropes.causal.scm import Regime
from ropes.data.factor_table import Columns, FactorImages, read_factor_table
from ropes.errors import UserError

#: The factors of the light tunnel's images: levels of the light (0 to 255), angles of the polarisers (degrees).
FACTORS = ("red", "green", "blue", "pol_1", "pol_2")
IMAGE_COLUMN = "image_file"
#: Names of the regime without intervention.
_OBSERVATIONAL = ("obs", "reference")


def holds_chambers(path: Path) -> bool:
    """Whether a folder has an experiment of the chambers with images."""
    return path.is_dir() and any(_tables(path))


def experiments(path: Path, factors: tuple[str, ...] = FACTORS) -> dict[str, dict[Regime, Path]]:
    """Experiment → regime → table, by name.

    Args:
        path: of the data set.
        factors: on which there may be interventions.
    """
    found: dict[str, dict[Regime, Path]] = defaultdict(dict)
    targets = "|".join(map(re.escape, sorted((*_OBSERVATIONAL, *factors), key=len, reverse=True)))
    for table in _tables(path):
        parts = re.fullmatch(rf"(.+?)_({targets})(_.+)?", table.stem)
        target = parts[2] if parts else _OBSERVATIONAL[0]
        name = f"{parts[1]}{parts[3] or ''}" if parts else table.stem
        found[name][Regime() if target in _OBSERVATIONAL else Regime(target, 1)] = table
    return dict(found)


def read_chambers(path: Path, experiment: str | None, columns: Columns) -> FactorImages:
    """Read an experiment with all its regimes; images themselves are not opened.

    Args:
        path: of the data set.
        experiment: one of `experiments`; the only one if None.
        columns: those of a table; factors and images are the light tunnel's, and the folder is the only one of
            images, where they are not given.

    Raises:
        UserError: no such experiment, several folders of images, or as `read_factor_table`.
    """
    factors = columns.factors or FACTORS
    found = experiments(path, factors)
    if experiment is None and len(found) > 1:
        raise UserError(f"{path} has experiments {', '.join(found)}; choose one by --experiment")
    experiment = experiment or next(iter(found))
    if experiment not in found:
        raise UserError(f"{path} has no experiment {experiment!r}; it has {', '.join(found)}")
    parts: dict[Regime, FactorImages] = {}
    for regime, table in found[experiment].items():
        folder = columns.folder if columns.folder != Path() else Path(_only_folder(table.parent))
        of_table = replace(columns, factors=factors, image=columns.image or IMAGE_COLUMN, folder=folder)
        parts[regime] = read_factor_table(table, of_table)
    return _joined(path, experiment, factors, parts)


def _joined(
    path: Path, experiment: str, factors: tuple[str, ...], parts: Mapping[Regime, FactorImages]
) -> FactorImages:
    """The images of all regimes of an experiment, one regime after the other."""
    record = {"name": path.name, "format": "chambers", "experiment": experiment}
    return FactorImages(
        names=factors,
        factors=np.concatenate([part.factors for part in parts.values()]),
        images=tuple(image for part in parts.values() for image in part.images),
        regimes=tuple(regime for regime, part in parts.items() for _ in range(len(part))),
        record={**record, "tables": [dict(part.record) for part in parts.values()]},
    )


def _tables(path: Path) -> list[Path]:
    """The tables of a data set's experiments, by name."""
    tables = [folder / f"{folder.name}.csv" for folder in sorted(path.iterdir()) if folder.is_dir()]
    return [table for table in tables if table.is_file() and _image_folders(table.parent)]


def _image_folders(experiment: Path) -> list[str]:
    return sorted(folder.name for folder in experiment.glob("images_*") if folder.is_dir())


def _only_folder(experiment: Path) -> str:
    folders = _image_folders(experiment)
    if len(folders) > 1:
        raise UserError(f"{experiment} has images {', '.join(folders)}; choose one by --image-folder")
    return folders[0]

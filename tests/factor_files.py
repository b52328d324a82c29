"""A table of drawn images with their factors, as CausalVerse's export has it: images beside the table, render_path."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from ropes.common.arrays import Floats
from tests import tiny

NAME = "BLOBS"


def write(root: Path, angles: Floats, columns: Mapping[str, Sequence[object]] | None = None) -> Path:
    """Write root/BLOBS/BLOBS.csv and its images, which show the angles (n, 2); `columns` are further ones."""
    folder = root / NAME
    folder.mkdir(parents=True)
    names = [f"{row:06d}.png" for row in range(len(angles))]
    for name, image in zip(names, tiny.draw(angles)[:, 0], strict=True):
        Image.fromarray(image).save(folder / name)
    given: dict[str, Sequence[object]] = dict(zip(tiny.JOINTS, angles.T.tolist(), strict=True))
    given |= {"view": [1] * len(angles), "material": ["oak"] * len(angles)}
    given |= columns or {}
    given["render_path"] = [f"{NAME}/{name}" for name in names]
    with (folder / f"{NAME}.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(given)
        writer.writerows(zip(*given.values(), strict=True))
    return folder / f"{NAME}.csv"


def poses(count: int) -> Floats:
    """Angles (count, 2) without intervention."""
    return tiny.model().sample_observational(np.random.default_rng(0), count)

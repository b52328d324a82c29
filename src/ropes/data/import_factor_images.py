"""Converts images with factors, of a table or of the causal chambers, into a data set."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ropes.causal.scm import Regime
from ropes.common import files
from ropes.common.arrays import Floats, Images, Ints
from ropes.common.seeds import generator
from ropes.data import build as building
from ropes.data import schema
from ropes.data.dataset import Dataset
from ropes.data.factor_table import FactorImages, require_regimes
from ropes.data.interventions import single_interventions
from ropes.data.recordings.dataset_writer import BYTES_PER_SHARD, encoded
from ropes.data.recordings.policies import ordered
from ropes.data.recordings.source import read_picture, require_one_size
from ropes.data.recordings.views import View
from ropes.data.writer import SplitPlan
from ropes.errors import UserError

#: Name of the only camera.
CAMERA = "front"
#: Share of the images without intervention that are tested on where none is given.
TEST_SHARE = 0.2


@dataclass(frozen=True, kw_only=True)
class ImportedFactors:
    """What was imported; `str` describes it in one line."""

    dataset: Dataset

    def __str__(self) -> str:
        dataset = self.dataset
        counts = ", ".join(f"{split} {len(dataset.frames(split)):,}" for split in dataset.splits)
        height, width, *_ = dataset.image_shape
        known = "no policies: fit with --method beta-vae, cnn or jointnet"
        if dataset.joints:
            several = "one intervention a factor" if single_interventions(dataset.regimes) else "policies"
            known = f"{several} on {', '.join(dataset.joints)}: fit with --method ldr, ropes, beta-vae, cnn or jointnet"
        factors = f"factors {', '.join(dataset.state_names or ())}"
        return "; ".join((f"images: {counts}", factors, f"camera {CAMERA} {width}x{height}", known))


def import_factor_images(
    source: FactorImages,
    *,
    out: Path,
    view: View | None = None,
    test_share: float = TEST_SHARE,
    seed: int = 0,
    progress: bool = True,
) -> ImportedFactors:
    """Make a data set of images with factors, or resume an interrupted import.

    Each image is an episode.  The split test-id is drawn among the images without intervention; where every image has
    an intervention, there is none.  Images are not registered to a background: factors may change light or view.

    Args:
        source: the images and their factors.
        out: folder of the data set.
        view: what happens to images; they stay as they are if None.
        test_share: share of the images without intervention.
        seed: of the draw.
        progress: show progress.

    Raises:
        UserError: the share is not between 0 and 1 or leaves no image to train on, regimes do not suit each other (see
            `require_regimes`), images are damaged or of several sizes or kinds, or `out` holds something else.  Nothing
            is left in `out` then.
    """
    if not 0 <= test_share <= 1:
        raise UserError(f"--test-share is {test_share:g}; it must be from 0 to 1")
    where, view = str(source.record["name"]), view or View()
    require_regimes(source.regimes, source.names, where)
    files.require_free(out, schema.PROVENANCE)
    size = require_one_size(source.images)
    shape = _stored(source, view, 0).shape
    regimes = ordered((regime.name for regime in source.regimes), source.names)
    rows = _splits(source, test_share, seed, where)
    request = {
        **building.versions(),
        "source": dict(source.record),
        "import": {
            "factors": list(source.names),
            "test_share": test_share,
            "seed": seed,
            **_regimes_record(source.regimes),
        },
        "setting": {"backgrounds": None},
        "cameras": [{"name": CAMERA, "view": view.to_dict(), "source_size": list(size)}],
    }

    def states() -> Mapping[str, Floats]:
        return {split: np.column_stack([source.factors[chosen], chosen]) for split, chosen in rows.items()}

    def images(values: Floats) -> Iterator[list[bytes]]:
        yield from encoded((_like(source, view, int(row), shape),) for row in values[:, -1])

    with building.nothing_left(out):
        dataset = building.build(
            out,
            request,
            features=schema.features((CAMERA,), shape, source.names),
            plans=[plan for split, chosen in rows.items() for plan in _plans(source, split, chosen, regimes)],
            states=states,
            render=images,
            regimes=regimes,
            robot_type=None,
            progress=progress,
            work="importing, images",
            images_per_shard=max(1, BYTES_PER_SHARD // int(np.prod(shape))),
        )
    return ImportedFactors(dataset=dataset)


def _regimes_record(regimes: Sequence[Regime]) -> dict[str, str]:
    """The entry of a request with the SHA-256 of the regimes of all images; none where no image has an intervention."""
    if set(regimes) <= {Regime()}:
        return {}
    names = json.dumps([regime.name for regime in regimes])
    return {"regimes_sha256": hashlib.sha256(names.encode()).hexdigest()}


def _splits(source: FactorImages, test_share: float, seed: int, where: str) -> dict[str, Ints]:
    """Split → rows in their order; a split without rows is left out."""
    free = np.flatnonzero([regime == Regime() for regime in source.regimes])
    test = np.sort(generator(seed, "test images").permutation(free)[: round(test_share * len(free))])
    train = np.setdiff1d(np.arange(len(source)), test)
    if len(free) == len(test) and len(free) and len(train):
        raise UserError(f"{where}: --test-share {test_share:g} leaves no training image without intervention; lower it")
    return {split: rows for split, rows in (("train", train), ("test-id", test)) if len(rows)}


def _plans(source: FactorImages, split: str, rows: Ints, regimes: tuple[Regime, ...]) -> Iterator[SplitPlan]:
    """One plan for each run of images under one regime."""
    for task, run in itertools.groupby(regimes.index(source.regimes[row]) for row in rows):
        yield SplitPlan(name=split, episodes=len(list(run)), tasks=(task,))


def _stored(source: FactorImages, view: View, row: int) -> Images:
    """An image as it is stored."""
    path = source.images[row]
    image = read_picture(path, str(path), f"{path} is no image that can be read", opaque=True)
    if row == 0:
        view.require_inside(CAMERA, image)
    return view.apply(image)


def _like(source: FactorImages, view: View, row: int, shape: tuple[int, ...]) -> Images:
    """An image as it is stored, which must have the shape of the first one."""
    image = _stored(source, view, row)
    if image.shape != shape:
        first, this = ("in colour", "grey") if len(shape) == 3 else ("grey", "in colour")
        raise UserError(
            f"{source.images[row]} is {this}, and {source.images[0].name} {first}; make all alike, or give --grey"
        )
    return image

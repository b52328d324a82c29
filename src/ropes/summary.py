"""Rows that differ only in the training seed become one cell: mean, spread, and the paper beside it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ropes import paper
from ropes.results import Row


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One condition over all its training seeds.

    Attributes:
        setup, method, split, occlusion, joint, labels, calibration_labels, paper_mcc, paper_mse, anchors,
            image_size, erased, label_share: as in `Row`.
        seeds: the training seeds, sorted.
        mcc: mean over the seeds of `mcc_mean`, or None.
        mcc_std: root of (mean variance over repeats + variance over seeds): both sources of spread.
        mse: as `mcc`, rad².
        mse_std: as `mcc_std`, rad².
    """

    setup: str
    method: str
    split: str
    occlusion: int
    joint: str
    labels: int
    calibration_labels: int
    seeds: tuple[int, ...]
    mcc: float | None
    mcc_std: float | None
    mse: float | None
    mse_std: float | None
    paper_mcc: float | None
    paper_mse: float | None
    anchors: int | None = None
    image_size: int | None = None
    erased: float | None = None
    label_share: float | None = None

    @property
    def mcc_reached(self) -> bool | None:
        """Whether our MCC, rounded as the paper prints it, is at least the paper's; None without both."""
        if self.mcc is None or self.paper_mcc is None:
            return None
        return round(self.mcc, 3) >= self.paper_mcc

    @property
    def all_labels_mse(self) -> float | None:
        """What the paper's baseline reaches with every label under these conditions, rad²; None where it has none."""
        return paper.all_labels_mse(setup=self.setup, joint=self.joint, split=self.split, occlusion=self.occlusion)

    @property
    def mse_reached(self) -> bool | None:
        """Whether our MSE, rounded as the paper prints it, is at most the paper's; None without both."""
        if self.mse is None or self.paper_mse is None:
            return None
        return reaches(self.mse, self.paper_mse)


def reaches(mse: float, bar: float) -> bool:
    """Whether an error, rounded as the paper prints it, is at most one of the paper's."""
    return round(mse, 3) <= bar


def over_seeds(rows: Iterable[Row]) -> tuple[Cell, ...]:
    """Gather the rows that differ in nothing but the training seed, in order of first appearance."""
    groups: dict[object, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.conditions, []).append(row)
    cells = []
    for group in groups.values():
        first = group[0]
        mcc, mcc_std = pool([(row.mcc_mean, row.mcc_std) for row in group])
        mse, mse_std = pool([(row.mse_mean, row.mse_std) for row in group])
        cells.append(
            Cell(
                setup=first.setup,
                method=first.method,
                split=first.split,
                occlusion=first.occlusion,
                joint=first.joint,
                labels=first.labels,
                calibration_labels=first.calibration_labels,
                seeds=tuple(sorted(row.seed for row in group)),
                mcc=mcc,
                mcc_std=mcc_std,
                mse=mse,
                mse_std=mse_std,
                paper_mcc=first.paper_mcc,
                paper_mse=first.paper_mse,
                anchors=first.anchors,
                image_size=first.image_size,
                erased=first.erased,
                label_share=first.label_share,
            )
        )
    return tuple(cells)


def calibrated_as_the_paper(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells whose lines were fitted on as many labels as the paper's, and those without lines, in their order."""
    return tuple(
        cell for cell in cells if cell.calibration_labels == paper.CALIBRATION_LABELS or cell.label_share is not None
    )


def pool(figures: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """Mean and total deviation (law of total variance) of (mean, deviation) pairs; None if any is."""
    means = [mean for mean, _ in figures if mean is not None]
    if len(means) < len(figures):
        return None, None
    centre = math.fsum(means) / len(means)
    between = math.fsum((mean - centre) ** 2 for mean in means) / len(means)
    within = math.fsum((std or 0.0) ** 2 for _, std in figures) / len(figures)
    return centre, math.sqrt(within + between)


def least_labelled(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Of each method without labels, under each condition, one cell: by the map that takes no label, or else the line.

    The map counts only where every training seed has one: those that went well say nothing of the others.
    """
    found: dict[tuple[str, str, str, int, str], Cell] = {}
    for cell in sorted(cells, key=lambda cell: -cell.calibration_labels):
        if cell.label_share is not None or cell.calibration_labels not in (0, paper.CALIBRATION_LABELS):
            continue
        condition = cell.setup, cell.method, cell.split, cell.occlusion, cell.joint
        if condition not in found or len(cell.seeds) >= len(found[condition].seeds):
            found[condition] = cell
    return tuple(found.values())

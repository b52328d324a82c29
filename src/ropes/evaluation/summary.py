"""Averages rows over training seeds: mean, spread, and the paper's number."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ropes.evaluation import paper
from ropes.evaluation.rows.joint import Row

#: What fits may differ in besides the seed, and its unit.
_LEARNT_FROM = {"anchors": "anchors", "image_size": "px", "erased": "erased", "label_share": "of the labels"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One condition over all its training seeds; fields that are not named here are as in `Row`.

    Attributes:
        method: as in `Row`; METHOD@VARIANT where fits of one name differ in what they learnt from.
        seeds: the training seeds, sorted.
        mcc: mean over the seeds of `mcc_mean`, or None.
        mcc_std: root of (mean variance over repeats + variance over seeds): both sources of spread.
        mse: as `mcc`, rad².
        mse_std: as `mcc_std`, rad².
        mse_draws: the part of `mse_std` over repeats, rad².
        mse_seeds: sample standard deviation over seeds, rad²; None with one seed.
        mcc_matched: as `mcc`, of the best one-to-one assignment of coordinates to joints.
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
    mse_draws: float | None = None
    mse_seeds: float | None = None
    mcc_matched: float | None = None

    @property
    def mcc_reached(self) -> bool | None:
        """Whether our MCC, rounded as the paper prints it, is at least the paper's; None without both."""
        if self.mcc is None or self.paper_mcc is None:
            return None
        return round(self.mcc, 3) >= self.paper_mcc

    @property
    def variance(self) -> float | None:
        """Of the true angles, rad², as a line leaves it: MSE / (1 − MCC²); None where there was no line."""
        return _variance(self.mcc, self.mse) if self.calibration_labels else None

    @property
    def paper_variance(self) -> float | None:
        """Likewise of the paper's test poses."""
        return _variance(self.paper_mcc, self.paper_mse)

    @property
    def all_labels_mse(self) -> float | None:
        """What the paper's baseline reaches with every label under these conditions, rad²; None where it has none."""
        return paper.all_labels_mse(setup=self.setup, joint=self.joint, split=self.split, occlusion=self.occlusion)

    @property
    def mse_reached(self) -> bool | None:
        """Whether our MSE, rounded as the paper prints it, is at most the paper's; None where they do not compare."""
        if self.mse is None or self.paper_mse is None or not paper.mse_comparable(self.setup, self.split):
            return None
        return reaches(self.mse, self.paper_mse)


def _variance(mcc: float | None, mse: float | None) -> float | None:
    return None if mcc is None or mse is None or mcc >= 1 else mse / (1 - mcc**2)


def reaches(mse: float, bar: float) -> bool:
    """Whether an error, rounded as the paper prints it, is at most one of the paper's."""
    return round(mse, 3) <= bar


def over_seeds(rows: Iterable[Row]) -> tuple[Cell, ...]:
    """Gather the rows that differ in nothing but the training seed, in order of first appearance."""
    groups: dict[object, list[Row]] = {}
    for row in _distinct_fits(list(rows)):
        groups.setdefault(row.conditions, []).append(row)
    cells = []
    for group in groups.values():
        first = group[0]
        mcc, mcc_std = pool([(row.mcc_mean, row.mcc_std) for row in group])
        errors = [(row.mse_mean, row.mse_std) for row in group]
        mse, mse_std = pool(errors)
        mse_draws, between = parts(errors)
        mse_seeds = None if between is None else between * math.sqrt(len(group) / (len(group) - 1))
        matched, _ = pool([(row.mcc_matched, None) for row in group])
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
                mse_draws=mse_draws,
                mse_seeds=mse_seeds,
                mcc_matched=matched,
            )
        )
    return tuple(cells)


def _distinct_fits(rows: Sequence[Row]) -> list[Row]:
    """The rows, with their fits named METHOD@VARIANT where fits of one name differ in what they learnt from."""
    values: dict[tuple[str, str, str], set[float | None]] = {}
    for row in rows:
        for name in _LEARNT_FROM:
            values.setdefault((row.setup, row.method, name), set()).add(getattr(row, name))
    named = []
    for row in rows:
        differing = [name for name in _LEARNT_FROM if len(values[row.setup, row.method, name]) > 1]
        own = [(getattr(row, name), unit) for name, unit in _LEARNT_FROM.items() if name in differing]
        told = ", ".join(f"{'unknown' if value is None else value} {unit}" for value, unit in own)
        joined = ", " if "@" in row.method else "@"
        named.append(replace(row, method=f"{row.method}{joined}{told}") if told else row)
    return named


def calibrated_as_the_paper(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells whose lines were fitted on as many labels as the paper's, and those without lines, in their order."""
    return tuple(
        cell for cell in cells if cell.calibration_labels == paper.CALIBRATION_LABELS or cell.label_share is not None
    )


def without_labels(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """The cells by the map that takes no label, in their order, beside the paper's figures for the same condition.

    A cell counts only where every training seed has such a map: those that went well say nothing of the others.
    """
    cells = list(cells)
    fitted = {_condition(cell): cell for cell in calibrated_as_the_paper(cells)}
    found = []
    for cell in cells:
        if cell.label_share is not None or cell.calibration_labels:
            continue
        beside = fitted.get(_condition(cell), cell)
        if len(cell.seeds) >= len(beside.seeds):
            found.append(replace(cell, paper_mcc=beside.paper_mcc, paper_mse=beside.paper_mse))
    return tuple(found)


def _condition(cell: Cell) -> tuple[str, str, str, int, str]:
    """What was read, of what and by what, whatever took its coordinates to radians."""
    return cell.setup, cell.method, cell.split, cell.occlusion, cell.joint


def pool(figures: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """Mean and total deviation (law of total variance) of (mean, deviation) pairs; None if any is."""
    within, between = parts(figures)
    if within is None:
        return None, None
    return math.fsum(mean or 0.0 for mean, _ in figures) / len(figures), math.hypot(within, between or 0.0)


def parts(figures: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """Deviation within and between (mean, deviation) pairs; None if a mean is, and between where there is one pair."""
    means = [mean for mean, _ in figures if mean is not None]
    if len(means) < len(figures):
        return None, None
    centre = math.fsum(means) / len(means)
    between = math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / len(means))
    within = math.sqrt(math.fsum((std or 0.0) ** 2 for _, std in figures) / len(figures))
    return within, between if len(means) > 1 else None


def least_labelled(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    """Of each method without labels, under each condition, one cell: by the map that takes no label, or else the line.

    The map counts only where every training seed has one: those that went well say nothing of the others.
    """
    found: dict[tuple[str, str, str, int, str], Cell] = {}
    for cell in sorted(cells, key=lambda cell: -cell.calibration_labels):
        if cell.label_share is not None or cell.calibration_labels not in (0, paper.CALIBRATION_LABELS):
            continue
        condition = _condition(cell)
        if condition not in found or len(cell.seeds) >= len(found[condition].seeds):
            found[condition] = cell
    return tuple(found.values())

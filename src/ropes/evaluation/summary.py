"""Averages rows over training seeds, beside the paper's numbers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ropes.evaluation import paper
from ropes.evaluation.rows.joint import JointConditions, Row

#: Conditions of training that may differ between fits of one method, and their units.
_VARIANTS = {"anchors": "anchors", "image_size": "px", "erased": "erased", "label_share": "of the labels"}
_Condition = tuple[str, str, str, int, str]


@dataclass(frozen=True, kw_only=True)
class JointErrors(JointConditions):
    """Joint errors under one condition, averaged over the training seeds.

    Attributes:
        method: as in `Row`; METHOD@VARIANT if fits of one method differ in their conditions of training.
        seeds: training seeds, sorted.
        mcc: mean over the seeds of `mcc_mean`, or None.
        mcc_draws: standard deviation over repeats, the root of its mean square over the seeds.
        mcc_seeds: sample standard deviation over seeds; None with one seed.
        mse, mse_draws, mse_seeds: the same three figures for the squared error, rad².
        mcc_std, mse_std: root of (mean variance over repeats + variance over seeds).
        mcc_matched: as `mcc`, after the best one-to-one assignment of coordinates to joints.
        r2: mean over the seeds of `r2_mean`, R² of the calibrated angles; None if not recorded.
    """

    seeds: tuple[int, ...]
    mcc: float | None
    mcc_std: float | None
    mse: float | None
    mse_std: float | None
    mcc_draws: float | None = None
    mcc_seeds: float | None = None
    mse_draws: float | None = None
    mse_seeds: float | None = None
    mcc_matched: float | None = None
    r2: float | None = None

    @property
    def mcc_reached(self) -> bool | None:
        """Whether the MCC, rounded to the paper's digits, is at least the paper's; None if either is missing."""
        if self.mcc is None or self.paper_mcc is None:
            return None
        return round(self.mcc, 3) >= self.paper_mcc

    @property
    def variance(self) -> float | None:
        """Variance of the true angles, rad², from linear calibration: MSE / (1 − MCC²); None without a calibration."""
        return _variance(self.mcc, self.mse) if self.calibration_labels else None

    @property
    def paper_variance(self) -> float | None:
        """Variance of the angles of the paper's test poses, rad²."""
        return _variance(self.paper_mcc, self.paper_mse)

    @property
    def all_labels_mse(self) -> float | None:
        """MSE of RoboPEPP with all labels under these conditions, rad².

        None if not published, or where the paper's own counterpart is missing because the images are not comparable.
        """
        if self.paper_mse is None and (self.label_share is None or self.label_share in paper.LABELLED_IMAGES):
            return None
        return paper.all_labels_mse(setup=self.setup, joint=self.joint, split=self.split, occlusion=self.occlusion)

    @property
    def mse_reached(self) -> bool | None:
        """Whether the MSE, rounded to the paper's digits, is at most the paper's; None if they are not comparable."""
        if self.mse is None or self.paper_mse is None or not paper.mse_comparable(self.setup, self.split):
            return None
        return reaches(self.mse, self.paper_mse)


def rendered_alike(cells: Iterable[JointConditions]) -> bool:
    """Whether all test images come from one renderer and have one level of the cameras' faults."""
    return len({(cell.renderer, cell.camera) for cell in cells}) < 2


def _variance(mcc: float | None, mse: float | None) -> float | None:
    return None if mcc is None or mse is None or mcc >= 1 else mse / (1 - mcc**2)


def reaches(mse: float, bar: float) -> bool:
    """Whether an MSE, rounded to the paper's digits, is at most a published one."""
    return round(mse, 3) <= bar


def over_seeds(rows: Iterable[Row]) -> tuple[JointErrors, ...]:
    """Average the rows that differ in the training seed only, in order of first appearance."""
    groups: dict[object, list[Row]] = {}
    for row in _with_variants(list(rows)):
        groups.setdefault(row.conditions, []).append(row)
    cells = []
    for group in groups.values():
        pooled: dict[str, Any] = {}
        for name in ("mcc", "mse"):
            figures = [(getattr(row, f"{name}_mean"), getattr(row, f"{name}_std")) for row in group]
            pooled[name], pooled[f"{name}_std"] = pool(figures)
            pooled[f"{name}_draws"], pooled[f"{name}_seeds"] = spreads(figures)
        cells.append(
            JointErrors(
                **{field.name: getattr(group[0], field.name) for field in fields(JointConditions)},
                **pooled,
                seeds=tuple(sorted(row.seed for row in group)),
                mcc_matched=pool([(row.mcc_matched, None) for row in group])[0],
                r2=pool([(row.r2_mean, None) for row in group])[0],
            )
        )
    return tuple(cells)


def _with_variants(rows: Sequence[Row]) -> list[Row]:
    """The rows, with METHOD@VARIANT as the method if fits of one method differ in their conditions of training."""
    values: dict[tuple[str, str, str], set[float | None]] = {}
    for row in rows:
        for name in _VARIANTS:
            values.setdefault((row.setup, row.method, name), set()).add(getattr(row, name))
    renamed = []
    for row in rows:
        differing = [name for name in _VARIANTS if len(values[row.setup, row.method, name]) > 1]
        own = [(getattr(row, name), _VARIANTS[name]) for name in differing]
        variant = ", ".join(f"{'unknown' if value is None else value} {unit}" for value, unit in own)
        joined = ", " if "@" in row.method else "@"
        renamed.append(replace(row, method=f"{row.method}{joined}{variant}") if variant else row)
    return renamed


def calibrated_as_the_paper(cells: Iterable[JointErrors]) -> tuple[JointErrors, ...]:
    """The cells calibrated on as many labels as the paper's, and those of supervised methods, in their order."""
    return tuple(
        cell for cell in cells if cell.calibration_labels == paper.CALIBRATION_LABELS or cell.label_share is not None
    )


def calibrated_on_most(cells: Iterable[JointErrors]) -> tuple[JointErrors, ...]:
    """The cells of `calibrated_as_the_paper`; if there are none, those calibrated on the most labels."""
    cells = tuple(cells)
    most = max((cell.calibration_labels for cell in cells), default=0)
    return calibrated_as_the_paper(cells) or tuple(cell for cell in cells if 0 < cell.calibration_labels == most)


def without_labels(cells: Iterable[JointErrors]) -> tuple[JointErrors, ...]:
    """The cells of label-free calibration, in their order, beside the paper's figures for the same condition.

    A condition is left out if label-free calibration failed for some training seed: the other seeds alone are biased.
    """
    cells = list(cells)
    calibrated = {_condition(cell): cell for cell in calibrated_as_the_paper(cells)}
    label_free = []
    for cell in cells:
        if cell.label_share is not None or cell.calibration_labels:
            continue
        beside = calibrated.get(_condition(cell), cell)
        if len(cell.seeds) >= len(beside.seeds):
            label_free.append(replace(cell, paper_mcc=beside.paper_mcc, paper_mse=beside.paper_mse))
    return tuple(label_free)


def _condition(cell: JointErrors) -> _Condition:
    """The conditions of a cell, except its calibration."""
    return cell.setup, cell.method, cell.split, cell.occlusion, cell.joint


def pool(figures: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """Mean and total standard deviation (law of total variance) of (mean, std) pairs; None if a mean is None."""
    within, between = parts(figures)
    if within is None:
        return None, None
    return math.fsum(mean or 0.0 for mean, _ in figures) / len(figures), math.hypot(within, between or 0.0)


def spreads(figures: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """Standard deviations over repeats and over seeds (sample form) of (mean, std) pairs, as `parts`."""
    within, between = parts(figures)
    return within, None if between is None else between * math.sqrt(len(figures) / (len(figures) - 1))


def parts(figures: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """Standard deviations within and between (mean, std) pairs; None if a mean is, and between for a single pair."""
    means = [mean for mean, _ in figures if mean is not None]
    if len(means) < len(figures):
        return None, None
    centre = math.fsum(means) / len(means)
    between = math.sqrt(math.fsum((mean - centre) ** 2 for mean in means) / len(means))
    within = math.sqrt(math.fsum((std or 0.0) ** 2 for _, std in figures) / len(figures))
    return within, between if len(means) > 1 else None


def least_labelled(cells: Iterable[JointErrors]) -> tuple[JointErrors, ...]:
    """For each label-free method and condition one cell: of label-free calibration, or else of the paper's.

    Label-free calibration counts only if it succeeded for every training seed: the other seeds alone are biased.
    """
    chosen: dict[_Condition, JointErrors] = {}
    for cell in sorted(cells, key=lambda cell: -cell.calibration_labels):
        if cell.label_share is not None or cell.calibration_labels not in (0, paper.CALIBRATION_LABELS):
            continue
        condition = _condition(cell)
        if condition not in chosen or len(cell.seeds) >= len(chosen[condition].seeds):
            chosen[condition] = cell
    return tuple(chosen.values())

"""`ropes inspect`: samples images, measures each joint, gives a verdict."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import CausalModel, Regime
from ropes.data.dataset import Dataset, Frames
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.inspection import overlap
from ropes.evaluation.inspection.contrast import Contrast, contrast, features
from ropes.evaluation.inspection.motion import motion
from ropes.evaluation.inspection.overlap import Overlap
from ropes.evaluation.inspection.sample import Sample, draw_sample
from ropes.evaluation.inspection.verdict import JointReport, advice, faults, ranked, verdict, weaknesses
from ropes.methods.image_size import size_fault, size_options
from ropes.methods.policies import described_model
from ropes.methods.registry import recipe_of
from ropes.models.shapes import EncoderConfig

_DRAWN = 20_000


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What `inspect_data` found.

    Attributes:
        path: the data set's folder.
        cameras: names.
        size: height and width of the images.
        counts: training images (poses) of each regime.
        anchors: how many there are in the training split.
        complete: share of them with exactly one pose under every regime.
        joints: a report each, in the order of the data set.
        fit_options: what `ropes fit` needs to take images of this size; "" for nothing.
        verdict: whether it can work, in one line.
        advice: what would help, a line each.
        examples: one pose of each regime that has any, uint8 (V, H, W).
    """

    path: Path
    cameras: tuple[str, ...]
    size: tuple[int, int]
    counts: dict[Regime, int]
    anchors: int
    complete: float
    joints: tuple[JointReport, ...]
    fit_options: str
    verdict: str
    advice: tuple[str, ...]
    examples: dict[Regime, NDArray[np.uint8]]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description; what could not be measured is null."""
        return {
            "data": self.path.resolve().name,
            "verdict": self.verdict,
            "advice": list(self.advice),
            "cameras": list(self.cameras),
            "image_size": list(self.size),
            "fit_options": self.fit_options,
            "anchors": self.anchors,
            "complete_anchors": self.complete,
            "images": {regime.name: count for regime, count in self.counts.items()},
            "weakest_first": [report.joint for report in ranked(self.joints)],
            "joints": {report.joint: _joint(report, self.cameras) for report in self.joints},
        }


def _joint(report: JointReport, cameras: tuple[str, ...]) -> dict[str, Any]:
    moved, told, shared = report.motion, report.contrast, report.overlap
    return {
        "images": list(report.images),
        "anchors": list(report.anchors),
        "moved_pixels": moved and {name: float(part) for name, part in zip(cameras, moved.share, strict=True)},
        "compared_with_anchor": moved and moved.paired,
        "contrast_nats": told and told.nats,
        "contrast_uncertainty": told and told.uncertainty,
        "bayes_floor_nats": shared and shared.floor,
        "share_found": report.found,
        "policies_overlap": shared and shared.policies,
        "observational_overlap": shared and shared.observational,
        "overlap_from": shared and shared.source,
        "faults": list(report.faults),
        "weaknesses": list(report.weaknesses),
    }


def inspect_data(data: Path, *, seed: int = 0, show: bool = True) -> Inspection:
    """Look at a data set before training on it: some seconds, whatever its size; 400 poses a regime are read.

    Args:
        data: folder of the data set; needs neither angles nor described distributions, and uses both where they are.
        seed: of the sample.
        show: show progress.

    Raises:
        UserError: no data set, no training split, no interventions, or a file that is damaged.
    """
    dataset = open_dataset(data)
    if not dataset.joints:
        raise UserError(f"{dataset.path} has no interventions; without them no joint can be learnt")
    frames = dataset.frames("train")
    sample = draw_sample(dataset, seed=seed, show=show)
    values, model, states = features(sample.images), described_model(dataset), _states(dataset)
    joints = tuple(
        _report(dataset, frames, sample, values, joint, _angle_overlap(dataset, frames, joint, model, states))
        for joint in dataset.joints
    )
    complete = _complete(frames, len(dataset.regimes))
    shape = recipe_of("anchored" if complete == 1 else "ldr", "compact").shape  # what these data can be fitted with
    assert isinstance(shape, EncoderConfig)
    fault, options = size_fault(dataset.image_size, shape), size_options(dataset.image_size, shape)
    numbers = {regime: sample.rows(k) for k, regime in enumerate(dataset.regimes)}
    return Inspection(
        path=dataset.path,
        cameras=dataset.cameras,
        size=dataset.image_size,
        counts={regime: int((frames.regime == k).sum()) for k, regime in enumerate(dataset.regimes)},
        anchors=len(np.unique(frames.anchor)),
        complete=complete,
        joints=joints,
        fit_options=options,
        verdict=verdict(joints, fault=fault, options=options),
        advice=advice(joints, cameras=len(dataset.cameras), size=dataset.image_size, complete=complete),
        examples={regime: sample.images[rows[0]] for regime, rows in numbers.items() if len(rows)},
    )


def _complete(frames: Frames, regimes: int) -> float:
    anchors, number = np.unique(frames.anchor, return_inverse=True)
    counts = np.zeros((len(anchors), regimes), dtype=np.int64)
    np.add.at(counts, (number, frames.regime), 1)
    return float((counts == 1).all(axis=1).mean())


def _states(dataset: Dataset) -> NDArray[np.float64] | None:
    names = dataset.state_names
    return dataset.states("train") if names is not None and set(dataset.joints) <= set(names) else None


def _angle_overlap(
    dataset: Dataset, frames: Frames, joint: str, model: CausalModel | None, states: NDArray[np.float64] | None
) -> Overlap | None:
    """From recorded angles, or else from described distributions; None where there is neither."""
    regimes = Regime(), Regime(joint, 1), Regime(joint, 2)
    described = model is not None and joint in model.interventions
    floor = model.bayes_floor(joint) if model is not None and described else None
    if states is not None:
        column = states[:, dataset.joints.index(joint)]
        usual, first, second = (
            column[frames.regime == dataset.regimes.index(regime)] if regime in dataset.regimes else column[:0]
            for regime in regimes
        )
        if len(first) and len(second):
            return overlap.of_angles(usual, first, second, "angles", floor)
    if model is not None and described:
        rng = np.random.default_rng(0)
        usual = model.sample_observational(rng, _DRAWN)[:, model.joints.index(joint)]
        first, second = (tn.sample(rng, _DRAWN) for tn in model.interventions[joint])
        return overlap.of_angles(usual, first, second, "distributions", floor)
    return None


def _report(
    dataset: Dataset,
    frames: Frames,
    sample: Sample,
    values: NDArray[np.float64],
    joint: str,
    known: Overlap | None,
) -> JointReport:
    at = [dataset.regimes.index(r) if r in dataset.regimes else None for r in (Regime(joint, 1), Regime(joint, 2))]
    images, anchors = ((count(frames, at[0]), count(frames, at[1])) for count in (_poses, _anchors))
    bare = JointReport(joint=joint, images=images, anchors=anchors, motion=None, contrast=None, overlap=known)
    first, second = at
    if first is not None and second is not None and min(images):
        rest = dataset.regimes.index(Regime()) if Regime() in dataset.regimes else None
        told = contrast(values, sample.rows(first), sample.rows(second), sample.anchor)
        bare = replace(bare, motion=motion(sample, rest, first, second), contrast=told)
        if known is None and told is not None:
            bare = replace(bare, overlap=overlap.of_images(told, _against_rest(sample, values, rest, first, second)))
    return replace(bare, faults=faults(bare), weaknesses=weaknesses(bare))


def _poses(frames: Frames, regime: int | None) -> int:
    return 0 if regime is None else int((frames.regime == regime).sum())


def _anchors(frames: Frames, regime: int | None) -> int:
    return 0 if regime is None else len(np.unique(frames.anchor[frames.regime == regime]))


def _against_rest(
    sample: Sample, values: NDArray[np.float64], rest: int | None, first: int, second: int
) -> Contrast | None:
    """Observational images against as many of both policies."""
    if rest is None:
        return None
    halves = [sample.rows(first)[::2], sample.rows(second)[1::2]]
    return contrast(values, sample.rows(rest), np.concatenate(halves), sample.anchor)

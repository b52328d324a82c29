"""Inspects a data set: samples images, measures each joint, gives a verdict."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.causal.scm import CausalModel, Regime
from ropes.common.arrays import evenly
from ropes.common.files import nan_to_none
from ropes.common.progress import progress
from ropes.common.stores import Location
from ropes.data.chains import has_chains, known_policies
from ropes.data.dataset import Dataset, Frames
from ropes.data.interventions import single_interventions
from ropes.data.layout import open_dataset
from ropes.data.moves import filmed_frames
from ropes.data.own_camera import exchanged
from ropes.data.recorder.recorded import open_unfinished, unmended_faults
from ropes.errors import UserError
from ropes.evaluation.inspection.contrast import Overlap, contrast, features, overlap_of_angles, overlap_of_images
from ropes.evaluation.inspection.motion import motion
from ropes.evaluation.inspection.nuisances import Nuisances, complaints, measure
from ropes.evaluation.inspection.resolution import Resolution, resolution
from ropes.evaluation.inspection.sample import Disturbance, Sample, draw_sample, registered
from ropes.evaluation.inspection.verdict import JointReport, advice, faults, ranked, verdict, weaknesses
from ropes.methods.policies import described_model
from ropes.methods.registry import recipe_of
from ropes.methods.training.image_size import size_fault, size_options, smallest
from ropes.methods.training.registration import has_one_background
from ropes.methods.training.stretches import mixed_in_time
from ropes.models.pushes import FEWEST_FRAMES
from ropes.models.shapes import EncoderConfig

_DRAWN = 20_000


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """The result of `inspect_data`.

    Attributes:
        path: folder of the data set.
        cameras: names of the cameras.
        sizes: height and width of each camera's images.
        counts: training images (poses) of each regime.
        anchors: number of training anchors.
        complete: share of the anchors with exactly one pose per regime.
        chains: whether the anchors are chains of moves.
        frames_per_move: number of frames on the way of each move.
        unfinished: whether it is a recording that is not finished; its whole anchors are inspected.
        unmended: anchors that `ropes record` found faulty twice, a line each.
        joints: reports of the joints, in the order of the data set.
        fit_options: options of `ropes fit` for images of this size; "" for none.
        verdict: whether training can work, in one line.
        resolution: what larger images would show of the least visible joint; None where `ropes fit` cannot use them.
        nuisances: camera → exposure, noise, jitter and the like of its images; empty for fewer than 10 images.
        advice: how to record better data, a line each.
        examples: one pose of each regime with images, of each camera uint8 (H, W), or (H, W, 3) in colour.
    """

    path: Location
    cameras: tuple[str, ...]
    sizes: tuple[tuple[int, int], ...]
    counts: dict[Regime, int]
    anchors: int
    complete: float
    chains: bool
    frames_per_move: int
    unfinished: bool
    unmended: tuple[str, ...]
    joints: tuple[JointReport, ...]
    fit_options: str
    verdict: str
    resolution: Resolution | None
    nuisances: dict[str, Nuisances]
    advice: tuple[str, ...]
    examples: dict[Regime, tuple[NDArray[np.uint8], ...]]

    def to_dict(self) -> dict[str, Any]:
        """A JSON-able description; null for missing measurements."""
        return {
            "data": self.path.resolve().name,
            "verdict": self.verdict,
            "advice": list(self.advice),
            "cameras": list(self.cameras),
            "image_size": list(self.sizes[0]) if len(set(self.sizes)) == 1 else None,
            "image_sizes": {name: list(size) for name, size in zip(self.cameras, self.sizes, strict=True)},
            "fit_options": self.fit_options,
            "resolution": self.resolution and asdict(self.resolution),
            "nuisances": {name: nan_to_none(asdict(found)) for name, found in self.nuisances.items()},
            "anchors": self.anchors,
            "complete_anchors": self.complete,
            "chains": self.chains,
            "frames_per_move": self.frames_per_move,
            "unfinished": self.unfinished,
            "unmended": list(self.unmended),
            "images": {regime.name: count for regime, count in self.counts.items()},
            "weakest_first": [report.joint for report in ranked(self.joints)],
            "joints": {report.joint: _joint(report, self.cameras) for report in self.joints},
        }


def _joint(report: JointReport, cameras: tuple[str, ...]) -> dict[str, Any]:
    """The JSON-able description of one joint."""
    moved, estimate, shared = report.motion, report.contrast, report.overlap
    return {
        "images": list(report.images),
        "anchors": list(report.anchors),
        "moved_pixels": moved and {name: float(part) for name, part in zip(cameras, moved.share, strict=True)},
        "compared_with_anchor": moved and moved.paired,
        "contrast_nats": estimate and estimate.nats,
        "contrast_uncertainty": estimate and estimate.uncertainty,
        "bayes_floor_nats": shared and shared.floor,
        "share_found": report.found,
        "policies_overlap": shared and shared.policies,
        "observational_overlap": shared and shared.observational,
        "overlap_from": shared and shared.source,
        "faults": list(report.faults),
        "weaknesses": list(report.weaknesses),
    }


def inspect_data(data: Location, *, seed: int = 0, show: bool = True) -> Inspection:
    """Inspect a data set before training on it, within seconds: at most 400 poses per regime are read.

    Args:
        data: folder of the data set or of an unfinished recording; angles and described distributions are used, but not
            required.
        seed: seed of the sample.
        show: show progress.

    Raises:
        UserError: no data set, no training split, no interventions or one on each joint, or a damaged file.
    """
    unfinished = open_unfinished(data, progress=show)
    dataset = unfinished or open_dataset(data)
    if not dataset.joints:
        raise UserError(f"{dataset.path} has no interventions; no joint can be learnt without them")
    if single_interventions(dataset.regimes):
        raise UserError(
            f"{dataset.path} has one intervention on each joint, and an inspection compares two; fit with --method ldr "
            "or ropes (docs/tables.md)"
        )
    chains, frames_on_the_way = has_chains(dataset), filmed_frames(dataset)  # checks the chains
    frames = dataset.frames("train")
    sample = draw_sample(dataset, seed=seed, show=show)
    values, model, states = features(sample.images), described_model(dataset), _states(dataset)
    compared = registered(sample, show=show) if has_one_background(dataset) else (sample, None)
    joints = tuple(
        _report(dataset, frames, sample, compared, values, joint, _angle_overlap(dataset, frames, joint, model, states))
        for joint in dataset.joints
    )
    complete = 1.0 if chains else _complete(frames, len(dataset.regimes))
    shape = recipe_of("anchored" if complete == 1 else "ldr", "compact").shape
    assert isinstance(shape, EncoderConfig)
    size = smallest(dataset)
    fault, options = size_fault(size, shape), size_options(size, shape)
    mixed = complete == 1 or mixed_in_time(sample.regime)
    nuisances = _nuisances(sample, dataset.cameras, mixed=mixed, show=show)
    sides = {camera: max(images.shape[1:3]) for camera, images in zip(dataset.cameras, sample.images, strict=True)}
    at_the_setup = [line for camera, found in nuisances.items() for line in complaints(found, camera, sides[camera])]
    at_the_setup += [
        f"camera {camera}: {share:.0%} of the frames show what camera {other} sees; exchange or remove them"
        for camera, (other, share) in exchanged(dict(zip(dataset.cameras, sample.images, strict=True))).items()
    ]
    rows = {regime: sample.rows(k) for k, regime in enumerate(dataset.regimes)}
    numbers = {joint: _numbers(dataset, joint) for joint in dataset.joints}
    return Inspection(
        path=dataset.path,
        cameras=dataset.cameras,
        sizes=tuple((height, width) for height, width, *_ in dataset.image_shapes),
        counts={regime: int((frames.regime == k).sum()) for k, regime in enumerate(dataset.regimes)},
        anchors=len(np.unique(frames.anchor)),
        complete=complete,
        chains=chains,
        frames_per_move=frames_on_the_way,
        unfinished=unfinished is not None,
        unmended=unmended_faults(dataset),
        joints=joints,
        fit_options=options,
        verdict=verdict(joints, fault=fault, options=options),
        resolution=resolution(compared[0], joints, numbers, dataset.cameras, shape, compared[1]),
        nuisances=nuisances,
        advice=(
            *advice(
                joints,
                cameras=len(dataset.cameras),
                size=size,
                complete=complete,
                episodes="chains" if chains else "anchors",
            ),
            *at_the_setup,
        ),
        examples={
            regime: tuple(camera[places[0]] for camera in sample.images)
            for regime, places in rows.items()
            if len(places)
        },
    )


def _nuisances(sample: Sample, cameras: Sequence[str], *, mixed: bool, show: bool) -> dict[str, Nuisances]:
    """The nuisances of each camera, from at most 300 images in the order of recording; fewer of larger images.

    `mixed`: every regime comes in all parts of the recording, with about the same share.
    """
    if len(sample) < FEWEST_FRAMES:
        return {}
    found = {}
    with progress("measuring cameras", len(cameras), show=show) as update:
        for view, (camera, images) in enumerate(zip(cameras, sample.images, strict=True)):
            height, width = images.shape[1:3]
            most = max(60, min(300, 300 * 128 * 128 // (height * width)))
            rows = evenly(len(sample), most)
            found[camera] = measure(images[rows], mixed=mixed)
            update(view + 1)
    return found


def _numbers(dataset: Dataset, joint: str) -> tuple[int | None, int | None, int | None]:
    """Numbers of the observational regime and of the joint's two policies; None for those that are missing."""
    number = {regime: k for k, regime in enumerate(dataset.regimes)}
    return number.get(Regime()), number.get(Regime(joint, 1)), number.get(Regime(joint, 2))


def _complete(frames: Frames, regimes: int) -> float:
    """The share of the anchors with exactly one pose per regime."""
    anchors, number = np.unique(frames.anchor, return_inverse=True)
    counts = np.zeros((len(anchors), regimes), dtype=np.int64)
    np.add.at(counts, (number, frames.regime), 1)
    return float((counts == 1).all(axis=1).mean())


def _states(dataset: Dataset) -> NDArray[np.float64] | None:
    """The angles of the training poses, or None."""
    names = dataset.state_names
    return dataset.states("train") if names is not None and set(dataset.joints) <= set(names) else None


def _angle_overlap(
    dataset: Dataset, frames: Frames, joint: str, model: CausalModel | None, states: NDArray[np.float64] | None
) -> Overlap | None:
    """The overlap of recorded angles, or else of described distributions; None without either."""
    described = model is not None and joint in model.interventions
    floor = model.bayes_floor(joint) if model is not None and described else None
    if states is not None:
        column = states[:, dataset.joints.index(joint)]
        observational, first, second = (column[frames.regime == number] for number in _numbers(dataset, joint))
        if len(first) and len(second):
            return overlap_of_angles(observational, first, second, "angles", floor)
    if model is not None and described:
        rng = np.random.default_rng(0)
        observational = model.sample_observational(rng, _DRAWN)[:, model.joints.index(joint)]
        first, second = (tn.sample(rng, _DRAWN) for tn in model.interventions[joint])
        return overlap_of_angles(observational, first, second, "distributions", floor)
    return None


def _report(
    dataset: Dataset,
    frames: Frames,
    sample: Sample,
    compared: tuple[Sample, Disturbance | None],
    values: NDArray[np.float64],
    joint: str,
    angle_overlap: Overlap | None,
) -> JointReport:
    """The measurements of one joint; `compared` are frames whose pixels can be compared, see `registered`."""
    rest, first, second = _numbers(dataset, joint)
    under = (sample.rows(first), sample.rows(second))
    anchors = [frames.anchor[frames.regime == number] for number in (first, second)]
    if sample.chains:  # nearly every pose is under a known policy on every joint
        policy, sampled = (
            known_policies(each.anchor, each.regime, dataset.regimes, (joint,))[:, 0] for each in (frames, sample)
        )
        anchors = [frames.anchor[policy == number] for number in (1, 2)]
        under = (np.flatnonzero(sampled == 1), np.flatnonzero(sampled == 2))
    report = JointReport(
        joint=joint,
        images=(len(anchors[0]), len(anchors[1])),
        anchors=(len(np.unique(anchors[0])), len(np.unique(anchors[1]))),
        motion=None,
        contrast=None,
        overlap=angle_overlap,
    )
    if first is not None and second is not None and min(report.images):
        policies = contrast(values, *under, sample.anchor)
        still, disturbance = compared
        report = replace(report, motion=motion(still, rest, first, second, disturbance), contrast=policies)
        if angle_overlap is None and policies is not None:
            halves = np.concatenate([under[0][::2], under[1][1::2]])  # as many of both policies
            observational = contrast(values, sample.rows(rest), halves, sample.anchor)
            report = replace(report, overlap=overlap_of_images(policies, observational))
    return replace(report, faults=faults(report), weaknesses=weaknesses(report))

"""The verdict on a data set: whether training can work, which joints will be weak and why, and advice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ropes.evaluation.inspection.contrast import Contrast, Overlap
from ropes.evaluation.inspection.motion import Motion
from ropes.methods.policies import FEWEST_IMAGES

LN2 = float(np.log(2))
#: Number of images per policy below which accuracy suffers.
_FEW = 1000
#: Shares of the best camera's pixels that move: none, and about that of the Panda's wrist joints at 128×128 pixels.
_UNSEEN, _SMALL = 1e-4, 0.02
#: Bayes floors, nats: policies that hardly differ, and a value well above the paper's 0.23 to 0.38.
_ALIKE, _CLOSE = 0.68, 0.52
#: Overlaps: of disjoint policies, and of observational poses outside of both policies.
_APART, _UNCOVERED = 0.02, 0.3
#: Share of the contrast's information below which a joint is hard to see for a linear classifier.
_HARD = 1 / 3
#: The same as a share of ln 2, if the floor is unknown (the paper's floors are about half of ln 2).
_HARD_UNKNOWN = 1 / 6

#: End of a fault's message: training and validation need different anchors.
_ONE_ANCHOR = "are of one anchor (episode)"


@dataclass(frozen=True, kw_only=True)
class JointReport:
    """The measurements of one joint; None if a measurement is impossible.

    Attributes:
        joint: name of the joint.
        images: numbers of poses under policy 1 and under policy 2.
        anchors: numbers of their anchors.
        motion: pixels that its interventions move.
        contrast: figures of a linear classifier of its policies, on small images.
        overlap: overlap of its distributions.
        faults: reasons why its angle cannot be learnt.
        weaknesses: reasons why it will be weak.
    """

    joint: str
    images: tuple[int, int]
    anchors: tuple[int, int]
    motion: Motion | None
    contrast: Contrast | None
    overlap: Overlap | None
    faults: tuple[str, ...] = ()
    weaknesses: tuple[str, ...] = ()

    @property
    def found(self) -> float | None:
        """Share of the contrast's information that the classifier extracts: of ln 2 minus the floor, 0 if unknown.

        None without a contrast, and where both policies draw the same angles, so that there is no information.
        """
        floor = self.overlap.floor if self.overlap and self.overlap.floor is not None else 0.0
        if self.contrast is None or floor > _ALIKE:
            return None
        return (LN2 - self.contrast.nats) / (LN2 - floor)


def faults(report: JointReport) -> tuple[str, ...]:
    """Reasons why a joint's angle cannot be learnt from these images."""
    reasons = []
    for policy, (count, anchors) in enumerate(zip(report.images, report.anchors, strict=True), start=1):
        if count < FEWEST_IMAGES:
            reasons.append(f"{count or 'no'} image{'s' * (count != 1)} under policy {policy}")
        elif anchors < 2:
            reasons.append(f"all images under policy {policy} {_ONE_ANCHOR}")
    if report.motion is not None and report.motion.share.max() < _UNSEEN:
        reasons.append("its interventions move no pixel")
    floor = report.overlap.floor if report.overlap else None
    if floor is not None and floor > _ALIKE:
        reasons.append("its two policies draw the same angles")
    return tuple(reasons)


def weaknesses(report: JointReport) -> tuple[str, ...]:
    """Reasons why a joint will be less accurate than possible, the simplest first."""
    reasons = []
    if report.motion is not None and report.motion.share.max() < _SMALL:
        reasons.append("few pixels moved")
    overlap = report.overlap
    if overlap is not None:
        if overlap.floor is not None and overlap.floor > _CLOSE:
            reasons.append("policies overlap too much")
        known = overlap.source != "angles" or min(report.images) >= FEWEST_IMAGES  # fewer angles leave most bins empty
        if known and overlap.policies < _APART:
            reasons.append("policies have nothing in common")
        if known and overlap.observational is not None and overlap.observational < _UNCOVERED:
            reasons.append("observational poses lie outside both policies")
    if min(report.images) < _FEW:
        reasons.append("too few images")
    threshold = _HARD if overlap is not None and overlap.floor is not None else _HARD_UNKNOWN
    if report.found is not None and report.found < threshold:
        reasons.append("policies hard to tell apart in small images")
    return tuple(reasons)


def ranked(reports: Sequence[JointReport]) -> list[JointReport]:
    """The joints, the weakest first: by the classifier's share of information, or else by moved pixels."""

    def strength(report: JointReport) -> tuple[bool, float]:
        moved = float(report.motion.share.max()) if report.motion else 0.0
        return (not report.faults, moved if report.found is None else report.found)

    return sorted(reports, key=strength)


def verdict(reports: Sequence[JointReport], *, fault: str | None = None, options: str = "") -> str:
    """Whether training can work, in one line without the data set's name.

    Args:
        reports: reports of all joints.
        fault: reason why no network takes the images.
        options: options of `ropes fit` for images of this size.
    """
    failing = [f"{report.joint}: {', '.join(report.faults)}" for report in reports if report.faults]
    if failing or fault:
        return "cannot work: " + "; ".join([fault, *failing] if fault else failing)
    note = f"; fit with {options}" if options else ""
    weak = [report.joint for report in ranked(reports) if report.weaknesses]
    if not weak:
        return f"can work, for every joint{note}"
    which = "every joint" if len(weak) == len(reports) else ", ".join(weak)
    return f"can work, but {which} will be weak{note}"


#: Weakness → advice.
_REMEDIES = {
    "few pixels moved": "bring a camera closer or aim one at that part of the arm, record at a higher resolution than "
    "{size}, and fit at the full one",
    "policies overlap too much": "set the means of the two policies farther apart",
    "policies have nothing in common": "bring the two policies closer: their density ratio says nothing where only one "
    "of them goes",
    "observational poses lie outside both policies": "let the policies cover what the arm does without intervention",
    "too few images": "record more {episodes}, up to some thousand images under each policy",
    "policies hard to tell apart in small images": "record more {episodes} and at a higher resolution than {size}; the "
    "motion of other joints hides this one",
}


def advice(
    reports: Sequence[JointReport],
    *,
    cameras: int,
    size: tuple[int, int],
    complete: float,
    episodes: Literal["anchors", "chains"] = "anchors",
) -> tuple[str, ...]:
    """How to record better data, one line per weakness, the most frequent first.

    Args:
        reports: reports of all joints.
        cameras: number of cameras.
        size: height and width of the images.
        complete: share of the anchors with exactly one pose per regime.
        episodes: what the data set consists of.
    """
    concerned = {
        reason: [report.joint for report in ranked(reports) if reason in report.weaknesses] for reason in _REMEDIES
    }
    lines = []
    for reason, joints in sorted(concerned.items(), key=lambda item: -len(item[1])):
        if joints:
            which = "every joint" if len(joints) == len(reports) else ", ".join(joints)
            remedy = _REMEDIES[reason].format(size=f"{size[0]}x{size[1]}", episodes=episodes)
            lines.append(f"{which} ({reason}): {remedy}")
    if cameras == 1 and any(report.weaknesses for report in reports):
        lines.append("one camera sees each turn from one side only: add a second one, a quarter turn away")
    every = [fault for report in reports for fault in report.faults]
    if any(fault.endswith(_ONE_ANCHOR) for fault in every):
        lines.append(
            "split each policy's recording into several episodes: training and validation need different ones, since "
            "poses of one episode are too similar"
        )
    if not all(fault.endswith(_ONE_ANCHOR) for fault in every):
        missing = "record the data that the first line reports as missing"
        lines.append(f"{missing}; a joint that no image shows cannot be learnt")
    if complete < 1:
        lines.append(
            f"{1 - complete:.0%} of the anchors lack a regime, or have one twice: method anchored needs all of them "
            "complete; ldr and ropes do not"
        )
    return tuple(lines)

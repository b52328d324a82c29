"""Turns measurements into plain words: can it work, which joint will be weak and why, what would help."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ropes.evaluation.inspection.contrast import Contrast
from ropes.evaluation.inspection.motion import Motion
from ropes.evaluation.inspection.overlap import Overlap

LN2 = float(np.log(2))
#: Below this number of images under a policy nothing can be learnt; below the second one accuracy suffers.
_TOO_FEW, _FEW = 50, 1000
#: Moved share of the best camera's pixels: none at all; and about that of the Panda's wrist joints at 128×128 pixels.
_UNSEEN, _SMALL = 1e-4, 0.02
#: Bayes floors, nats: policies that hardly differ, and the usual .23 to .38 of the paper's well exceeded.
_ALIKE, _CLOSE = 0.68, 0.52
#: Overlaps: policies without common ground; observational poses where neither policy has been.
_APART, _UNCOVERED = 0.02, 0.3
#: Share of the contrast's information that a linear classifier finds, below which a joint is hard to see.
_HARD = 1 / 3
#: The same of ln 2, where the floor is unknown (the paper's floors leave about half of ln 2 to be found).
_HARD_UNKNOWN = 1 / 6

#: A fault's words: some anchors must be learnt from, others held out.
_ONE_ANCHOR = "are of one anchor (episode)"


@dataclass(frozen=True, kw_only=True)
class JointReport:
    """What was measured of one joint; None for what could not be.

    Attributes:
        joint: its name.
        images: poses under policy 1 and under policy 2.
        anchors: how many anchors those are of.
        motion: which pixels its interventions move.
        contrast: of its policies, by a linear classifier of small images.
        overlap: of its distributions.
        faults: why it cannot be learnt at all.
        weaknesses: why it will be weak.
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
        """Share of the contrast's information that the classifier found: of ln 2 less the floor where that is known."""
        if self.contrast is None:
            return None
        floor = self.overlap.floor if self.overlap and self.overlap.floor is not None else 0.0
        return (LN2 - self.contrast.nats) / max(LN2 - floor, 1e-9)


def faults(report: JointReport) -> tuple[str, ...]:
    """Why a joint cannot be learnt from these images at all."""
    said = []
    for policy, (count, anchors) in enumerate(zip(report.images, report.anchors, strict=True), start=1):
        if count < _TOO_FEW:
            said.append(f"{count or 'no'} image{'s' * (count != 1)} under policy {policy}")
        elif anchors < 2:
            said.append(f"all images under policy {policy} {_ONE_ANCHOR}")
    if report.motion is not None and report.motion.share.max() < _UNSEEN:
        said.append("its interventions move no pixel")
    floor = report.overlap.floor if report.overlap else None
    if floor is not None and floor > _ALIKE:
        said.append("its two policies draw the same angles")
    return tuple(said)


def weaknesses(report: JointReport) -> tuple[str, ...]:
    """Why a joint will be less accurate than it could be, the plainest reason first."""
    said = []
    if report.motion is not None and report.motion.share.max() < _SMALL:
        said.append("few pixels moved")
    overlap = report.overlap
    if overlap is not None:
        if overlap.floor is not None and overlap.floor > _CLOSE:
            said.append("policies overlap too much")
        if overlap.policies < _APART:
            said.append("policies have nothing in common")
        if overlap.observational is not None and overlap.observational < _UNCOVERED:
            said.append("observational poses lie outside both policies")
    if min(report.images) < _FEW:
        said.append("too few images")
    known = overlap is not None and overlap.floor is not None
    if report.found is not None and report.found < (_HARD if known else _HARD_UNKNOWN):
        said.append("policies hard to tell apart in small images")
    return tuple(said)


def ranked(reports: Sequence[JointReport]) -> list[JointReport]:
    """The joints, the weakest first: by what the classifier found, or by the moved pixels where it could not say."""

    def strength(report: JointReport) -> tuple[bool, float]:
        moved = float(report.motion.share.max()) if report.motion else 0.0
        return (not report.faults, moved if report.found is None else report.found)

    return sorted(reports, key=strength)


def verdict(reports: Sequence[JointReport], *, fault: str | None = None, options: str = "") -> str:
    """Can it work, in one line without the data set's name.

    Args:
        reports: of all joints.
        fault: why the images cannot be fitted on, whatever they show.
        options: what `ropes fit` needs to take them.
    """
    lost = [f"{report.joint}: {', '.join(report.faults)}" for report in reports if report.faults]
    if lost or fault:
        return "cannot work: " + "; ".join([fault, *lost] if fault else lost)
    needed = f"; fit with {options}" if options else ""
    weak = [report.joint for report in ranked(reports) if report.weaknesses]
    if not weak:
        return f"can work, for every joint{needed}"
    which = "every joint" if len(weak) == len(reports) else ", ".join(weak)
    return f"can work, but {which} will be weak{needed}"


#: What would help against each weakness.
_REMEDIES = {
    "few pixels moved": "bring a camera closer or aim one at that part of the arm, record at a higher resolution than "
    "{size}, and fit at the full one",
    "policies overlap too much": "set the means of the two policies farther apart",
    "policies have nothing in common": "bring the two policies closer, for where only one of them goes their ratio "
    "says nothing more",
    "observational poses lie outside both policies": "let the policies cover what the arm does without intervention",
    "too few images": "record more anchors; some thousand images under each policy are usual",
    "policies hard to tell apart in small images": "record more anchors and at a higher resolution than {size}; what "
    "other joints do hides this one",
}


def advice(reports: Sequence[JointReport], *, cameras: int, size: tuple[int, int], complete: float) -> tuple[str, ...]:
    """What recording more, or otherwise, would help; one line each, most joints concerned first.

    Args:
        reports: of all joints.
        cameras: how many there are.
        size: height and width of the images.
        complete: share of the anchors with exactly one pose under every regime.
    """
    concerned = {
        reason: [report.joint for report in ranked(reports) if reason in report.weaknesses] for reason in _REMEDIES
    }
    lines = []
    for reason, joints in sorted(concerned.items(), key=lambda item: -len(item[1])):
        if joints:
            which = "every joint" if len(joints) == len(reports) else ", ".join(joints)
            lines.append(f"{which} ({reason}): {_REMEDIES[reason].format(size=f'{size[0]}x{size[1]}')}")
    if cameras == 1 and any(report.weaknesses for report in reports):
        lines.append("one camera sees each turn from one side only: add a second one, a quarter turn away")
    found = [fault for report in reports for fault in report.faults]
    if any(fault.endswith(_ONE_ANCHOR) for fault in found):
        lines.append(
            "split each policy's recording into several episodes: some are learnt from, others held out, and poses of "
            "one episode are too alike for both"
        )
    if not all(fault.endswith(_ONE_ANCHOR) for fault in found):
        lines.append("record what the first line misses; nothing can be learnt of a joint that no image shows moved")
    if complete < 1:
        lines.append(
            f"{1 - complete:.0%} of the anchors lack a regime, or have one twice: method anchored needs all of them "
            "complete; ldr and ropes do not"
        )
    return tuple(lines)

"""Rows of joint errors, each beside the paper's number for the same condition."""

import math
from dataclasses import dataclass
from typing import Self

from ropes.evaluation.paper import Published, published, supervised_with
from ropes.evaluation.rows.checks import require_counts, require_names, require_number

SPLITS = ("id", "ood")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One setup × method × split × occlusion × joint × training seed.

    Attributes:
        setup: name of the setting, as "panda-2c-independent".
        method: as "anchored".
        split: "id" or "ood".
        occlusion: side of the white squares in pixels of the stored image, 0 for none.
        joint: the URDF's name.
        mcc_mean: absolute correlation in [0, 1], mean over the repeats of the evaluation.
        mcc_std: over the repeats.
        mse_mean: rad², mean over the repeats.
        mse_std: over the repeats.
        labels: labelled images that training read, 0 when label-free; with two cameras two a pose.
        calibration_labels: labelled poses that the line to radians was fitted on, 0 for commanded distributions and for
            methods that learn from labels.
        seed: of training.
        paper_mcc: MCC of the paper's ROPES under these conditions, whatever our method, or None; None with labels.
        paper_mse: MSE of the paper's ROPES, rad², or None; with labels that of its RoboPEPP with this share of them.
        anchors: that the method learnt from; None where not recorded.
        image_size: side of the images as the networks read them, pixels; likewise.
        erased: share of the training images in which a white square hid something; likewise.
        label_share: share of the training poses whose angles were read; None for a method that reads none.
        mcc_matched: as `mcc_mean`, of the best one-to-one assignment of coordinates to joints, found on the poses that
            the line is fitted on; None where not recorded.

    Raises:
        ValueError: a figure is not finite or out of its range, or a name is empty or unknown.
    """

    setup: str
    method: str
    split: str
    occlusion: int
    joint: str
    mcc_mean: float | None
    mcc_std: float | None
    mse_mean: float | None
    mse_std: float | None
    labels: int
    calibration_labels: int
    seed: int
    paper_mcc: float | None
    paper_mse: float | None
    anchors: int | None = None
    image_size: int | None = None
    erased: float | None = None
    label_share: float | None = None
    mcc_matched: float | None = None

    def __post_init__(self) -> None:
        require_names(self, ("setup", "method", "split", "joint"))
        if self.split not in SPLITS:
            raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {self.split!r}")
        require_counts(self, ("occlusion", "labels", "calibration_labels", "seed"))
        for name in ("mcc_mean", "paper_mcc", "mcc_std", "mse_mean", "mse_std", "paper_mse"):
            require_number(self, name, 1.0 if name in ("mcc_mean", "paper_mcc") else math.inf, or_null=True)
        require_counts(self, [name for name in ("anchors", "image_size") if getattr(self, name) is not None])
        for name in ("erased", "label_share", "mcc_matched"):
            require_number(self, name, 1.0, or_null=True)

    @property
    def conditions(self) -> tuple[object, ...]:
        """Everything but the training seed that the figures depend on."""
        tested = self.setup, self.method, self.split, self.occlusion, self.joint
        learnt_from = self.anchors, self.image_size, self.erased, self.label_share
        return (*tested, self.labels, self.calibration_labels, *learnt_from)

    @classmethod
    def measured(
        cls,
        *,
        setup: str,
        joint: str,
        split: str,
        occlusion: int,
        seed: int,
        mcc: tuple[float, float],
        mse: tuple[float, float],
        method: str = "ropes",
        labels: int = 0,
        calibration_labels: int = 1000,
        anchors: int | None = None,
        image_size: int | None = None,
        erased: float | None = None,
        label_share: float | None = None,
        mcc_matched: float | None = None,
        published_too: bool = True,
    ) -> Self:
        """A row with the paper's numbers for the same conditions filled in: of ROPES, or with labels of RoboPEPP.

        Args:
            setup: name of the setting.
            joint: the URDF's name.
            split: "id" or "ood".
            occlusion: pixels, 0 for none.
            seed: of training.
            mcc: mean and standard deviation over the repeats.
            mse: mean and standard deviation over the repeats, rad².
            method: as "ropes".
            labels: labelled images that training read.
            calibration_labels: labelled poses of the calibration.
            anchors: as in `Row`.
            image_size: as in `Row`.
            erased: as in `Row`.
            label_share: as in `Row`.
            mcc_matched: as in `Row`.
            published_too: whether the paper measured the like; without, its numbers are left out.
        """
        theirs: Published | None
        if not published_too:
            theirs = None
        elif label_share is None:
            theirs = published(setup=setup, joint=joint, split=split, occlusion=occlusion)
        else:
            theirs = supervised_with(label_share, setup=setup, joint=joint, split=split, occlusion=occlusion)
        return cls(
            setup=setup,
            method=method,
            split=split,
            occlusion=int(occlusion),
            joint=joint,
            mcc_mean=float(mcc[0]),
            mcc_std=float(mcc[1]),
            mse_mean=float(mse[0]),
            mse_std=float(mse[1]),
            labels=int(labels),
            calibration_labels=int(calibration_labels),
            seed=int(seed),
            paper_mcc=theirs.mcc if theirs else None,
            paper_mse=theirs.mse if theirs else None,
            anchors=anchors,
            image_size=image_size,
            erased=erased,
            label_share=label_share,
            mcc_matched=mcc_matched,
        )

"""Rows of joint errors, each beside the paper's number for the same condition."""

from dataclasses import dataclass
from typing import Annotated, Any, Self, get_args

from ropes.evaluation.paper import published, supervised_with
from ropes.evaluation.rows.schema import SPLITS, Amount, Explained, MeasuredRow, Share, Split
from ropes.simulation.backgrounds import RendererName
from ropes.simulation.camera_levels import LevelName

__all__ = ["SPLITS", "JointConditions", "Row"]

#: A renderer.
Renderer = Annotated[str, get_args(RendererName)]
#: A level of the faults of cameras.
Level = Annotated[str, get_args(LevelName)]
#: Fields of a row that describe the test images, and how training images differ from them.
IMAGES = ("renderer", "camera", "trained_renderer", "trained_camera")


@dataclass(frozen=True, kw_only=True)
class JointConditions:
    """The conditions that a joint's errors are measured under, and the paper's errors under the same conditions.

    Attributes:
        setup: name of the setting, as "panda-2c-independent".
        method: name of the method, as "anchored", or METHOD@VARIANT.
        split: "id" or "ood".
        occlusion: side of the occluding squares in pixels of the stored image; 0 for none.
        joint: name in the URDF.
        labels: labelled images that training reads, two a pose with two cameras; 0 when label-free.
        calibration_labels: labelled poses that the linear calibration is fitted on; 0 for calibration on known policy
            distributions and for supervised methods.
        paper_mcc: MCC of the paper's ROPES, for any label-free method; None if not published.
        paper_mse: MSE of the paper's ROPES, rad²; for supervised methods that of RoboPEPP with this share of the
            labels; None if not published.
        anchors: training anchors; None if not recorded.
        image_size: side of the networks' input images, pixels; None if not recorded.
        erased: share of the training images with random erasing; None if not recorded.
        label_share: share of the training poses whose angles are read; None for a label-free method.
        renderer: renderer of the test images; None for PyBullet, and for images of other origin.
        camera: level of the camera's faults in the test images; None for clean images, and for those of other origin.
        trained_renderer, trained_camera: of the training images, where they differ from those of the test images.
    """

    setup: str
    method: str
    split: Split
    occlusion: int
    joint: str
    labels: int
    calibration_labels: int
    paper_mcc: Share | None
    paper_mse: Amount | None
    anchors: int | None = None
    image_size: int | None = None
    erased: Share | None = None
    label_share: Share | None = None
    renderer: Renderer | None = None
    camera: Level | None = None
    trained_renderer: Renderer | None = None
    trained_camera: Level | None = None


@dataclass(frozen=True, kw_only=True)
class Row(JointConditions, MeasuredRow):
    """One setup × method × split × occlusion × joint × training seed.

    The figures are the fields of `ropes.metrics.joints.JOINT_METRICS`.  A new one is None by default and listed in
    `added`, so that files of earlier versions stay as they are.

    Attributes:
        mcc_mean, mcc_std: absolute correlation, mean and standard deviation over the repeats.
        mse_mean, mse_std: mean and standard deviation of the squared error over the repeats, rad².
        mcc_matched: as `mcc_mean`, after the best one-to-one assignment of coordinates to joints on the calibration
            poses; None if not recorded.
        r2_mean: R² of the calibrated angles, mean over the repeats; None if not recorded.
    """

    keys = (
        *("split", "occlusion", "joint", "labels", "calibration_labels"),
        *("anchors", "image_size", "erased", "label_share"),
        *IMAGES,
    )
    added = (*IMAGES, "r2_mean")

    mcc_mean: Share | None
    mcc_std: Amount | None
    mse_mean: Amount | None
    mse_std: Amount | None
    mcc_matched: Share | None = None
    r2_mean: Explained | None = None

    @classmethod
    def measured(cls, *, published_too: bool = True, **given: Any) -> Self:
        """A row beside the paper's numbers for the same conditions: of ROPES, or with labels of RoboPEPP.

        Args:
            published_too: whether the paper's measurement is comparable; if not, its numbers are left out.
            given: fields of `Row`, by default of method ropes without labels, calibrated on 1,000; a pair `mcc=(mean,
                std)` stands for `mcc_mean` and `mcc_std`, as do other pairs.
        """
        values: dict[str, Any] = {"method": "ropes", "labels": 0, "calibration_labels": 1000}
        for name, value in given.items():
            pair = isinstance(value, tuple)
            values |= {f"{name}_mean": float(value[0]), f"{name}_std": float(value[1])} if pair else {name: value}
        place = {name: values[name] for name in ("setup", "joint", "split", "occlusion")}
        share = values.get("label_share")
        theirs = published(**place) if share is None else supervised_with(share, **place)
        if theirs is None or not published_too:
            return cls(paper_mcc=None, paper_mse=None, **values)
        return cls(paper_mcc=theirs.mcc, paper_mse=theirs.mse, **values)

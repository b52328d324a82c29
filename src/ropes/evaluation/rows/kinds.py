"""The kinds of rows of results.json besides joint errors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from ropes.evaluation.rows.schema import Amount, Explained, MeasuredRow, Share, Split

INTERVALS = ("commanded", "anchors", "labels", "own")
_FIGURES = ("position_mm", "orientation_deg", "add_mm", "add_auc")


@dataclass(frozen=True, kw_only=True)
class CoverageRow(MeasuredRow):
    """One setup × method × split × occlusion × joint × kind of interval × training seed.

    Attributes:
        split, occlusion, joint: as in `ropes.evaluation.rows.joint.Row`.
        intervals: what the intervals are computed from. "commanded": width from held-out anchors, map to radians from
            known policy distributions, no labels. "anchors": labels for the map only. "labels": labels for map and
            width. "own": held-out labels of a supervised method.
        level: nominal coverage.
        calibration_labels: labelled poses for the map, and with "labels" for the width, drawn as by `ropes calibrate`
            from anchors outside of training, without occlusion; 0 for "commanded" and "own".
        coverage: share of the true angles inside their intervals.
        width: mean width of the intervals, radians.
        auroc: of the distance, between these images and in-distribution ones without occlusion; None for the latter
            themselves.
        flagged: share of the images that are flagged as out of distribution.
    """

    keys = ("split", "occlusion", "joint", "intervals", "calibration_labels")

    split: Split
    occlusion: int
    joint: str
    intervals: Annotated[str, INTERVALS]
    level: Share
    calibration_labels: int
    coverage: Share
    width: Amount
    auroc: Share | None
    flagged: Share


@dataclass(frozen=True, kw_only=True)
class FlagRow(MeasuredRow):
    """One setup × method × kind of images × training seed.

    Attributes:
        images: kind of images, as "moved by 1 px".
        count: number of images.
        auroc: of the distance, between these images and in-distribution ones.
        flagged: share of these images that are flagged as out of distribution.
    """

    keys = ("images",)

    images: str
    count: int
    auroc: Share
    flagged: Share


@dataclass(frozen=True, kw_only=True)
class PoseRow(MeasuredRow):
    """One setup × method × split × occlusion × training seed; means and standard deviations over the repeats.

    Attributes:
        split: "id" or "ood".
        occlusion: side of the occluding squares, pixels; 0 for none.
        labels: labelled images that training reads.
        calibration_labels: labelled poses that the linear calibration is fitted on; 0 without one.
        link: name of the end effector's link.
        frame: link in whose frame poses are compared.
        position_mm_mean, position_mm_std: mean distance between the estimated and true origin of the link, mm.
        orientation_deg_mean, orientation_deg_std: mean angle between its orientations, degrees.
        add_mm_mean, add_mm_std: mean distance of the arm's keypoints (ADD), mm.
        add_auc_mean, add_auc_std: area under the accuracy-threshold curve of ADD up to 100 mm.
    """

    keys = ("split", "occlusion", "labels", "calibration_labels", "link", "frame")

    split: Split
    occlusion: int
    labels: int
    calibration_labels: int
    link: str
    frame: str
    position_mm_mean: Amount
    position_mm_std: Amount
    orientation_deg_mean: Annotated[float, (0.0, 180.0)]
    orientation_deg_std: Amount
    add_mm_mean: Amount
    add_mm_std: Amount
    add_auc_mean: Share
    add_auc_std: Amount

    @classmethod
    def measured(cls, *, means: Iterable[float], deviations: Iterable[float], **conditions: Any) -> Self:
        """A row from four means and four standard deviations: position, orientation, ADD, its AUC."""
        figures = dict(conditions)
        for name, mean, deviation in zip(_FIGURES, means, deviations, strict=True):
            figures |= {f"{name}_mean": float(mean), f"{name}_std": float(deviation)}
        return cls(**figures)

    def figures(self) -> list[tuple[float, float]]:
        """(mean, standard deviation) of position, orientation, ADD and its AUC."""
        return [(getattr(self, f"{name}_mean"), getattr(self, f"{name}_std")) for name in _FIGURES]


@dataclass(frozen=True, kw_only=True)
class ModelRow(MeasuredRow):
    """One setup × method × training seed.

    Attributes:
        seconds: training time.
        settings: hyperparameters that differ between a study's models, as "beta", "latents", "warm_up", and "noise"
            (0 or 1).
        scores: name of a metric → figure; None where it is undefined.
        reasons: name of an undefined metric → reason.
        informativeness: factor → accuracy of predicting it from all latents, see `ropes.metrics.dci`.
        errors: transfer score → factor → mean absolute error of the regressors, as a share of the factor's range; under
            "classifier" the share of wrong predictions.
        sizes: "tested" → number of images that the metrics are measured on; scenario → number of images that its
            regressors are fitted on.

    Raises:
        ValueError: as `MeasuredRow`, or a score is undefined without a reason.
    """

    seconds: float
    settings: Mapping[str, float]
    scores: Mapping[str, float | None]
    reasons: Mapping[str, str] = field(default_factory=dict)
    informativeness: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        undefined = {name for name, value in self.scores.items() if value is None}
        if undefined != set(self.reasons):
            raise ValueError(f"reasons are given for {sorted(self.reasons)}, and undefined are {sorted(undefined)}")


def by_disentanglement(rows: Sequence[ModelRow]) -> tuple[ModelRow, ...]:
    """The rows of lowest, median and highest DCI disentanglement, each once."""
    scored = [row for row in rows if row.scores.get("dci") is not None]
    ranked = sorted(scored, key=lambda row: (float(row.scores["dci"] or 0.0), row.method, row.seed))
    places = {0, len(ranked) // 2, len(ranked) - 1} if ranked else set()
    return tuple(ranked[place] for place in sorted(places))


@dataclass(frozen=True, kw_only=True)
class ActionRow(MeasuredRow):
    """One setup × method × training seed.

    Attributes:
        seconds: training time.
        accuracy: test split → share of its pairs whose verb is predicted correctly.
        pairs: test split → number of pairs.
        recall: test split → verb → share of its pairs that are predicted correctly.
        cosines: "antonyms" and "unrelated" → mean cosine between the mean deltas of two such verbs; "unrelated size" →
            mean of its absolute value.
        moves: joint of an arm → figures of `ropes.metrics.deltas.moves`; None where a figure is undefined.
        active: mean share of a delta's dimensions that reach a tenth of its largest.
        variance: spread of the deltas of a verb, see `ropes.metrics.deltas.action_variance`; None if not measured.

    Raises:
        ValueError: as `MeasuredRow`, or accuracy, pairs and recall are of different splits.
    """

    seconds: float
    accuracy: Mapping[str, Share]
    pairs: Mapping[str, float]
    recall: Mapping[str, Mapping[str, Share]]
    cosines: Mapping[str, float] = field(default_factory=dict)
    moves: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    active: Share
    variance: Share | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not set(self.accuracy) == set(self.pairs) == set(self.recall):
            raise ValueError(f"accuracy is of {sorted(self.accuracy)}, pairs of {sorted(self.pairs)}")


@dataclass(frozen=True, kw_only=True)
class FitRow(MeasuredRow):
    """One setup × method × training seed.

    Attributes:
        weights: digest of the run's weights, see `ropes.methods.weights.weights_digest`.
        data_checksum: checksum of the images and regimes of its training data.
        version: version of the package that began the run.
        seconds: duration of the training of all networks, without the preparation of images; None in files of earlier
            versions.
    """

    added = ("seconds",)

    weights: str
    data_checksum: str
    version: str
    seconds: Amount | None = None


@dataclass(frozen=True, kw_only=True)
class CriterionRow(MeasuredRow):
    """One setup × method × joint × training seed, measured on held-out anchors.

    Attributes:
        joint: name in the URDF.
        contrast: cross-entropy of discriminating the joint's two policies by its coordinate alone, nats.
        floor: Bayes floor of `contrast`, nats; None if the data set describes no policy distributions.
        own: E|J_gᵀ Δs_i| at the joint's own coordinate, ideally 1 (Eq. 3); None without an AE2.
        beside: largest of these at another coordinate, ideally 0 (Eq. 3); None without an AE2, or with one joint.
        tangent: share of Δs_i tangent to the decoder's manifold, see `ropes.methods.ropes.objectives.tangent_share`;
            None without an AE2, and for fits of earlier versions.
    """

    keys = ("joint",)

    joint: str
    contrast: Amount
    floor: Amount | None
    own: Amount | None
    beside: Amount | None
    tangent: Annotated[float, (0.0, 1.0 + 1e-6)] | None


def criterion_rows(training: Mapping[str, Any], called: str) -> tuple[CriterionRow, ...]:
    """The rows of a fit of method ropes.

    Args:
        training: the run's training summary, training.json.
        called: name of the method in the rows.
    """
    joints, matrix = training["joints"], training.get("sparsity_matrix")
    rows = []
    for k, joint in enumerate(joints):
        others = [] if matrix is None else [*matrix[k][:k], *matrix[k][k + 1 :]]
        rows.append(
            CriterionRow(
                setup=training["setup"],
                method=called,
                joint=joint,
                seed=training["seed"],
                contrast=training["coordinate_contrast"][joint],
                floor=training["stages"]["ldr"][joint]["floor"],
                own=None if matrix is None else matrix[k][k],
                beside=max(others, default=None),
                tangent=training.get("tangent_share", {}).get(joint),
            )
        )
    return tuple(rows)


@dataclass(frozen=True, kw_only=True)
class FreedRow(MeasuredRow):
    """One setup × method × coordinate × training seed, on test poses in distribution.

    Attributes:
        joint: the coordinate's own joint, by its name in the URDF.
        correlations: each joint that varies → absolute correlation of its angle with the coordinate.
        own: share of the coordinate's variance that its own joint's angle explains.
        every: share that the angles of all joints explain.

    Raises:
        ValueError: as `MeasuredRow`, or the own joint has no correlation.
    """

    keys = ("joint",)

    joint: str
    correlations: Mapping[str, Share]
    own: Explained
    every: Explained

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.joint not in self.correlations:
            raise ValueError(f"correlations are of {', '.join(self.correlations)}, and the joint is {self.joint}")

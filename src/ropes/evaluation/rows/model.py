"""Rows of whole models: disentanglement metrics and transfer errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ropes.evaluation.rows.schema import MeasuredRow


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

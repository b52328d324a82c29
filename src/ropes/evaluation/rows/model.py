"""Rows of whole models: disentanglement metrics and transfer errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ropes.evaluation.rows.checks import require_counts, require_figures, require_names, require_tables


@dataclass(frozen=True, kw_only=True)
class ModelRow:
    """One setup × method × training seed.

    Attributes:
        setup: name of the setting.
        method: as "ada-gvae", or METHOD@VARIANT.
        seed: of training.
        seconds: of the training.
        settings: what differs between a study's models, as "beta", "latents", "warm_up", and "noise", 0 or 1.
        scores: name → figure; None where it is not defined.
        reasons: name of a score that is not defined → why.
        informativeness: factor → how well all latents tell it, as in `ropes.metrics.dci`.
        errors: transfer score → factor → mean absolute error of the regressors, in shares of the factor's range; of
            "classifier" share of wrong answers.
        sizes: "tested", images that the metrics are of, and scenario → images that its regressors learnt from.

    Raises:
        ValueError: a figure is not finite, a name is empty, or a score is missing without a reason.
    """

    setup: str
    method: str
    seed: int
    seconds: float
    settings: Mapping[str, float]
    scores: Mapping[str, float | None]
    reasons: Mapping[str, str] = field(default_factory=dict)
    informativeness: Mapping[str, float] = field(default_factory=dict)
    errors: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    sizes: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_names(self, ("setup", "method"))
        require_counts(self, ("seed",))
        tables = ("settings", "scores", "reasons", "informativeness", "errors", "sizes")
        require_tables(self, tables, nested=("errors",))
        require_figures({"seconds": self.seconds, **self.settings, **self.informativeness, **self.sizes})
        require_figures({name: value for name, value in self.scores.items() if value is not None})
        for name, errors in self.errors.items():
            require_figures({f"{name} {factor}": error for factor, error in errors.items()})
        undefined = {name for name, value in self.scores.items() if value is None}
        if undefined != set(self.reasons):
            raise ValueError(f"reasons are given for {sorted(self.reasons)}, and undefined are {sorted(undefined)}")
        if not all(isinstance(why, str) for why in self.reasons.values()):
            raise ValueError(f"reasons must be sentences, got {dict(self.reasons)!r}")

    @property
    def conditions(self) -> tuple[str, str]:
        """Everything but the training seed that the figures depend on."""
        return self.setup, self.method


def by_disentanglement(rows: Sequence[ModelRow]) -> tuple[ModelRow, ...]:
    """The rows of least, middle and greatest DCI disentanglement, each once."""
    ranked = sorted((row for row in rows if row.scores.get("dci") is not None), key=_dci)
    places = {0, len(ranked) // 2, len(ranked) - 1} if ranked else set()
    return tuple(ranked[place] for place in sorted(places))


def _dci(row: ModelRow) -> tuple[float, str, int]:
    return float(row.scores["dci"] or 0.0), row.method, row.seed

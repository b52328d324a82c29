"""Rows of methods that tell actions: accuracy and the geometry of deltas."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ropes.evaluation.rows.checks import require_counts, require_figures, require_names, require_tables


@dataclass(frozen=True, kw_only=True)
class ActionRow:
    """One setup × method × training seed.

    Attributes:
        setup: name of the setting.
        method: as "cde-global", or METHOD@VARIANT.
        seed: of training.
        seconds: of the training.
        accuracy: test split → share of its pairs whose verb was told, in [0, 1].
        pairs: test split → number of pairs.
        recall: test split → verb → share of its pairs that were told.
        cosines: "antonyms" and "unrelated" → mean cosine of the mean deltas of such two verbs; "unrelated size" → mean
            of its absolute value.
        moves: of an arm, joint → what `ropes.metrics.deltas.moves` says of its deltas; None where not defined.
        active: mean share of a delta's dimensions that reach a tenth of its largest, in [0, 1].
        variance: how much deltas of a verb vary, see `ropes.metrics.deltas.action_variance`; None where not measured.

    Raises:
        ValueError: a figure is not finite or out of its range, a name is empty, or splits differ.
    """

    setup: str
    method: str
    seed: int
    seconds: float
    accuracy: Mapping[str, float]
    pairs: Mapping[str, int]
    recall: Mapping[str, Mapping[str, float]]
    cosines: Mapping[str, float] = field(default_factory=dict)
    moves: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    active: float
    variance: float | None = None

    def __post_init__(self) -> None:
        require_names(self, ("setup", "method"))
        require_counts(self, ("seed",))
        require_tables(self, ("accuracy", "pairs", "recall", "cosines", "moves"), nested=("recall", "moves"))
        if not set(self.accuracy) == set(self.pairs) == set(self.recall):
            raise ValueError(f"accuracy is of {sorted(self.accuracy)}, pairs of {sorted(self.pairs)}")
        shares: dict[str, Any] = {"active": self.active, **self.accuracy}
        if self.variance is not None:
            shares["variance"] = self.variance
        for split, recall in self.recall.items():
            shares |= {f"{split} {verb}": share for verb, share in recall.items()}
        require_figures({"seconds": self.seconds, **shares, **self.cosines})
        require_figures(self.pairs)
        for joint, found in self.moves.items():
            require_figures({f"{joint} {name}": one for name, one in found.items() if one is not None})
        for name, share in shares.items():
            if not 0 <= share <= 1:
                raise ValueError(f"{name} must lie in 0 to 1, got {share!r}")

    @property
    def conditions(self) -> tuple[str, str]:
        """Everything but the training seed that the figures depend on."""
        return self.setup, self.method

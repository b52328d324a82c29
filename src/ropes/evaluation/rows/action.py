"""Rows of action recognition: accuracy and the geometry of deltas."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ropes.evaluation.rows.schema import MeasuredRow, Share


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

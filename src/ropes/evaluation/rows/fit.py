"""Rows that identify each measured fit: weights, data, version."""

from dataclasses import dataclass

from ropes.evaluation.rows.checks import require_counts, require_names


@dataclass(frozen=True, kw_only=True)
class FitRow:
    """One setup × method × training seed.

    Attributes:
        setup: name of the setting.
        method: as the other rows call it.
        seed: of training.
        weights: digest of the run's weights, see `ropes.methods.weights.weights_digest`.
        data_checksum: of the images and regimes that they were fitted on.
        version: of the package that began the run.

    Raises:
        ValueError: a name is empty, or the seed is no whole number.
    """

    setup: str
    method: str
    seed: int
    weights: str
    data_checksum: str
    version: str

    def __post_init__(self) -> None:
        require_names(self, ("setup", "method", "weights", "data_checksum", "version"))
        require_counts(self, ("seed",))

    @property
    def conditions(self) -> tuple[str, str, str]:
        """Everything but the training seed that tells fits apart."""
        return self.setup, self.method, "fit"

"""Rows that identify each evaluated fit: weights, data, version."""

from dataclasses import dataclass

from ropes.evaluation.rows.schema import MeasuredRow


@dataclass(frozen=True, kw_only=True)
class FitRow(MeasuredRow):
    """One setup × method × training seed.

    Attributes:
        weights: digest of the run's weights, see `ropes.methods.weights.weights_digest`.
        data_checksum: checksum of the images and regimes of its training data.
        version: version of the package that began the run.
    """

    weights: str
    data_checksum: str
    version: str

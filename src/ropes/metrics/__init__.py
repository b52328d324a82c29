"""Numpy in, numbers out: how well estimated coordinates match true joint angles. Imports nothing of ours."""

from ropes.metrics.bend import bend, matched_means
from ropes.metrics.calibration import Evaluation, calibrated_mse, commanded_calibration, linear_calibration, protocol
from ropes.metrics.correlation import assignment, correlation_matrix, mcc
from ropes.metrics.graph import structural_hamming_distance
from ropes.metrics.labels import few_labels

__all__ = [
    "Evaluation",
    "assignment",
    "bend",
    "calibrated_mse",
    "commanded_calibration",
    "correlation_matrix",
    "few_labels",
    "linear_calibration",
    "matched_means",
    "mcc",
    "protocol",
    "structural_hamming_distance",
]

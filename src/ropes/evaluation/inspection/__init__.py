"""Checks before training whether a data set can work, and which joints will be weak."""

from ropes.evaluation.inspection.inspect import Inspection, inspect_data

__all__ = ["Inspection", "inspect_data"]

"""Before hours of training: can this data set work, which joint will be weak, and what would help?"""

from ropes.evaluation.inspection.inspect import Inspection, inspect_data

__all__ = ["Inspection", "inspect_data"]

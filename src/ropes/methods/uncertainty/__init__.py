"""Uncertainty without labels: error bars, conformal intervals, out-of-distribution detection."""

"""Measurements of a run, one module each, and the schema of results."""

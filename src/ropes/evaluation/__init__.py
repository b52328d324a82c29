"""Measurements of a run, a module each, and the schema of results."""

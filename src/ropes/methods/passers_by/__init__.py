"""Removes passers-by from registered frames of a recording."""

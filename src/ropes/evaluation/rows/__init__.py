"""Rows of results.json, one kind per module."""

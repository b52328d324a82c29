"""Renders results.json as an HTML page, as figures, and as tables for Markdown files and terminals."""

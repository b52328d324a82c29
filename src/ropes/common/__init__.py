"""Utilities for all packages: files, random seeds, processes, progress, hardware."""

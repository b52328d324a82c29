"""The command line `ropes COMMAND`, one module for each group of commands."""

from ropes.cli.entry import main

__all__ = ["main"]

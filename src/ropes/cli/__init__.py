"""The command line: `ropes COMMAND`, a module for each group of commands."""

from ropes.cli.entry import main

__all__ = ["main"]

"""Runs the command line as `python -m ropes`."""

import sys

from ropes.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())

"""`python -m ropes` is the console script."""

import sys

from ropes.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())

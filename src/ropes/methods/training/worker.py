"""A process that trains with process 0 of a team: `python -m ropes.methods.training.worker RANK DEVICES PORT`."""

import sys
from collections.abc import Sequence

import torch

from ropes.common.hardware import tune_allocator
from ropes.errors import UserError
from ropes.methods.training.steps import StageSteps
from ropes.methods.training.team import Team, is_lost_connection, join_local, spared


def serve(team: Team) -> None:
    """Train every stage that process 0 sends, until it has no more.

    Raises:
        SystemExit: with code 1; process 0 has gone, or reports the error.
    """
    torch.set_num_threads(team.threads)
    try:
        with spared():
            while (steps := team.send()) is not None:
                assert isinstance(steps, StageSteps)
                steps.run(team)
    except UserError as error:
        raise SystemExit(1) from error
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        raise SystemExit(1) from error


def main(words: Sequence[str]) -> None:
    """Join the team of process 0, which has started this process."""
    tune_allocator()
    rank, devices, port = map(int, words)
    serve(join_local(rank, devices, port))


if __name__ == "__main__":
    main(sys.argv[1:])

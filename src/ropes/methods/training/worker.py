"""A process that trains with process 0 of a team: `python -m ropes.methods.training.worker RANK DEVICES PORT`."""

import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import torch

from ropes.common.hardware import tune_process
from ropes.errors import UserError
from ropes.methods.training.steps import StageSteps
from ropes.methods.training.team import Team, is_lost_connection, join_local, spared


def serve(team: Team) -> Any:
    """Train every stage that process 0 sends; returns what it sends after the last one.

    Raises:
        SystemExit: with code 1; process 0 has gone, or reports the error.
    """
    torch.set_num_threads(team.threads)
    try:
        with spared():
            while isinstance(content := team.send(), StageSteps):
                content.run(team)
            return content
    except UserError as error:
        raise SystemExit(1) from error
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        raise SystemExit(1) from error


def _end_with(parent: int) -> None:
    """End this process when its parent has ended: a killed process 0 sends nothing, and NCCL would wait for long."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def main(words: Sequence[str]) -> None:
    """Join the team of process 0, which has started this process."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    tune_process()
    rank, devices, port = map(int, words)
    serve(join_local(rank, devices, port))


if __name__ == "__main__":
    main(sys.argv[1:])

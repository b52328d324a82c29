"""A process killed by force, whatever it was doing, and the run gone on with in another."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import tiny

FIT = """
import os, signal, sys
from pathlib import Path
from ropes.methods.ropes.fit import fit
from ropes.methods.training import loop
from ropes.models import checkpoints
from tests import tiny

loop.SAVE_EVERY = 0.0
stage, step = sys.argv[3], int(sys.argv[4])
original, written = checkpoints.save_file, []

def save_file(tensors, path, **options):
    original(tensors, path, **options)
    written.extend([path] if path.parent.name == stage else [])
    if len(written) == step:  # whole but not in its place yet
        os.kill(os.getpid(), signal.SIGKILL)

checkpoints.save_file = save_file
fit(Path(sys.argv[1]), Path(sys.argv[2]), tiny.recipe(), 0, show=False)
"""


@pytest.mark.any_processor
@pytest.mark.slow
def test_fit_killed_while_writing_resumes_in_another_process(
    tiny_run: Path, tiny_data: Path, tmp_path: Path, refit: Callable[..., Any]
) -> None:
    run, root = tmp_path / "run", Path(__file__).parents[2]
    words = [sys.executable, "-c", FIT, str(tiny_data), str(run), "wrist", "4"]
    places = [str(root), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    done = subprocess.run(words, cwd=root, env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(run.rglob("*.part"))
    refit(run)
    assert not list(run.rglob("*.part"))
    assert tiny.weights(run) == tiny.weights(tiny_run)

"""A command that is killed or interrupted between two anchors or chains goes on where it stopped."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ropes.data import schema
from ropes.data.chains import TURNS
from ropes.data.layout import open_dataset
from ropes.data.validate import validate
from ropes.errors import UserError

VIEW = "side:target=0/0/0.45,distance=1.8,yaw=0,pitch=0"
WORDS = "record --robot simulated --joints shoulder elbow --ranges -0.8:0.8 -1.2:1.2 --image-size 32"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
@pytest.mark.parametrize(("counted", "poses"), [("anchors", 5), ("chains", 1 + 2 * TURNS)])
def test_killed_recording_resumes(
    counted: str, poses: int, number: signal.Signals, code: int, urdf: Path, tmp_path: Path
) -> None:
    out = tmp_path / "D"
    words = [*WORDS.split(), "--urdf", str(urdf), "--cameras", VIEW, "--out", str(out), f"--{counted}"]
    command = [sys.executable, "-m", "ropes", *words]
    with subprocess.Popen([*command, "40"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 120
        while not (out / schema.data_file(1)).exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(process.pid, number)
        _, said = process.communicate()
    assert process.returncode == code, said
    if number == signal.SIGINT:
        assert said.splitlines()[-2:] == [
            "the arm is stopped",
            "ropes: interrupted; run the same command again to resume",
        ]
    with pytest.raises(UserError, match="run the same ropes record command again to resume"):
        open_dataset(out)
    kept = len(list(out.glob("data/*/*.parquet")))
    assert 2 <= kept < 40
    done = subprocess.run([*command, str(kept + 1)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{kept + 1} {counted} of {poses} poses" in done.stdout
    assert f"in {poses * (kept + 1)} frames of {kept + 1} episodes" in validate(out, progress=False)

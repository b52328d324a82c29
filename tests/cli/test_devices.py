"""`ropes fit --devices`: refused options, signals, and processes that a cluster starts."""

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ropes.methods.training import team
from tests import tiny
from tests.command_line import refusal
from tests.ports import free_port
from tests.timeouts import PATIENCE

ROOT = Path(__file__).parents[2]
SHAPE = (
    "--encoder.image-size 16 --encoder.stem 2 --encoder.widths 8 16 --encoder.blocks 1 1 --encoder.window 8 "
    "--encoder.window-widths 8 8 --encoder.window-blocks 1 1 --foreign 0 --no-registration --precision 32-true"
)
SLURM = {
    "SLURM_JOB_ID": "77",
    "SLURM_JOB_NAME": "fit",
    "SLURM_NNODES": "1",
    "SLURM_NODEID": "0",
    "SLURM_NODELIST": "localhost",
    "SLURM_NTASKS": "2",
    "SLURM_NTASKS_PER_NODE": "2",
}


def started(data: Path, out: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    """A fit with a tiny network in another process."""
    places = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), **variables}
    command = [sys.executable, "-m", "ropes", "fit", "--data", str(data), "--out", str(out), *SHAPE.split(), *words]
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def has_ended(pid: int) -> bool:
    try:
        return "Z (zombie)" in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return True


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("--devices 3", "3 devices do not divide the batch of 104 of --training.batch"),
        ("--strategy fsdp", "strategy fsdp is not supported"),
        ("--strategy ring", "there is no strategy ring; choose ddp"),
        ("--devices 0", "--devices is 0; it must be 1 or more"),
        ("--devices 2 --nodes 2", "--nodes 2 needs srun of SLURM, or torchrun"),
        ("--accelerator abacus", "'auto', 'cpu', 'gpu'"),
    ],
)
def test_devices_that_cannot_train_are_refused(
    words: str, part: str, tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert part in refusal(capsys, "fit", "--data", str(tiny_data), "--out", str(out), *words.split())
    assert not out.exists()


@pytest.mark.parametrize(
    ("variables", "part"),
    [
        ({"SLURM_PROCID": "0", "SLURM_LOCALID": "0"}, "only 1 of 2 processes of the training are there after 0.5 s"),
        ({"SLURM_PROCID": "1", "SLURM_LOCALID": "1"}, "process 0 of the training at localhost:"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_NTASKS_PER_NODE": "4"}, "--ntasks-per-node=4"),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "3"}, "3 processes were started, and --devices 2 on 1 nodes need 2"),
        ({}, "the variable SLURM_PROCID is not set; start the processes with srun of SLURM, or torchrun"),
        ({"SLURM_PROCID": "0", "MASTER_PORT": "abc"}, "invalid literal for int() with base 10: 'abc'"),
    ],
)
def test_nodes_that_do_not_come_give_one_line(
    variables: Mapping[str, str],
    part: str,
    tiny_data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(team, "JOIN_WITHIN", 0.5)
    for name, value in {**SLURM, "MASTER_PORT": free_port(), "MASTER_ADDR": "localhost", **variables}.items():
        monkeypatch.setenv(name, value)
    out = tmp_path / "run"
    words = "fit", "--data", str(tiny_data), "--out", str(out), "--devices", "2"
    assert part in refusal(capsys, *words)
    assert not out.exists()


@pytest.mark.slow
def test_processes_of_slurm_and_torchrun_train_as_those_of_one_command(tiny_data: Path, tmp_path: Path) -> None:
    runs = [tmp_path / name for name in ("one-command", "slurm", "torchrun")]
    words = "--devices", "2", "--training.batch", "20", "--training.epochs", "1"
    port = free_port()
    processes = [started(tiny_data, runs[0], *words)]
    for rank in ("0", "1"):
        own = {"SLURM_PROCID": rank, "SLURM_LOCALID": rank}
        processes.append(started(tiny_data, runs[1], *words, MASTER_PORT=port, **SLURM, **own))
    port = free_port()
    for rank in ("0", "1"):
        own = {"RANK": rank, "LOCAL_RANK": rank, "GROUP_RANK": "0", "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
        own |= {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "TORCHELASTIC_RUN_ID": "x"}
        processes.append(started(tiny_data, runs[2], *words, **own))
    printed = [process.communicate(timeout=PATIENCE)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 5
    assert printed == [f"wrote {runs[0]}\n", f"wrote {runs[1]}\n", "", f"wrote {runs[2]}\n", ""]
    assert tiny.weights(runs[0]) == tiny.weights(runs[1]) == tiny.weights(runs[2]) != {}


@pytest.mark.slow
def test_torchrun_itself_starts_a_training(tiny_data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    words = [*SHAPE.split(), "--devices", "2", "--training.batch", "20", "--training.epochs", "1"]
    call = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
    call += ["--rdzv-endpoint", f"localhost:{free_port()}", "-m", "ropes", "fit", "--data", str(tiny_data)]
    ended = subprocess.run([*call, "--out", str(run), *words], capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout) == (0, f"wrote {run}\n"), ended.stderr
    assert tiny.weights(run) != {}


@pytest.mark.slow
def test_one_device_in_a_job_of_several_processes_trains_as_outside(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lightning's own SLURM would refuse the number of processes, and read checkpoints of the working folder."""
    (tmp_path / "hpc_ckpt_1.ckpt").write_bytes(b"of another training")
    monkeypatch.chdir(tmp_path)
    job = {name: value for name, value in SLURM.items() if name != "SLURM_NTASKS_PER_NODE"}
    processes = [
        started(tiny_data, tmp_path / name, "--training.epochs", "1", "--logger", "csv", **variables)
        for name, variables in (("outside", {}), ("inside", {**job, "SLURM_PROCID": "3", "SLURM_LOCALID": "3"}))
    ]
    said = [process.communicate(timeout=PATIENCE)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    assert tiny.weights(tmp_path / "inside") == tiny.weights(tmp_path / "outside") != {}
    logs = [(tmp_path / name / "logs" / "csv" / "metrics.csv").read_text() for name in ("outside", "inside")]
    assert logs[0].count("\n") == logs[1].count("\n") > 1


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_signal_ends_all_processes_and_the_same_command_resumes(
    number: signal.Signals, code: int, tiny_data: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    words = "--devices", "2", "--training.batch", "20", "--training.epochs", "40", "--logger", "csv"
    process = started(tiny_data, run, *words)
    log = run / "logs" / "csv" / "metrics.csv"
    wait_until(lambda: log.exists() or process.poll() is not None)
    assert process.poll() is None
    (worker,) = children(process.pid)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    wait_until(lambda: has_ended(worker))
    assert (run / "encoder" / "last.safetensors").exists() == (number != signal.SIGKILL)
    resumed = started(tiny_data, run, *words)
    resumed.communicate(timeout=PATIENCE)
    assert resumed.returncode == 0
    assert (run / "training.json").exists()


def test_example_of_slurm_gives_the_options_of_fit(
    tiny_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a cluster, the command of the example is refused for want of one alone."""
    text = (ROOT / "examples" / "slurm" / "fit.sbatch").read_text(encoding="utf-8")
    sizes = dict(re.findall(r"^#SBATCH --(nodes|ntasks-per-node)=(\d+)$", text, re.MULTILINE))
    command = text.partition("ropes fit ")[2].partition(" &")[0]
    values = {"$SLURM_NTASKS_PER_NODE": sizes["ntasks-per-node"], "$SLURM_NNODES": sizes["nodes"]}
    for name, value in {**values, "$1": tiny_data, "$2": tmp_path / "run"}.items():
        command = command.replace(name, str(value))
    assert "--nodes 2 needs srun of SLURM" in refusal(capsys, "fit", *shlex.split(command))
    assert subprocess.run(["bash", "-n"], input=text, text=True, check=False).returncode == 0

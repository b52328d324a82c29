"""The processes of a training on several devices: process 0 runs the program, the others only train with it.

Process 0 sends each stage to the others, and then each batch. Files, evaluations and all else are its own. On one
machine it starts the other processes itself. SLURM and torchrun start all processes; Lightning's classes for them give
their numbers and their addresses.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import torch
from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from torch import distributed
from torch.distributed import PrefixStore, Store, TCPStore  # type: ignore[attr-defined]

from ropes.common.hardware import device_kind, usable_cores
from ropes.errors import UserError
from ropes.methods.training.environments import LocalEnvironment, started_by
from ropes.methods.training.sharing import Share

#: Seconds until all processes have to be there.
JOIN_WITHIN = 300.0
#: Longest time between two messages; others wait for process 0 while it does everything but training.
_SILENCE = timedelta(days=30)
#: Longest time between the gradients of two processes, as in torch: they compute the same step.
_STEP = timedelta(minutes=30)
#: Seconds within which a process ends whose connection is lost: the system closes its connections first.
_LAST_MOMENTS = 5.0
_AGAIN = "run the same command again to resume"


@dataclass
class Team:
    """The processes of a training, from the view of one of them.

    Attributes:
        environment: addresses and numbers.
        devices: number for each machine; each has one process.
        nodes: number of machines.
        share: number of this process, and number of all.
        messages: the group in which process 0 sends stages and batches.
        started: the processes that this one has started.
        result: what process 0 sends to the others at the end.
    """

    environment: ClusterEnvironment
    devices: int
    nodes: int
    share: Share
    messages: distributed.ProcessGroup
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    result: Any = None

    @property
    def threads(self) -> int:
        """Threads of each process of a machine while they train on its cores."""
        if device_kind() != "cpu":
            return torch.get_num_threads()
        if isinstance(self.environment, SLURMEnvironment) and (own := os.environ.get("SLURM_CPUS_PER_TASK")):
            return max(1, min(int(own), usable_cores()))  # SLURM binds each process to its own cores
        return max(1, usable_cores() // self.devices)

    def send(self, content: Any = None) -> Any:
        """What process 0 gives; the others give nothing."""
        contents = [content]
        distributed.broadcast_object_list(contents, src=0, group=self.messages, device=torch.device("cpu"))
        return contents[0]

    def decide(self, *, save: bool = False, stop: bool = False) -> tuple[bool, bool]:
        """Whether to save a checkpoint, and whether to stop: the decision of process 0."""
        decision = torch.tensor([save, stop], dtype=torch.uint8)
        distributed.broadcast(decision, src=0, group=self.messages)
        return bool(decision[0]), bool(decision[1])

    def fault(self, error: BaseException) -> str:
        """Why a message did not arrive, of which `error` tells."""
        end = time.monotonic() + _LAST_MOMENTS
        while self.started and time.monotonic() < end:
            for number, process in enumerate(self.started, start=1):
                if process.poll() is not None:
                    return f"process {number} of the training ended with code {process.returncode}; {_AGAIN}"
            time.sleep(0.01)
        reason = str(error).strip().partition("\n")[0]
        return f"process {self.share.rank} of the training lost the connection to another ({reason}); {_AGAIN}"


_TEAM: ContextVar[Team | None] = ContextVar("team", default=None)


def current_team() -> Team | None:
    """The team of the training that runs; None on one device."""
    return _TEAM.get()


def global_rank(devices: int, nodes: int) -> int:
    """Number of this process among those of a training; 0 in a process that no cluster has started.

    Raises:
        UserError: a cluster has started another number of processes than `devices` on each of `nodes` machines.
    """
    cluster = None if devices * nodes == 1 else started_by(devices, nodes)
    return 0 if cluster is None else cluster.rank


def is_lost_connection(error: BaseException) -> bool:
    """Whether another process has gone, or cannot be reached."""
    return isinstance(error, distributed.DistError) or (isinstance(error, RuntimeError) and "onnect" in str(error))


@contextmanager
def training_team(devices: int, nodes: int) -> Iterator[Team | None]:
    """The team of a training on `devices` devices of each of `nodes` machines, while the context lasts; None for one.

    Raises:
        UserError: a process cannot be reached, or ends early.
    """
    if devices * nodes == 1:
        yield None
        return
    cluster = started_by(devices, nodes)
    if cluster is None:
        table = _store("127.0.0.1", 0, is_first=True)
        started = [_start(rank, devices, table.port) for rank in range(1, devices)]
        store: Store = table
        environment: ClusterEnvironment = LocalEnvironment(0)
    else:
        serves = cluster.rank == 0 and not cluster.has_table
        store = PrefixStore(cluster.name, _store(cluster.host, cluster.port, is_first=serves))
        started, environment = [], cluster.environment
    token = None
    try:
        team = join(environment, store, devices, nodes, started)
        token = _TEAM.set(team)
        yield team
        if not team.share.rank:
            team.send(team.result)  # no more stages
        for process in started:
            process.wait()
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        early = f"process 0 of the training ended while the processes joined; {_AGAIN}"
        raise UserError(early if token is None else team.fault(error)) from error
    finally:
        if token is not None:
            _TEAM.reset(token)
        for process in started:
            process.kill()
            process.wait()
        if distributed.is_initialized():
            distributed.destroy_process_group()


def join(
    environment: ClusterEnvironment,
    store: Store,
    devices: int,
    nodes: int,
    started: list[subprocess.Popen[bytes]],
) -> Team:
    """Wait for the other processes, and connect all.

    Raises:
        UserError: one of them ends, or does not come.
    """
    share = Share(environment.global_rank(), devices * nodes)
    store.set(f"joined {share.rank}", "")
    if share.rank == 0:
        _wait_for_all(store, share.devices, started)
    backend = "gloo" if device_kind() == "cpu" else "nccl"
    distributed.init_process_group(backend, store=store, rank=share.rank, world_size=share.devices, timeout=_STEP)
    messages = distributed.new_group(backend="gloo", timeout=_SILENCE)
    return Team(environment, devices, nodes, share, messages, started)


def join_local(rank: int, devices: int, port: int) -> Team:
    """Join a team whose process 0 has started this process."""
    environment = LocalEnvironment(rank)
    environment.set_global_rank(rank)
    return join(environment, _store("127.0.0.1", port, is_first=False), devices, 1, [])


@contextmanager
def spared() -> Iterator[None]:
    """Ignore Ctrl-C and SIGTERM, to which process 0 reacts for all."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _store(host: str, port: int, *, is_first: bool) -> TCPStore:
    """The table of the processes' addresses, which process 0 serves.

    Raises:
        UserError: it cannot be reached, or its port is not free.
    """
    try:
        return TCPStore(host, port, is_master=is_first, wait_for_workers=False, timeout=timedelta(seconds=JOIN_WITHIN))
    except distributed.DistError as error:
        if is_first:
            raise UserError(f"port {port} of {host} is not free; set MASTER_PORT to another one") from error
        raise UserError(
            f"process 0 of the training at {host}:{port} cannot be reached within {JOIN_WITHIN:g} s; it has ended, or "
            "the network between the nodes does not allow it"
        ) from error


def _start(rank: int, devices: int, port: int) -> subprocess.Popen[bytes]:
    """Start a process of this machine's team, in a group of its own: Ctrl-C reaches process 0 alone."""
    words = [sys.executable, "-m", "ropes.methods.training.worker", str(rank), str(devices), str(port)]
    return subprocess.Popen(words, stdin=subprocess.DEVNULL, process_group=0)


def _wait_for_all(store: Store, count: int, started: list[subprocess.Popen[bytes]]) -> None:
    names, end = [f"joined {rank}" for rank in range(count)], time.monotonic() + JOIN_WITHIN
    while not store.check(names):
        joined = sum(store.check([name]) for name in names)
        for number, process in enumerate(started, start=1):
            if process.poll() is not None:
                raise UserError(f"process {number} of the training ended with code {process.returncode} at its start")
        if time.monotonic() > end:
            raise UserError(
                f"only {joined} of {count} processes of the training are there after {JOIN_WITHIN:g} s; "
                "start them with srun or torchrun, and check that the nodes reach each other"
            )
        time.sleep(0.1)

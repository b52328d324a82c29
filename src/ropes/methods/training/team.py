"""The processes of a training on several devices: process 0 runs the program, the others only train with it.

Process 0 sends each stage to the others, and then each batch. Files, evaluations and all else are its own. On one
machine it starts the other processes itself. SLURM and torchrun start all processes; Lightning's classes for them give
their numbers and their addresses.
"""

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
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment
from torch import distributed
from torch.distributed import TCPStore  # type: ignore[attr-defined]

from ropes.common.hardware import device_kind, usable_cores
from ropes.errors import UserError
from ropes.methods.training.sharing import Share

#: Seconds until all processes have to be there.
JOIN_WITHIN = 300.0
#: Longest time between two messages; others wait for process 0 while it does everything but training.
_SILENCE = timedelta(days=30)
#: Seconds within which a process ends whose connection is lost: the system closes its connections first.
_LAST_MOMENTS = 5.0
_AGAIN = "run the same command again to resume"


class LocalEnvironment(LightningEnvironment):
    """Processes on this machine that process 0 starts."""

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank

    @property
    def creates_processes_externally(self) -> bool:
        """Lightning starts none."""
        return True

    def local_rank(self) -> int:
        """Number of this process."""
        return self.rank

    def node_rank(self) -> int:
        """There is one machine."""
        return 0


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
    """

    environment: ClusterEnvironment
    devices: int
    nodes: int
    share: Share
    messages: distributed.ProcessGroup
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def threads(self) -> int:
        """Threads of each process of a machine while they train on its cores."""
        return max(1, usable_cores() // self.devices) if device_kind() == "cpu" else torch.get_num_threads()

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

    def fault(self) -> str:
        """Why a message did not arrive."""
        end = time.monotonic() + _LAST_MOMENTS
        while self.started and time.monotonic() < end:
            for number, process in enumerate(self.started, start=1):
                if process.poll() is not None:
                    return f"process {number} of the training ended with code {process.returncode}; {_AGAIN}"
            time.sleep(0.01)
        return f"process {self.share.rank} of the training lost the connection to another; {_AGAIN}"


_TEAM: ContextVar[Team | None] = ContextVar("team", default=None)


def current_team() -> Team | None:
    """The team of the training that runs; None on one device."""
    return _TEAM.get()


def global_rank(devices: int, nodes: int) -> int:
    """Number of this process among those of a training; 0 in a process that no cluster has started.

    Raises:
        UserError: a cluster has started another number of processes than `devices` on each of `nodes` machines.
    """
    environment = None if devices * nodes == 1 else _cluster(devices, nodes)
    return 0 if environment is None else environment.global_rank()


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
    environment = _cluster(devices, nodes)
    if environment is None:
        store = _store("127.0.0.1", 0, is_first=True)
        started = [_start(rank, devices, store.port) for rank in range(1, devices)]
        environment = LocalEnvironment(0)
    else:
        rank = environment.global_rank()
        store, started = _store(environment.main_address, environment.main_port, is_first=rank == 0), []
    token = None
    try:
        team = join(environment, store, devices, nodes, started)
        token = _TEAM.set(team)
        yield team
        if not team.share.rank:
            team.send(None)  # no more stages
        for process in started:
            process.wait()
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        early = f"process 0 of the training ended while the processes joined; {_AGAIN}"
        raise UserError(early if token is None else team.fault()) from error
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
    store: TCPStore,
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
    distributed.init_process_group(backend, store=store, rank=share.rank, world_size=share.devices, timeout=_SILENCE)
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


def _cluster(devices: int, nodes: int) -> ClusterEnvironment | None:
    """The cluster that has started this process; None without one.

    Raises:
        UserError: it has started another number of processes, or there is no cluster although there are several nodes.
    """
    environment: ClusterEnvironment
    try:
        if SLURMEnvironment.detect():
            environment = SLURMEnvironment(auto_requeue=False)
        elif TorchElasticEnvironment.detect():
            environment = TorchElasticEnvironment()
        elif nodes == 1:
            return None
        else:
            raise UserError(f"--nodes {nodes} needs srun of SLURM, or torchrun, to start the processes of each node")
        environment.validate_settings(devices, nodes)
    except (RuntimeError, ValueError) as error:  # Lightning's own checks
        raise UserError(" ".join(str(error).split())) from error
    if (count := environment.world_size()) != devices * nodes:
        raise UserError(
            f"{count} processes were started, and --devices {devices} on {nodes} nodes need {devices * nodes}; "
            "start one process for each device"
        )
    return environment


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


def _wait_for_all(store: TCPStore, count: int, started: list[subprocess.Popen[bytes]]) -> None:
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

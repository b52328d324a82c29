"""What has started the processes of a training: process 0, SLURM or torchrun."""

import os
from dataclasses import dataclass

from lightning.fabric.plugins.environments.cluster_environment import ClusterEnvironment
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.fabric.plugins.environments.slurm import SLURMEnvironment
from lightning.fabric.plugins.environments.torchelastic import TorchElasticEnvironment

from ropes.errors import UserError


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


@dataclass(frozen=True)
class StartedBy:
    """A cluster that has started this process.

    Attributes:
        environment: Lightning's description of it.
        rank: number of this process.
        host: machine with the table of the processes' addresses.
        port: of that table.
        has_table: torchrun serves the table itself; otherwise process 0 does.
        name: of the table's entries, different for each start of the processes.
    """

    environment: ClusterEnvironment
    rank: int
    host: str
    port: int
    has_table: bool = False
    name: str = ""


def started_by(devices: int, nodes: int) -> StartedBy | None:
    """The cluster that has started this process; None without one.

    Raises:
        UserError: it has started another number of processes, has left a variable out, or there is no cluster although
            there are several nodes.
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
        count = environment.world_size()
        of_torchrun = os.environ if isinstance(environment, TorchElasticEnvironment) else {}
        names = [of_torchrun.get(f"TORCHELASTIC_{name}", "") for name in ("RUN_ID", "RESTART_COUNT")]
        found = StartedBy(
            environment,
            environment.global_rank(),
            environment.main_address,
            environment.main_port,
            has_table=of_torchrun.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
            name="/".join(("ropes", *names)),
        )
    except KeyError as error:
        raise UserError(
            f"the variable {error.args[0]} is not set; start the processes with srun of SLURM, or torchrun"
        ) from error
    except (RuntimeError, ValueError) as error:  # Lightning's own checks, and numbers that are none
        raise UserError(" ".join(str(error).split())) from error
    if count != devices * nodes:
        raise UserError(
            f"{count} processes were started, and --devices {devices} on {nodes} nodes need {devices * nodes}; "
            "start one process for each device"
        )
    return found

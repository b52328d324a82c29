"""A Ray cluster of two nodes on this machine, and what they run."""

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from ropes.errors import UserError
from tests.timeouts import PATIENCE

ROOT = Path(__file__).parents[1]


class Nodes:
    """A head and a further node, with one CPU each.

    Attributes:
        client: address for Ray's client.
    """

    def __init__(self, folder: str) -> None:
        from ray.cluster_utils import Cluster

        paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        self._node = {"object_store_memory": 80 << 20, "env_vars": {"PYTHONPATH": os.pathsep.join(paths)}}
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self.client = f"ray://127.0.0.1:{port}"
        head = {**self._node, "num_cpus": 1, "include_dashboard": False, "temp_dir": folder}
        head["ray_client_server_port"] = port
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.second = self.add()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def add(self, path: str = "") -> Any:
        """Start a node; its Python looks into a folder first."""
        variables = self._node["env_vars"]
        assert isinstance(variables, dict)
        own = {"PYTHONPATH": os.pathsep.join([path, variables["PYTHONPATH"]])} if path else variables
        return self._cluster.add_node(num_cpus=1, **{**self._node, "env_vars": own})

    def remove(self, node: Any) -> None:
        """Kill a node with all that runs on it."""
        self._cluster.remove_node(node, allow_graceful=False)

    def kill_second(self) -> None:
        self.remove(self.second)

    def restart_second(self) -> None:
        self.second = self.add()

    def shutdown(self) -> None:
        self._cluster.shutdown()


@contextmanager
def running_nodes() -> Iterator[Nodes]:
    folder = tempfile.mkdtemp(prefix="ropes-nodes-", dir="/tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_TMPDIR", folder)  # Ray stores the address of the cluster in its folder "ray", made by others
        Path(folder, "ray").mkdir()
        nodes = Nodes(folder)
        try:
            yield nodes
        finally:
            nodes.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


class Painter:
    """A slow renderer; leaves a file with the name of each node that paints."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def render_all(self, states: ArrayLike, /) -> Iterator[NDArray[np.uint8]]:
        import ray

        for state in np.asarray(states):
            if ray.is_initialized():
                (self.folder / ray.get_runtime_context().get_node_id()).touch()
                time.sleep(0.01)
            yield np.full((1, 4, 4), int(state[0]) % 256, np.uint8)


class Broken(Painter):
    """A renderer that a node does not have."""

    def __enter__(self) -> Self:
        raise UserError("MuJoCo cannot draw off-screen")


def fit_slowly(data: Path, out: Path, seed: int, began: Path, epochs: int = 8) -> None:
    """A fit whose steps take a moment; leaves a file with the name of its node when it has begun to train."""
    import ray

    from ropes.methods.fit import fit  # renderers need no torch
    from ropes.methods.training.stage import Stage
    from tests import tiny

    original = Stage.after_step

    def after_step(stage: Stage) -> None:
        original(stage)
        (began / ray.get_runtime_context().get_node_id()).touch()
        time.sleep(0.05)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stage, "after_step", after_step)
        recipe = tiny.encoder_recipe()
        fit(data, out, replace(recipe, training=replace(recipe.training, epochs=epochs)), seed, show=False)


def wait_for(path: Path) -> None:
    """Until a file is there."""
    wait(path.exists)


def wait_for_any(folder: Path) -> None:
    """Until a folder has a file."""
    wait(lambda: any(folder.iterdir()))


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def fail() -> None:
    raise UserError("this fit diverged")

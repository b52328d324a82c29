"""Deals calls to the nodes of a Ray cluster.

Ray starts the processes, moves arguments and results, and repeats the calls of a node that dies.  Every node must have
ropes and its libraries in the versions of this machine, because the bytes of results depend on them.
"""

import re
import secrets
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from ropes.common.cluster_node import (
    Expected,
    MisfitError,
    MissingPackageError,
    answer,
    opened,
    require_equal,
    require_versions,
    run_job,
    versions,
)
from ropes.common.jobs import Job, Queue
from ropes.errors import UserError

#: How often Ray repeats a call whose process or node died, and calls per CPU that are submitted ahead of the reader.
_RETRIES, _AHEAD = 3, 3
#: Seconds between two looks at the nodes, and for checkpoints of interrupted fits; tries to ask a node, one a second.
_LOOK, _PATIENCE, _TRIES = 10.0, 60.0, 60
#: What Ray says of a function, or of its arguments, where a node cannot import ropes.
_NOT_IMPORTED = re.compile(r"failed to import on the worker|No module named '?ropes\b")


def _on(node: str, *, soft: bool = False) -> Any:
    """Ray's word for calls on one node; `soft`: on others if it is gone."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=soft)


class Cluster:
    """A Ray cluster that this process is connected to, see `ropes.common.ray_connection.connect`.

    Args:
        ray: the module.

    Raises:
        UserError: it has no CPU, or a node lacks ropes, or has it or a library in another version.
    """

    def __init__(self, ray: ModuleType) -> None:
        self._ray = ray
        self._expected = Expected(versions())
        self._checked: list[str] = []  # numbers of the nodes that were checked
        self._misfits: set[str] = set()  # what was said of nodes that joined later
        for name, found in self._ask(versions):
            require_versions(self._expected.versions, found, name)
        self._checked = [node["NodeID"] for node in self._nodes()]

    def _nodes(self) -> list[dict[str, Any]]:
        """The nodes that compute.

        Raises:
            UserError: there is none.
        """
        if nodes := [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]:
            return nodes
        raise UserError("the Ray cluster has no node with a CPU; start one with ray start --address=HOST:PORT")

    @property
    def cores(self) -> int:
        """CPUs of all nodes."""
        return int(sum(node["Resources"]["CPU"] for node in self._nodes()))

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return int(sum(node["Resources"].get("GPU", 0) for node in self._nodes()))

    @property
    def _smallest(self) -> int:
        """CPUs of the node that has fewest."""
        return int(min(node["Resources"]["CPU"] for node in self._nodes()))

    def threads(self, fits: int, gpus: float) -> int:
        """Number of threads of each of `fits` fits, which together use all CPUs, or all GPUs with `gpus` of them each.

        Raises:
            UserError: no node has so many GPUs.
        """
        if not gpus:
            return max(1, min(self._smallest, self.cores // fits))
        resources = [node["Resources"] for node in self._nodes()]
        shares = [each["CPU"] * gpus / each["GPU"] for each in resources if each.get("GPU", 0) >= gpus]
        if not shares:
            raise UserError(f"no node of the cluster has {gpus:g} GPUs; give fewer --gpus-per-fit")
        return max(1, int(min(shares)))

    def require_same(self, function: Callable[[], object], what: str) -> None:
        """Check that a function returns the same on every node as here, also on nodes that join later.

        Args:
            function: of a module, or a partial of one.
            what: what it returns, for the message.

        Raises:
            UserError: it does not, or raises a `UserError` on a node.
        """
        ours = function()
        for name, theirs in self._on_each_node(function):
            require_equal(ours, theirs, what, name)
        self._expected = Expected(self._expected.versions, (*self._expected.same, (function, ours, what)))

    def require_folder(self, folder: Path) -> None:
        """Check that every node sees a folder of this machine at the same path.

        Args:
            folder: an absolute path; if it does not exist yet, its nearest parent is checked.

        Raises:
            UserError: a node does not, or the folder cannot be written to.
        """
        nearest = next(each for each in (folder, *folder.parents) if each.is_dir())
        token = nearest / f".{secrets.token_hex(8)}.part"
        try:
            token.touch()
            for name, sees in self._on_each_node(token.exists):
                if not sees:
                    raise UserError(
                        f"node {name} does not see the folder {nearest} of this machine; choose one of a file system "
                        "that all nodes share"
                    )
        finally:
            token.unlink(missing_ok=True)

    def stream(self, function: Callable[[Any], Any], parts: Iterable[Any]) -> Generator[Any, None, None]:
        """Call a function for each part, on one CPU; yields the results in the order of the parts.

        Few calls per CPU are submitted ahead of the reader, which bounds the memory.  Closing the generator, or any
        exception, cancels them.  Calls of a node that has joined later and does not fit are repeated elsewhere.

        Raises:
            UserError: a call raised one, no node is left, or processes died again and again.
        """
        task = self._ray.remote(num_cpus=1, max_retries=_RETRIES)(answer)
        ahead, pending = _AHEAD * self.cores, deque[tuple[Any, tuple[Any, ...]]]()
        try:
            for part in parts:
                pending.append((task.remote(self._expected, function, part), (self._expected, function, part)))
                if len(pending) >= ahead:
                    yield self._result_anywhere(task, *pending.popleft())
            while pending:
                yield self._result_anywhere(task, *pending.popleft())
        finally:
            self._cancel(call for call, _ in pending)

    def run_all(self, jobs: Sequence[Job], *, finished: Callable[[int], None], gpus: float) -> None:
        """Run every job in its own process on some node, as `ropes.common.processes.run_all` does here.

        If one fails the others continue.  If this process is interrupted, running jobs get a KeyboardInterrupt, on
        which a training writes a checkpoint.  Jobs of a node that dies run again on others, and so do those of a node
        that has joined later and does not fit.

        Args:
            jobs: the jobs.
            finished: called with a job's number when it succeeds.
            gpus: share of a GPU, or number of GPUs, of each job; 0 hides GPUs from the jobs.

        Raises:
            UnfinishedError: some jobs failed; raised after all jobs ended, with their number.
        """
        smallest = self._smallest
        needed = min(max((job.threads for job in jobs), default=1), smallest), gpus
        task = self._ray.remote(num_gpus=gpus, max_calls=1, max_retries=_RETRIES)(run_job)
        queue, running = Queue(jobs), dict[Any, int]()

        def start(number: int, job: Job, **where: Any) -> None:
            placed = task.options(num_cpus=min(job.threads, smallest), **where)
            running[placed.remote(self._expected, job.call, job.threads, gpus > 0)] = number

        try:
            while queue or running:
                for number, job in queue.ready():
                    start(number, job)
                ended = self._first(list(running), *needed)
                number = running.pop(ended)
                try:
                    self._result(ended)
                except MisfitError as error:
                    start(number, jobs[number], **self._elsewhere(error))
                except UserError as error:
                    queue.end(number, str(error))
                except self._ray.exceptions.RayTaskError as error:  # a bug, whose traceback is that of the node
                    print(error, file=sys.stderr)
                    queue.end(number, "a job on the cluster failed (see the messages above)")
                else:
                    queue.end(number)
                    finished(number)
        finally:
            self._cancel(running)
        queue.raise_failures()

    def _elsewhere(self, error: MisfitError) -> dict[str, Any]:
        """Ray's option for calls on a node that was checked; says once what is wrong with the other one.

        Raises:
            UserError: no such node is left.
        """
        left = [node["NodeID"] for node in self._nodes() if node["NodeID"] in self._checked]
        if not left:
            raise UserError(str(error)) from error
        if str(error) not in self._misfits:
            print(f"ropes: {error}; it gets no work until then", file=sys.stderr)
        self._misfits.add(str(error))
        self._checked = [*self._checked[1:], self._checked[0]]  # another one each time
        there = next(each for each in self._checked if each in left)
        return {"scheduling_strategy": _on(there, soft=True)}

    def _on_each_node(self, function: Callable[[], Any]) -> list[tuple[str, Any]]:
        """For each node its name, and what a function returns there."""
        return [(name, opened(given)) for name, given in self._ask(answer, self._expected, function)]

    def _ask(self, function: Callable[..., Any], *arguments: Any) -> list[tuple[str, Any]]:
        """For each node its name, and what a function returns there; nodes that compute answer as well."""
        answers: dict[str, tuple[str, Any]] = {}
        tries = 0
        while left := [node for node in self._nodes() if node["NodeID"] not in answers]:
            calls = {}
            for node in left:
                task = self._ray.remote(num_cpus=0, scheduling_strategy=_on(node["NodeID"]))(function)
                calls[node["NodeID"]] = task.remote(*arguments)
            for node in left:
                name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
                try:
                    answers[node["NodeID"]] = name, self._got(calls[node["NodeID"]])
                except MissingPackageError:
                    raise
                except UserError:  # it has just joined, or just died and will leave the list
                    if (tries := tries + 1) == _TRIES:
                        raise
                    time.sleep(1)
        return list(answers.values())

    def _first(self, calls: list[Any], cpus: float = 1, gpus: float = 0) -> Any:
        """The first call that ends; looks every few seconds whether a node is left that can run calls of this size.

        Raises:
            UserError: there is none.
        """
        while True:
            ended, _ = self._ray.wait(calls, num_returns=1, timeout=_LOOK)
            if ended:
                return ended[0]
            resources = [node["Resources"] for node in self._nodes()]
            if not any(each["CPU"] >= cpus and each.get("GPU", 0) >= gpus for each in resources):
                size = f"{cpus:g} CPUs" + (f" and {gpus:g} GPUs" if gpus else "")
                raise UserError(f"no node of the Ray cluster with {size} is left; run the same command again")

    def _result(self, call: Any) -> Any:
        """The result of a call of `answer` or `run_job`."""
        return opened(self._got(self._first([call])))

    def _result_anywhere(self, task: Any, call: Any, arguments: tuple[Any, ...]) -> Any:
        """The result of a call of `task`, repeated elsewhere as long as its node does not fit."""
        try:
            return self._result(call)
        except MisfitError as error:
            return self._result_anywhere(task, task.options(**self._elsewhere(error)).remote(*arguments), arguments)

    def _got(self, call: Any) -> Any:
        try:
            return self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            if isinstance(error, self._ray.exceptions.RayTaskError):
                if _NOT_IMPORTED.search(str(error)):  # on a node that has joined after the others were checked
                    raise MissingPackageError(
                        "a node of the Ray cluster cannot import ropes; install it there"
                    ) from error
                raise  # a bug
            reason = str(error).strip().partition("\n")[0]
            raise UserError(f"the Ray cluster lost a call ({reason}); run the same command again") from error

    def _cancel(self, calls: Iterable[Any]) -> None:
        """Cancel calls, and wait until they have ended."""
        if left := list(calls):
            for call in left:
                self._ray.cancel(call)
            with suppress(self._ray.exceptions.RayError):
                self._ray.wait(left, num_returns=len(left), timeout=_PATIENCE)

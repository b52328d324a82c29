"""What a node of a cluster runs: calls whose errors travel back as text, after a check of its versions."""

import os
import secrets
import signal
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ropes.common.hardware import tune_process
from ropes.common.processes import use_threads
from ropes.errors import UserError

#: Package → its version, None where it is not installed.
Versions = Mapping[str, str | None]
#: Packages whose versions may change the bytes of data sets and of weights.
PACKAGES = (
    *("ropes", "fast-simplification", "lightgbm", "lightning", "mujoco", "numpy", "pillow", "pyarrow", "pybullet"),
    *("scikit-learn", "scipy", "torch", "transformers"),
)


def _reader(names: Sequence[str]) -> Callable[[], dict[str, str | None]]:
    """The function that reads the versions of packages, without the suffix of a build such as +cpu.

    It is nested, so that Ray sends its code: a node without ropes can run it.
    """

    def read() -> dict[str, str | None]:
        from importlib.metadata import PackageNotFoundError, version

        found: dict[str, str | None] = dict.fromkeys(names)
        for name in names:
            try:
                found[name] = version(name).partition("+")[0]
            except PackageNotFoundError:
                continue
        return found

    return read


#: Reads the versions of `PACKAGES` on the machine that runs it.
versions = _reader(PACKAGES)


def require_versions(expected: Versions, found: Versions, node: str) -> None:
    """Check the versions of a node against those of the machine that deals the calls.

    Raises:
        UserError: one differs.
    """
    for name, ours in expected.items():
        if (theirs := found.get(name)) != ours:
            has = f"has {name} {theirs}" if theirs else f"lacks {name}"
            here = f"this machine has {ours}" if ours else "this machine lacks it"
            raise UserError(f"node {node} {has}, and {here}; install the same versions on all nodes and here")


@dataclass(frozen=True)
class Expected:
    """What every node must have in common with the machine that deals the calls.

    Attributes:
        versions: of packages.
        same: functions, what they return there, and what that is.
        token: changes with the others: a process checks itself once.
    """

    versions: Versions
    same: tuple[tuple[Callable[[], object], object, str], ...] = ()
    token: str = field(default_factory=lambda: secrets.token_hex(8))


_checked: set[str] = set()


def require_expected(expected: Expected, node: str) -> None:
    """Check this process, which may be of a node that has joined after the others were checked.

    Raises:
        UserError: something differs.
    """
    if expected.token in _checked:
        return
    require_versions(expected.versions, versions(), node)
    for function, ours, what in expected.same:
        require_equal(ours, function(), what, node)
    _checked.add(expected.token)


def require_equal(ours: object, theirs: object, what: str, node: str) -> None:
    """Check what a node has against what this machine has.

    Raises:
        UserError: it differs.
    """
    if theirs != ours:
        raise UserError(f"node {node} has another {what} than this machine; give every node the same")


class MissingPackageError(UserError):
    """A node cannot import ropes."""


class MisfitError(UserError):
    """A node lacks something that the other nodes and this machine have."""


#: Whether a call has succeeded, and its result or the message of its error; None where its node does not fit.
Answer = tuple[bool | None, Any]


def opened(answer: Answer) -> Any:
    """The result in an answer.

    Raises:
        UserError: the answer is the message of one; a `MisfitError` where the node does not fit.
    """
    well, content = answer
    if well is None:
        raise MisfitError(content)
    if not well:
        raise UserError(content)
    return content


def answer(expected: Expected, function: Callable[..., Any], *arguments: Any) -> Answer:
    """Call a function on a node."""
    node = socket.gethostname()
    try:
        require_expected(expected, node)
    except UserError as error:
        return None, str(error)
    try:
        return True, function(*arguments)
    except (UserError, OSError, ModuleNotFoundError) as error:
        return False, f"{error} (on node {node})"


def run_job(expected: Expected, job: Callable[[], None], threads: int, gpu: bool) -> Answer:
    """Run a job on a node, in a new process."""
    if not gpu:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # before CUDA is used
    # Ray blocks SIGINT, which a training raises again after it has stored a checkpoint.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    tune_process()
    use_threads(threads)
    return answer(expected, job)

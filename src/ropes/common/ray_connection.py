"""Connects this process to a Ray cluster, or starts one on this machine."""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

from ropes.common.cluster import Cluster
from ropes.common.hardware import usable_cores
from ropes.errors import UserError, install_command

#: Seconds in which a cluster must answer.
_ANSWER = 5.0
#: Seconds in which its head must say that it is well, with the start of a process of Ray.
HEALTH_WITHIN = 30.0
#: Environment variables that Ray reads when it is imported: it sends no usage statistics, does not print what happens
#: on nodes (its only switch for the end of a node is the one for repeated lines), and its processes are not less urgent
#: than others.
_VARIABLES = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS_SKIP_REGEX": ".", "RAY_worker_niceness": "0"}


def require_address(on: str) -> None:
    """Check the form of a cluster's address, without connecting.

    Raises:
        UserError: it is none of those of `connect`.
    """
    if on not in ("local", "auto") and not re.fullmatch(r"(ray://)?[^\s/:]+:[0-9]+", on):
        raise UserError(f"{on!r} is no Ray cluster; give local, auto, HOST:PORT or ray://HOST:PORT")


@contextmanager
def connect(on: str) -> Iterator[Cluster]:
    """Use a Ray cluster in the block.

    Args:
        on: "local" starts Ray on this machine, with one CPU for each usable core, and ends it after the block; "auto"
            is the cluster of which this machine is a node; "HOST:PORT" is that cluster by the address of its head;
            "ray://HOST:PORT" is a cluster that this machine reaches by Ray's client.

    Raises:
        UserError: Ray is not installed, the cluster cannot be reached, or a node lacks ropes, or has it or one of its
            libraries in another version.
    """
    require_address(on)
    folder = tempfile.mkdtemp(prefix="ropes-ray-", dir="/tmp") if on == "local" else None  # paths of sockets are short
    try:
        ray = _import_ray(on)
        _start(ray, on, folder)
        try:
            yield Cluster(ray)
        finally:
            ray.shutdown()
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _import_ray(on: str) -> ModuleType:
    """Ray, which reads some environment variables only now.

    Raises:
        UserError: it is not installed, or this process is connected already.
    """
    for name, value in _VARIABLES.items():
        os.environ.setdefault(name, value)
    if on == "local" and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        # Ray listens on all addresses of the machine; the token keeps others out.
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    try:
        ray = import_module("ray")
    except ModuleNotFoundError as error:
        raise UserError(f"a cluster needs Ray: {install_command('cluster')}") from error
    if ray.is_initialized():
        raise UserError("this process is connected to a Ray cluster already; call ray.shutdown() first")
    return ray


def _start(ray: ModuleType, on: str, folder: str | None) -> None:
    """Connect, or start Ray with its files in a folder.

    Raises:
        UserError: that fails.
    """
    options: dict[str, Any] = {"address": on, "log_to_driver": False, "logging_level": "CRITICAL"}
    if folder is not None:
        options |= {"num_cpus": usable_cores(), "include_dashboard": False, "_temp_dir": folder}
    elif on != "auto":
        host, _, port = on.removeprefix("ray://").rpartition(":")
        try:  # Ray itself tries for two minutes
            socket.create_connection((host, int(port)), timeout=_ANSWER).close()
        except (OSError, OverflowError, UnicodeError) as error:
            raise UserError(f"no Ray cluster answers at {on} ({error}); is it running, and the port open?") from error
        if not on.startswith("ray://"):
            _require_head(on)
    try:
        with _silent(), _own_signals():
            ray.init(**options)
    except (OSError, RuntimeError, ValueError, AssertionError, ray.exceptions.RayError) as error:
        ray.shutdown()
        if on == "auto":
            raise UserError("no Ray cluster runs on this machine; run ray start --head, or give local") from error
        raise UserError(f"cannot use Ray on {on}: {' '.join(str(error).split())[:300]}") from error


def _require_head(address: str) -> None:
    """Check that the head of a Ray cluster answers: before another server `ray.init` waits for minutes.

    Raises:
        UserError: it does not.
    """
    words = [sys.executable, "-m", "ray.scripts.scripts", "health-check", "--address", address]
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=HEALTH_WITHIN)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise UserError(
            f"what answers at {address} is not the head of a Ray cluster of this version, or has another token; give "
            "the address that ray start --head printed"
        ) from error


@contextmanager
def _silent() -> Iterator[None]:
    """Hide what Ray's C++ part and its processes write to standard error, and its warnings."""
    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep this process's handler of SIGTERM, which Ray replaces."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before)

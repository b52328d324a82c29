"""Keeps the tests on this machine: a connection or a look-up of a name beyond it fails the test that makes it.

Python reports both to audit hooks before they happen.  The hook sees this process alone, and no C library that opens
sockets by itself.
"""

import ipaddress
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

_CONNECTIONS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
_LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"}
_guards = 0
_installed = _offline = False


@contextmanager
def this_machine_only() -> Iterator[None]:
    """Fail on connections to other machines, and on look-ups of their names."""
    global _guards, _installed
    if not _installed:
        sys.addaudithook(_refuse)  # cannot be removed
        _installed = True
    _guards += 1
    try:
        yield
    finally:
        _guards -= 1


@contextmanager
def no_name_is_known() -> Iterator[None]:
    """Answer look-ups of other machines' names as a machine without a network does, in place of failing."""
    global _offline
    _offline = True
    try:
        yield
    finally:
        _offline = False


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not _guards:
        return
    if event in _CONNECTIONS:
        address = arguments[1]
        if isinstance(address, tuple) and not is_here(str(address[0])):  # Unix sockets have a path, not a tuple
            _fail(f"connects to {address[0]}, port {address[1]}")
    elif event in _LOOKUPS:
        first = arguments[0]
        host = first[0] if isinstance(first, tuple) else first
        host = host.decode() if isinstance(host, bytes) else host
        if host and not _is_address(host) and not is_here(host):
            if _offline:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            _fail(f"looks up the name {host}")


def _fail(what: str) -> None:
    # Code under test catches OSError, and often Exception; this is neither.
    pytest.fail(f"a test {what}, but no test may use the network; see tests/network.py")


def _is_address(host: str) -> bool:
    """Whether it is a number, which nobody needs to look up."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


@cache
def is_here(host: str) -> bool:
    """Whether a name or an address is of this machine: a program can listen at its own addresses only."""
    if not _is_address(host):
        return host in ("", "localhost", socket.gethostname())
    number = ipaddress.ip_address(host.partition("%")[0])
    if number.is_multicast:
        return False
    with socket.socket(socket.AF_INET if number.version == 4 else socket.AF_INET6) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True

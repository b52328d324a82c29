"""Tests cannot leave this machine, and what they need of it works."""

import socket
from pathlib import Path

import pytest

from ropes.errors import UserError
from ropes.inference.estimator import Estimator
from tests.network import is_here

#: Reserved for documentation: no machine has these addresses.
ELSEWHERE = ("198.51.100.1", "2001:db8::1")


@pytest.mark.parametrize("host", ELSEWHERE)
@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_connection_to_another_machine_is_refused(host: str, kind: socket.SocketKind) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        client = socket.socket(family, kind)
    except OSError:
        pytest.skip("this machine has no sockets of this family")
    with client:
        client.setblocking(False)
        with pytest.raises(pytest.fail.Exception, match=f"connects to {host}, port 9, but no test may use the network"):
            client.connect((host, 9))
        with pytest.raises(pytest.fail.Exception, match="connects to"):
            client.connect_ex((host, 9))
        if kind == socket.SOCK_DGRAM:
            with pytest.raises(pytest.fail.Exception, match="connects to"):
                client.sendto(b"", (host, 9))


def test_look_up_of_a_name_is_refused() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"looks up the name example\.invalid"):
        socket.create_connection(("example.invalid", 80), timeout=1)
    with pytest.raises(pytest.fail.Exception, match=r"looks up the name example\.invalid"):
        socket.gethostbyname("example.invalid")


def test_download_that_is_asked_for_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without `download` nothing is sought; with it the client of the Hub is stopped at its first look-up."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(UserError, match="is no folder; download=True downloads"):
        Estimator.from_pretrained("lab/arm")
    with pytest.raises(pytest.fail.Exception, match="but no test may use the network"):
        Estimator.from_pretrained("lab/arm", download=True)


def test_this_machine_can_be_reached(tmp_path: Path) -> None:
    for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_UNIX, str(tmp_path / "s"))):
        with socket.socket(family) as server, socket.socket(family) as client:
            server.bind(address)
            server.listen()
            client.connect(server.getsockname())
    assert is_here("127.0.0.1")
    assert is_here("localhost")
    assert is_here(socket.gethostname())
    assert not any(is_here(host) for host in (*ELSEWHERE, "224.0.0.1", "example.invalid"))

"""Ports of this machine."""

import socket


def free_port() -> str:
    """A port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])

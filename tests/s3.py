"""A server on this machine that speaks S3."""

import gc
import logging
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from upath import UPath


@pytest.fixture(scope="session")
def s3_address() -> Iterator[str]:
    """The address of the server."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def forget_connections() -> None:
    """s3fs keeps connections, with the credentials and the address that it found first."""
    from s3fs import S3FileSystem

    S3FileSystem.clear_instance_cache()
    with warnings.catch_warnings():  # s3fs gives a connection a tenth of a second to close
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


@pytest.fixture
def s3(s3_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Iterator[UPath]":
    """An empty bucket, which programs find as users' programs find theirs; with an empty cache folder."""
    from upath import UPath

    settings = {"ACCESS_KEY_ID": "key", "SECRET_ACCESS_KEY": "secret", "DEFAULT_REGION": "us-east-1"}
    for name, value in {**settings, "ENDPOINT_URL": s3_address, "EC2_METADATA_DISABLED": "true"}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):  # of the user who runs the tests
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache-home"))
    forget_connections()
    bucket = UPath("s3://lab")
    bucket.fs.mkdir("lab")
    yield bucket
    bucket.fs.rm("lab", recursive=True)
    del bucket
    forget_connections()


def upload(folder: Path, target: "UPath") -> str:
    """Copy a data set to a store; gives its URL."""
    target.fs.put(f"{folder}/", f"{target.path}/", recursive=True)
    return str(target)


def objects(folder: "UPath") -> dict[str, bytes]:
    """Name → content of the objects of a folder."""
    folder.fs.invalidate_cache()
    return {path.removeprefix(f"{folder.path}/"): folder.fs.cat_file(path) for path in folder.fs.find(folder.path)}


@contextmanager
def silent_server() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"

"""A PyBullet client without its output, closed at the end."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, TracebackType
from typing import Self

from ropes.simulation.availability import pybullet_missing

#: Pixels drawn along a side for each pixel of an image.
SUPERSAMPLING = 2


@contextmanager
def quiet() -> Iterator[None]:
    """Keep what C code prints off the terminal.

    PyBullet greets on import and comments on every URDF, straight to the file descriptors, where it would end
    up among the program's own output.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    libc = ctypes.CDLL(None)
    libc.fflush(None)
    saved = os.dup(1), os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 1)
        os.dup2(null, 2)
        yield
    finally:
        # C's buffers are emptied while nobody listens; else they surface when the program ends.
        libc.fflush(None)
        for number, copy in enumerate(saved, start=1):
            os.dup2(copy, number)
            os.close(copy)
        os.close(null)


def import_pybullet() -> ModuleType:
    """PyBullet, without its greeting.

    Raises:
        UserError: it is not installed.
    """
    try:
        with quiet():
            import pybullet
    except ModuleNotFoundError as error:
        raise pybullet_missing() from error
    return pybullet


class BulletScene:
    """A context manager that holds a simulator of its own.

    Raises:
        UserError: PyBullet is not installed.
    """

    def __init__(self) -> None:
        self._bullet = import_pybullet()
        with quiet():
            self._client = self._bullet.connect(self._bullet.DIRECT)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the simulator; more than once does no harm."""
        if self._client >= 0:
            self._bullet.disconnect(physicsClientId=self._client)
            self._client = -1

"""A headless PyBullet client that keeps PyBullet's own messages off the terminal."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes.common.arrays import Images
from ropes.errors import UserError
from ropes.simulation.availability import pybullet_missing
from ropes.simulation.context import ClosesAtExit

#: Rendered pixels along a side for each pixel of an image.
SUPERSAMPLING = 2
_BT601 = np.array([299, 587, 114], dtype=np.uint32)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the output of C code off the terminal.

    PyBullet prints on import and for every URDF.  It writes to the file descriptors, into the program's own output.
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
        # Flush C's buffers before the descriptors are restored; otherwise the text appears when the program ends.
        libc.fflush(None)
        for number, copy in enumerate(saved, start=1):
            os.dup2(copy, number)
            os.close(copy)
        os.close(null)


def import_pybullet() -> ModuleType:
    """Import PyBullet without its greeting.

    Raises:
        UserError: PyBullet is not installed.
    """
    try:
        with quiet():
            import pybullet
    except ModuleNotFoundError as error:
        raise pybullet_missing() from error
    return pybullet


def downsample(colours: Images, block: int = SUPERSAMPLING, *, colour: bool = True) -> Images:
    """Average over blocks of pixels, see `mean_levels`: (H, W, 3) → (H / block, W / block, 3), or grey without axis."""
    summed = np.zeros((len(colours) // block, colours.shape[1] // block, 3), np.uint32)
    for row, column in np.ndindex(block, block):
        summed += colours[row::block, column::block]
    return mean_levels(summed, block * block, colour=colour)


def mean_levels(sums: NDArray[np.unsignedinteger[Any]], area: int, *, colour: bool) -> Images:
    """Levels from sums of RGB (H, W, 3) over `area` pixels: (H, W, 3), or BT.601 luma (H, W); rounded half up.

    The luma is 0.299 R + 0.587 G + 0.114 B.  Integer arithmetic gives the same bytes on every machine.
    """
    if colour:
        return ((sums + area // 2) // area).astype(np.uint8)
    area *= 1000
    return ((sums.astype(np.uint32) @ _BT601 + area // 2) // area).astype(np.uint8)


class BulletScene(ClosesAtExit):
    """A context manager with its own PyBullet client.

    Raises:
        UserError: PyBullet is not installed.
    """

    def __init__(self) -> None:
        self._bullet = import_pybullet()
        with quiet():
            self._client = self._bullet.connect(self._bullet.DIRECT)

    def close(self) -> None:
        """Disconnect the client; a second call does nothing."""
        if self._client >= 0:
            self._bullet.disconnect(physicsClientId=self._client)
            self._client = -1

    def _load(self, path: Path, flags: int = 0) -> tuple[int, list[Any]]:
        """Load a URDF with a fixed base: the number of its body, and PyBullet's description of each joint.

        Raises:
            UserError: PyBullet cannot load the file; the client is closed.
        """
        bullet, client = self._bullet, {"physicsClientId": self._client}
        with quiet():
            try:
                body = bullet.loadURDF(str(path), useFixedBase=True, flags=flags, **client)
            except bullet.error as error:
                self.close()
                raise UserError(f"PyBullet cannot load {path}: {error}") from error
        return body, [bullet.getJointInfo(body, k, **client) for k in range(bullet.getNumJoints(body, **client))]

    def _render(
        self,
        view: NDArray[np.float64],
        projection: NDArray[np.float64],
        height: int,
        width: int,
        shadow: int = 0,
        **light: Any,
    ) -> tuple[Images, Any, Any]:
        """Render on the CPU: RGB (height, width, 3), and the depth buffer and body numbers as PyBullet returns them."""
        _, _, colours, depth, bodies = self._bullet.getCameraImage(
            width,
            height,
            viewMatrix=view.T.ravel().tolist(),
            projectionMatrix=projection.T.ravel().tolist(),
            shadow=shadow,
            renderer=self._bullet.ER_TINY_RENDERER,
            physicsClientId=self._client,
            **light,
        )
        return np.asarray(colours, dtype=np.uint8).reshape(height, width, 4)[..., :3], depth, bodies

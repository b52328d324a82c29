"""The live page in the browser, served by viser: images, the arm at the estimated angles, figures.

The page draws the newest estimate at most ten times a second, while a browser is connected, in a thread of its own.
"""

import importlib
import io
import math
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.transform import Rotation

from ropes.common.arrays import Floats
from ropes.errors import UserError, install_command
from ropes.inference.estimator import Estimator
from ropes.inference.live import figures
from ropes.inference.live.pictures import SIDE, live_pictures
from ropes.inference.live.watch import Estimate, Sink
from ropes.inference.poses import Arm
from ropes.simulation.silhouette import Mesh, link_meshes, reach

if TYPE_CHECKING:
    from viser import ClientHandle, MeshHandle, ViserServer

#: Seconds between two drawings.
_PERIOD = 0.1
#: Colours of the estimated and of the true arm.
_ESTIMATE, _TRUTH = (255, 150, 60), (70, 170, 80)


def _require_address(host: str, port: int) -> None:
    """Check that this machine has an address; viser would wait for ever.

    Raises:
        UserError: the address cannot be bound.
    """
    try:
        [(family, kind, protocol, _, (address, *_)), *_] = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        with socket.socket(family, kind, protocol) as trial:
            trial.bind((address, 0))
    except (OSError, UnicodeError) as error:  # the second for a name such as a..b
        raise UserError(f"cannot serve the page at {host}:{port} ({error}); give another --host") from error


class Page(Sink):
    """The page and its server.

    Args:
        estimator: the estimator.
        arm: the arm to draw; None leaves it out.
        host: address to bind to; 127.0.0.1 serves this machine only.
        port: the first free port from this one on is used.

    Raises:
        UserError: viser is not installed, or the address cannot be bound.
    """

    def __init__(self, estimator: Estimator, arm: Arm | None, host: str, port: int) -> None:
        try:
            viser = importlib.import_module("viser")
        except ModuleNotFoundError as error:
            raise UserError(
                f"the page needs the package {error.name}: {install_command('live')}, or leave it out with --no-page"
            ) from error
        _require_address(host, port)
        try:
            with redirect_stdout(io.StringIO()):  # viser prints a frame with its addresses
                self._server: ViserServer = viser.ViserServer(host=host, port=port, label="ropes watch", verbose=False)
        except (OSError, RuntimeError) as error:
            raise UserError(f"cannot serve the page at {host}:{port} ({error}); give another --host") from error
        self._estimator, self._arm = estimator, arm
        self.address = f"http://{host}:{self._server.get_port()}"
        self._limits = {} if arm is None else _limits(arm)
        self._meshes: Mapping[str, Mesh] = {} if arm is None else link_meshes(arm.urdf)
        self._reach = 1.0 if arm is None else reach(arm.urdf)
        self._changed, self._stopped = threading.Condition(), False
        self._newest: Estimate | None = None
        self._failure: Exception | None = None
        self._build()
        self._thread = threading.Thread(target=self._draw_newest, daemon=True)
        self._thread.start()

    def send(self, estimate: Estimate) -> None:
        """Replace the estimate that waits to be drawn.

        Raises:
            Exception: that of the last drawing, if it failed.
        """
        with self._changed:
            if self._failure is not None:
                raise self._failure
            self._newest = estimate
            self._changed.notify()

    def close(self) -> None:
        """Stop the server."""
        with self._changed:
            self._stopped = True
            self._changed.notify()
        self._thread.join(timeout=2.0)
        with redirect_stdout(io.StringIO()):  # viser prints when it stops
            self._server.stop()

    def _build(self) -> None:
        server, blank = self._server, np.zeros((SIDE, SIDE, 3), np.uint8)
        server.gui.configure_theme(control_width="large", show_logo=False, show_share_button=False)
        self._status = server.gui.add_html("<div>waiting for images</div>")
        self._image = server.gui.add_image(blank, label=", ".join(self._estimator.run.cameras))
        self._angles = server.gui.add_html("")
        server.scene.set_up_direction("+z")
        server.scene.add_grid("/grid", width=2 * self._reach, height=3 * self._reach, cell_size=0.25)
        self._estimate = self._add_arm("/estimate", _ESTIMATE, 0.0)
        self._truth: dict[str, MeshHandle] = {}

        @server.on_client_connect
        def _(client: "ClientHandle") -> None:
            client.camera.position = np.array([1.35, -0.85, 0.85]) * self._reach
            client.camera.look_at = np.array([0.0, 0.75, 0.25]) * self._reach

    def _add_arm(self, root: str, colour: tuple[int, int, int], sideways: float) -> "dict[str, MeshHandle]":
        """The meshes of an arm, moved sideways by so many metres, with a label; link → handle."""
        if not self._meshes:
            return {}
        scene = self._server.scene
        scene.add_frame(root, show_axes=False, position=(0.0, sideways, 0.0))
        scene.add_label(f"{root}/label", root[1:], position=(0.0, 0.0, -0.06 * self._reach))
        return {
            link: scene.add_mesh_simple(f"{root}/{link}", mesh.points, mesh.faces, color=colour, side="double")
            for link, mesh in self._meshes.items()
        }

    def _draw_newest(self) -> None:
        while True:
            with self._changed:
                while not self._stopped and (self._newest is None or not self._server.get_clients()):
                    self._changed.wait(_PERIOD)  # no browser is connected, so nothing is drawn
                estimate, self._newest = self._newest, None
                if self._stopped:
                    return
            if estimate is not None:
                began = time.monotonic()
                try:
                    self._draw(estimate)
                except Exception as error:  # raised again by `send`, in the main thread
                    with self._changed:
                        self._failure = error
                    return
                time.sleep(max(0.0, _PERIOD - (time.monotonic() - began)))

    def _draw(self, estimate: Estimate) -> None:
        pictures = live_pictures(self._estimator, estimate.images, estimate.prediction.get("foreign", {}))
        if estimate.truth is not None and not self._truth:
            self._truth = self._add_arm("/truth", _TRUTH, 1.1 * self._reach)
        for name, angle in estimate.prediction["joints"].items():  # the simulated Panda leaves its limits
            low, high = self._limits.get(name, (-math.pi, math.pi))
            self._limits[name] = min(low, angle), max(high, angle)
        with self._server.atomic():
            self._image.image = np.concatenate(pictures, axis=1)
            self._status.content = figures.status(estimate)
            self._angles.content = figures.angles(estimate, self._limits)
            self._move(self._estimate, estimate.angles if estimate.filtered is None else estimate.filtered.angles)
            for handle in self._truth.values():
                handle.visible = estimate.truth is not None
            if estimate.truth is not None:
                self._move(self._truth, estimate.truth)

    def _move(self, handles: "Mapping[str, MeshHandle]", angles: Floats) -> None:
        if self._arm is None or not handles:
            return
        poses = self._arm.poses(angles[None])
        for link, handle in handles.items():
            pose = poses[link][0]
            x, y, z, w = Rotation.from_matrix(pose[:3, :3]).as_quat()
            handle.wxyz, handle.position = (w, x, y, z), pose[:3, 3]


def _limits(arm: Arm) -> dict[str, tuple[float, float]]:
    """Joint → its limits, those of a full turn where it has none."""
    limits = {}
    for name in arm.joints:
        joint = arm.urdf.joint(name)
        bounded = math.isfinite(joint.low) and math.isfinite(joint.high) and joint.low < joint.high
        limits[name] = (joint.low, joint.high) if bounded else (-math.pi, math.pi)
    return limits

"""Network cameras played by this program: pictures as Motion JPEG over HTTP, which OpenCV opens by an address."""

import io
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from PIL import Image as Pictures

from ropes.common.arrays import Images

_BOUNDARY = "frame"


class Streams:
    """One camera for each name, sent while the context is open; pictures are taken in a thread, and each is sent once.

    Args:
        take: the picture of each camera now, uint8 (H, W, 3) or (H, W).
        close: called at the end, in the same thread, also where `take` fails.
        rate: pictures a second, at most.
        quality: of the JPEGs.
    """

    def __init__(
        self,
        take: Callable[[], Mapping[str, Images]],
        close: Callable[[], None] = lambda: None,
        *,
        rate: float = 15.0,
        quality: int = 95,
    ) -> None:
        self._take, self._close, self._rate, self._quality = take, close, rate, quality
        self._new, self._count, self._frames = threading.Condition(), 0, dict[str, bytes]()
        self._ended = threading.Event()
        streams = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                streams.send(self)

            def log_message(self, format: str, *values: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._server.serve_forever, self._film)
        ]

    def address(self, name: str) -> str:
        """Of a camera."""
        return f"http://127.0.0.1:{self._server.server_port}/{name}.mjpg"

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.unplug()

    def unplug(self) -> None:
        """Send no more pictures, and answer no more."""
        if not self._ended.is_set():
            self._ended.set()
            self._server.shutdown()
            self._server.server_close()
            self._threads[1].join()

    def _film(self) -> None:
        due = time.monotonic()
        try:
            while not self._ended.is_set():
                taken = {name: self._jpeg(picture) for name, picture in self._take().items()}
                with self._new:
                    self._frames, self._count = taken, self._count + 1
                    self._new.notify_all()
                due = max(due + 1 / self._rate, time.monotonic())
                self._ended.wait(due - time.monotonic())
        finally:
            self._close()

    def _jpeg(self, picture: Images) -> bytes:
        with io.BytesIO() as written:
            Pictures.fromarray(picture).save(written, "JPEG", quality=self._quality)
            return written.getvalue()

    def send(self, request: BaseHTTPRequestHandler) -> None:
        """Answer a request with the pictures of a camera, until it or this program ends."""
        name, seen = request.path.strip("/").removesuffix(".mjpg"), 0

        def another() -> bool:
            return self._count > seen

        request.send_response(200)
        request.send_header("Content-Type", f"multipart/x-mixed-replace; boundary={_BOUNDARY}")
        request.end_headers()
        while not self._ended.is_set():
            with self._new:
                if not self._new.wait_for(another, 1.0):  # none yet, or none any more
                    continue
                frame, seen = self._frames.get(name), self._count
            if frame is None:
                return
            head = f"--{_BOUNDARY}\r\nContent-Type: image/jpeg\r\nContent-Length: {len(frame)}\r\n\r\n"
            try:
                request.wfile.write(head.encode() + frame + b"\r\n")
            except OSError:
                return

"""Draws docs/images/live.png, the page of `ropes watch` in headless Chromium; tests use its driver too.

    python -m benchmarks.live_page [--seconds 60] [--picture docs/images/live.png] [--out FILE]

The packaged estimator watches a data set that it was not trained on. Needs `pip install -e '.[live]'` and Chromium or
Chrome.
"""

import asyncio
import base64
import importlib
import io
import json
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from PIL import Image

import ropes
from benchmarks.figures import described, options, publish
from ropes.common.arrays import Images
from ropes.common.files import atomic_path
from ropes.inference.estimator import Estimator
from ropes.inference.live.frames import Fit
from ropes.inference.live.kalman import Kalman
from ropes.inference.live.page import Page
from ropes.inference.live.sources import Recorded
from ropes.inference.live.watch import Watch
from ropes.inference.poses import chosen_arm

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "live.png"
#: Names of Chromium and Chrome on the path.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = ("--headless=new", "--no-sandbox", "--remote-debugging-port=0", "--window-size=1150,860")
_SOFTWARE = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader")
#: Seconds for the browser to start.
_START = 240.0
T = TypeVar("T")


class Tab:
    """A tab of Chromium, driven by the DevTools protocol."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._number = socket, 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; gives its result."""
        self._number += 1
        await self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while (answer := json.loads(await self._socket.recv())).get("id") != self._number:
            pass
        result: dict[str, Any] = answer["result"]
        return result

    async def text(self) -> str:
        """The visible text."""
        result = await self.call("Runtime.evaluate", expression="document.body ? document.body.innerText : ''")
        return str(result["result"]["value"])

    async def picture(self) -> Images:
        """A screenshot, uint8 (height, width, 3)."""
        shot = await self.call("Page.captureScreenshot", format="png")
        return np.asarray(Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB"))


def browser() -> str | None:
    """The path of a browser; None where there is none."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def chromium(folder: Path) -> Iterator[str]:
    """A browser with an empty profile in `folder`; gives the address of its tab's protocol."""
    words = [browser() or BROWSERS[0], *_FLAGS, *_SOFTWARE, f"--user-data-dir={folder}", "about:blank"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        file, deadline = folder / "DevToolsActivePort", time.monotonic() + _START
        while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
            time.sleep(0.2)
        port = file.read_text().split()[0]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=60) as answer:
            tabs = json.load(answer)
        yield next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
    finally:
        process.terminate()
        process.wait(timeout=60)


def browsed(address: str, look: Callable[[Tab], Awaitable[T]]) -> T:
    """What `look` gives of a tab that opens `address`."""
    websockets: Any = importlib.import_module("websockets")

    async def opened(protocol: str) -> T:
        async with websockets.connect(protocol, max_size=None) as socket:
            tab = Tab(socket)
            await tab.call("Page.enable")
            await tab.call("Page.navigate", url=address)
            return await look(tab)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, chromium(Path(folder)) as protocol:
        return asyncio.run(opened(protocol))


def show(estimator: Estimator, data: Path, page: Page, stopped: threading.Event) -> None:
    """Watch a data set until the event is set."""
    source = Recorded(run=estimator.run, dataset=ropes.open_dataset(data), rate=0.5, loop=True)
    for estimate in Watch(estimator, [source], Fit(estimator.run), kalman=Kalman()).estimates():
        page.send(estimate)
        if stopped.is_set():
            return


def main() -> None:
    """Render, watch, photograph."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="time for the browser to draw")
    parser.add_argument("--picture", type=Path, default=PICTURE)
    arguments, began = parser.parse_args(), time.monotonic()
    estimator, stopped = ropes.load("panda-2c"), threading.Event()
    page = Page(estimator, chosen_arm(estimator.run), "127.0.0.1", 8080)

    async def look(tab: Tab) -> tuple[str, Images]:
        await asyncio.sleep(arguments.seconds)
        close = "document.querySelectorAll('.mantine-Notification-closeButton').forEach((one) => one.click())"
        await tab.call("Runtime.evaluate", expression=close)
        await asyncio.sleep(arguments.seconds / 10)
        return await tab.text(), await tab.picture()

    with tempfile.TemporaryDirectory() as folder:
        setting = replace(ropes.setting_named(estimator.run.setting), scene="panda-gym")
        data = Path(folder) / "data"
        ropes.simulate(setting, out=data, anchors=1, test_anchors=20, seed=11, progress=False)
        watch = threading.Thread(target=show, args=(estimator, data, page, stopped), daemon=True)
        watch.start()
        text, picture = browsed(page.address, look)
        stopped.set()
        watch.join()
    page.close()
    with atomic_path(arguments.picture) as temporary:
        Image.fromarray(picture).save(temporary, format="PNG", optimize=True)
    publish({"lines_of_text": len(text.splitlines())}, arguments.out)
    print(described(began))


if __name__ == "__main__":
    main()

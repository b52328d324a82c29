"""The live page in headless Chromium: the arm moves and the figures change.

Chromium is not part of the development environment; without it, or without viser, these tests are skipped.  `make
browser` fails instead.
"""

import asyncio
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.live_page import BROWSERS, Tab, browsed, browser
from ropes.common.arrays import Images
from ropes.errors import UserError
from ropes.inference.live.page import Page
from ropes.inference.poses import chosen_arm
from tests import planar, tiny
from tests.inference.live.streams import calibrated
from tests.inference.live.test_publish import estimate

#: Seconds for the browser to draw; the machine may be busy.
_PATIENCE = 240.0


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_page_updates_the_arm_and_the_figures(tmp_path: Path) -> None:
    pytest.importorskip("viser", reason="viser is not installed: pip install -e '.[live]'")
    pytest.importorskip("websockets", reason="websockets, which comes with viser, is not installed")
    if browser() is None:
        pytest.skip("neither Chromium nor Chrome is installed")
    estimator = calibrated()
    page = Page(estimator, chosen_arm(estimator.run, planar.write_urdf(tmp_path)), "127.0.0.1", 0)

    async def look(tab: Tab) -> list[tuple[str, Images]]:
        found = []
        for angles, words in (((0.25, -1.5), "14.3°"), ((2.0, 0.5), "114.6°")):
            joints, pose = dict(zip(("elbow", "wrist"), angles, strict=True)), np.array(angles)
            prediction = {**estimate().prediction, "joints": joints}
            page.send(estimate(angles=pose, prediction=prediction, truth=pose + 0.1))
            deadline = time.monotonic() + _PATIENCE
            while words not in (text := await tab.text()) and time.monotonic() < deadline:
                await asyncio.sleep(1.0)
            await asyncio.sleep(5.0)
            found.append((text, await tab.picture()))
        return found

    try:
        (first, before), (second, after) = browsed(page.address, look)
    finally:
        page.close()
    assert "in distribution" in first
    assert "14.3°" in first
    assert "114.6°" in second
    arm = slice(0, None), slice(0, before.shape[1] // 2)  # left of the panel
    moved = np.abs(before[arm].astype(int) - after[arm]).max(axis=2) > 40
    assert moved.sum() > 50


@pytest.mark.slow
def test_drawing_error_ends_the_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    viser = pytest.importorskip("viser", reason="viser is not installed: pip install -e '.[live]'")
    monkeypatch.setattr(viser.ViserServer, "get_clients", lambda _: {0: "a browser"})
    page = Page(calibrated(), None, "127.0.0.1", 0)
    small = dict.fromkeys(tiny.CAMERAS, np.zeros((2, 2), np.uint8))

    def keep_sending() -> None:
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            page.send(estimate(images=small))
            time.sleep(0.01)

    try:
        with pytest.raises(UserError, match="this run reads uint8"):
            keep_sending()
    finally:
        page.close()


@pytest.mark.parametrize("name", BROWSERS)
def test_chromium_and_chrome_are_found_by_every_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert browser() is None
    (tmp_path / name).touch(mode=0o755)
    assert browser() == str(tmp_path / name)
    makefile = (Path(__file__).parents[3] / "Makefile").read_text(encoding="utf-8")
    assert f"\nBROWSERS := {' '.join(BROWSERS)}\n" in makefile


@pytest.mark.parametrize("host", ["10.9.8.7", "999.1.1.1", "no such host", "a..b"])
def test_address_of_another_machine_is_refused(host: str, unknown_names: None) -> None:
    pytest.importorskip("viser", reason="viser is not installed: pip install -e '.[live]'")
    with pytest.raises(UserError, match=rf"cannot serve the page at {host}:8080 .*; give another --host"):
        Page(calibrated(), None, host, 8080)


def test_missing_viser_is_reported_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(UserError, match=r"needs the package viser: pip install -e '\.\[live\]' .*, or .* --no-page"):
        Page(calibrated(), None, "127.0.0.1", 0)

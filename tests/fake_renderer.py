"""A renderer that costs nothing, and a data set made with it."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.common import png
from ropes.data import generate, writer
from ropes.data.generate import simulate
from ropes.data.layout import Dataset
from ropes.simulation.settings import Setting, setting_named

SMALL = dataclasses.replace(setting_named("panda-2c-causal"), image_size=8)


def draw(cameras: int, size: int, pose: Sequence[float]) -> list[bytes]:
    """Stands in for the renderer: an image that is a function of the pose."""
    rng = np.random.default_rng(np.frombuffer(np.asarray(pose).tobytes(), np.uint32))
    return [png.encode(rng.integers(0, 256, (size, size), dtype=np.uint8)) for _ in range(cameras)]


class FakeRenderer:
    """`render_poses` without a simulator; can stop after some frames, and counts what it drew."""

    def __init__(self) -> None:
        self.drawn, self.scene = 0, SMALL.scene
        self.stop_after: int | None = None
        self.error: BaseException = KeyboardInterrupt()
        self.closed = 0

    def __call__(
        self, setting: Setting, joints: Any, poses: Any, workers: Any, *, mesh: str, recordings: Any, seed: int
    ) -> Iterator[list[bytes]]:
        assert setting.scene == self.scene
        assert recordings is None
        assert not setting.colour
        assert setting.renderer == SMALL.renderer
        assert joints == SMALL.splits["train"].joints
        return self.frames(len(setting.cameras), setting.image_size, poses)

    def frames(self, cameras: int, size: int, angles: Any) -> Iterator[list[bytes]]:
        try:
            for number, pose in enumerate(angles):
                if number == self.stop_after:
                    raise self.error
                self.drawn += 1
                yield draw(cameras, size, pose)
        finally:
            self.closed += 1


@pytest.fixture
def renderer(monkeypatch: pytest.MonkeyPatch) -> FakeRenderer:
    fake = FakeRenderer()
    monkeypatch.setattr(generate, "render_poses", fake)
    monkeypatch.setattr(writer, "IMAGES_PER_SHARD", 60)
    return fake


def make(out: Path | str, setting: Setting = SMALL, **options: Any) -> Dataset:
    given = {"anchors": 7, "test_anchors": 40, "seed": 1, "progress": False}
    return simulate(setting, out=out, **(given | options))


def tree(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}

"""Fits that are killed in the middle."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ropes.methods.training import loop as training
from ropes.methods.training.stage import Stage


def interrupt(*_: object, **__: object) -> None:
    """Stands for a function during which Ctrl-C is pressed."""
    raise KeyboardInterrupt


class Killed(BaseException):
    """Stands for a kill: nothing cleans up after it but what would run anyway."""


@contextmanager
def patched_steps(after: Callable[[Stage], object]) -> Iterator[None]:
    """Save after every step, and call `after` before that."""
    original = Stage.after_step

    def after_step(self: Stage) -> None:
        original(self)
        after(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "SAVE_EVERY", 0.0)
        patch.setattr(Stage, "after_step", after_step)
        yield


@contextmanager
def killed(kind: type[Stage], step: int) -> Iterator[None]:
    """Die in a stage of this kind, before step `step` is saved."""

    def die(stage: Stage) -> None:
        if isinstance(stage, kind) and stage.global_step == step:
            raise Killed

    with patched_steps(die), pytest.raises(Killed):
        yield

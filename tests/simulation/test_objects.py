"""Objects of action-pairs: each action changes the image."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ropes.simulation import objects as things
from ropes.simulation.action_scene import ActionScene
from ropes.simulation.actions import ACTIONS, NOUNS, THINGS, VARIABLES, HeldOut, PairsSetting
from ropes.simulation.appearance import Appearance, State
from ropes.simulation.objects import objects_digest, parts_of
from ropes.simulation.parts import Part

LOOK = Appearance(body=(0.8, 0.6, 0.4), accent=(0.2, 0.5, 0.7), mirrored=False, seed=3)
REST = dict.fromkeys(VARIABLES, 0.0)


@pytest.mark.parametrize("noun", NOUNS)
def test_each_object_changes_only_with_its_own_variables(noun: str) -> None:
    at_rest = repr(parts_of(noun, LOOK, REST))
    for name in VARIABLES:
        changed = repr(parts_of(noun, LOOK, {**REST, name: 1.0})) != at_rest
        assert changed == (name in THINGS[noun].variables), name


@pytest.mark.slow
@pytest.mark.parametrize("changed", ["a value between", "both at once", "the other side"])
def test_objects_digest_changes_with_their_appearance(changed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    build, before = things.BUILDERS["cabinet"], objects_digest()
    assert objects_digest() == before

    def otherwise(look: Appearance, state: State) -> Iterator[Part]:
        opened, dirt = state["opened"], state["dirt"]
        if changed == "a value between":
            return build(look, {**state, "opened": opened**3})
        if changed == "both at once":
            return build(look, {**state, "dirt": 0.0 if opened > 0.5 else dirt})
        return build(replace(look, mirrored=False), state)

    monkeypatch.setitem(things.BUILDERS, "cabinet", otherwise)
    assert objects_digest() != before


@pytest.mark.slow
def test_each_action_changes_the_image() -> None:
    frames = [(number, after, number) for number in range(len(ACTIONS)) for after in (0, 1)]
    with ActionScene(PairsSetting(jitter=0.0, held_out=HeldOut((), ())), seed=0) as scene:
        images = np.array([image[0] for image in scene.render_all(frames)]).astype(int)
    changed = (np.abs(images[::2] - images[1::2]).max(axis=-1) > 16).sum(axis=(1, 2))
    assert {action.name: int(n) for action, n in zip(ACTIONS, changed, strict=True) if n < 20} == {}

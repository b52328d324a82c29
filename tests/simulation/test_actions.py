"""What is held out of training, by the rules of Causal Triplet, and that action-pairs leave room for it."""

import json
from collections import Counter
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.errors import UserError
from ropes.simulation.actions import (
    ACTIONS,
    ANTONYMS,
    COMPOSITIONAL,
    EFFECTS,
    HELD_OUT_SEED,
    NOUNS,
    SYSTEMATIC,
    TRAIN,
    VALIDATION,
    Action,
    HeldOut,
    PairsSetting,
    default_hold_out,
    hold_out,
    random_hold_out,
    split_fault,
    symmetric_antonyms,
)
from ropes.simulation.objects import objects_digest
from ropes.simulation.settings import RANDOM_HOLD_OUTS

OPPOSITES = symmetric_antonyms([("open", "close"), ("push", "pull")])


def test_the_middle_two_fifths_of_the_nouns_are_held_out() -> None:
    counts = {Action(verb, f"thing {k}"): 10 - k for k in range(10) for verb in ("open", "close")}
    found = hold_out(counts, OPPOSITES, np.random.default_rng(0))
    assert found.nouns == ("thing 3", "thing 4", "thing 5", "thing 6")


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.booleans())
def test_held_out_combination_has_its_verb_and_antonym_in_training(seed: int, nouns: int, one_way: bool) -> None:
    verbs = ("open", "close", "push", "pull", *(("break",) if one_way else ()))
    rng = np.random.default_rng(seed)
    counts = {Action(verb, f"thing {k}"): int(rng.integers(1, 50)) for k in range(nouns) for verb in verbs}
    found = hold_out(counts, OPPOSITES, rng)
    trained = [action for action in counts if found.split_of(action) is None]
    for action in found.combinations:
        assert found.split_of(action) == COMPOSITIONAL
        assert Action(OPPOSITES[action.verb], action.noun) in trained
        assert any(other.verb == action.verb and other.noun != action.noun for other in trained)
    assert all(found.split_of(action) == SYSTEMATIC for action in counts if action.noun in found.nouns)
    assert len(found.combinations) <= 0.3 * len(counts)


def test_splits_without_a_shift_are_reported() -> None:
    door, lid = Action("open", "door"), Action("close", "lid")
    assert split_fault({TRAIN: [door], SYSTEMATIC: [lid], COMPOSITIONAL: [Action("close", "door")]}) is None
    assert "noun 'lid' of split test-syst is in train" in str(split_fault({TRAIN: [lid], SYSTEMATIC: [lid]}))
    assert "'open door' of split test-comp" in str(split_fault({VALIDATION: [door], COMPOSITIONAL: [door]}))


def test_too_few_verbs_are_refused() -> None:
    with pytest.raises(UserError, match="fewer than two verbs"):
        hold_out({Action("open", "door"): 3}, OPPOSITES, np.random.default_rng(0))


def fewest_things(held_out: HeldOut) -> int:
    """How many things the verb is learnt from that is learnt from the fewest."""
    learnt_from = Counter(action.verb for action in ACTIONS if held_out.split_of(action) is None)
    return min(learnt_from[verb] for verb in EFFECTS)


def test_every_verb_is_trained_and_tested_under_both_shifts() -> None:
    found = PairsSetting().held_out
    assert fewest_things(found) >= 3
    assert found == default_hold_out(seed=HELD_OUT_SEED)
    assert all(fewest_things(default_hold_out(seed=seed)) < 3 for seed in range(HELD_OUT_SEED))  # it is the first such
    assert {action.verb for action in ACTIONS if action.noun in found.nouns} == set(EFFECTS)
    assert len(found.nouns) == 0.4 * len(NOUNS)
    assert len(found.combinations) >= 3
    assert len(NOUNS) >= 8
    assert {verb for verb in EFFECTS if verb not in ANTONYMS} == {"press", "slice", "break"}


def test_other_held_out_choices_leave_enough_nouns_per_verb() -> None:
    drawn = [random_hold_out(seed=seed) for seed in RANDOM_HOLD_OUTS.values()]
    assert len({held_out.nouns for held_out in drawn}) == 5
    assert PairsSetting().held_out.nouns not in {held_out.nouns for held_out in drawn}
    for held_out in drawn:
        assert len(held_out.nouns) == 0.4 * len(NOUNS)
        assert fewest_things(held_out) >= 3
        assert held_out.combinations
        assert not {action.noun for action in held_out.combinations} & set(held_out.nouns)
    assert random_hold_out(seed=0) == drawn[0]


def test_the_benchmark_action_pairs_is_frozen() -> None:
    """Objects, actions and what is held out; another benchmark needs another name."""
    content = {
        "setting": PairsSetting(renderer="pybullet").to_dict(),  # the default depends on what is installed
        "actions": [action.name for action in ACTIONS],
        "antonyms": ANTONYMS,
    }
    digest = sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    assert digest == "410bf67b6c2da9514c0590c4c97146d1d4b40cf849a3d3da9518d061f93520ec"
    assert objects_digest() == "f70c8b5374cb123bec5712a37c5122cedde4ad6db9fd32c1f9c5afcf2a70cb40"


def test_actions_have_names_and_the_noun_is_optional() -> None:
    assert Action("open", "drawer").name == "open drawer"
    assert Action("elbow up").name == "elbow up"
    assert HeldOut((), ()).split_of(Action("elbow up")) is None


@pytest.mark.parametrize(
    ("change", "word"), [({"objects": 0}, "1 to 5"), ({"image_size": 8}, "at least 16"), ({"jitter": -1.0}, "jitter")]
)
def test_settings_that_cannot_be_rendered_are_refused(change: dict[str, Any], word: str) -> None:
    with pytest.raises(UserError, match=word):
        PairsSetting(**change)

"""Things that are acted upon: each verb shows, on every thing that it is for."""

import numpy as np
import pytest

from ropes.actions import NOUNS, THINGS, VARIABLES
from ropes.simulate.looks import Look
from ropes.simulate.things import parts_of

LOOK = Look(body=(0.8, 0.6, 0.4), accent=(0.2, 0.5, 0.7), mirrored=False, seed=3)
REST = dict.fromkeys(VARIABLES, 0.0)


@pytest.mark.parametrize("noun", NOUNS)
def test_each_of_its_variables_shows(noun: str) -> None:
    at_rest = repr(parts_of(noun, LOOK, REST))
    for name in VARIABLES:
        shows = repr(parts_of(noun, LOOK, {**REST, name: 1.0})) != at_rest
        assert shows == (name in THINGS[noun].variables), name


@pytest.mark.parametrize("noun", NOUNS)
def test_it_stands_within_the_picture_and_on_the_floor(noun: str) -> None:
    for state in (REST, *({**REST, name: 1.0} for name in THINGS[noun].variables)):
        places = np.array([part.place for part in parts_of(noun, LOOK, state)])
        assert np.abs(places[:, :2]).max() < 1.1
        assert 0 <= places[:, 2].min() <= places[:, 2].max() < 1.3

"""Keywords of earlier versions of public functions."""

from typing import Any

import pytest

from ropes.common.old_names import with_old_keywords


@with_old_keywords(colour="color")
def paint(thing: str, *, color: str = "grey") -> str:
    return f"{color} {thing}"


@pytest.mark.filterwarnings("error")
def test_the_new_keyword_gives_no_warning() -> None:
    assert paint("arm") == "grey arm"
    assert paint("arm", color="red") == "red arm"


def test_deprecated_keyword_works_and_its_warning_names_the_new_one() -> None:
    old: dict[str, Any] = {"colour": "red"}
    with pytest.warns(DeprecationWarning, match="colour is now color"):
        assert paint("arm", **old) == "red arm"


def test_deprecated_and_new_keyword_together_raise() -> None:
    both: dict[str, Any] = {"color": "red", "colour": "blue"}
    with pytest.raises(TypeError, match="colour"):
        paint("arm", **both)

"""What the tests of the command line share."""

from collections.abc import Callable
from typing import Any

import pytest

from ropes.cli import entry as cli

Stub = Callable[..., list[tuple[tuple[Any, ...], dict[str, Any]]]]


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert error.startswith("ropes: ")
    return error.removeprefix("ropes: ").strip()

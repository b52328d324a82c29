import os
import sys
import types
from typing import Any

import hypothesis
import pytest

from tests.command_line import Stub

# Two shared cores make any deadline a matter of luck; CI draws the same examples every time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    import torch

    if not torch.cuda.is_available():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason="no CUDA device"))


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Replace the function behind a command; gives the list of its calls."""

    def replace(path: str, result: Any = None) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        module_name, _, name = path.rpartition(".")
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

        def function(*args: Any, **kwargs: Any) -> Any:
            calls.append((args, kwargs))
            if isinstance(result, BaseException):
                raise result
            return result

        module = types.ModuleType(module_name)
        setattr(module, name, function)
        monkeypatch.setitem(sys.modules, module_name, module)
        return calls

    return replace

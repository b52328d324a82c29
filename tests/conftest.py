import os
import sys
import types
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests.command_line import Stub

if TYPE_CHECKING:
    from ropes.methods.run import Run

# With a process for each core (pytest-xdist) more threads would only wait for one another.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Two shared cores make any deadline a matter of luck; CI draws the same examples every time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if find_spec("pybullet") is None:
        for item in items:
            if item.get_closest_marker("pybullet"):
                item.add_marker(pytest.mark.skip(reason="PyBullet is not installed"))
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


@pytest.fixture
def without_egl(monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo finds no EGL."""
    from ropes.simulation import off_screen

    off_screen.graphics.cache_clear()
    monkeypatch.setitem(sys.modules, "mujoco.egl", None)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setenv("PYOPENGL_PLATFORM", "egl")


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of the session's own."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache-home")
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """The tiny data set; never to be changed."""
    from tests import tiny

    return tiny.write_data(tmp_path_factory.mktemp("tiny") / "data")


def film_finger(out: Path, tested: int, labelled: int) -> Path:
    """Finger and cube at 16 pixels: 32 pairs, and so many images of each test split and of each to learn from."""
    from ropes.data.generate_finger import simulate_finger
    from ropes.simulation import feasibility
    from ropes.simulation.finger_setting import FingerSetting

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feasibility, "_DRAWN", 500)
        patch.setattr(feasibility, "_EACH", 1)
        simulate_finger(
            FingerSetting(image_size=16), out=out, samples=64, test_samples=tested, labelled=labelled, progress=False
        )
    return out


@pytest.fixture(scope="session")
def finger_data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """Finger and cube with a few test images; never to be changed."""
    return film_finger(tmp_path_factory.mktemp("finger") / "data", tested=20, labelled=8)


@pytest.fixture(scope="session")
def measured_finger(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """Finger and cube with enough test images for the measures of disentanglement; never to be changed."""
    return film_finger(tmp_path_factory.mktemp("finger") / "data", tested=600, labelled=200)


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory, tiny_data: Path) -> Path:
    """A run fitted on it, uninterrupted; never to be changed."""
    from ropes.methods.ropes import fit
    from tests import tiny

    out = tmp_path_factory.mktemp("fitted") / "run"
    fit(tiny_data, out, tiny.recipe(), 0, show=False)
    return out


@pytest.fixture
def own_run(tmp_path: Path, tiny_run: Path) -> Path:
    """A copy of that run, to be changed."""
    import shutil

    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


@pytest.fixture
def refit(tiny_data: Path) -> "Callable[..., Run]":
    """Fit on the tiny data set without a word; keywords change the recipe."""
    from ropes.methods.ropes import fit
    from tests import tiny

    def run(out: Path, *, data: Path = tiny_data, seed: int = 0, **changes: Any) -> "Run":
        return fit(data, out, tiny.recipe(**changes), seed, show=False)

    return run

import gc
import os
import shutil
import sys
import types
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from filelock import FileLock

from tests.command_line import Stub
from tests.network import no_name_is_known, this_machine_only

if TYPE_CHECKING:
    from ropes.methods.run import Run

# With a process for each core (pytest-xdist) more threads would only wait for one another, and what a test starts on
# two threads must not spin while it waits.
AT_ONCE = "PYTEST_XDIST_WORKER" in os.environ
if AT_ONCE:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# Lightning imports matplotlib, whose list of fonts takes seconds: it stays when tests change the cache folder.
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
os.environ.setdefault("MPLCONFIGDIR", str(_CACHE / "matplotlib"))

# Two shared cores make any deadline a matter of luck; CI draws the same examples every time.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Import without collecting garbage, and leave what is imported out of later collections.

    Torch and Lightning are half a million objects that stay. Going through them again and again takes a quarter of the
    time of importing them, and a fifteenth of that of the tests.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if AT_ONCE:
        longest_first(items)
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


#: Files that take more than five seconds, the longest first (`pytest --durations=100` tells).
LONGEST = (
    "experiments/test_study.py",
    "experiments/test_exporter.py",
    "experiments/test_action_study.py",
    "evaluation/test_factors.py",
    "experiments/test_experiments.py",
    "test_cluster.py",
    "methods/test_supervised.py",
    "experiments/test_small_experiment.py",
    "methods/test_learning.py",
    "test_own_arm_page.py",
    "simulation/test_mujoco_scene.py",
    "test_benchmarks.py",
    "test_processor_benchmarks.py",
    "test_faults.py",
    "methods/test_student.py",
    "causal/test_calibration.py",
    "simulation/test_workers.py",
    "simulation/test_relocation.py",
    "methods/test_fit.py",
    "simulation/test_mujoco_background.py",
    "methods/test_registry.py",
    "methods/test_precision.py",
    "data/test_stores.py",
    "test_colour.py",
    "methods/test_registration.py",
    "common/test_processes.py",
    "methods/test_presets.py",
    "test_so101_page.py",
    "simulation/test_so101.py",
)


def longest_first(items: list[pytest.Item]) -> None:
    """Sort by file, so that no process is left with a long file at the end: then files of many slow tests, then others.

    Processes take files in this order (--dist loadfile --no-loadscope-reorder).
    """
    folder = Path(__file__).parent
    ranks = {folder / name: rank for rank, name in enumerate(LONGEST)}
    if gone := [str(path) for path in ranks if not path.exists()]:
        raise pytest.UsageError(f"LONGEST in tests/conftest.py names {', '.join(gone)}, which does not exist")
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: (ranks.get(item.path, len(ranks)), -slow[item.path]))


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


@pytest.fixture(scope="session", autouse=True)
def _no_network() -> Iterator[None]:
    """No command reaches the network unless told so: what is run in this process fails if it tries."""
    with this_machine_only():
        yield


@pytest.fixture
def unknown_names() -> Iterator[None]:
    """Look-ups of names fail as on a machine without a network, in place of failing the test."""
    with no_name_is_known():
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_core() -> Iterator[None]:
    """With a process for each core, each renders and fits on one where a test leaves the number of processes open."""
    with pytest.MonkeyPatch.context() as patch:
        if AT_ONCE:
            patch.setattr("ropes.simulation.workers.usable_cores", lambda: 1)
            patch.setattr("ropes.experiments.parallel.usable_cores", lambda: 1)
        yield


@pytest.fixture(params=[pytest.param("pybullet", marks=pytest.mark.pybullet), "mujoco"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both physics engines, one after the other; of MuJoCo, without PyBullet."""
    name = str(request.param)
    monkeypatch.setattr("ropes.simulation.physics.engine", lambda: name)
    if name == "mujoco":
        monkeypatch.setitem(sys.modules, "pybullet", None)
    return name


@pytest.fixture
def without_egl(monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo finds no EGL."""
    from ropes.simulation import off_screen

    off_screen.graphics.cache_clear()
    monkeypatch.setitem(sys.modules, "mujoco.egl", None)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setenv("PYOPENGL_PLATFORM", "egl")


def shared_folder(factory: pytest.TempPathFactory) -> Path:
    """The folder that all processes of a run of the tests share."""
    base = factory.getbasetemp()
    return base.parent if AT_ONCE else base


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make` writes, made by the process that asks first."""
    folder = shared_folder(factory) / name
    made = folder.with_name(f"{name}.made")
    with FileLock(folder.with_name(f"{name}.lock")):
        if not made.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a process that failed
            make(folder)
            made.touch()
    return folder


@pytest.fixture(scope="session")
def cache_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of this run of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        folder = shared_folder(tmp_path_factory) / "cache-home"
        folder.mkdir(exist_ok=True)
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder


@pytest.fixture(scope="session")
def tiny_data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """The tiny data set; never to be changed."""
    from tests import tiny

    return made_once(tmp_path_factory, "tiny-data", tiny.write_data)


#: Images of finger and cube: of each test split for the measures of disentanglement, and of each to learn from.
MEASURED, REGRESSED = 300, 100


def film_finger(out: Path, tested: int, labelled: int) -> None:
    """Finger and cube at 16 pixels: 32 pairs, and so many images of each test split and of each to learn from."""
    pytest.importorskip("pybullet", reason="collisions of finger and cube need PyBullet")
    from ropes.data.generate_finger import simulate_finger
    from ropes.simulation.finger_setting import FingerSetting

    simulate_finger(
        FingerSetting(image_size=16), out=out, samples=64, test_samples=tested, labelled=labelled, progress=False
    )


@pytest.fixture(scope="session")
def finger_data(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """Finger and cube with a few test images; never to be changed."""
    return made_once(tmp_path_factory, "finger", lambda out: film_finger(out, tested=20, labelled=8))


@pytest.fixture(scope="session")
def measured_finger(tmp_path_factory: pytest.TempPathFactory, cache_home: Path) -> Path:
    """Finger and cube with enough test images for the measures of disentanglement; never to be changed."""
    return made_once(
        tmp_path_factory, "measured-finger", lambda out: film_finger(out, tested=MEASURED, labelled=REGRESSED)
    )


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory, tiny_data: Path) -> Path:
    """A run fitted on it, uninterrupted; never to be changed."""
    from ropes.methods.ropes.fit import fit
    from tests import tiny

    return made_once(tmp_path_factory, "tiny-run", lambda out: fit(tiny_data, out, tiny.recipe(), 0, show=False))


@pytest.fixture
def own_run(tmp_path: Path, tiny_run: Path) -> Path:
    """A copy of that run, to be changed."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


@pytest.fixture
def refit(tiny_data: Path) -> "Callable[..., Run]":
    """Fit on the tiny data set without a word; keywords change the recipe."""
    from ropes.methods.ropes.fit import fit
    from tests import tiny

    def run(out: Path, *, data: Path = tiny_data, seed: int = 0, **changes: Any) -> "Run":
        return fit(data, out, tiny.recipe(**changes), seed, show=False)

    return run

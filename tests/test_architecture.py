"""Imports point one way, files stay short, tests use public names, light modules stay light, no accelerator build."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distributions, requires, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "ropes"

#: From the lowest to the highest: a module imports from its own layer or a lower one; `metrics` stands alone.
LAYERS = (
    {"common", "errors", "metrics"},
    {"causal"},
    {"simulation"},
    {"data", "models"},
    {"methods"},
    {"inference"},
    {"evaluation"},
    {"experiments", "report"},
    {"__main__", "cli"},
)
RANK = {module: rank for rank, layer in enumerate(LAYERS) for module in layer}
MODULES = sorted(PACKAGE.rglob("*.py"))


def test_package_is_split_into_few_subpackages_without_loose_modules() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert len(packages) <= 12
    assert {path.stem for path in PACKAGE.glob("*.py")} == {"__init__", "__main__", "errors"}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports(path: Path) -> list[tuple[str, int]]:
    """Dotted names that a file imports, wherever in the file, with the line."""
    found: list[tuple[str, int]] = []
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Import(names=names):
                found += ((alias.name, node.lineno) for alias in names)
            case ast.ImportFrom(level=0, module="ropes", names=names):
                found += ((f"ropes.{alias.name}", node.lineno) for alias in names)
            case ast.ImportFrom(level=0, module=str(module)):
                found.append((module, node.lineno))
    return found


def imported_rooms(path: Path) -> Iterator[tuple[str, int]]:
    """Rooms of ours that a file imports, with the line."""
    for target, line in imports(path):
        parts = target.split(".")
        if parts[0] == "ropes" and len(parts) > 1 and parts[1] != "__version__":
            yield parts[1], line


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_layer_order(path: Path) -> None:
    own = room(path)
    if own == "__init__":  # for type checkers alone; what it loads when asked for is tested in test_public_names
        body = parsed(path).body
        guarded = [node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
        lines = {line for node in guarded for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
        assert {line for _, line in imported_rooms(path)} <= lines
        return
    assert own in RANK, f"give {own} its layer in LAYERS"
    for other, line in imported_rooms(path):
        assert RANK[other] <= RANK[own], f"{path.name}:{line}: {own} may not import {other}, which stands higher"
        if own == "metrics":
            assert other == "metrics", f"{path.name}:{line}: metrics imports nothing of ours, but imports {other}"


def test_package_diagram_matches_the_imports() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "docs" / "diagram.py", "--check"], check=False)
    assert done.returncode == 0, "run python tools/docs/diagram.py"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_own_imports_are_absolute(path: Path) -> None:
    nodes = ast.walk(parsed(path))
    assert not [node.lineno for node in nodes if isinstance(node, ast.ImportFrom) and node.level]


def private_names(code: str) -> set[str]:
    """Names with one leading underscore that a file gives to functions, classes, variables and attributes."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                names.add(name)
    return {name for name in names if re.match(r"_[A-Za-z]", name)}


def names_used(code: str) -> Iterator[tuple[str, int]]:
    """Names that a test imports from ropes, reads or sets on an object, or has in a string, with the line.

    What a class of the test itself calls so is left out, and so are the parts of f-strings.
    """
    tree, own = ast.parse(code), private_names(code)
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(level=0, module=str(module), names=names) if module.partition(".")[0] == "ropes":
                yield from ((alias.name, node.lineno) for alias in names)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in own:
                pass
            case ast.Attribute(attr=name):
                yield name, node.lineno
            case ast.Constant(value=str(text)) if node not in parts:
                yield from ((word, node.lineno) for word in re.findall(r"\w+", text))


@pytest.mark.slow
def test_tests_use_public_names_alone() -> None:
    private = set[str]().union(*(private_names(path.read_text(encoding="utf-8")) for path in MODULES))
    assert len(private) > 1000
    used = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for name, line in names_used(path.read_text(encoding="utf-8"))
        if name in private
    ]
    assert not used, f"test what users see, or make the name public with a docstring: {', '.join(used)}"


@pytest.mark.parametrize(
    "line",
    [
        "from ropes.data.cache import _secret",
        "import ropes; ropes._secret()",
        "camera(frames=3)._secret[:, 1].std()",
        "scene._secret = {}",
        "monkeypatch.setattr(cache, '_secret', 0)",
        "monkeypatch.setattr('ropes.data.cache._secret', 0)",
        "robot.__dict__['_secret']",
        "script = 'from ropes.data.cache import _secret'",
        "class Double(Scene):\n    def look(self): return self._secret",
    ],
)
def test_a_private_name_is_found(line: str) -> None:
    assert "_secret" in {name for name, _ in names_used(line)}


def test_private_names_of_a_test_and_of_other_packages_are_its_own() -> None:
    own = "class Double:\n    def __init__(self): self._secret = 0\n    def look(self): return self._secret\n"
    assert "_secret" not in {name for name, _ in names_used(f"from torch import _secret\n{own}f'{{name}}_secret'")}
    code = "_SECRET: int = 3\nclass _Secret:\n    def _tell(self): self._secret = 0\nasync def _shh(): (_s, b) = 1, 2"
    assert private_names(code) == {"_SECRET", "_Secret", "_tell", "_secret", "_shh", "_s"}


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "examples"])
def test_no_file_is_longer_than_300_lines(folder: str) -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for path in (ROOT / folder).rglob("*.py")
        if (count := len(path.read_text(encoding="utf-8").splitlines())) > 300
    }
    assert long == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("ropes", {"torch", "lightning", "pybullet", "matplotlib", "scipy", "trimesh", "pyarrow", "numpy"}),
        ("ropes.cli.entry", {"torch", "lightning", "pybullet", "matplotlib", "scipy", "trimesh", "pyarrow"}),
        ("ropes.cli", {"torch", "lightning", "pybullet", "matplotlib", "scipy", "trimesh", "pyarrow"}),
        ("ropes.methods.recipes", {"torch", "lightning", "pybullet", "matplotlib"}),
        ("ropes.simulation.settings", {"torch", "lightning", "pybullet", "mujoco", "matplotlib"}),
        ("ropes.simulation.backgrounds", {"torch", "lightning", "pybullet", "mujoco", "matplotlib", "numpy"}),
        ("ropes.metrics", {"torch", "lightning", "pybullet", "matplotlib", "ropes.causal.scm"}),
        ("ropes.data", {"torch", "lightning", "pybullet", "matplotlib"}),
        ("ropes.experiments.variants", {"torch", "lightning", "pybullet", "matplotlib"}),
    ],
)
def test_light_modules_do_not_import_heavy_packages(module: str, heavy: set[str]) -> None:
    code = f"import sys, {module}; print(*({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # An extra brings some; the module that imports them says so where they are missing.
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name in extras if name != "dev" for line in extras[name])]
    declared = {re.split(r"[^\w-]", line)[0].lower().replace("-", "_") for line in lines}
    modules = {"pillow": "PIL", "pycollada": "collada", "scikit_learn": "sklearn", "opencv_python_headless": "cv2"}
    modules |= {"pyyaml": "yaml", "universal_pathlib": "upath"}
    known = {modules.get(name, name) for name in declared} | {
        "ropes",
        "pybullet_data",
        *sys.stdlib_module_names,
    }
    used = {target.partition(".")[0]: path.name for path in MODULES for target, _ in imports(path)}
    assert {name: file for name, file in used.items() if name not in known} == {}


def installed() -> set[str]:
    return {(distribution.metadata["Name"] or "").lower() for distribution in distributions()}


def torch_is_built_for_cuda() -> bool:
    return "cu" in version("torch") or any(line.startswith("nvidia") for line in requires("torch") or ())


def test_torchvision_is_not_installed() -> None:
    assert "torchvision" not in installed()


@pytest.mark.skipif(torch_is_built_for_cuda(), reason="torch itself is a CUDA build")
def test_no_cuda_build_without_a_gpu() -> None:
    assert sorted(name for name in installed() if name.startswith("nvidia-")) == []


def test_supported_python_versions_are_declared_consistently() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    versions = [line.rpartition(" ")[2] for line in project["classifiers"] if "Python :: 3." in line]
    assert (project["requires-python"], versions) == (">=3.11", ["3.11", "3.12", "3.13", "3.14"])
    # Each Python has a renderer.
    differing = {line.partition(">")[0] for line in project["dependencies"] if "python_version" in line}
    assert differing == {"pybullet", "mujoco"}

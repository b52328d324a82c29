"""`make PYTHON=…`: which interpreter `.venv` has; `make browser`: which browsers are found."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[1] / "Makefile"
OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clone in which everything is installed."""
    shutil.copyfile(MAKEFILE, tmp_path / "Makefile")
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / ".installed").touch()
    return tmp_path


def planned(folder: Path, version: str, *words: str) -> str:
    """What `make install` would run, where `.venv` has a Python of that version."""
    python = folder / ".venv" / "bin" / "python"
    python.write_text(f"#!/bin/sh\necho {version}\n", encoding="utf-8")
    python.chmod(0o755)
    call = ["make", "--dry-run", "install", *words]
    return subprocess.run(call, cwd=folder, check=True, capture_output=True, text=True).stdout


def test_an_environment_of_another_version_is_made_anew(folder: Path) -> None:
    assert "pip install" not in planned(folder, OURS, f"PYTHON={sys.executable}")
    assert "pip install" in planned(folder, "3.99", f"PYTHON={sys.executable}")
    assert "pip install" not in planned(folder, "3.99")


def test_an_interpreter_that_does_not_run_is_named(folder: Path) -> None:
    call = ["make", "install", "PYTHON=/nowhere/python3.13"]
    done = subprocess.run(call, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode
    assert "make: /nowhere/python3.13 does not run, or is older than Python 3.11" in done.stderr


def test_browser_without_a_browser_fails_in_one_line(folder: Path) -> None:
    [names] = re.findall(r"^BROWSERS := (.+)$", MAKEFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    tests, programs = folder / ".venv" / "bin" / "pytest", folder / "programs"
    tests.write_text("#!/bin/sh\necho tests run\n", encoding="utf-8")
    tests.chmod(0o755)
    programs.mkdir()
    call = [str(shutil.which("make")), "browser"]

    def made() -> subprocess.CompletedProcess[str]:
        alone = {"PATH": str(programs)}
        return subprocess.run(call, cwd=folder, env=alone, check=False, capture_output=True, text=True)

    done = made()
    assert done.returncode
    assert done.stderr.startswith(f"make: found none of {names}; install one ")
    assert "tests run" not in done.stdout
    for name in names.split():
        (programs / name).touch(mode=0o755)
        done = made()
        assert (done.returncode, "tests run" in done.stdout) == (0, True)
        (programs / name).unlink()

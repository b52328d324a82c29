"""Pages keep the rules of style that a machine can check: short lines, links that lead somewhere, a short README."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ropes.report.table import WIDTH, wrapped

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.md")])


def prose(page: Path) -> list[str]:
    """Lines of a page outside of code and tables, without the targets of links."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    lines = [line for line in text.splitlines() if not line.startswith(("|", "    ", "#", "<!--"))]
    return [re.sub(r"\]\([^)]*\)", "]", line) for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lines_are_short(page: Path) -> None:
    assert [line for line in prose(page) if len(line) > WIDTH] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_of_code_begin_and_end(page: Path) -> None:
    fences = re.findall(r"^```.*$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert [fence for fence in fences[::2] if not re.fullmatch(r"```\w*", fence)] == []
    assert [fence for fence in fences[1::2] if fence != "```"] == []
    assert len(fences) % 2 == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_files_have_targets(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_readme_has_at_most_150_lines() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_contributing_names_files_that_exist() -> None:
    named = re.findall(r"`((?:src|tests)/[\w/.]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("script", ["method_diagram.py", "protocol.py"])
def test_drawing_equals_the_output_of_its_script(script: str) -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "docs" / script, "--check"], check=False)
    assert done.returncode == 0, f"run python tools/docs/{script}"


def test_text_is_wrapped_and_tables_are_not() -> None:
    long, row = "- " + "word " * 60, "| " + "cell | " * 60
    lines = wrapped(f"{long}\n{row}\n").splitlines()
    assert max(map(len, lines[:-1])) <= WIDTH
    assert all(line.startswith("  word") for line in lines[1:-1])
    assert lines[-1] == row

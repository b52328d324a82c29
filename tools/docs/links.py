"""Rewrites links that leave docs/: figures of results/ join the site, source files link to their reference page."""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
_SOURCE = re.compile(r"\]\(\.\./src/(ropes/[\w/]+)\.py\)")
_RESULT = re.compile(r"\]\(\.\./(results/[\w@./-]*)\)")
_ELSEWHERE = re.compile(r"\[([^\]]*)\]\(\.\./([\w./-]+)\)")


def on_files(files: Files, config: Any) -> Files:
    """Add every committed figure."""
    for path in sorted((ROOT / "results").glob("*.png")):
        files.append(File(f"results/{path.name}", str(ROOT), config["site_dir"], use_directory_urls=False))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Link to them. Other targets outside of docs/ become plain text."""
    text = _SOURCE.sub(lambda match: f"](reference/{_page_of(match[1])})", markdown)
    text = _RESULT.sub(lambda match: f"]({match[1]})" if match[1].endswith(".png") else "](results.md)", text)
    return _ELSEWHERE.sub(r"\1 (`\2`)", text)


def _page_of(module: str) -> str:
    """The reference page of a module's path without suffix."""
    return f"{module.removesuffix('/__init__')}/index.md" if module.endswith("__init__") else f"{module}.md"

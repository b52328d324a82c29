"""What the drawings of this folder share: the opening of a picture with arrows, and the program around it."""

import sys
from collections.abc import Callable
from pathlib import Path


def opening(width: int, height: int) -> list[str]:
    """The first lines of a picture on white, with the marker "head" for the ends of arrows."""
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="13">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" fill="#456"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]


def write_or_check(picture: Path, drawn: Callable[[], str]) -> None:
    """Write a picture; with --check on the command line exit with 1 unless it is written already."""
    if "--check" in sys.argv[1:]:
        sys.exit(not picture.exists() or picture.read_text(encoding="utf-8") != drawn())
    picture.write_text(drawn(), encoding="utf-8")

"""What every benchmark does with its figures: their option, and how they are shown and kept."""

import argparse
import contextlib
import io
import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_MARKED = re.compile(r"(<!-- figures:(\S+) -->\n).*?(<!-- /figures -->)", re.DOTALL)


def options(description: str | None) -> argparse.ArgumentParser:
    """The option that all of them have; the description is shown as it stands."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    return parser


def simulate(words: str, out: Path) -> None:
    """`ropes simulate` of these words, without one of its own; ends the program with its code where that fails."""
    from ropes.cli import entry as cli

    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = cli.main(["simulate", *words.split(), "--out", str(out)])
    if code:
        sys.exit(code)


def described(began: float) -> dict[str, Any]:
    """What figures are of: the processor, the version of ropes and torch, and seconds since the monotonic `began`."""
    import torch

    from ropes import __version__
    from ropes.common.hardware import capability, device_name

    of = {"processor": capability(), "device": device_name(), "version": __version__, "torch": torch.__version__}
    return {**of, "seconds": round(time.monotonic() - began)}


def origin(found: Mapping[str, Any]) -> str:
    """The machine and the version of figures with the entries of `described`."""
    return f"{found['device']} ({found['processor']}), ropes {found['version']}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, all others numbers."""
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def filled(page: str, write: Callable[[str], str | None]) -> str:
    """A page with what stands between its markers written anew, each by its name; None leaves it as it is.

    Raises:
        ValueError: it has no marker of which `write` knows the name.
    """
    from ropes.report.table import wrapped

    written: dict[str, str] = {}
    for found in _MARKED.finditer(page):
        if (text := write(found[2])) is not None:
            written[found[2]] = wrapped(text)
    if not written:
        raise ValueError("the page has no <!-- figures:NAME --> … <!-- /figures --> of these figures")
    return _MARKED.sub(lambda match: match[1] + written[match[2]] + match[3] if match[2] in written else match[0], page)


def keep(found: Mapping[str, Any], name: str, text: str, out: Path | None, page: Path | None) -> None:
    """Print the text of what was found, and store it."""
    print(text)
    store(found, name, text, out, page)


def store(found: Mapping[str, Any], name: str, text: str, out: Path | None, page: Path | None) -> None:
    """Write what was found to `out`, as JSON, and its text between the markers with this name of `page`."""
    from ropes.common.files import write_json, write_text

    if out:
        write_json(out, found)
    if page:
        write_text(page, filled(page.read_text(encoding="utf-8"), {name: text}.get))


def write_or_check(description: str | None, page: Path, written: Callable[[str], str]) -> None:
    """The script of a page: write it anew or, with --check, end with code 1 where it differs."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with code 1 if the page differs")
    arguments = parser.parse_args()
    before = page.read_text(encoding="utf-8")
    after = written(before)
    if arguments.check:
        sys.exit(before != after)
    from ropes.common.files import write_text

    write_text(page, after)


def publish(figures: Mapping[str, float], out: Path | None) -> None:
    """Print the figures as JSON, four digits each, and as a table; write the JSON to `out` too."""
    rounded = {name: value if isinstance(value, int) else float(f"{value:.4g}") for name, value in figures.items()}
    text = json.dumps(rounded, indent=1)
    if out:
        out.write_text(text + "\n", encoding="utf-8")
    print(text)
    print("\n| figure | value |\n|---|---:|")
    for name, value in figures.items():
        print(f"| {name.replace('_', ' ')} | {value:.3g} |")

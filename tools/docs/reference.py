"""Generates pages of the documentation site from the code: one page per module, and the help of every command."""

import contextlib
import io
import os
from pathlib import Path

import mkdocs_gen_files

os.environ.update(COLUMNS="86", NO_COLOR="1", TERM="dumb")
SOURCE = Path(__file__).parents[2] / "src"


def modules() -> None:
    """Write a page per module, and the navigation between them."""
    nav = mkdocs_gen_files.Nav()
    for path in sorted((SOURCE / "ropes").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if parts[-1] == "__main__":
            continue
        name = parts[:-1] if parts[-1] == "__init__" else parts
        page = Path(*name, "index.md") if parts[-1] == "__init__" else Path(*name[:-1], f"{name[-1]}.md")
        nav[name] = page.as_posix()
        with mkdocs_gen_files.open(Path("reference", page), "w") as stream:
            stream.write(
                f"# `{'.'.join(name)}`\n\n::: {'.'.join(name)}\n    options:\n      show_root_heading: false\n"
            )
    with mkdocs_gen_files.open("reference/SUMMARY.md", "w") as stream:
        stream.writelines(nav.build_literate_nav())


def commands() -> None:
    """Write the printed help of every command."""
    from ropes.cli import main
    from ropes.cli.commands import COMMANDS

    with mkdocs_gen_files.open("reference-command-line.md", "w") as stream:
        stream.write("# Options of every command\n\nThe output of `ropes COMMAND --help`.\n")
        for name in COMMANDS:
            output = io.StringIO()
            with contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
                main([name, "--help"])
            stream.write(f"\n## ropes {name}\n\n```text\n{output.getvalue().strip()}\n```\n")


modules()
commands()

"""Faults of a command line in one line, from the error boxes of tyro."""

import difflib
import io
import re
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ropes.cli.commands import Command

#: Message of tyro on a value, after "Error parsing --OPTION: " → the expected kind.
_KINDS = (
    (r"no type matching \{None\}\|INT could be instantiated from \[(?P<value>'.*')\]\.", "a whole number"),
    (r"no type matching \{None\}\|FLOAT could be instantiated from \[(?P<value>'.*')\]\.", "a number"),
    (r"no type matching \{None\}\|\{\[INT .* could be instantiated from \[(?P<value>'.*')\]\.", "whole numbers"),
    (r"no type matching \{None\}\|\{\[FLOAT .* could be instantiated from \[(?P<value>'.*')\]\.", "numbers"),
    (r"Could not find valid parse for arguments: \[(?P<value>'.*')\]", "numbers"),
    (r"invalid literal for int\(\) with base 10: (?P<value>'.*')", "a whole number"),
    (r"could not convert string to float: (?P<value>'.*')", "a number"),
)


def options_of(kind: type["Command"], name: str) -> list[str]:
    """All options of a command, from its help."""
    import tyro

    text = io.StringIO()
    with redirect_stdout(text), suppress(SystemExit):
        tyro.cli(kind, prog=f"ropes {name}", args=["--help"], console_outputs=True)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue())
    return sorted(set(re.findall(r"(?<!\S)--\w[\w.-]*", plain)))


def one_line(box: str, options: Sequence[str]) -> str:
    """The text of tyro's error box without its title, with suggestions from `options` for unknown ones."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    rows = [row.strip("│ ") for row in plain.splitlines() if not row.startswith(("╭", "╰")) and row.strip()]
    sections: list[list[str]] = [[]]
    for row in rows:
        if re.fullmatch("[─-]{8,}", row):
            sections.append([])
        else:
            sections[-1].append(row)
    if "╭" not in plain:  # in ASCII, the title is a separate section
        del sections[0]
    hints = ("Perhaps you meant", "For full helptext", "Argument helptext")
    faults = [section for section in sections if section and not section[0].startswith(hints)]
    fault = "; ".join(_plain(" ".join(" ".join(section).split())) for section in faults)
    unknown = re.findall(r"--\w[\w.-]*", fault.partition("Unrecognized options:")[2])
    closest = [option for word in unknown for option in difflib.get_close_matches(word, options, n=1)]
    return f"{fault}; perhaps you meant {' or '.join(dict.fromkeys(closest))}" if closest else fault


def _plain(fault: str) -> str:
    """A fault in tyro's words, without the help of missing arguments and without types of Python."""
    fault = fault.partition(" Got errors:")[0]
    if fault.startswith("Missing from "):
        missing = [_argument(text.strip()) for text in fault.partition(": ")[2].split("(required)") if text.strip()]
        return f"missing {'; missing '.join(missing)}"
    if found := re.match(r"Missing value for argument '(--\S+)'", fault):
        return f"{found[1]} needs a value"
    for message, kind in _KINDS:
        if found := re.fullmatch(rf"Error parsing (?P<option>--\S+): {message}", fault):
            return f"{found['option']} is {found['value']}; give {kind}"
    return fault


def _argument(text: str) -> str:
    """Name and kind of an argument, from its line of help."""
    if choices := re.match(r"\{([^}]*)\}", text):
        return f"one of {', '.join(choices[1].replace(' ', '').split(','))}"
    name, *kind = text.split()[: 2 if text.startswith("--") else 1]
    return " ".join([name, *(each for each in kind if each != "STR")])

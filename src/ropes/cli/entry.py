"""Parses the command line, runs one command, and turns every failure into one line and an exit code.

0: done; 2: input that the user can mend, or a full disk; 130 and 143: Ctrl-C and SIGTERM, all files whole.
Anything else is our mistake and keeps its traceback.
"""

import difflib
import errno
import io
import os
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from types import FrameType
from typing import TYPE_CHECKING

from ropes.common.hardware import keep_memory
from ropes.errors import UserError

if TYPE_CHECKING:
    from ropes.cli.commands import Command

#: Modules of dependencies whose distributions have other names, beyond - for _.
_DISTRIBUTIONS = {
    "PIL": "pillow",
    "collada": "pycollada",
    "pybullet_data": "pybullet",
    "pybullet_utils": "pybullet",
    "sklearn": "scikit-learn",
}
_HELP = """usage: ropes COMMAND [OPTIONS]

Joint angles of a robot arm from camera images, learnt without a label.

commands:
{commands}

options:
  -h, --help  show this help; ropes COMMAND --help shows a command's, with an example
  --version   show the version

example:
  ropes reproduce demo --out runs/demo
"""


class _Terminated(KeyboardInterrupt):
    """SIGTERM, raised as an interrupt so that whatever cleans up after Ctrl-C cleans up after it too."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: what follows `ropes` on the command line; that of this process where None.

    Returns:
        The exit code.
    """
    keep_memory()
    with recorded_signals() as received:
        try:
            _dispatch(sys.argv[1:] if arguments is None else list(arguments))
            sys.stdout.flush()
            return 0
        except UserError as error:
            return _refuse(str(error))
        except BrokenPipeError:
            _drop_stdout()
            return 128 + signal.SIGPIPE
        except BaseException as error:
            # Lightning turns an interrupt into SystemExit(1): what counts is that a signal came.
            if received or isinstance(error, KeyboardInterrupt):
                print("ropes: interrupted; run the same command again to go on", file=sys.stderr)
                return 128 + (received[-1] if received else signal.SIGINT)
            if isinstance(error, SystemExit):
                return error.code if isinstance(error.code, int) else int(error.code is not None)
            if (line := _mendable(error)) is None:
                raise
            _drop_stdout()
            return _refuse(line)


def _dispatch(arguments: list[str]) -> None:
    match arguments:
        case ["--version", *_]:
            from ropes import __version__

            print(f"ropes {__version__}")
        case [] | ["-h" | "--help", *_]:
            from ropes.cli.commands import COMMANDS, summary

            lines = (f"  {name:<10}  {summary(command)}" for name, command in COMMANDS.items())
            print(_HELP.format(commands="\n".join(lines)), end="")
            if not arguments:
                raise UserError("no command given; choose one of the above")
        case [name, *options]:
            parse(command_kind(name, options), name, options).execute()


def command_kind(name: str, options: Sequence[str]) -> type["Command"]:
    """The command of that name; for `fit`, with the fields of the recipe that `options` choose.

    Raises:
        UserError: no such command, or no such preset.
    """
    from ropes.cli.commands import COMMANDS

    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(COMMANDS)}"
        raise UserError(f"unknown command {name!r}: {hint}")
    if name == "fit":
        from ropes.cli.fit import fit_with_recipe

        return fit_with_recipe(options)
    return COMMANDS[name]


def parse(kind: type["Command"], name: str, options: Sequence[str]) -> "Command":
    """Options of one command, as typed; what tyro draws as a box on standard error becomes one line.

    Raises:
        UserError: an option is unknown, missing or malformed.
    """
    import inspect

    import tyro

    options = list(_with_new_names(options, getattr(kind, "renamed", {})))
    box = io.StringIO()
    try:
        with redirect_stderr(box):
            return tyro.cli(kind, prog=f"ropes {name}", description=inspect.getdoc(kind), args=options)
    except SystemExit as exit_:
        if exit_.code in (0, None):
            raise
        line = _one_line(box.getvalue(), _options(kind, name))
        raise UserError(f"{name}: {line} (see ropes {name} --help)") from None


def _with_new_names(options: Sequence[str], renamed: Mapping[str, str]) -> Iterator[str]:
    """The options with old names replaced; each replaced name prints a line on standard error."""
    for word in options:
        typed, *value = word.split("=", 1)
        old = typed.replace("_", "-")
        if old in renamed:
            print(f"ropes: {old} is now {renamed[old]}", file=sys.stderr)
            word = "=".join([renamed[old], *value])
        yield word


def _options(kind: type["Command"], name: str) -> list[str]:
    """Every option of a command, as its help spells it; tyro itself suggests none beside a missing one."""
    import tyro

    text = io.StringIO()
    with redirect_stdout(text), suppress(SystemExit):
        tyro.cli(kind, prog=f"ropes {name}", args=["--help"], console_outputs=True)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text.getvalue())
    return sorted(set(re.findall(r"(?<!\S)--\w[\w.-]*", plain)))


def _one_line(box: str, options: Sequence[str]) -> str:
    """What tyro says under the title of its box, with those of the `options` that are like an unknown one."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    rows = [row.strip("│ ") for row in plain.splitlines() if not row.startswith(("╭", "╰")) and row.strip()]
    sections: list[list[str]] = [[]]
    for row in rows:
        if re.fullmatch("[─-]{8,}", row):
            sections.append([])
        else:
            sections[-1].append(row)
    if "╭" not in plain:  # where the output takes ASCII only, the title is a section of its own
        del sections[0]
    fault = "; ".join(" ".join(" ".join(section).split()) for section in sections if _is_fault(section))
    typed = re.findall(r"--\w[\w.-]*", fault.partition("Unrecognized options:")[2])
    closest = [option for word in typed for option in difflib.get_close_matches(word, options, n=1)]
    line = fault.partition(" Got errors:")[0]
    return f"{line}; perhaps you meant {' or '.join(dict.fromkeys(closest))}" if closest else line


def _is_fault(section: list[str]) -> bool:
    return bool(section) and not _begins(section, "Perhaps you meant", "For full helptext", "Argument helptext")


def _begins(section: list[str], *words: str) -> bool:
    return bool(section) and section[0].startswith(words)


def _mendable(error: BaseException) -> str | None:
    """The line for what the user can mend: a full disk, a file out of reach, a missing package."""
    if isinstance(error, ModuleNotFoundError) and (requirement := _requirement(error.name or "")):
        return f"the package {error.name} is not installed; run make install, or pip install '{requirement}'"
    # Libraries that write through native code keep the system's words but not always its number.
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left on device" in str(error)
    if full:
        place = f" at {error.filename}" if isinstance(error, OSError) and error.filename else ""
        return f"the disk is full{place}; free some space and run the same command again to go on"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; check the path and its permissions"
    return None


def _requirement(module: str) -> str | None:
    """What pip has to install for a module of a declared dependency; None for any other, which is our mistake."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = [line.partition(";")[0].strip() for line in requires("ropes") or ()]
    except PackageNotFoundError:  # imported from its sources
        declared = []
    wanted = _DISTRIBUTIONS.get(module, module.replace("_", "-"))
    return next((line for line in declared if re.split(r"[^\w-]", line)[0] == wanted), None)


def _refuse(line: str) -> int:
    print(f"ropes: {line}", file=sys.stderr)
    return 2


def _drop_stdout() -> None:
    """Send what a closed or full standard output did not take nowhere, lest it fails again at the end."""
    if sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def recorded_signals() -> Iterator[list[int]]:
    """Raise on SIGINT and SIGTERM and keep their numbers, in this process alone: forked workers just die."""
    owner, received = os.getpid(), list[int]()

    def handle(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        received.append(number)
        raise _Terminated if number == signal.SIGTERM else KeyboardInterrupt

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

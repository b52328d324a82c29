"""Parses the command line and runs one command; a failure ends in one line and an exit code.

0: done; 1: ropes check found a drift; 2: invalid input or a full disk; 130, 143 and 129: Ctrl-C, SIGTERM and a closed
terminal (SIGHUP), without partial files.
A failure of any other kind is a bug: it prints its traceback, and the code is 70.
"""

import errno
import io
import os
import re
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

from ropes.cli.usage import one_line, options_of
from ropes.common.hardware import tune_process
from ropes.errors import UserError, require_name

if TYPE_CHECKING:
    from ropes.cli.commands import Command
    from ropes.cli.config import Config

#: Module → distribution, for dependencies whose names differ by more than - and _.
_DISTRIBUTIONS = {
    "PIL": "pillow",
    "collada": "pycollada",
    "pybullet_data": "pybullet",
    "pybullet_utils": "pybullet",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
#: Commands that go on where they were interrupted, and what they say then.
_RESUMED, _AGAIN = ("simulate", "import", "record", "fit", "reproduce"), "run the same command again to resume"
_HELP = """usage: ropes COMMAND [OPTIONS]

Joint angles of a robot arm from camera images, learned without labels.

commands:
{commands}

options:
  -h, --help  show this help; ropes COMMAND --help shows the options of a command
  --version   show the version

example:
  ropes reproduce demo --out runs/demo
"""


class _Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, raised as an interrupt so that code that cleans up after Ctrl-C handles it too."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: words after `ropes` on the command line; None for those of this process.

    Returns:
        The exit code.
    """
    tune_process()
    with recorded_signals() as received:
        try:
            code = _dispatch(sys.argv[1:] if arguments is None else list(arguments))
            sys.stdout.flush()
            return code
        except UserError as error:
            return _fail(str(error))
        except BrokenPipeError:
            _discard_stdout()
            return 128 + signal.SIGPIPE
        except BaseException as error:
            # Lightning turns an interrupt into SystemExit(1), so check for a received signal.
            if received or isinstance(error, KeyboardInterrupt):
                words = sys.argv[1:] if arguments is None else arguments
                resumes = bool(words) and words[0] in _RESUMED
                print(f"ropes: interrupted{f'; {_AGAIN}' if resumes else ''}", file=sys.stderr)
                return 128 + (received[-1] if received else signal.SIGINT)
            if isinstance(error, SystemExit):
                return error.code if isinstance(error.code, int) else int(error.code is not None)
            if (line := _user_fault(error)) is None:
                traceback.print_exc()
                return os.EX_SOFTWARE
            _discard_stdout()
            return _fail(line)


def _dispatch(arguments: list[str]) -> int:
    """Run the command of these words; returns its exit code."""
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
            from ropes.cli.config import Config

            config = Config.of(options)
            try:
                kind = command_kind(name, [*config.scalars, *options])
            except UserError as error:
                raise UserError(config.located(str(error), options)) from error
            return parse(kind, name, options, config).execute() or 0
    return 0


def command_kind(name: str, options: Sequence[str]) -> type["Command"]:
    """The command of that name; `fit` has the fields of the recipe that `options` select.

    Raises:
        UserError: no such command, or no such preset.
    """
    from ropes.cli.commands import COMMANDS

    require_name(name, tuple(COMMANDS), "command")
    if name == "fit":
        from ropes.cli.fit import fit_with_recipe

        return fit_with_recipe(options)
    return COMMANDS[name]


def parse(kind: type["Command"], name: str, options: Sequence[str], config: "Config | None" = None) -> "Command":
    """Parse the options of a command; tyro's error box becomes one line.

    Args:
        kind: class of the command.
        name: of the command.
        options: words after the command's name.
        config: further options, from a file.

    Raises:
        UserError: an option is unknown, missing or malformed.
    """
    import inspect

    import tyro

    from ropes.cli.commands import for_tyro
    from ropes.cli.config import Config, refuse_urls

    renamed: Mapping[str, str] = getattr(kind, "renamed", {})
    options = list(_with_new_names(options, renamed))
    config = _with_new_entries(config or Config(), renamed)
    words, positional = config.words(kind, options)
    box = io.StringIO()
    try:
        with redirect_stderr(box):
            shown = for_tyro(kind, positional)
            command: Command = tyro.cli(
                shown, prog=f"ropes {name}", description=inspect.getdoc(kind), args=[*options, *words]
            )
            refuse_urls(command, [*options, *config.texts])
            return command
    except UserError as error:
        raise UserError(config.located(str(error), options)) from error
    except SystemExit as exit_:
        if exit_.code in (0, None):
            raise
        line = config.located(one_line(box.getvalue(), options_of(kind, name)), options)
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


def _with_new_entries(config: "Config", renamed: Mapping[str, str]) -> "Config":
    """A file's options with old names replaced; each replaced name prints a line on standard error.

    Raises:
        UserError: the file has an option under both names.
    """
    values = dict[str, Any]()
    for old, value in config.values.items():
        name = renamed.get(f"--{old}", f"--{old}").removeprefix("--")
        if name != old:
            if name in config.values:
                raise UserError(f"{config.file} gives {name} and its old name {old}; leave one of them out")
            print(f"ropes: {config.file}: {old} is now {name}", file=sys.stderr)
        values[name] = value
    return replace(config, values=values)


def _user_fault(error: BaseException) -> str | None:
    """The message of a full disk, an unreadable file or a missing package; None for other errors."""
    if isinstance(error, ModuleNotFoundError) and (requirement := _requirement(error.name or "")):
        return f"the package {error.name} is not installed; run make install, or pip install '{requirement}'"
    # Errors from native code may lack the error number.
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT) or "No space left on device" in str(error):
        place = f" at {error.filename}" if isinstance(error, OSError) and error.filename else ""
        return f"the disk is full{place}; free some space and {_AGAIN}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; check the path and its permissions"
    return None


def _requirement(module: str) -> str | None:
    """The declared requirement of a dependency's module; None for other modules."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = [line.partition(";")[0].strip() for line in requires("ropes") or ()]
    except PackageNotFoundError:  # ropes is imported from its sources
        declared = []
    distribution = _DISTRIBUTIONS.get(module, module.replace("_", "-"))
    return next((line for line in declared if re.split(r"[^\w-]", line)[0] == distribution), None)


def _fail(message: str) -> int:
    line = " ".join(part.strip() for part in message.splitlines())  # also where a library's text has several
    print(f"ropes: {line}", file=sys.stderr)
    return 2


def _discard_stdout() -> None:
    """Redirect a closed or full standard output to the null device, so that the final flush does not fail."""
    if sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def recorded_signals() -> Iterator[list[int]]:
    """Raise on SIGINT, SIGTERM and SIGHUP and record their numbers, in this process only; forked workers exit.

    SIGHUP stays ignored under nohup.
    """
    owner, received = os.getpid(), list[int]()

    def handle(number: int, frame: FrameType | None) -> None:
        if os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        received.append(number)
        raise KeyboardInterrupt if number == signal.SIGINT else _Terminated

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""The table of commands, and their help. A command imports the functions that it calls only when it runs."""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import field, fields, make_dataclass
from itertools import pairwise
from typing import Annotated, Any, Protocol, get_type_hints

import tyro

from ropes.cli.cameras import Cameras
from ropes.cli.check import Check
from ropes.cli.config import ConfigFile
from ropes.cli.data import Export, Strip, Validate
from ropes.cli.evaluate import Evaluate, Graph, Inspect
from ropes.cli.fit import Calibrate, Fit, Predict
from ropes.cli.imports import Import
from ropes.cli.package import Card, Package
from ropes.cli.record import Record
from ropes.cli.results import Csv, Report, Reproduce
from ropes.cli.score import Score
from ropes.cli.simulate import Simulate
from ropes.cli.tables import Tables
from ropes.cli.watch import Watch


class Command(Protocol):
    """The validated options of a command."""

    def execute(self) -> int | None:
        """Run the command.

        Returns:
            The exit code; None is 0.

        Raises:
            UserError: invalid input; no partial files are left.
        """


#: Commands by name, in the order of a workflow.
COMMANDS: dict[str, type[Command]] = {
    "simulate": Simulate,
    "validate": Validate,
    "record": Record,
    "import": Import,
    "inspect": Inspect,
    "strip": Strip,
    "export": Export,
    "fit": Fit,
    "evaluate": Evaluate,
    "calibrate": Calibrate,
    "predict": Predict,
    "cameras": Cameras,
    "check": Check,
    "watch": Watch,
    "graph": Graph,
    "package": Package,
    "card": Card,
    "report": Report,
    "csv": Csv,
    "reproduce": Reproduce,
    "score": Score,
    "tables": Tables,
}


def summary(command: type[Command]) -> str:
    """The first line of a command's help."""
    return (inspect.getdoc(command) or "").splitlines()[0]


def for_tyro(kind: type[Command], positional: Mapping[str, Any]) -> type[Command]:
    """A subclass of a command with --config, and with help texts on one line each.

    tyro alone keeps the line breaks of docstrings.

    Args:
        kind: a frozen dataclass.
        positional: field → value from --config of options without a name; the command line may replace it.
    """
    described: Any = kind
    texts, hints = help_texts(kind), get_type_hints(kind, include_extras=True)
    options: list[tuple[str, Any, Any]] = [
        (each.name, Annotated[hints[each.name], tyro.conf.arg(help=texts[each.name])], copy(each))
        for each in fields(described)
        if each.name in texts
    ]
    for name, _, each in options:
        if name in positional:
            each.default = positional[name]
    options.append(("config", ConfigFile, field(default=None)))
    namespace = {"__doc__": kind.__doc__}
    return make_dataclass(kind.__name__, options, bases=(kind,), namespace=namespace, frozen=True, kw_only=True)


def help_texts(kind: type) -> Mapping[str, str]:
    """The docstring below each field of a class and of its bases: name → text on one line."""
    texts: dict[str, str] = {}
    for each in reversed(kind.__mro__[:-1]):
        with suppress(OSError):  # a class made at run time has no source
            texts |= _texts_in(textwrap.dedent(inspect.getsource(each)))
    return texts


def _texts_in(source: str) -> Mapping[str, str]:
    texts: dict[str, str] = {}
    for definition in ast.parse(source).body:
        for option, below in pairwise(definition.body if isinstance(definition, ast.ClassDef) else []):
            match option, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    texts[name] = " ".join(text.split())
    return texts

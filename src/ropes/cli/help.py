"""Help texts of options: the docstring below each option, joined to one line."""

import ast
import inspect
import textwrap
from collections.abc import Mapping
from contextlib import suppress
from copy import copy
from dataclasses import fields, make_dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import tyro

if TYPE_CHECKING:
    from ropes.cli.commands import Command


def with_joined_help(kind: type["Command"]) -> type["Command"]:
    """A subclass of a command with help texts on one line each; tyro alone keeps the line breaks of docstrings.

    Args:
        kind: a frozen dataclass.
    """
    described: Any = kind
    texts, hints = help_texts(kind), get_type_hints(kind, include_extras=True)
    options = [
        (each.name, Annotated[hints[each.name], tyro.conf.arg(help=texts[each.name])], copy(each))
        for each in fields(described)
        if each.name in texts
    ]
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

"""Files of options: `--config FILE.yaml` of every command, and the options that a command stores with its output.

An entry of a file becomes words of the command line, so that both have the same checks and messages.
"""

import argparse
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import tyro

from ropes.cli.options import LOCATION
from ropes.common.files import write_text
from ropes.common.stores import Location, is_location, is_url, location
from ropes.errors import UnfinishedError, UserError, require_name, suggestion

_HELP = "YAML file with options of this command; options on the command line replace those of the file."
ConfigFile = Annotated[Path | None, tyro.conf.arg(help=_HELP, metavar="FILE.yaml")]
OPTIONS_FILE = "options.yaml"


@dataclass(frozen=True)
class Option:
    """An option of a command.

    Attributes:
        path: of its value in the command, `recipe.encoder.window`.
        hint: its annotation.
    """

    path: str
    hint: Any

    @property
    def types(self) -> tuple[Any, ...]:
        """The type of its values, and the types of a union."""
        bare = get_args(self.hint)[0] if get_origin(self.hint) is Annotated else self.hint
        return (bare, *get_args(bare))

    @property
    def is_positional(self) -> bool:
        """Whether the command line takes it without a name."""
        return tyro.conf.Positional in getattr(self.hint, "__metadata__", ())

    @property
    def is_list(self) -> bool:
        """Whether it takes several values."""
        return any(get_origin(each) is tuple for each in self.types)

    def parsed(self, words: Sequence[str]) -> Any:
        """The value of words, for an option without a name on the command line: names or paths.

        Raises:
            UserError: it is not among the choices.
        """
        if get_origin(self.types[0]) is Literal:
            require_name(words[0], self.types[1:], self.path)
        as_value = location if LOCATION in self.hint.__metadata__ else Path if Path in self.types else str
        values = tuple(map(as_value, words))
        return values if self.is_list else values[0]


def options_of(kind: type[Any], path: str = "", prefix: str = "") -> Iterator[tuple[str, Option]]:
    """The options of a command's class, without --config: dotted name and option."""
    hints = get_type_hints(kind, include_extras=True)
    for each in fields(kind):
        option = Option(f"{path}{each.name}", hints[each.name])
        name = f"{prefix}{each.name.replace('_', '-')}"
        if isinstance(part := option.types[0], type) and is_dataclass(part):
            unnamed = any(getattr(mark, "name", None) == "" for mark in getattr(option.hint, "__metadata__", ()))
            yield from options_of(part, f"{option.path}.", prefix if unnamed else f"{name}.")
        elif name != "config":
            yield name, option


@dataclass(frozen=True)
class Config:
    """The options of a file.

    Attributes:
        file: None for no file.
        values: dotted name → value: the text in the file, or a list of texts.
    """

    file: Path | None = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, words: Sequence[str]) -> "Config":
        """The file that --config names on the command line; no file without --config.

        Raises:
            UserError: see `read`.
        """
        scan = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        scan.add_argument("--config", nargs="?")
        file = scan.parse_known_args(list(words))[0].config
        return cls() if file is None else cls.read(Path(file))

    @classmethod
    def read(cls, file: Path) -> "Config":
        """Read a file.

        Raises:
            UserError: it is not YAML, or not a mapping of options.
        """
        import yaml

        try:
            # Values are read as they are written: YAML's own rules make 62 of 1:2 and true of on.
            root = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
            _require_single_keys(root, file)
            content = None if root is None else yaml.BaseLoader("").construct_document(root)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise UserError(f"{file} is not valid YAML: {' '.join(str(error).split())}") from error
        if content and not isinstance(content, dict):
            raise UserError(f"{file} has no options; write a line NAME: VALUE for each")
        entries = list(_flat(content or {}))
        names = [name for name, _ in entries]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UserError(f"{file} gives {twice} twice; leave one of them out")
        return cls(file, dict(entries))

    @property
    def scalars(self) -> list[str]:
        """Single values as words, for options that select the others."""
        return [f"--{name}={value}" for name, value in self.values.items() if isinstance(value, str)]

    @property
    def texts(self) -> list[str]:
        """All values, as they are written."""
        return [text for value in self.values.values() for text in (value if isinstance(value, list) else [value])]

    def words(self, kind: type[Any], typed: Sequence[str]) -> tuple[list[str], dict[str, Any]]:
        """The options of the file that the command line does not give.

        Args:
            kind: the command's class.
            typed: words of the command line.

        Returns:
            Words of the command line; and field → value for the options without a name there.

        Raises:
            UserError: unknown option, or a value of another kind; names the file and the option.
        """
        known = dict(options_of(kind))
        given = {_option_of(word) for word in typed}
        words, positional = list[str](), dict[str, Any]()
        for name, value in self.values.items():
            try:
                if name not in known:
                    hint = suggestion(name, known, f"see ropes {kind.__name__.lower()} --help")
                    raise UserError(f"unknown option {name!r}: {hint}")
                parts = _words(name, known[name], value)
                if known[name].is_positional:
                    positional[known[name].path] = known[name].parsed(parts[1:])
                    continue
            except UserError as error:
                raise UserError(f"{self.file}: {error}") from None
            if name not in given:
                words += parts
        return words, positional

    def located(self, line: str, typed: Sequence[str]) -> str:
        """An error message, with the file if it names an option or a text that only the file gives.

        Args:
            line: the message.
            typed: words of the command line.
        """
        named = {_option_of(word) for word in re.findall(r"--\w[\w.-]*", line)} - {_option_of(word) for word in typed}
        texts = (repr(value) for value in self.values.values() if isinstance(value, str))
        own = named & self.values.keys() or any(text in line for text in texts)
        return f"{self.file}: {line}" if own else line


def _require_single_keys(node: Any, file: Path) -> None:
    """Check that no mapping of a YAML document has a key twice; YAML's own reader keeps the last value."""
    if getattr(node, "id", None) == "mapping":
        names = [key.value for key, _ in node.value if isinstance(key.value, str)]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UserError(f"{file} gives {twice} twice; leave one of them out")
        for _, value in node.value:
            _require_single_keys(value, file)


def _option_of(word: str) -> str | None:
    """The option that a word of the command line names: window of --window=3 and --no-window; None for a value."""
    name = word.partition("=")[0].replace("_", "-")
    return re.sub(r"(^|\.)no-", r"\1", name[2:]) if name.startswith("--") else None


def _flat(content: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values of nested entries."""
    for key, value in content.items():
        name = f"{prefix}{key}".replace("_", "-")
        if isinstance(value, dict):
            yield from _flat(value, f"{name}.")
        else:
            yield name, value


def _words(name: str, option: Option, value: Any) -> list[str]:
    """The words of an option; null is None, and a list of names goes into one word where the option takes one."""
    if option.types[0] is bool:
        if value not in ("true", "false"):
            raise UserError(f"{name} is {value!r}; give true or false")
        part, dot, last = name.rpartition(".")
        return [f"--{name}" if value == "true" else f"--{part}{dot}no-{last}"]
    if isinstance(value, list):
        if option.is_list:
            return [f"--{name}", *map(str, value)]
        if option.types[0] is not str:
            raise UserError(f"{name} is a list; give one value")
        value = ",".join(map(str, value))
    return [f"--{name}", "None" if value in ("null", "~") else value]


def refuse_urls(command: object, words: Sequence[str]) -> None:
    """Check that no option of local files has a URL.

    Args:
        command: its options, parsed.
        words: the words that they were parsed from.

    Raises:
        UserError: names the option.
    """
    texts = [text for word in words for text in (word, word.partition("=")[2]) if is_url(text)]
    urls = {Path(text): text for text in texts}
    for name, option in options_of(type(command)):
        value = attrgetter(option.path)(command)
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, Path) and each in urls:
                where = option.path if option.is_positional else f"--{name}"
                raise UserError(f"{where} is {urls[each]}; give a file or folder of this machine")


def options_beside(out: Location) -> Location:
    """The file for the options of a command whose output is one file, or a folder of data alone: OUT.options.yaml.

    Raises:
        UserError: a whole bucket, which has no place beside it.
    """
    if not isinstance(out, Path):
        if not out.name:
            raise UserError(f"{out} is a whole bucket; give a folder in it, {str(out).rstrip('/')}/data")
        return out.parent / f"{out.name}.{OPTIONS_FILE}"
    folder = Path(os.path.abspath(out))  # . and .. have no name
    return folder.with_name(f"{folder.name}.{OPTIONS_FILE}")


@contextmanager
def options_when_interrupted(command: object, file: Path, begun: Path) -> Iterator[None]:
    """Store the options also if the block is interrupted, or leaves a part unfinished, so that `--config` resumes it.

    Args:
        command: its options.
        file: for the options.
        begun: file that is there from the beginning of the work on; without it nothing is stored.
    """
    try:
        yield
    except (KeyboardInterrupt, UnfinishedError):
        if begun.exists():
            write_options(command, file)
        raise


def write_options(command: object, file: Location) -> None:
    """Store all options of a command, as `--config` reads them.

    Paths are stored as they were given: relative ones are relative to the working folder.
    """
    import yaml

    content: dict[str, Any] = {}
    for name, option in options_of(type(command)):
        *parts, last = name.split(".")
        entries = content
        for part in parts:
            entries = entries.setdefault(part, {})
        entries[last] = _plain(attrgetter(option.path)(command))
    name = type(command).__name__.lower()
    comment = f"# All options of ropes {name}, for ropes {name} --config\n"
    write_text(file, comment + yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _plain(value: Any) -> Any:
    """A value as YAML has it."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return str(value) if is_location(value) else value

"""The table of subcommands. Each command imports its function only when it runs."""

import inspect
from typing import Protocol

from ropes.cli.evaluate import Evaluate
from ropes.cli.fit import Calibrate, Fit, Predict
from ropes.cli.images import Export, Import, Strip, Validate
from ropes.cli.insight import Graph, Inspect
from ropes.cli.packaging import Card, Package
from ropes.cli.results import Report, Reproduce, Tables
from ropes.cli.simulate import Simulate


class Command(Protocol):
    """The options of a subcommand, validated when made."""

    def execute(self) -> None:
        """Do what the subcommand says.

        Raises:
            UserError: the input does not fit; nothing is left half-written.
        """


#: Subcommands by name, in the order of the work.
COMMANDS: dict[str, type[Command]] = {
    "simulate": Simulate,
    "validate": Validate,
    "import": Import,
    "inspect": Inspect,
    "strip": Strip,
    "export": Export,
    "fit": Fit,
    "evaluate": Evaluate,
    "calibrate": Calibrate,
    "predict": Predict,
    "graph": Graph,
    "package": Package,
    "card": Card,
    "report": Report,
    "reproduce": Reproduce,
    "tables": Tables,
}


def summary(command: type[Command]) -> str:
    """The first sentence of a command's help."""
    return (inspect.getdoc(command) or "").splitlines()[0]

"""The table of commands. A command imports the functions that it calls only when it runs."""

import inspect
from typing import Protocol

from ropes.cli.check import Check
from ropes.cli.evaluate import Evaluate
from ropes.cli.fit import Calibrate, Fit, Predict
from ropes.cli.images import Export, Strip, Validate
from ropes.cli.import_command import Import
from ropes.cli.insight import Graph, Inspect
from ropes.cli.package import Card, Package
from ropes.cli.record import Record
from ropes.cli.results import Csv, Report, Reproduce, Tables
from ropes.cli.simulate import Simulate
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
    "check": Check,
    "watch": Watch,
    "graph": Graph,
    "package": Package,
    "card": Card,
    "report": Report,
    "csv": Csv,
    "reproduce": Reproduce,
    "tables": Tables,
}


def summary(command: type[Command]) -> str:
    """The first line of a command's help."""
    return (inspect.getdoc(command) or "").splitlines()[0]

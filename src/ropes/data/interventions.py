"""Reads `meta/interventions.json`: the regime or the action of each task."""

from collections.abc import Sequence

from ropes.causal.scm import Regime
from ropes.common import files, stores
from ropes.common.stores import Location
from ropes.data import schema
from ropes.errors import UserError
from ropes.simulation.actions import Action


def read_regimes(folder: Location, tasks: Sequence[str]) -> tuple[Regime, ...]:
    """The regime of each task of the data set in `folder`.

    Raises:
        UserError: the file is missing or wrong, or gives two tasks the same regime.
    """
    path = folder / schema.INTERVENTIONS
    entries = files.read_json(path, folder=folder)
    try:
        given = [(entries[task]["joint"], entries[task]["policy"]) for task in tasks]
        if wrong := [joint for joint, _ in given if not isinstance(joint, str | None)]:
            raise TypeError(f"joint {wrong[0]!r} is no name")
        regimes = tuple(Regime(joint, policy) for joint, policy in given)
    except KeyError as error:
        raise UserError(f"{path}: no intervention (joint, policy) for task {error}; add it") from error
    except (TypeError, ValueError) as error:
        raise UserError(f"{path}: {error}; give joint and policy 1 or 2, or null and 0") from error
    by_regime: dict[Regime, str] = {}
    for task, regime in zip(tasks, regimes, strict=True):
        if regime in by_regime:
            first, name = by_regime[regime], regime.name
            raise UserError(f"{path}: tasks {first!r} and {task!r} are one intervention, {name}; merge the tasks")
        by_regime[regime] = task
    return regimes


def single_interventions(regimes: Sequence[Regime]) -> bool:
    """Whether every joint has policy 1 alone, beside images without intervention, in place of two policies."""
    return {regime.policy for regime in regimes} == {0, 1}


def read_actions(folder: Location, tasks: Sequence[str]) -> tuple[Action, ...]:
    """The action of each task of the data set in `folder`; empty where tasks are not actions.

    Raises:
        UserError: only some of the tasks are actions.
    """
    path = folder / schema.INTERVENTIONS
    entries = files.read_json(path, folder=folder) if stores.is_file(path) else {}
    by_task = [entries.get(task) if isinstance(entries, dict) else None for task in tasks]
    if not any(isinstance(entry, dict) and "verb" in entry for entry in by_task):
        return ()
    try:
        return tuple(Action(str(entries[task]["verb"]), str(entries[task]["noun"])) for task in tasks)
    except (KeyError, TypeError) as error:
        raise UserError(f"{path}: not every task has a verb and a noun ({error}); add them") from error

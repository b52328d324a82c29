"""Which regime acts when: from the recording's own texts, or from a table of the user."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats
from ropes.data.recordings.source import Episode, Policies
from ropes.data.recordings.tables import Table, read_table
from ropes.errors import UserError

_FORM = "observational, or a joint, a slash and 1 or 2, as elbow/1"
#: Columns of a table that say what a row is about; `policy` says the rest.
_KEYS = ("task", "episode", "frame", "time")
#: Column that names the recording of a row, where several are imported together.
_SOURCE = "source"


def assign(episodes: Sequence[Episode], table: Path | None, joints: Iterable[str]) -> tuple[Policies, ...]:
    """The regimes of each episode, by name; an empty name leaves frames out.

    Args:
        episodes: of the recording.
        table: CSV or Parquet file with a column `policy` and what it is about: `task` (a text of the recording),
            `episode` (a number), `episode` and `frame` or `frame` alone (from this frame on), or `time` (from this time
            on, seconds).  Among several recordings a column `source` names that of the row, except with `task`.
        joints: names of the recording's joints; none if it has no joint positions.

    Returns:
        One for each episode.

    Raises:
        UserError: no policy anywhere, a text that is no policy, an unknown joint, or a joint with one policy alone.
    """
    given = None if table is None else read_table(table)
    if given is None:
        assigned = [episode.policies for episode in episodes]
        where = "the recording"
    else:
        assigned = _from_table(given, episodes)
        where = given.path.name
    regimes = _regimes(assigned, where, tuple(joints))
    if not regimes:
        raise UserError(
            "no policy anywhere: the recording does not say which policy acts; give a table with --policies FILE"
        )
    _require_pairs(regimes)
    nothing = Policies(times=np.empty(0), names=())
    return tuple(nothing if each is None else each for each in assigned)


def at(policies: Policies, times: Floats) -> tuple[tuple[str, ...], np.ndarray]:
    """Name of the policy that acts at each time (empty if none), and the number of its statement (−1 before any)."""
    rows = np.searchsorted(policies.times, times, side="right") - 1
    return tuple(policies.names[row] if row >= 0 else "" for row in rows), rows


def ordered(names: Iterable[str], joints: Sequence[str]) -> tuple[Regime, ...]:
    """The regimes of these names: observational first, then by joint (in the order of `joints`) and policy."""
    seen = [Regime.parse(name) for name in dict.fromkeys(names)]
    order = list(dict.fromkeys([*joints, *(regime.joint for regime in seen if regime.joint is not None)]))
    return tuple(sorted(seen, key=lambda each: (-1 if each.joint is None else order.index(each.joint), each.policy)))


def _from_table(table: Table, episodes: Sequence[Episode]) -> list[Policies | None]:
    names, keys = table.texts("policy"), [key for key in _KEYS if key in table.columns]
    if keys == ["task"]:
        tasks = table.texts("task")
        for row, task in enumerate(tasks):
            if task in tasks[:row]:
                raise UserError(f"{table.where(row)}: task {task} has a policy already; remove the row")
        return _by_task(table, episodes, dict(zip(tasks, names, strict=True)))
    if keys not in (["episode"], ["episode", "frame"], ["frame"], ["time"], ["episode", "time"]):
        raise UserError(
            f"{table.path} has columns {', '.join(table.columns)}; beside policy it needs task, episode, "
            "episode and frame, frame, time, or episode and time"
        )
    sources = [episode.source for episode in episodes]
    if len(set(sources)) > 1 and _SOURCE not in table.columns:
        raise UserError(f"{table.path}: several recordings are imported; add a column {_SOURCE} with their names")
    if "episode" not in keys and len(set(sources)) < len(episodes):
        raise UserError(f"{table.path}: the recording has {len(episodes)} episodes; add a column episode")
    numbers = _places(table, episodes, numbered="episode" in keys)
    times = np.full(len(table), -np.inf)
    if "time" in keys:
        times = table.numbers("time")
    elif "frame" in keys:
        times = _times_of_frames(table, episodes, numbers)
    assigned: list[Policies | None] = [None] * len(episodes)
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number)
        later = times[rows[1:]] > times[rows[:-1]]
        if not later.all():
            row = int(rows[1:][~later][0])
            raise UserError(f"{table.where(row)}: does not come after the row before it; sort the table")
        assigned[number] = Policies(times=times[rows], names=tuple(names[row] for row in rows))
    return assigned


def _places(table: Table, episodes: Sequence[Episode], *, numbered: bool) -> np.ndarray:
    """Place of the episode that each row names, (rows,): by its number, and the name of its recording among several.

    Args:
        table: the table.
        episodes: of the recording.
        numbered: whether the table has numbers; otherwise each recording has one episode.
    """
    joined = episodes[0].source is not None
    place: dict[tuple[str | None, int], int] = {}
    for k, episode in enumerate(episodes):
        number = k if episode.number is None else episode.number
        place[episode.source, number if numbered else 0] = k
    sources = table.texts(_SOURCE) if joined else (None,) * len(table)
    numbers = table.counts("episode").tolist() if numbered else [0] * len(table)
    for row, key in enumerate(zip(sources, numbers, strict=True)):
        source, number = key
        if key in place:
            continue
        own = [number for name, number in place if name == source]
        if not own:
            known = ", ".join(dict.fromkeys(str(name) for name, _ in place))
            raise UserError(f"{table.where(row)}: no {_SOURCE} {source!r}; the recordings are {known}")
        what = "the recording" if source is None else source
        raise UserError(f"{table.where(row)}: no episode {number}; {what} has {len(own)}, from {min(own)} on")
    return np.array([place[key] for key in zip(sources, numbers, strict=True)], dtype=np.int64)


def _by_task(table: Table, episodes: Sequence[Episode], of_task: dict[str, str]) -> list[Policies | None]:
    assigned: list[Policies | None] = []
    for episode in episodes:
        stated = episode.policies
        if stated is not None and (absent := [task for task in stated.names if task and task not in of_task]):
            raise UserError(f"{table.path} has no row for task {absent[0]!r} of {episode.name}; add it")
        names = () if stated is None else tuple(of_task.get(task, "") for task in stated.names)
        assigned.append(None if stated is None else Policies(times=stated.times, names=names))
    return assigned


def _times_of_frames(table: Table, episodes: Sequence[Episode], numbers: np.ndarray) -> Floats:
    """Time of the frame that each row names; frames are those of the first camera."""
    frames, times = table.counts("frame"), np.empty(len(table))
    for row, (number, frame) in enumerate(zip(numbers, frames, strict=True)):
        stamps = next(iter(episodes[number].frames.values()))
        if frame >= len(stamps):
            raise UserError(f"{table.where(row)}: no frame {frame}; {episodes[number].name} has {len(stamps)}")
        times[row] = stamps[frame]
    return times


def _regimes(assigned: Sequence[Policies | None], where: str, joints: Sequence[str]) -> list[Regime]:
    """All regimes that are named."""
    regimes = []
    for name in dict.fromkeys(name for each in assigned if each is not None for name in each.names if name):
        try:
            regime = Regime.parse(name)
        except ValueError:
            raise UserError(
                f"{where}: {name!r} is no policy ({_FORM}); name the policies with --policies FILE, "
                "a table with columns task and policy"
            ) from None
        if joints and regime.joint is not None and regime.joint not in joints:
            raise UserError(f"{where}: policy {name!r} is of no joint of the recording ({', '.join(joints)})")
        regimes.append(regime)
    return regimes


def _require_pairs(regimes: Sequence[Regime]) -> None:
    for regime in regimes:
        if regime.joint is not None and Regime(regime.joint, 3 - regime.policy) not in regimes:
            raise UserError(f"joint {regime.joint} has policy {regime.policy} alone; record both, or leave it out")
    if all(regime.joint is None for regime in regimes):
        raise UserError("every frame is observational; record each joint under its two policies")

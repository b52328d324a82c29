"""Which views of a recording are poses, and which poses form an anchor."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats, Ints
from ropes.data.recordings import policies as regimes
from ropes.data.recordings.dwells import Dwell
from ropes.data.recordings.source import Policies
from ropes.data.recordings.synchronise import Views
from ropes.errors import UserError

#: every view; the one in the middle of each stretch of a policy; the one in the middle of each dwell.
Selection = Literal["every", "stretch", "dwell"]
#: anchors; a stretch of a policy per episode; anchors where the recording has them.
Grouping = Literal["auto", "anchors", "stretches"]
#: Largest share of poses that repeat a regime of their anchor.
_REPEATS = 0.25


@dataclass(frozen=True, kw_only=True)
class Poses:
    """Poses in the order of the recording.

    Attributes:
        episode: number of the recording's episode, (n,).
        frames: number of the frame of each camera in that episode, (n, cameras).
        times: seconds, (n,).
        stretch: number of the policy's statement in its episode, (n,).
        policies: name of the regime of each pose.
        positions: joint positions, (n, joints); None without them.
    """

    episode: Ints
    frames: Ints
    times: Floats
    stretch: Ints
    policies: tuple[str, ...]
    positions: Floats | None

    def __len__(self) -> int:
        return len(self.policies)


@dataclass(frozen=True, kw_only=True)
class Grouped:
    """Episodes of the data set.

    Attributes:
        episodes: rows of `Poses` of each episode.
        anchors: whether each episode is an anchor with one pose under each regime.
        left_out: reason → number of poses in no episode.
    """

    episodes: tuple[tuple[int, ...], ...]
    anchors: bool
    left_out: Mapping[str, int]


def select(
    views: Sequence[Views], policies: Sequence[Policies], kind: Selection, dwells: Sequence[Sequence[Dwell]]
) -> tuple[Poses, dict[str, int]]:
    """Choose the poses of all episodes.

    Args:
        views: of each episode of the recording.
        policies: of each episode.
        kind: which views are poses.
        dwells: of each episode, for kind "dwell".

    Returns:
        The poses, and reason → number of views that were left out.

    Raises:
        UserError: no view is a pose.
    """
    left_out, parts = Counter[str](), []
    for number, (seen, acting) in enumerate(zip(views, policies, strict=True)):
        names, stretch = regimes.at(acting, seen.times)
        if kind == "every":
            rows = np.arange(len(names))
        elif kind == "stretch":
            rows = np.array([np.flatnonzero(stretch == k)[(stretch == k).sum() // 2] for k in np.unique(stretch)])
        else:
            rows = np.array([dwell.middle for dwell in dwells[number]])
        rows = rows.astype(np.int64)
        with_policy = np.array([bool(names[row]) for row in rows], dtype=bool)
        left_out["no policy"] += int((~with_policy).sum())
        rows = rows[with_policy]
        parts.append((np.full(len(rows), number), rows, stretch[rows], [names[row] for row in rows]))
    chosen = [seen for seen in views if seen.positions is not None]
    poses = Poses(
        episode=np.concatenate([part[0] for part in parts]),
        frames=np.concatenate([seen.frames[part[1]] for seen, part in zip(views, parts, strict=True)]),
        times=np.concatenate([seen.times[part[1]] for seen, part in zip(views, parts, strict=True)]),
        stretch=np.concatenate([part[2] for part in parts]),
        policies=tuple(name for part in parts for name in part[3]),
        positions=None
        if len(chosen) < len(views)
        else np.concatenate(
            [seen.positions[part[1]] for seen, part in zip(chosen, parts, strict=True) if seen.positions is not None]
        ),
    )
    if not len(poses):
        raise UserError(f"no pose is left: {', '.join(f'{n} views have {why}' for why, n in left_out.items() if n)}")
    return poses, {reason: count for reason, count in left_out.items() if count}


def group(poses: Poses, kind: Grouping) -> Grouped:
    """Divide poses into the episodes of a data set.

    An anchor begins with each stretch without intervention.  It has one pose under each regime: the last one, where
    there are several.  Recordings without complete anchors become one episode for each stretch of a policy.

    Raises:
        UserError: `kind` is "anchors" and no anchor is complete.
    """
    wanted, anchors, left_out = set(poses.policies), list[tuple[int, ...]](), Counter[str]()
    lacks: str | None = None
    for rows in _from_observational(poses):
        last = {poses.policies[row]: row for row in rows}
        if missing := sorted(wanted - set(last)):
            lacks = lacks or f"the one at {poses.times[rows[0]]:.1f} s lacks {missing[0]}"
            left_out["an anchor that lacks a policy"] += len(rows)
            continue
        anchors.append(tuple(sorted(last.values())))
        left_out["an earlier pose under the same policy"] += len(rows) - len(last)
    if kind == "anchors" and not anchors:
        raise UserError(f"no anchor is complete: {lacks}; record it, or leave --group anchors out")
    repeats = left_out["an earlier pose under the same policy"]
    if kind == "stretches" or not anchors or (kind == "auto" and repeats > _REPEATS * len(poses)):
        places = np.stack([poses.episode, poses.stretch], axis=1)
        starts = [0, *(np.flatnonzero((np.diff(places, axis=0) != 0).any(axis=1)) + 1), len(poses)]
        episodes = tuple(tuple(range(a, b)) for a, b in itertools.pairwise(starts))
        return Grouped(episodes=episodes, anchors=False, left_out={})
    counted = {reason: count for reason, count in left_out.items() if count}
    return Grouped(episodes=tuple(anchors), anchors=True, left_out=counted)


def _from_observational(poses: Poses) -> list[list[int]]:
    """Rows from one stretch without intervention to the next, within an episode of the recording."""
    parts: list[list[int]] = []
    for row, name in enumerate(poses.policies):
        first = row == 0 or poses.episode[row] != poses.episode[row - 1]
        begins = name == Regime().name and (first or poses.policies[row - 1] != name)
        if first or begins:
            parts.append([])
        parts[-1].append(row)
    return parts

"""From a recording to a plan: which frames become which episodes, and what is left out and why."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ropes.causal.scm import Regime
from ropes.common.arrays import Floats
from ropes.data.recordings import dwells, policies, poses
from ropes.data.recordings.dwells import Dwell, Settled
from ropes.data.recordings.poses import Grouped, Grouping, Poses, Selection
from ropes.data.recordings.source import Options, Policies, Recording, StateUnit
from ropes.data.recordings.synchronise import Views, farthest, synchronise
from ropes.data.recordings.units import beyond_a_turn, in_radians
from ropes.data.recordings.views import Box, View
from ropes.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ImportOptions:
    """What to import and how.

    Attributes:
        streams: which streams of the recording to read.
        policies: table of policies, see `policies.assign`.
        frames: which views are poses; None is "dwell" where the arm moves during the recording, and else "every".
        group: which poses form an episode.
        state: unit of the joint positions; None is radians, and positions that look like degrees are refused.
        tolerance: largest difference of time stamps of one view, seconds.
        different_rates: accept cameras of different frame rates.
        dwell: shortest time for which the arm stands still, seconds.
        rotate: camera → degrees clockwise; None is the key for all other cameras, here and below.
        crop: camera → box of the turned image; None keeps all of it.
        crop_to_motion: crop the other cameras to what moves.
        size: camera → longer side in pixels.
        grey: turn images to grey.

    Raises:
        UserError: a time is not finite.
    """

    streams: Options = field(default_factory=Options)
    policies: Path | None = None
    frames: Selection | None = None
    group: Grouping = "auto"
    state: StateUnit | None = None
    tolerance: float = 0.02
    different_rates: bool = False
    dwell: float = 0.3
    rotate: Mapping[str | None, int] = field(default_factory=dict)
    crop: Mapping[str | None, Box | None] = field(default_factory=dict)
    crop_to_motion: bool = True
    size: Mapping[str | None, int] = field(default_factory=dict)
    grey: bool = False

    def __post_init__(self) -> None:
        for name, seconds in (("--tolerance", self.tolerance), ("--dwell", self.dwell)):
            if not 0 < seconds < np.inf:
                raise UserError(f"{name} is {seconds:g}; it must be above 0 and finite")
        if self.streams.calibration is not None and self.state != "percent":
            raise UserError(f"--lerobot-calibration goes with --state percent, not with --state {self.unit}")
        if self.streams.calibration is None and self.state == "percent":
            raise UserError("--state percent needs --lerobot-calibration FILE, which lerobot-calibrate wrote")
        if not np.isfinite(self.streams.offset):
            raise UserError(f"--offset is {self.streams.offset:g}; it must be finite")
        object.__setattr__(self, "streams", replace(self.streams, policies=self.policies))

    @property
    def unit(self) -> StateUnit:
        """Unit in which joint positions are read."""
        return self.state or "radians"

    def crops_to_motion(self, camera: str) -> bool:
        """Whether images of a camera are cropped to what moves."""
        return self.crop_to_motion and camera not in self.crop and None not in self.crop


@dataclass(frozen=True, kw_only=True)
class Streams:
    """A recording with synchronised streams and known policies.

    Attributes:
        recording: the recording.
        views: of each episode; joint positions in radians.
        policies: of each episode.
        joints: names of the joints; empty without positions.
        dropped: reason → number of frames.
        selection: which views are poses.
    """

    recording: Recording
    views: tuple[Views, ...]
    policies: tuple[Policies, ...]
    joints: tuple[str, ...]
    dropped: Mapping[str, int]
    selection: Selection


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to write.

    Attributes:
        poses: all poses.
        grouped: the episodes.
        regimes: of each task index.
        dropped: reason → number of frames or poses.
        clips: the moves between dwells: episode of the recording, seconds of begin and end, policy of the pose after.
        notes: what a user should check.
    """

    poses: Poses
    grouped: Grouped
    regimes: tuple[Regime, ...]
    dropped: Mapping[str, int]
    clips: tuple[tuple[int, float, float, str], ...]
    notes: tuple[str, ...] = ()


def read_streams(recording: Recording, options: ImportOptions) -> Streams:
    """Synchronise the streams of a recording and assign the policies.

    Raises:
        UserError: see `synchronise` and `policies.assign`, or joint positions are no angles in radians.
    """
    found, dropped, state = list[Views](), Counter[str](), options.state != "none"
    for episode in recording.episodes:
        views = synchronise(
            episode,
            recording.cameras,
            options.tolerance,
            state=state,
            different_rates=options.different_rates,
        )
        dropped.update(views.dropped)
        scales = {} if episode.joints is None else episode.joints.scales
        found.append(in_radians(views, options.state, scales, episode.name))
    if not any(len(views.times) for views in found):
        apart = farthest(recording.episodes[0], recording.cameras, state=state)
        raise UserError(
            f"no frame is left ({_described(dropped)}); {apart}: record with one clock, or give a larger --tolerance, "
            "or --offset for the log of a video"
        )
    joints = found[0].joints
    for episode, views in zip(recording.episodes, found, strict=True):
        if views.joints != joints:
            one, other = (", ".join(each) or "none" for each in (joints, views.joints))
            raise UserError(f"{recording.episodes[0].name} has joints {one}, and {episode.name} has joints {other}")
    assigned = policies.assign(recording.episodes, options.policies, joints)
    return Streams(
        recording=recording,
        views=tuple(found),
        policies=assigned,
        joints=joints,
        dropped=dropped,
        selection=options.frames or ("dwell" if recording.moves else "every"),
    )


def dwells_by_positions(streams: Streams) -> bool:
    """Whether joint positions show when the arm stands still; otherwise images must."""
    joints = [episode.joints for episode in streams.recording.episodes]
    return bool(streams.joints) and all(each is not None and each.are_samples for each in joints)


def plan(streams: Streams, options: ImportOptions, motion: Sequence[np.ndarray] | None) -> Plan:
    """Choose poses and episodes.

    Args:
        streams: see `read_streams`.
        options: of the import.
        motion: whether the arm stands still from each view to the next, of each episode, by the images; None where the
            joint positions show it or the selection does not need it.

    Raises:
        UserError: no pose is left, or no dwell is found.
    """
    found: list[tuple[Dwell, ...]] = [() for _ in streams.views]
    clips, notes, without_policy = list[tuple[int, float, float, str]](), list[str](), Counter[str]()
    if streams.selection == "dwell":
        all_found, settled = _dwells(streams, options, motion)
        found = [tuple(dwell for dwell in each.dwells if dwell is not None) for each in settled]
        for each in settled:
            without_policy.update(each.left_out)
        if not any(found):
            raise UserError(f"no dwell has a policy ({_described(without_policy)}); name each policy before its move")
        if cut := sum(each.cut for each in settled):
            notes.append(f"the next policy is named during {cut:,} dwells, which count as of the policy before")
        for number, (physical, each) in enumerate(zip(all_found, settled, strict=True)):
            clips += _clips(number, streams.views[number].times, physical, each, streams.policies[number])
    if options.state is None:
        notes += beyond_a_turn(streams.views)
    chosen, without = poses.select(streams.views, streams.policies, streams.selection, found)
    grouped = poses.group(chosen, options.group)
    dropped = Counter(streams.dropped) + without_policy + Counter(without) + Counter(grouped.left_out)
    used = {chosen.policies[row] for rows in grouped.episodes for row in rows}
    regimes = policies.ordered(used, streams.joints)
    named = policies.ordered((name for each in streams.policies for name in each.names if name), streams.joints)
    if absent := [regime.name for regime in named if regime not in regimes]:
        counts = ", ".join(f"{count} {name}" for name, count in sorted(Counter(chosen.policies).items()))
        raise UserError(
            f"no pose under {absent[0]} is left (found: {counts}; {_described(dropped)}); record it, or leave the "
            "joint out"
        )
    return Plan(
        poses=chosen, grouped=grouped, regimes=regimes, dropped=dict(dropped), clips=tuple(clips), notes=tuple(notes)
    )


def _dwells(
    streams: Streams, options: ImportOptions, motion: Sequence[np.ndarray] | None
) -> tuple[list[tuple[Dwell, ...]], list[Settled]]:
    """The dwells of each episode, and the same with their policies."""
    times = [views.times for views in streams.views]
    still = [
        dwells.without_gaps(t, _still(views), None if episode.joints is None else episode.joints.times)
        if motion is None
        else dwells.without_gaps(t, motion[k])
        for k, (t, views, episode) in enumerate(zip(times, streams.views, streams.recording.episodes, strict=True))
    ]
    found = [dwells.find_dwells(t, s, options.dwell) for t, s in zip(times, still, strict=True)]
    if not any(found):
        every = ((t, each) for t, s in zip(times, still, strict=True) for each in dwells.find_dwells(t, s, 0.0))
        longest = max((float(t[each.last] - t[each.first]) for t, each in every), default=0.0)
        raise UserError(
            f"the arm never stands still for {options.dwell:g} s (at most {longest:.2f} s); give a shorter --dwell, or "
            "take --frames stretch (one frame of each stretch of a policy) or --frames every"
        )
    settled = [
        dwells.settle(each, t, acting, options.dwell)
        for each, t, acting in zip(found, times, streams.policies, strict=True)
    ]
    return found, settled


def _still(views: Views) -> np.ndarray:
    assert views.positions is not None
    return dwells.still_by_positions(views.times, views.positions)


def _clips(
    number: int, times: Floats, found: Sequence[Dwell], settled: Settled, acting: Policies
) -> list[tuple[int, float, float, str]]:
    """The moves from each dwell to the next."""
    clips = []
    for (before, after), pose in zip(itertools.pairwise(found), settled.dwells[1:], strict=True):
        view = after.first if pose is None else pose.middle
        name = policies.at(acting, times[[view]])[0][0]
        clips.append((number, round(float(times[before.last]), 6), round(float(times[after.first]), 6), name))
    return clips


def _described(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} left out: {reason}" for reason, count in counts.items()) or "none left out"


def views_of(recording: Recording, options: ImportOptions) -> dict[str, View]:
    """Camera → view.

    Raises:
        UserError: an option names a camera that the recording lacks.
    """
    for option, given in (("--rotate", options.rotate), ("--crop", options.crop), ("--image-size", options.size)):
        if unknown := [name for name in given if name is not None and name not in recording.cameras]:
            raise UserError(f"{option}: no camera {unknown[0]!r}; the recording has {', '.join(recording.cameras)}")
    return {
        camera: View(
            rotate=options.rotate.get(camera, options.rotate.get(None, 0)),
            crop=options.crop.get(camera, options.crop.get(None)),
            size=options.size.get(camera, options.size.get(None)),
            grey=options.grey,
        )
        for camera in recording.cameras
    }

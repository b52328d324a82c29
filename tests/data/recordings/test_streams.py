"""Synchronisation, dwells, poses and anchors, on cases solved by hand; sources of other packages."""

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropes.common import plugins
from ropes.data.recordings import dwells, poses, registry
from ropes.data.recordings.poses import Poses
from ropes.data.recordings.source import Episode, Joints, Options, Policies
from ropes.data.recordings.synchronise import Views, nearest, synchronise
from ropes.errors import UserError

NAMES = ("observational", "elbow/1", "elbow/2")


def episode(frames: Mapping[str, Sequence[float]], joints: Joints | None = None) -> Episode:
    return Episode(name="e", frames={name: np.array(times) for name, times in frames.items()}, joints=joints)


@pytest.mark.slow
@given(st.lists(st.floats(0, 9), min_size=1, max_size=30), st.lists(st.floats(0, 9), min_size=1, max_size=30))
def test_nearest_returns_the_nearest_time_stamp(times: list[float], others: list[float]) -> None:
    sorted_others = np.sort(others)
    found = nearest(np.array(times), sorted_others)
    distances = np.abs(sorted_others[None] - np.array(times)[:, None])
    assert np.array_equal(np.abs(sorted_others[found] - times), distances.min(axis=1))


def test_frames_within_the_tolerance_are_joined_once() -> None:
    seen = synchronise(
        episode({"left": [0.0, 0.1, 0.2, 0.3], "right": [0.004, 0.13, 0.204, 0.301, 0.5]}), ("left", "right"), 0.01
    )
    assert seen.frames.tolist() == [[0, 0], [2, 2], [3, 3]]
    assert seen.dropped == {"no frame of camera right within 0.01 s": 1}
    twice = synchronise(
        episode({"left": [0.0, 0.01, 1.0], "right": [0.005, 1.0, 2.0, 3.0]}),
        ("left", "right"),
        0.01,
        different_rates=True,
    )
    assert twice.frames.tolist() == [[0, 0], [2, 1]]


def test_lost_frame_drops_only_its_own_partner() -> None:
    left, right = [0, 33, 67, 100, 133, 167, 233, 267], [0, 33, 67, 133, 167, 200, 233, 267]  # each lacks one, ms
    stamps = {"left": [t / 1000 for t in left], "right": [t / 1000 - 0.001 for t in right]}
    early = synchronise(episode(stamps), ("left", "right"), 0.02)
    assert early.frames[:, 0].tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert early.frames[:, 1].tolist() == [0, 1, 2, 3, 4, 6, 7]
    assert early.dropped == {"no frame of camera right within 0.02 s": 1}
    late = synchronise(
        episode({"left": [k / 30 for k in range(5)], "right": [k / 30 for k in range(2, 10)]}), ("left", "right"), 0.02
    )
    assert late.frames.tolist() == [[2, 0], [3, 1], [4, 2]]
    assert late.dropped == {"no frame of camera right within 0.02 s": 2}


def test_partner_goes_to_the_nearest_of_several_frames() -> None:
    seen = synchronise(
        episode({"left": [0.0, 0.01, 1.0], "right": [0.012, 1.0, 2.0, 3.0]}),
        ("left", "right"),
        0.02,
        different_rates=True,
    )
    assert seen.frames.tolist() == [[1, 0], [2, 1]]
    assert seen.dropped == {"its frame of camera right is nearer to another one": 1}


def test_samples_need_a_close_time_stamp_and_commands_hold() -> None:
    times, positions = np.array([0.0, 1.0]), np.array([[1.0], [2.0]])
    samples = Joints(names=("elbow",), times=times, positions=positions)
    seen = synchronise(episode({"left": [0.0, 0.5, 1.01]}, samples), ("left",), 0.02)
    assert seen.positions is not None
    assert seen.positions[:, 0].tolist() == [1.0, 2.0]
    assert seen.dropped == {"no joint position within 0.02 s": 1}
    commands = Joints(names=("elbow",), times=times, positions=positions, hold=True)
    held = synchronise(episode({"left": [0.0, 0.5, 1.01]}, commands), ("left",), 0.02)
    assert held.positions is not None
    assert held.positions[:, 0].tolist() == [1.0, 1.0, 2.0]
    assert synchronise(episode({"left": [0.0, 0.5]}, samples), ("left",), 0.02, state=False).positions is None


def test_streams_that_cannot_be_joined_are_refused() -> None:
    with pytest.raises(UserError, match=r"e: time stamps of camera left run back, from 0\.200 s to 0\.100 s"):
        synchronise(episode({"left": [0.0, 0.2, 0.1]}), ("left",), 0.02)
    with pytest.raises(UserError, match=r"different frame rates \(left 10\.0, right 5\.0 Hz\)"):
        synchronise(
            episode({"left": [k / 10 for k in range(9)], "right": [k / 5 for k in range(5)]}), ("left", "right"), 0.02
        )


def test_dwells_are_the_intervals_without_motion() -> None:
    times = np.arange(10) / 8
    positions = np.array([0, 0, 0, 0, 0.5, 1, 1, 1, 1, 1.2])[:, None]
    still = dwells.still_by_positions(times, positions)
    assert still.tolist() == [True, True, True, False, False, True, True, True, False]
    found = dwells.find_dwells(times, still, 0.375)
    assert [(each.first, each.middle, each.last) for each in found] == [(0, 1, 3), (5, 6, 8)]
    assert dwells.find_dwells(times, still, 0.38) == ()
    slow = np.linspace(0, 0.1, 10)[:, None]  # 0.09 rad/s
    assert not dwells.still_by_positions(times, slow).any()


@pytest.mark.parametrize("rate", [10, 30, 60, 200])
def test_slow_moves_are_no_dwells_and_jitter_is_none_either(rate: int) -> None:
    times = np.arange(4 * rate) / rate
    angle = 0.04 * np.clip(times - 1, 0, 2)  # at 0.04 rad/s from 1 s to 3 s
    jitter = 0.0015 * np.where(np.random.default_rng(0).random(len(times)) < 0.5, 1, -1)
    for noise in (0.0, 1.0):
        still = dwells.still_by_positions(times, (angle + noise * jitter)[:, None])
        middle = (times[:-1] + times[1:]) / 2
        assert still[(middle < 0.95) | (middle > 3.05)].mean() > (0.99 if not noise else 0.9)
        assert still[(middle > 1.15) & (middle < 2.85)].mean() < 0.01


def test_dwell_takes_the_policy_under_which_the_arm_comes_to_rest() -> None:
    times, whole = np.arange(11) / 10, [dwells.Dwell(0, 5, 10)]

    def settled(*stated: tuple[float, str]) -> dwells.Settled:
        acting = Policies(times=np.array([time for time, _ in stated]), names=tuple(name for _, name in stated))
        return dwells.settle(whole, times, acting, 0.3)

    assert settled((-1.0, "a")) == dwells.Settled((dwells.Dwell(0, 5, 10),), 0, {})
    assert settled((-1.0, "a"), (0.65, "b")) == dwells.Settled((dwells.Dwell(0, 3, 10),), 1, {})
    assert settled((-1.0, "a"), (0.25, "a")).dwells == (dwells.Dwell(0, 5, 10),)  # named again
    assert settled((0.35, "a")).dwells == (dwells.Dwell(0, 7, 10),)  # the first policy of all
    assert settled((0.05, "a"), (0.65, "b")).dwells == (dwells.Dwell(0, 3, 10),)
    assert settled((-1.0, "a"), (0.25, "b")) == dwells.Settled(
        (None,), 0, {"the next policy is named less than 0.3 s after the arm comes to rest": 1}
    )
    assert settled((-1.0, ""), (0.15, "a"), (0.85, "")) == dwells.Settled((dwells.Dwell(0, 5, 10),), 0, {})
    assert settled((-1.0, ""), (0.45, "a")) == dwells.Settled((dwells.Dwell(0, 2, 10),), 0, {})  # at rest under none
    assert settled((-1.0, "a"), (0.4, "b"), (0.6, "c")).left_out == {"a policy under which the arm does not move": 1}


def test_motion_state_is_unknown_in_frame_gaps() -> None:
    times, still = np.array([0, 1, 2, 3, 9, 10, 11]) / 10, np.ones(6, dtype=bool)
    assert dwells.without_gaps(times, still).tolist() == [True, True, True, False, True, True]
    assert dwells.without_gaps(times[:1], still[:0]).tolist() == []
    assert dwells.without_gaps(times, still, times[:2] * 3).all()  # joint positions come at a third of the frames' rate


def made(names: Sequence[str], stretches: Sequence[int] | None = None, episodes: Sequence[int] | None = None) -> Poses:
    count = len(names)
    return Poses(
        episode=np.array(episodes or [0] * count),
        frames=np.arange(count)[:, None],
        times=np.arange(count, dtype=np.float64),
        stretch=np.array(stretches or range(count)),
        policies=tuple(names),
        positions=None,
    )


def test_anchor_extends_from_one_observational_pose_to_the_next() -> None:
    whole = poses.group(made(NAMES * 2), "auto")
    assert (whole.episodes, whole.anchors, whole.left_out) == (((0, 1, 2), (3, 4, 5)), True, {})
    incomplete = poses.group(made([*NAMES, "observational", "elbow/1", *NAMES]), "auto")
    assert incomplete.episodes == ((0, 1, 2), (5, 6, 7))
    assert incomplete.left_out == {"an anchor that lacks a policy": 2}
    repeated = poses.group(made([*NAMES, "elbow/2", *NAMES, *NAMES]), "auto")
    assert repeated.episodes == ((0, 1, 3), (4, 5, 6), (7, 8, 9))
    assert repeated.left_out == {"an earlier pose under the same policy": 1}
    split = poses.group(made([*NAMES, *NAMES[1:], *NAMES], episodes=[0] * 3 + [1] * 5), "auto")
    assert split.episodes == ((0, 1, 2), (5, 6, 7))  # an anchor does not go across the recording's episodes


def test_long_stretches_of_one_policy_are_not_anchors() -> None:
    names = [name for name in NAMES for _ in range(4)]
    grouped = poses.group(made(names, stretches=[k // 4 for k in range(12)]), "auto")
    assert (grouped.anchors, grouped.episodes) == (False, ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11)))
    forced = poses.group(made(names, stretches=[k // 4 for k in range(12)]), "anchors")
    assert forced.episodes == ((3, 7, 11),)
    with pytest.raises(UserError, match=r"no anchor is complete: the one at 0\.0 s lacks elbow/2; record it"):
        poses.group(made(["elbow/1", "observational", "elbow/2"]), "anchors")


def test_pose_takes_the_policy_at_its_time() -> None:
    acting = Policies(times=np.array([1.0, 3.0, 5.0]), names=("observational", "", "elbow/1"))
    views = Views(
        times=np.arange(7, dtype=np.float64),
        frames=np.arange(7)[:, None],
        positions=None,
        joints=(),
        dropped={},
    )
    chosen, left_out = poses.select([views], [acting], "every", [()])
    assert chosen.times.tolist() == [1, 2, 5, 6]
    assert chosen.policies == ("observational", "observational", "elbow/1", "elbow/1")
    assert left_out == {"no policy": 3}
    middle, _ = poses.select([views], [acting], "stretch", [()])
    assert middle.times.tolist() == [2, 6]
    dwell, _ = poses.select([views], [acting], "dwell", [(dwells.Dwell(0, 2, 3), dwells.Dwell(5, 5, 6))])
    assert (dwell.times.tolist(), dwell.policies) == ([2, 5], ("observational", "elbow/1"))


class Ours:
    """A source of another package."""

    def recognises(self, path: Path) -> bool:
        return path.suffix == ".ours"

    def open(self, path: Path, options: Options) -> object:
        return f"{path.name} opened"


OURS = Ours()


def test_recording_sources_of_other_packages_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("ours", f"{__name__}:OURS", registry.GROUP),
        EntryPoint("other", f"{__name__}:NAMES", registry.GROUP),
    ]
    monkeypatch.setattr(plugins, "entry_points", lambda group: EntryPoints(p for p in points if p.group == group))
    monkeypatch.setattr(EntryPoint, "load", lambda self: {"ours": OURS, "other": NAMES}[self.name])
    path = tmp_path / "a.ours"
    path.touch()
    name, opened = registry.open_recording(path, Options())
    assert (name, str(opened)) == ("ours", "a.ours opened")
    (tmp_path / "a.txt").touch()
    with pytest.raises(UserError, match="source other cannot be loaded"):
        registry.open_recording(tmp_path / "a.txt", Options())

"""What a check of a recording found."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ropes.common.arrays import Bools, Floats, Ints
from ropes.evaluation.drift.camera import LIGHT_CHANGED, CameraDrift
from ropes.evaluation.drift.frames import LoggedFrames
from ropes.evaluation.drift.seen import tested_by_joint
from ropes.evaluation.drift.statistics import Drift, Estimate, ReferenceOffset

#: Frames that are drawn on a page.
WORST = 4
#: Share of frames that are out of distribution above which a note says so, and above which the images are others.
_MANY, _MOST = 0.05, 0.5


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a frame is in a recording.

    Attributes:
        seconds: from the first frame, without the pauses between episodes.
        episode: its number.
        frame: number of the first camera's frame in the episode.
    """

    seconds: float
    episode: int
    frame: int

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s (episode {self.episode}, frame {self.frame})"


@dataclass(frozen=True, kw_only=True)
class Check:
    """What was found; `drifted` is the answer.

    Attributes:
        run: folder of the run.
        recording: path of the recording, and the name of its format.
        joints: names, in the order of the run.
        drifts: of each joint.
        cameras: of each camera.
        compared: with what the cameras are compared, in words.
        joints_compared: with what the joints are compared, in words.
        since_beginning: whether the cameras are compared with the recording's own beginning.
        reference: name of the reference; None without one.
        level: probability that any joint raises a false alarm.
        times: of the frames, (n,), seconds from the first one.
        read: angles by the estimator, (n, d), radians.
        logged: logged angles, (n, d), radians.
        stds: standard deviations of the estimator's errors, (n, d), radians.
        usual: median difference of each joint without a drift.
        flagged: frames that are out of distribution, bool (n,).
        tested: frames by which the joints are tested, bool (n,); see also `counted`.
        low, high: ends of the intervals of the angles, (n, d), radians.
        coverage: probability with which these intervals hold the angle.
        outside: logged angles outside the ranges that the run learnt, bool (n, d).
        frames: where their images are.
    """

    run: str
    recording: str
    joints: tuple[str, ...]
    drifts: tuple[Drift, ...]
    cameras: tuple[CameraDrift, ...]
    compared: str
    since_beginning: bool
    joints_compared: str
    reference: str | None
    level: float
    times: Floats
    read: Floats
    logged: Floats
    stds: Floats
    usual: Sequence[ReferenceOffset]
    flagged: Bools
    tested: Bools
    low: Floats
    high: Floats
    coverage: float
    outside: Bools
    frames: LoggedFrames

    @property
    def drifted(self) -> bool:
        """Whether a joint drifted or a camera moved."""
        return any(each.drifted for each in self.drifts) or self.camera_moved

    @property
    def beyond_usual(self) -> Floats:
        """Read minus logged angles, less their usual median, (n, d), radians."""
        return self.read - self.logged - [each.value for each in self.usual]

    @cached_property
    def counted(self) -> Bools:
        """Frames by which each joint is tested, bool (n, d): those of `tested` whose logged angle the run learnt."""
        return tested_by_joint(self.tested, self.outside)

    @cached_property
    def rms(self) -> Floats:
        """Root mean square of read minus logged angle of each joint over its `counted` frames, (d,), radians."""
        return np.sqrt(np.mean((self.read - self.logged) ** 2, axis=0, where=self.counted))

    @cached_property
    def covered(self) -> Floats:
        """Share of the `counted` frames whose interval holds the logged angle, of each joint, (d,)."""
        return np.mean((self.low <= self.logged) & (self.logged <= self.high), axis=0, where=self.counted)

    @property
    def unlike_training(self) -> bool:
        """Whether most images are out of distribution: differences of the joints may come from them."""
        return float(self.flagged.mean()) > _MOST

    @property
    def camera_moved(self) -> bool:
        """Whether a camera moved."""
        return any(each.moved for each in self.cameras)

    @property
    def notes(self) -> tuple[str, ...]:
        """What limits the answer, a sentence each."""
        notes, share = [], float(self.flagged.mean())
        if share > _MANY:
            used = "the others test the joints" if not self.tested[self.flagged].any() else "all frames test the joints"
            notes.append(f"{share:.0%} of the frames are out of distribution; {used}.")
        if self.outside.any():
            counts = zip(self.joints, self.outside.sum(0).tolist(), strict=True)
            named = ", ".join(f"{joint} in {count}" for joint, count in counts if count)
            notes.append(
                f"Logged angles outside the ranges that the run learnt: {named} of {len(self.times)} frames; these "
                "frames do not test the joint."
            )
            kept = self.outside & self.counted
            if few := [joint for k, joint in enumerate(self.joints) if kept[:, k].any()]:
                notes[-1] = notes[-1][:-1] + f", except {', '.join(few)}, for which too few others remain."
        if self.reference not in (None, self.joints_compared):
            notes.append(f"{self.reference} has no logged angles; joints are compared with {self.joints_compared}.")
        if few := [joint for joint, each in zip(self.joints, self.drifts, strict=True) if each.few]:
            longer = "" if share > _MANY or any(each.unexplained for each in self.drifts) else "; record for longer"
            notes.append(f"Too few independent frames of {', '.join(few)}, so intervals are wider{longer}.")
        if any(each.few for each in self.usual):
            notes.append(f"Too few independent frames in {self.joints_compared}, so intervals are wider.")
        if self.camera_moved and any(each.drifted for each in self.drifts):
            notes.append("A camera moved, so differences of the joints may come from the camera.")
        for each in self.cameras:
            if not each.known:
                notes.append(f"Camera {each.camera}: the background has too few edges to tell whether it moved.")
            elif each.unseen:
                frames = f"{each.unseen} of {len(each.shift)} frames"
                notes.append(
                    f"Camera {each.camera}: {frames} do not show its background (covered, dark or noisy), so they do "
                    "not tell whether it moved."
                )
            if abs(each.light_change) > LIGHT_CHANGED:
                notes.append(f"Camera {each.camera}: the light changed by {each.light_change:+.2f} stops.")
        if self.frames.lag:
            when = "late" if self.frames.lag > 0 else "early"
            notes.append(f"The log is {abs(self.frames.lag):.2f} s {when} against the images; it was shifted.")
        notes += [f"{count} frames left out: {reason}." for reason, count in self.frames.dropped.items()]
        return tuple(notes)

    def tested_rows(self) -> Ints:
        """Rows of the frames by which the joints are tested."""
        return np.flatnonzero(self.tested)

    def place_of(self, index: int, *, tested: bool = False) -> Place:
        """Where a frame is in the recording; `tested` counts among the tested frames only."""
        row = self.tested_rows()[index] if tested else index
        episode = int(self.frames.episode[row])
        named = self.frames.recording.episodes[episode].number
        return Place(
            seconds=float(self.times[row]),
            episode=episode if named is None else named,
            frame=int(self.frames.numbers[row, 0]),
        )

    def change_of(self, found: Drift) -> Place | None:
        """Where a joint changed; None where it did not change at once."""
        return None if found.change is None else self.place_of(found.change, tested=True)

    def worst(self, count: int = WORST) -> Ints:
        """Rows of frames to look at, far apart: the last ones of stretches in which a camera moved, then tested frames.

        Of these the ones with the largest differences in units of σ, of drifted joints if any.
        """
        columns = [k for k, each in enumerate(self.drifts) if each.drifted] or list(range(len(self.joints)))
        size = (np.abs(self.beyond_usual / self.stds) * self.counted)[self.tested][:, columns].max(1)
        apart, chosen = max(1, len(self.times) // (5 * count)), list[int]()
        for stretch in sorted((part for each in self.cameras for part in each.stretches), key=lambda part: -part.most):
            if len(chosen) < count and all(abs(stretch.last - other) >= apart for other in chosen):
                chosen.append(stretch.last)
        for row in self.tested_rows()[np.argsort(-size, kind="stable")].tolist():
            if len(chosen) == count:
                break
            if all(abs(row - other) >= apart for other in chosen):
                chosen.append(row)
        return np.array(sorted(chosen), dtype=np.int64)

    def lines(self) -> list[dict[str, Any]]:
        """One JSON-able object for each joint and each camera, then one for the recording; radians, pixels, seconds."""
        found: list[dict[str, Any]] = []
        for k, (joint, each) in enumerate(zip(self.joints, self.drifts, strict=True)):
            found.append(
                {
                    "joint": joint,
                    "drifted": each.drifted,
                    "offset": _numbers(each.offset),
                    "trend": _numbers(each.trend),
                    "effective_frames": round(each.effective, 1),
                    "too_few_frames": each.few,
                    "spread": round(each.spread, 6),
                    "usual_spread": round(each.usual_spread, 6),
                    "unexplained": each.unexplained,
                    **_place("since", self.change_of(each)),
                    "before": None if each.before is None else round(each.before, 6),
                    "after": None if each.after is None else round(each.after, 6),
                    "rms": round(float(self.rms[k]), 6),
                    "in_interval": round(float(self.covered[k]), 4),
                    "outside_learnt_range": round(float(self.outside[:, k].mean()), 4),
                    "unit": "rad",
                }
            )
        for camera in self.cameras:
            stretches = [
                {
                    **_place("since", self.place_of(each.first)),
                    **_place("until", self.place_of(each.last)),
                    "pixels": round(each.pixels, 2),
                }
                for each in camera.stretches
            ]
            found.append(
                {
                    "camera": camera.camera,
                    "moved": camera.moved if camera.known else None,
                    "stretches": stretches,
                    "tolerated_pixels": round(camera.tolerated, 2),
                    "unseen_frames": camera.unseen,
                    "light_stops": round(camera.light_change, 3) if camera.known else None,
                }
            )
        found.append(
            {
                "recording": self.recording,
                "run": self.run,
                "drifted": self.drifted,
                "frames": len(self.times),
                "seconds": round(float(self.times[-1]), 3),
                "out_of_distribution": round(float(self.flagged.mean()), 4),
                "cameras_compared_with": self.compared,
                "joints_compared_with": self.joints_compared,
                "level": self.level,
                "interval": self.coverage,
                "notes": list(self.notes),
            }
        )
        return found


def _place(name: str, place: Place | None) -> dict[str, float | int | None]:
    if place is None:
        return dict.fromkeys((name, f"{name}_episode", f"{name}_frame"))
    return {name: place.seconds, f"{name}_episode": place.episode, f"{name}_frame": place.frame}


def _numbers(found: Estimate) -> dict[str, float | bool]:
    values = {name: round(getattr(found, name), 6) for name in ("value", "low", "high")}
    return {**values, "significant": found.significant}

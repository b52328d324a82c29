"""Entries of the benchmark: what a method had, and the scores of its predictions; one JSON file each."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation.benchmark.predictions import read_predictions
from ropes.evaluation.benchmark.scores import JointScore, score
from ropes.evaluation.benchmark.task import TASKS, TRACKS, VERSION, budget_of, task_named
from ropes.evaluation.rows.schema import Amount, Share, check_fields, check_names, from_json

#: Split → joint → figures.
Scores = Mapping[str, Mapping[str, JointScore]]


@dataclass(frozen=True, kw_only=True)
class About:
    """What an entrant writes about an entry.

    Attributes:
        name: name in the table.
        track: see `ropes.evaluation.benchmark.task.TRACKS`.
        robot_hours: robot time of all images that training and the map to radians used.
        labels: number of poses whose angles were used.
        seeds: training seeds, one for each file of predictions; all different.
        link: page of the method: a web address, or a page of this documentation.
        level: nominal coverage of the intervals; None without intervals.
        note: one sentence below the table; None for none.

    Raises:
        ValueError: a field contradicts its type, the labels contradict the track, or the name or the note does not fit
            into a table.
    """

    name: str
    track: Annotated[str, tuple(TRACKS)]
    robot_hours: Amount
    labels: int
    seeds: tuple[int, ...]
    link: str
    level: Share | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if not self.seeds or not all(type(seed) is int and seed >= 0 for seed in self.seeds):
            raise ValueError(f"seeds must be whole numbers of at least 0, one for each file, got {list(self.seeds)}")
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds must differ, got {list(self.seeds)}")
        for name, text, longest in (("name", self.name, 60), ("note", self.note or "", 400)):
            if len(text) > longest or re.search(r"[|\n\[\]<>]", text):
                raise ValueError(f"{name} must have at most {longest} characters, and no |, brackets or line break")
        if not re.fullmatch(r"(https://[^\s()|]+|[\w-]+\.md(#[\w-]+)?)", self.link):
            raise ValueError(f"link must be an address https://… or a page of the documentation, got {self.link!r}")
        most = TRACKS[self.track]
        if most is not None and self.labels > most:
            raise ValueError(f"{self.labels} labels are more than the {most} of track {self.track}")

    @property
    def budget(self) -> int | None:
        """The budget in hours that the robot time keeps; None for an open budget."""
        return budget_of(self.robot_hours)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry with its scores.

    Attributes:
        task: name of the task.
        about: what the entrant wrote.
        predictions: SHA-256 of each file of predictions.
        scores: figures of each file.

    Raises:
        ValueError: an unknown task, as many files as seeds are not there, a split or joint is missing, or intervals and
            their level are not both there.
    """

    task: Annotated[str, TASKS]
    about: About
    predictions: tuple[str, ...]
    scores: tuple[Scores, ...]

    def __post_init__(self) -> None:
        task = task_named(self.task)
        if not len(self.predictions) == len(self.scores) == len(self.about.seeds):
            raise ValueError(
                f"{len(self.about.seeds)} seeds, {len(self.predictions)} files of predictions and {len(self.scores)} "
                "scores; give one file for each seed"
            )
        for each in self.scores:
            if tuple(each) != task.splits or any(tuple(figures) != task.joints for figures in each.values()):
                raise ValueError(f"scores must be of {', '.join(task.splits)} and {', '.join(task.joints)}")
            with_intervals = {figure.coverage is not None for joints in each.values() for figure in joints.values()}
            if with_intervals != {self.about.level is not None}:
                raise ValueError("intervals of every split, and their level, go together; give both or neither")

    def to_dict(self) -> dict[str, Any]:
        """The content of the file; `from_dict` is the inverse."""
        return {
            "benchmark": VERSION,
            "task": self.task,
            **{name: value for name, value in asdict(self.about).items() if value is not None},
            "predictions_sha256": list(self.predictions),
            "scores": [
                {
                    split: {joint: _without_none(asdict(figures)) for joint, figures in joints.items()}
                    for split, joints in each.items()
                }
                for each in self.scores
            ],
        }

    @classmethod
    def from_dict(cls, content: Any) -> "Entry":
        """Build an entry from the content of its file.

        Raises:
            ValueError: another version, a missing or unknown field, or as `Entry` and `About`.
        """
        if not isinstance(content, dict) or content.get("benchmark") != VERSION:
            raise ValueError(f"this is no entry of benchmark {VERSION}")
        given = dict(content)
        task, digests, scores = (given.pop(name, None) for name in ("task", "predictions_sha256", "scores"))
        del given["benchmark"]
        if task not in TASKS:
            raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
        if not isinstance(digests, list) or not all(re.fullmatch(r"[0-9a-f]{64}", str(each)) for each in digests):
            raise ValueError("predictions_sha256 must be a list of SHA-256")
        return cls(
            task=task,
            about=about_from_dict(given),
            predictions=tuple(digests),
            scores=tuple(_scores(each, task) for each in (scores if isinstance(scores, list) else [])),
        )


def about_from_dict(content: Any) -> About:
    """Check what an entrant wrote.

    Raises:
        ValueError: a field is missing, unknown, or contradicts its type.
    """
    if not isinstance(content, dict):
        raise ValueError(f"an entry is an object with {', '.join(field.name for field in fields(About))}")
    check_names(About, set(content))
    seeds = content["seeds"]
    return About(**{**content, "seeds": tuple(seeds) if isinstance(seeds, list) else ()})


def make_entry(about: Path, task: str, predictions: Sequence[Path]) -> Entry:
    """Score files of predictions, one for each training seed, and join them with what the entrant wrote.

    Args:
        about: JSON file with the fields of `About`.
        task: name of the task.
        predictions: files of predictions.

    Raises:
        UserError: a file is wrong, or they do not agree.
    """
    found = task_named(task)
    content = files.read_json(about, folder=about)
    try:
        written = about_from_dict(content)
        scores = tuple(score(found, read_predictions(path, found)) for path in predictions)
        digests = tuple(map(files.sha256, predictions))
        return Entry(task=task, about=written, predictions=digests, scores=scores)
    except ValueError as error:
        raise UserError(f"{about}: {error}") from error


def write_entry(path: Path, entry: Entry) -> None:
    """Write the JSON file of an entry."""
    files.write_json(path, entry.to_dict())


def read_entry(path: Path) -> Entry:
    """Read and check the JSON file of an entry.

    Raises:
        UserError: the file is missing or wrong.
    """
    try:
        return Entry.from_dict(files.read_json(path))
    except ValueError as error:
        raise UserError(f"{path}: {error}; make it again with `ropes score`") from error


def read_entries(folder: Path) -> list[Entry]:
    """Read all entries of a folder, in the order of the names of their files.

    Raises:
        UserError: no entry, a wrong one, or two of one task and name.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise UserError(f"{folder} has no entries; `ropes score --out` writes them")
    entries: dict[tuple[str, str], Entry] = {}
    for path in paths:
        entry = read_entry(path)
        if (key := (entry.task, entry.about.name)) in entries:
            raise UserError(f"{path}: {entry.about.name} is there twice for {entry.task}; choose another name")
        entries[key] = entry
    return list(entries.values())


def _scores(content: Any, task: str) -> dict[str, dict[str, JointScore]]:
    """The figures of one file, in the order of the task."""
    found = task_named(task)
    if not isinstance(content, dict) or set(content) != set(found.splits):
        raise ValueError(f"scores must be of {', '.join(found.splits)}")
    figures: dict[str, dict[str, JointScore]] = {}
    for split in found.splits:
        joints = content[split]
        if not isinstance(joints, dict) or set(joints) != set(found.joints):
            raise ValueError(f"scores of {split} must be of {', '.join(found.joints)}")
        figures[split] = {joint: from_json(JointScore, joints[joint]) for joint in found.joints}
    return figures


def _without_none(content: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not None}

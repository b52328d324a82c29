"""Reads and writes results.json (schema 1). Rows are checked on both ways."""

import time
from collections import Counter
from dataclasses import MISSING, asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self, TypeVar

from ropes import __version__
from ropes.common import files
from ropes.common.hardware import device_name
from ropes.errors import UserError
from ropes.evaluation.rows.action import ActionRow
from ropes.evaluation.rows.checks import MeasuredRow, is_finite_number
from ropes.evaluation.rows.criterion import CriterionRow
from ropes.evaluation.rows.fit import FitRow
from ropes.evaluation.rows.flag import FlagRow
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.model import ModelRow
from ropes.evaluation.rows.partial import FreedRow
from ropes.evaluation.rows.pose import PoseRow
from ropes.evaluation.rows.trust import TrustRow

SCHEMA = 1
#: Lists of rows of other kinds that a results file may hold.
FURTHER = {
    "trust_rows": TrustRow,
    "flag_rows": FlagRow,
    "pose_rows": PoseRow,
    "shift_rows": Row,
    "model_rows": ModelRow,
    "action_rows": ActionRow,
    "fit_rows": FitRow,
    "criterion_rows": CriterionRow,
    "freed_rows": FreedRow,
}
R = TypeVar("R", bound=MeasuredRow)


@dataclass(frozen=True, kw_only=True)
class Results:
    """All rows of one experiment.

    Attributes:
        name: as "table1" or "demo".
        preset: as "compact" or "paper".
        device: the processor in words.
        version: of this package.
        seconds: wall time of the whole experiment.
        rows: no two of the same conditions and seed.
        trust_rows: intervals and flags against the truth; empty where that was not measured.
        flag_rows: whether images unlike those of the fit were told, likewise.
        pose_rows: errors of the end effector's pose, likewise; none where the arm is not known.
        shift_rows: errors of shifted poses after lines fitted on poses that are not shifted, likewise.
        model_rows: how disentangled latents are, likewise.
        action_rows: how often what was done was told, likewise.
        fit_rows: which fits the other rows are of; empty in files of older versions.
        criterion_rows: label-free figures of fits of method ropes, likewise.
        freed_rows: what coordinates hold of joints that no intervention moves; none where no such joint varies.
        hiding: how rows with an occlusion are occluded, see `ropes.simulation.corruption.Hiding`; None as `scene`.
        scene: behind the arm, see `ropes.simulation.settings.SceneName`; None without an arm, or where an older version
            wrote it.

    Raises:
        ValueError: a field is empty or out of range, or two rows are of the same conditions.
    """

    name: str
    preset: str
    device: str
    version: str
    seconds: float
    rows: tuple[Row, ...]
    trust_rows: tuple[TrustRow, ...] = ()
    flag_rows: tuple[FlagRow, ...] = ()
    pose_rows: tuple[PoseRow, ...] = ()
    shift_rows: tuple[Row, ...] = ()
    model_rows: tuple[ModelRow, ...] = ()
    action_rows: tuple[ActionRow, ...] = ()
    fit_rows: tuple[FitRow, ...] = ()
    criterion_rows: tuple[CriterionRow, ...] = ()
    freed_rows: tuple[FreedRow, ...] = ()
    hiding: str | None = None
    scene: str | None = None

    def __post_init__(self) -> None:
        for name in ("name", "preset", "device", "version"):
            if not (isinstance(getattr(self, name), str) and getattr(self, name)):
                raise ValueError(f"{name} must be a word, got {getattr(self, name)!r}")
        if not is_finite_number(self.seconds):
            raise ValueError(f"seconds must be a number, got {self.seconds!r}")
        if self.seconds < 0:
            raise ValueError(f"seconds must be at least 0, got {self.seconds!r}")
        for kind in ("rows", *FURTHER):
            keys = Counter((*row.conditions, row.seed) for row in getattr(self, kind))
            for key, count in keys.items():
                if count > 1:
                    raise ValueError(f"two rows of the same conditions: {', '.join(map(str, key))}")

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json."""
        rows = [asdict(row) for row in self.rows]
        head = {name.name: getattr(self, name.name) for name in fields(self) if not name.name.endswith("rows")}
        optional = {name: [asdict(row) for row in getattr(self, name)] for name in FURTHER if getattr(self, name)}
        return {"schema": SCHEMA, **head, "rows": rows, **optional}

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """The reverse of `to_dict`.

        Raises:
            ValueError: another schema, a missing or unknown field, or as `Row` and `Results`.
        """
        if not isinstance(content, dict) or "schema" not in content:
            raise ValueError('this is no results file: it has no "schema"')
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']!r} is not the schema {SCHEMA} that this version reads")
        if not isinstance(content.get("rows"), list):
            raise ValueError("rows must be a list")
        head = {name: value for name, value in content.items() if name not in ("schema", "rows", *FURTHER)}
        _same_fields({*head, "rows"}, cls)
        optional: dict[str, Any] = {}
        for name, kind in FURTHER.items():
            if not isinstance(content.get(name, []), list):
                raise ValueError(f"{name} must be a list")
            optional[name] = _rows(content.get(name, []), kind, name.removesuffix("s").replace("_", " "))
        return cls(**head, rows=_rows(content["rows"], Row, "row"), **optional)


def write_measured(path: Path, name: str, preset: str, began: float, **rows: Any) -> Results:
    """Write what one evaluation of a whole model measured on this machine.

    Args:
        path: of the results file.
        name: of the results.
        preset: of the model's recipe.
        began: when, by `time.monotonic`.
        rows: those of `FURTHER`, by their names.
    """
    seconds = round(time.monotonic() - began, 1)
    found = Results(
        name=name, preset=preset, device=device_name(), version=__version__, seconds=seconds, rows=(), **rows
    )
    write(path, found)
    return found


def write(path: Path, results: Results) -> None:
    """Write results.json atomically."""
    files.write_json(path, results.to_dict())


def read(path: Path) -> Results:
    """Read and check a results file.

    Raises:
        UserError: it is missing, not JSON, of another schema, or a value is wrong; names file and row.
    """
    try:
        return Results.from_dict(files.read_json(path))
    except ValueError as error:
        raise UserError(f"{path}: {error}; make it again with `ropes evaluate` or `ropes reproduce`") from error


def _rows(content: list[Any], kind: type[R], word: str) -> tuple[R, ...]:
    rows = []
    for number, row in enumerate(content):
        try:
            _same_fields(set(row) if isinstance(row, dict) else set(), kind)
            rows.append(kind(**row))
        except ValueError as error:
            raise ValueError(f"{word} {number}: {error}") from error
    return tuple(rows)


def _same_fields(given: set[str], kind: type[Any]) -> None:
    wanted = {field.name for field in fields(kind)}
    needed = {field.name for field in fields(kind) if field.default is field.default_factory is MISSING}
    for word, names in (("missing", needed - given), ("unknown", given - wanted)):
        if names:
            raise ValueError(f"{word} {', '.join(sorted(names))}")

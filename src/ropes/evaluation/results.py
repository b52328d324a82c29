"""Reads and writes results.json (schema 1), and checks all rows both ways."""

from collections import Counter
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

from ropes.common import files
from ropes.errors import UserError
from ropes.evaluation.rows import kinds
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.schema import Amount, MeasuredRow, check_fields, check_names, from_json

SCHEMA = 1
R = TypeVar("R", bound=MeasuredRow)


@dataclass(frozen=True, kw_only=True)
class Results:
    """All rows of one experiment.

    Attributes:
        name: name of the experiment, as "table1" or "demo".
        preset: "compact" or "paper".
        device: name of the processor.
        version: version of this package.
        seconds: wall time of the whole experiment; None where rows of several runs replace one another.
        rows: joint errors.
        trust_rows: interval coverage and out-of-distribution rates; empty if not measured.
        flag_rows: out-of-distribution detection; empty if not measured.
        pose_rows: pose errors of the end effector; empty if the robot is unknown.
        shift_rows: joint errors on shifted poses after calibration on unshifted ones; empty if not measured.
        transfer_rows: joint errors on images of another renderer or camera than the training images; empty if not
            measured.
        model_rows: disentanglement metrics; empty if not measured.
        axes_rows: disentanglement metrics of MPI3D's two axes, on the same points for all methods; empty if not
            measured.
        action_rows: action recognition; empty if not measured.
        fit_rows: the fits that the other rows belong to; empty in files of older versions.
        criterion_rows: label-free criteria of method ropes; empty for other methods.
        freed_rows: dependence of coordinates on joints without an intervention; empty if no such joint varies.
        hiding: kind of occlusion, see `ropes.simulation.corruption.Hiding`; None without occlusion.
        scene: background of the arm, see `ropes.simulation.backgrounds`; None without an arm, and in files of
            older versions.
        mesh: visual meshes of the arm, "simplified" or "full"; None as for `scene`.

    Raises:
        ValueError: a field contradicts its type, or two rows of a kind have the same conditions and seed.
    """

    name: str
    preset: str
    device: str
    version: str
    seconds: Amount | None
    rows: tuple[Row, ...]
    trust_rows: tuple[kinds.CoverageRow, ...] = ()
    flag_rows: tuple[kinds.FlagRow, ...] = ()
    pose_rows: tuple[kinds.PoseRow, ...] = ()
    shift_rows: tuple[Row, ...] = ()
    transfer_rows: tuple[Row, ...] = ()
    model_rows: tuple[kinds.ModelRow, ...] = ()
    axes_rows: tuple[kinds.ModelRow, ...] = ()
    action_rows: tuple[kinds.ActionRow, ...] = ()
    fit_rows: tuple[kinds.FitRow, ...] = ()
    criterion_rows: tuple[kinds.CriterionRow, ...] = ()
    freed_rows: tuple[kinds.FreedRow, ...] = ()
    hiding: str | None = None
    scene: str | None = None
    mesh: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for kind in ("rows", *FURTHER):
            counts = Counter((*row.conditions, row.seed) for row in getattr(self, kind))
            for conditions, count in counts.items():
                if count > 1:
                    raise ValueError(f"two rows of the same conditions: {', '.join(map(str, conditions))}")

    def to_dict(self) -> dict[str, Any]:
        """The content of results.json. Empty lists of rows are left out, except `rows`."""
        head = {field.name: getattr(self, field.name) for field in fields(self) if not field.name.endswith("rows")}
        lists = {name: [row.to_dict() for row in getattr(self, name)] for name in ("rows", *FURTHER)}
        return {"schema": SCHEMA, **head, **{name: rows for name, rows in lists.items() if rows or name == "rows"}}

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """The inverse of `to_dict`.

        Raises:
            ValueError: another schema, a missing or unknown field, or as `Results` and its rows.
        """
        if not isinstance(content, dict) or "schema" not in content:
            raise ValueError('this is no results file: it has no "schema"')
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']!r} is not the schema {SCHEMA} that this version reads")
        head = {name: value for name, value in content.items() if name != "schema"}
        lists = {name: head.pop(name, [] if name in FURTHER else None) for name in ("rows", *FURTHER)}
        for name, listed in lists.items():
            if not isinstance(listed, list):
                raise ValueError(f"{name} must be a list")
        check_names(cls, {*head, "rows"})
        classes: dict[str, type[MeasuredRow]] = {"rows": Row, **FURTHER}
        rows: dict[str, Any] = {name: _rows(lists[name], kind, name) for name, kind in classes.items()}
        return cls(**head, **rows)


#: Kinds of rows besides `rows`: name of their list in results.json → class.
FURTHER: dict[str, type[MeasuredRow]] = {
    field.name: get_args(field.type)[0] for field in fields(Results) if field.name.endswith("_rows")
}


def write(path: Path, results: Results) -> None:
    """Write results.json atomically."""
    files.write_json(path, results.to_dict())


def read(path: Path) -> Results:
    """Read and check a results file.

    Raises:
        UserError: the file is missing, not JSON, of another schema, or holds a wrong value. The message names the file
            and the row.
    """
    try:
        return Results.from_dict(files.read_json(path))
    except ValueError as error:
        raise UserError(f"{path}: {error}; make it again with `ropes evaluate` or `ropes reproduce`") from error


def _rows(content: list[Any], kind: type[R], name: str) -> tuple[R, ...]:
    """The rows of one list; messages say "pose row 0" of `pose_rows`."""
    rows = []
    for number, row in enumerate(content):
        try:
            rows.append(from_json(kind, row))
        except ValueError as error:
            raise ValueError(f"{name.removesuffix('s').replace('_', ' ')} {number}: {error}") from error
    return tuple(rows)

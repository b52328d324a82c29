"""Published figures on MPI3D beside those of a run, in tables of the same metrics."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ropes.evaluation.results import Results
from ropes.report.study_numbers import METRICS, column
from ropes.report.table import Table, grouped
from ropes.report.words import fixed, joint_label, median_and_range
from ropes.simulation.settings import MPI3D_FACTORS

#: Source of our lines.
_OWN = "this run"


class Published(NamedTuple):
    """Figures from the literature: what they are of, where they stand, and axis or score → figure.

    `second_hand` are figures that we read in another text than their authors'.
    """

    method: str
    source: str
    figures: Mapping[str, float]
    second_hand: bool = False

    @property
    def words(self) -> str:
        """The source, marked as published."""
        return f"published{', second-hand' if self.second_hand else ''}: {self.source}"


#: R² of each axis from real photographs (docs/photographs.md has the other factors).
R2_OF_AXES = (
    Published(
        "supervised network, original images",
        "von Kügelgen et al. 2021, Table 13",
        {"horizontal_axis": 1.0, "vertical_axis": 1.0},
    ),
    Published(
        "contrastive learning, color distortion",
        "von Kügelgen et al. 2021, Table 12",
        {"horizontal_axis": 0.6, "vertical_axis": 0.42},
    ),
)
#: Scores of all seven factors.
SCORES = (
    Published(
        "DisDiff",
        "Yang et al. 2023, from a list that does not name the file of MPI3D",
        {"dci": 0.337, "factor_vae": 0.617},
        second_hand=True,
    ),
)


def published_tables(found: Results) -> Iterator[tuple[str, Table]]:
    """Sentence and table of R² of both axes, and of the scores of all factors; each only if the run has such rows.

    Args:
        found: of experiment mpi3d.
    """
    if rows := found.axes_rows:
        axes = list(rows[0].informativeness)
        values = {
            method: {axis: _over_seeds([row.informativeness[axis] for row in own]) for axis in axes}
            for method, own in grouped(rows, lambda row: row.method).items()
        }
        words = (
            "R² of each axis. Ours are of DCI's boosted trees on all latents. Published ones are of other photographs "
            "of MPI3D-real, from a supervised network and from kernel regression on five latents:"
        )
        yield words, _table(axes, {axis: joint_label(axis) for axis in axes}, values, R2_OF_AXES)
    if models := [row for row in found.model_rows if row.setup == MPI3D_FACTORS]:
        scores = ("dci", "factor_vae")
        of_models = {
            method: {score: _over_seeds(list(column(own, score))) for score in scores}
            for method, own in grouped(models, lambda row: row.method).items()
        }
        words = (
            "Scores of our methods for all seven factors. Second-hand figures are from a list of results; we have not "
            "seen their paper:"
        )
        yield words, _table(scores, METRICS, of_models, SCORES)


def _over_seeds(values: Sequence[float]) -> str:
    return median_and_range(np.asarray(values, dtype=np.float64), fixed) or "–"


def _table(
    keys: Sequence[str],
    headings: Mapping[str, str],
    ours: Mapping[str, Mapping[str, str]],
    published: Sequence[Published],
) -> Table:
    """A line for each of our methods, then one for each published entry, with its source."""
    lines: list[list[object]] = [[method, *(own[key] for key in keys), _OWN] for method, own in ours.items()]
    for each in published:
        figures = (fixed(each.figures[key]) if key in each.figures else "–" for key in keys)
        lines.append([each.method, *figures, each.words])
    return Table(["method", *(headings[key] for key in keys), "source"], lines, texts=(0, len(keys) + 1))

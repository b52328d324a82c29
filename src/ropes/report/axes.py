"""MPI3D's two axes by every method: one table of the same metrics on the same points."""

from collections.abc import Iterator, Sequence

from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import ModelRow
from ropes.methods.registry import method_of
from ropes.report.mpi3d_published import published_tables
from ropes.report.page import Section, Source, tag
from ropes.report.study_numbers import COUNTS, METRICS, column, score_text
from ropes.report.table import Table, grouped, paragraphs
from ropes.report.words import median_and_range, origin

TITLE = "Both axes, by every method"
#: Method → what it is asked to find, and from what.
_ASKED = {
    "anchored": "both axes, by interventions",
    "ldr": "both axes, by interventions",
    "cnn": "both axes, by labels",
    "beta-vae": "all seven factors, without supervision",
    "ada-gvae": "all seven factors, by pairs",
}
#: Scores of the table.  Modularity and InfoM are left out: latents of other factors than the axes lower them.
_SCORES = ("dci", "completeness", "informativeness", "mig", "sap", "explicitness", "mcc", "infoc", "infoe", "tmex")
#: Those that fit in a terminal.
_FEW = ("dci", "mig", "sap", "mcc", "informativeness")


def axes_table(rows: Sequence[ModelRow], *, few: bool = False) -> Table:
    """A line for each method: median (minimum to maximum) of each score over training seeds.

    Args:
        rows: `axes_rows`, at least one.
        few: leave out scores, what methods are asked for, and minimum and maximum; for a terminal.
    """
    scores = _FEW if few else _SCORES
    lines: list[list[object]] = []
    for method, own in grouped(rows, lambda row: row.method).items():
        asked = [] if few else [_ASKED.get(method_of(method), "")]
        photographs = f"{own[0].settings['photographs']:.0f}"
        lines.append([method, *asked, photographs, len(own), *(_entry(own, score, few=few) for score in scores)])
    asked = [] if few else ["asked to find"]
    names = METRICS | COUNTS | ({"informativeness": "R²", "mcc": "MCC"} if few else {})
    heads = ["method", *asked, "views" if few else "photographs a point", "seeds", *(names[score] for score in scores)]
    return Table(heads, lines, texts=(0,) if few else (0, 1))


def _entry(rows: Sequence[ModelRow], score: str, *, few: bool) -> str:
    """The median of a score, and its range unless there are few; a dash where it is undefined."""
    text = median_and_range(column(rows, score), lambda value: score_text(score, value)) or "–"
    return text.partition(" ")[0] if few else text


def caption(rows: Sequence[ModelRow]) -> str:
    """Which points and photographs the table is of, and what its scores ask for."""
    points = max(row.sizes["tested"] for row in rows)
    return (
        f"The same {points:,.0f} points of the grid for every method, drawn uniformly over all seven factors. Methods "
        "with three photographs a point read it from all three camera heights; those with one read it from the height "
        "of the point. The factors of all scores are the two axes alone, and the code is all of a method's latents. "
        "VAEs are asked for the five other factors too; their latents of these count as any other. Each of the 40 "
        "positions of an axis is a class in MIG, InfoC and InfoE. Training may have had some of the photographs, as in "
        "other studies of MPI3D."
    )


def section(source: Source) -> Iterator[Section]:
    """The table with its caption, and published figures beside ours."""
    rows = source.results.axes_rows
    beside = [
        element for words, table in published_tables(source.results) for element in (tag("p", words), table.html())
    ]
    content = [tag("p", caption(rows)), axes_table(rows).html(), *beside]
    yield Section("axes", "The same points, the same metrics", content)


def axes_markdown(found: Results) -> str:
    """The table with its caption, the origin of its numbers, and published figures beside ours, in Markdown."""
    rows = found.axes_rows
    about = f"Median (minimum to maximum) over training seeds. {caption(rows)} {origin(found, scene=False)}"
    beside = [part for words, table in published_tables(found) for part in (words, table.markdown())]
    return paragraphs(f"**{TITLE}**", axes_table(rows).markdown(), about, *beside)

"""Writes results.json as one HTML page.

A new section is one function from `Source` to sections, listed in `PARTS`; its explanation is a macro of texts.html.j2.
"""

from pathlib import Path

from ropes.common import files
from ropes.evaluation import results
from ropes.report import (
    action_numbers,
    actions,
    axes,
    cameras,
    curves,
    differences,
    joints,
    partial_disentanglement,
    robot_hours,
    runs,
    study,
    study_numbers,
    trust,
)
from ropes.report.page import Part, Source, page

#: The parts of the page in their order, with their sections.
PARTS = (
    Part(
        rows="rows",
        title=joints.title,
        findings=lambda source: [differences.verdict(source.cells)],
        opening=runs.opening,
        sections=(
            joints.against_paper,
            cameras.section,
            robot_hours.section,
            joints.by_labels,
            curves.learning_curves,
            curves.efficiency,
            joints.robustness,
            trust.intervals_and_flags,
            joints.poses,
            partial_disentanglement.freed,
            runs.each_run,
            joints.all_numbers,
        ),
    ),
    Part(rows="axes_rows", title=lambda _: axes.TITLE, findings=lambda _: [], sections=(axes.section,)),
    Part(
        rows="model_rows",
        title=study.title,
        findings=lambda source: study_numbers.findings(source.results.model_rows),
        sections=(study.traversals, study.plots, study.reconstructions, study.all_numbers),
    ),
    Part(
        rows="action_rows",
        title=lambda source: f"Actions: {source.results.name}",
        findings=lambda source: action_numbers.findings(source.results.action_rows),
        sections=(actions.settings, actions.all_numbers),
    ),
)


def write_report(folder: Path, out_html: Path) -> None:
    """Write the page for the results in `folder`.

    Args:
        folder: with results.json and, where recorded, artefacts/SETUP/METHOD/….
        out_html: the page, written atomically.

    Raises:
        UserError: results.json is missing or wrong, or an artefact is damaged.
    """
    source = Source(results.read(folder / "results.json"), folder)
    parts = [part for part in PARTS if getattr(source.results, part.rows)]
    files.write_text(out_html, page(source, parts or PARTS[:1]))

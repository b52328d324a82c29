"""Coordinates where joints without an intervention vary: a section of the page, and Markdown tables."""

from collections.abc import Iterable, Iterator
from statistics import fmean

from ropes.evaluation.results import Results
from ropes.evaluation.rows.kinds import FreedRow
from ropes.report.page import Section, Source, explained, tag
from ropes.report.table import Table, grouped, paragraphs
from ropes.report.words import fixed, in_words, joint_label, origin


def freed(source: Source) -> Iterator[Section]:
    """Coordinates where joints without an intervention vary."""
    if not source.results.freed_rows:
        return
    content = [explained("freed")]
    for heading, joint_names, lines in freed_lines(source.results.freed_rows):
        columns = ["method", "coordinate of", *joint_names, "explained by own joint", "by all joints"]
        content += [tag("h3", heading), Table(columns, lines, texts=(0, 1)).html()]
    yield Section("freed", "Joints without interventions", content)


def freed_lines(rows: Iterable[FreedRow]) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Heading, joints and lines of each setup, means over training seeds.

    A line has the method, the joint of the coordinate, its correlation with each joint, and the shares of its variance
    that its own joint and all joints explain.
    """
    for setup, own in grouped(rows, lambda row: row.setup).items():
        lines = []
        for group in grouped(own, lambda row: row.conditions).values():
            first = group[0]
            means = [fmean(row.correlations[joint] for row in group) for joint in first.correlations]
            means += [fmean(getattr(row, name) for row in group) for name in ("own", "every")]
            lines.append([first.method, joint_label(first.joint), *map(fixed, means)])
        yield in_words(setup, 0), [joint_label(joint) for joint in own[0].correlations], lines


def freed_markdown(found: Results) -> str:
    """The same tables in Markdown, with the origin of their numbers."""
    parts: list[str] = []
    for heading, joint_names, lines in freed_lines(found.freed_rows):
        columns = ["coordinate", *joint_names, "explained by own joint", "by all joints"]
        named = [[f"{method}, coordinate of {joint}", *figures] for method, joint, *figures in lines]
        parts += [f"**{heading}**", Table(columns, named).markdown()]
    seeds = {row.seed for row in found.freed_rows}
    about = (
        "Absolute correlation of each coordinate with the angle of each joint that varies, and the shares of its "
        "variance that its own joint's angle and all angles explain (R² of boosted trees on other test poses). "
        f"Training seeds: {len(seeds)}. {origin(found)}"
    )
    return paragraphs(*parts, about)

"""Methods that classify actions: sections of the page, and Markdown tables."""

from collections.abc import Iterator

import numpy as np
from markupsafe import Markup

from ropes.evaluation.results import Results
from ropes.report import pictures
from ropes.report.action_figures import Arrays, delta_arrays, pairs_and_captions, plots
from ropes.report.action_numbers import (
    BESIDE,
    COSINES,
    DRAWN,
    EMBEDDINGS,
    METHODS,
    MOVES,
    PAPER,
    PAPER_GAPS,
    SCENES,
    SHIFTS,
    Methods,
    advantage,
    findings,
    in_order,
    moved,
    of_an_arm,
    paper_scores,
    recalled,
    scores,
)
from ropes.report.page import Section, Source, explained, image, plot, tag
from ropes.report.table import Table, named_once, paragraphs
from ropes.report.words import capitalised, fixed, joint_label, median_and_range, origin
from ropes.simulation.actions import COMPOSITIONAL, IID, SYSTEMATIC


def settings(source: Source) -> Iterator[Section]:
    """A section for each setting, with figures and test pairs."""
    for number, (setup, methods) in enumerate(in_order(source.results.action_rows).items(), 1):
        arm = of_an_arm(methods)
        arrays_of = delta_arrays(methods, source.folder)
        content = [explained("arm" if arm else "objects")]
        content += [plot(drawn.figure, drawn.label) for drawn in plots(setup, methods, arrays_of)]
        for name, arrays in arrays_of.items():
            if not arm and name in EMBEDDINGS:
                content += _pairs(METHODS[name], arrays, patchwise=name == "cde-patch")
        heading = "Joint actions of an arm" if arm else capitalised(SCENES.get(setup, setup))
        yield Section(f"actions-{number}", heading, content)


def _pairs(label: str, arrays: Arrays, *, patchwise: bool) -> Iterator[Markup]:
    """Test pairs of each split with true and predicted action; selected patches are framed."""
    for split, words in SHIFTS.items():
        if f"{split}_images" in arrays:
            images, captions = pairs_and_captions(arrays, split, patchwise=patchwise)
            shown = [
                tag("figure", image(pictures.strip(pair), caption), tag("figcaption", caption))
                for pair, caption in zip(images, captions, strict=True)
            ]
            yield tag("h3", f"{label}, {words}")
            yield tag("div", *shown, class_="pairs")


def all_numbers(source: Source) -> Iterator[Section]:
    """Every method under every setting."""
    gaps = ", ".join(f"{METHODS[name]} {fixed(gap, 2)}" for name, gap in PAPER_GAPS.items())
    table = _accuracies(in_order(source.results.action_rows), timed=True)
    yield Section("all-actions", "All numbers", [explained("all_actions", gaps=gaps), table.html()])


def _accuracies(every: dict[str, Methods], *, timed: bool) -> Table:
    """A line for each setting and method, the paper's below; `timed` adds numbers of pairs and seconds.

    Without `timed` (in Markdown) a setting is named in its first line only.
    """
    lines: list[tuple[str, list[str]]] = []
    for setup, methods in every.items():
        for name, own in methods.items():
            more = [f"{own[0].pairs.get(IID, 0):,}", f"{np.mean([row.seconds for row in own]):,.0f}"] if timed else []
            lines.append((SCENES.get(setup, setup), [METHODS.get(name, name), str(len(own)), *scores(own), *more]))
    more = ["", ""] if timed else []
    lines += [("the paper, ProcTHOR", [METHODS[name], "", *paper_scores(name), *more]) for name in PAPER]
    heads = ["seeds", *SHIFTS.values(), "gap", *COSINES.values(), "active", "variance"]
    columns = ["images", "method", *heads, *(("pairs", "seconds") if timed else ())]
    return Table(columns, [[name, *line] for name, line in lines] if timed else named_once(lines), texts=(0, 1))


def action_markdown(found: Results) -> str:
    """Tables of accuracies, of advantages over other methods and of an arm's deltas, the findings, and the origin.

    Args:
        found: with `action_rows`.
    """
    every = in_order(found.action_rows)
    drawn = "For others held out, ± is over choices of the held-out pairs. " if DRAWN in every else ""
    return paragraphs(
        _accuracies(every, timed=False).markdown(),
        *_advantages(every),
        *_arms(every),
        "\n".join(f"- {sentence}" for sentence in findings(found.action_rows)),
        "Accuracy of verbs over pairs, mean ± standard deviation over training seeds. Gap: in distribution minus "
        "systematic shift. Active: share of a delta's dimensions that reach a tenth of its largest. Variance: of the "
        "deltas of one verb over pairs, in shares of their mean squared length (the paper: Var[δ] ≈ 0). "
        f"{drawn}The paper's numbers are for ProcTHOR's single objects: other images, networks that begin from "
        "pre-trained weights, and splits whose shifted test pairs the reference logs as its validation. "
        f"{origin(found, scene=False)}",
    )


def _advantages(every: dict[str, Methods]) -> Iterator[str]:
    """Differences of accuracy between methods, seed by seed."""
    lines = []
    for setup, methods in every.items():
        if of_an_arm(methods):
            continue
        for ours in (name for name in BESIDE if name in methods):
            for other in (name for name in BESIDE[ours] if name in methods):
                better = [advantage(methods[ours], methods[other], split) for split in (COMPOSITIONAL, SYSTEMATIC)]
                if any(better):
                    lines.append([SCENES.get(setup, setup), METHODS[ours], METHODS[other], *better])
    if lines:
        columns = ["images", "method", "compared with", SHIFTS[COMPOSITIONAL], SHIFTS[SYSTEMATIC]]
        yield "Difference of accuracy to other methods, paired by seed: mean (95% interval, Student's t):"
        yield Table(columns, lines, texts=range(3)).markdown()


def _arms(every: dict[str, Methods]) -> Iterator[str]:
    """Accuracy for each joint of an arm, and geometry of its deltas."""
    for methods in every.values():
        if of_an_arm(methods):
            joints = sorted({joint for own in methods.values() for row in own for joint in row.moves})
            by_joint = [
                [METHODS.get(name, name), *(recalled(own, joint) for joint in joints)] for name, own in methods.items()
            ]
            yield "Accuracy for each joint of the arm, mean over up and down:"
            yield Table(["method", *map(joint_label, joints)], by_joint).markdown()
            lines = [
                [
                    METHODS.get(name, name),
                    *(median_and_range(moved(own, kind), lambda one: fixed(one, 2)) for kind in MOVES),
                ]
                for name, own in methods.items()
                if any(row.moves for row in own)
            ]
            yield "Deltas of the arm: median over its joints (minimum to maximum):"
            yield Table(["method", *MOVES.values()], lines).markdown()

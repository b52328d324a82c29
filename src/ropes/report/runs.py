"""Single runs on the page, from their artefacts: the first picture, and a section for each method and setup."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from markupsafe import Markup

from ropes.evaluation.rows.joint import Row
from ropes.methods.registry import method_named, method_of
from ropes.report import artefacts, graph, joint_figures, pictures
from ropes.report.artefacts import Artefacts, Evaluation, scatter_condition
from ropes.report.page import Section, Source, Strip, absent, details, explained, image, plot, strips, tag
from ropes.report.words import fixed, heading_of, joint_label

Training = Mapping[str, Any]


def opening(source: Source) -> list[Markup]:
    """The overlays of the first method and setup that has any; empty without."""
    for setup, method in dict.fromkeys((row.setup, row.method) for row in source.results.rows):
        for run in artefacts.load(source.folder, {(setup, method)}):
            if run.evaluation is not None and run.evaluation.overlays is not None:
                drawn = run.evaluation.overlays["overlay_images"]
                alt = "The arm at the estimated angles, drawn over images of the test split"
                strip = pictures.strip(np.concatenate(list(drawn)))
                caption = f"{alt}: {heading_of(setup, method)}. Each pose from {' and '.join(run.evaluation.cameras)}."
                return [tag("figure", image(strip, alt), tag("figcaption", caption), class_="overlays")]
    return []


def each_run(source: Source) -> Iterator[Section]:
    """A section for each setup and method with rows."""
    rows = source.results.rows
    runs = {(row.setup, row.method): Artefacts(setup=row.setup, method=row.method) for row in rows}
    runs |= {(run.setup, run.method): run for run in artefacts.load(source.folder, runs)}
    shown: dict[object, str] = {}
    for (setup, method), run in runs.items():
        own = [row for row in rows if (row.setup, row.method) == (setup, method)]
        yield Section(f"setup-{setup}-{method}", heading_of(setup, method), list(_content(run, own, shown)))


def _content(run: Artefacts, rows: Sequence[Row], shown: dict[object, str]) -> Iterator[Markup]:
    """The elements of a run's section.

    `shown` has images of interventions → heading of the section that shows them; that of the run is added.
    """
    evaluation, training = run.evaluation, run.training or {}
    heading, kind = heading_of(run.setup, run.method), method_of(run.method)
    # Density ratios' logits as coordinates need no AE2.
    reconstructs = kind == "ropes" and training.get("settings", {}).get("coordinates") != "logits"
    missing = "Not recorded: artefacts/{}/{}/{} is missing or has none.".format
    no_training = absent(missing(run.setup, run.method, "training.json"))
    yield tag("p", run.setup, class_="kind")

    yield tag("h3", "Estimated against true angles")
    if evaluation and evaluation.scatter:
        yield explained("scatter")
        condition = scatter_condition(evaluation, rows)
        figure = joint_figures.scatter(evaluation.joints, evaluation.scatter, condition)
        yield plot(figure, f"Estimated against true angles, {heading}")
    else:
        yield absent(missing(run.setup, run.method, "evaluation.npz"))

    if reconstructs:
        yield from _reconstructions(evaluation)
    if evaluation and evaluation.foreign:
        yield tag("h3", "Foreign objects")
        yield explained("foreign")
        hidden, there = (evaluation.foreign[name].swapaxes(0, 1) for name in ("foreign_images", "foreign_there"))
        drawn = [pictures.outlined(images, parts > 0) for images, parts in zip(hidden, there, strict=True)]
        rows_of = [[Strip("detection", pictures.strip(images))] for images in drawn]
        yield strips(zip(evaluation.cameras, rows_of, strict=True), "stacked")
    yield tag("h3", "Samples of each intervention")
    if evaluation and evaluation.interventions:
        images = tuple((array.shape, array.tobytes()) for _, array in sorted(evaluation.interventions.items()))
        first = shown.setdefault(images, heading)
        yield _interventions(evaluation) if first == heading else tag("p", f"The same images as under {first}.")
    else:
        yield absent("No intervention samples were recorded.")

    stages = training.get("stages", {})
    if not method_named(kind).reads_labels:
        yield tag("h3", "Density ratios against their Bayes floors")
        if ldr := stages.get("ldr"):
            yield explained("density_ratios")
            yield plot(joint_figures.density_ratio_bars(ldr), f"Cross-entropy and floors, {heading}")
            yield plot(joint_figures.density_ratio_curves(ldr), f"Cross-entropy in training, {heading}")
        else:
            yield no_training
    yield from graph.elements(run.graph)
    if reconstructs:
        yield from _criterion(training)

    yield tag("h3", "Training")
    yield from (tag("p", text) for text in (_stopped(training), _pretraining(training)) if text)
    curves = joint_figures.training_curves(stages)
    yield plot(curves, f"Training curves, {heading}") if curves else no_training
    for key, summary in (("settings", "Settings of this run"), ("provenance", "Provenance of this run")):
        if training.get(key):
            entries = (tag("dt", name) + tag("dd", value) for name, value in _flat(training[key]))
            yield details(summary, tag("dl", *entries))


def _reconstructions(evaluation: Evaluation | None) -> Iterator[Markup]:
    """Images and their reconstructions by both autoencoders, without and with white squares."""
    yield tag("h3", "Reconstructions")
    groups = (
        [(evaluation.reconstructions, "", ""), (evaluation.occluded, "occluded_", "occluded ")] if evaluation else []
    )
    cameras = []
    for index, camera in enumerate(evaluation.cameras if evaluation else ()):
        rows: list[Strip] = []
        for arrays, prefix, word in groups:
            for stage, label in (("original", f"{word}original"), ("ae1", "AE1"), ("ae2", "AE2")) if arrays else ():
                pixels = pictures.strip((arrays or {})[prefix + stage][:, index])
                rows.append(Strip(label, pixels, bool(rows) and stage == "original"))
        cameras.append((camera, rows))
    if not cameras or not cameras[0][1]:
        yield absent("No reconstructions were recorded.")
        return
    yield explained("autoencoders")
    yield strips(cameras, "stacked")
    if not (evaluation and evaluation.occluded):
        yield absent("No occluded reconstructions were recorded.")


def _interventions(evaluation: Evaluation) -> Markup:
    """Images of every regime, by camera."""
    arrays = evaluation.interventions or {}
    regimes = [str(name).partition("/") for name in arrays["intervention_names"]]
    labels = [f"{joint_label(joint)}, policy {policy}" if policy else joint for joint, _, policy in regimes]
    apart = [k > 0 and regimes[k][0] != regimes[k - 1][0] for k in range(len(regimes))]
    cameras = []
    for index, camera in enumerate(evaluation.cameras):
        samples = [pictures.strip(images[:, index]) for images in arrays["intervention_images"]]
        cameras.append((camera, [Strip(*row) for row in zip(labels, samples, apart, strict=True)]))
    return strips(cameras, "paired")


def _criterion(training: Training) -> Iterator[Markup]:
    """Eq. 3 on held-out images: the matrix, and the share of each score difference along AE2's codes."""
    yield tag("h3", "Effect of score differences on coordinates")
    if not training.get("sparsity_matrix"):
        yield absent("No matrix was recorded.")
        return
    values = np.asarray(training["sparsity_matrix"], dtype=np.float64)
    labels = [joint_label(joint) for joint in training.get("joints") or map(str, range(len(values)))]
    # Shaded relative to 1, the ideal, unless a value exceeds it.
    shades = np.abs(values) / max(1.0, float(np.abs(values).max(initial=0.0)))
    lines = [
        [tag("td", fixed(value), style=f"--heat: {shade:.3f}") for value, shade in zip(*pair, strict=True)]
        for pair in zip(values, shades, strict=True)
    ]
    head = [tag("th", f"coordinate {column + 1}", class_="n") for column in range(values.shape[1])]
    body = [tag("tr", tag("th", f"Δs, {label}", scope="row"), *line) for label, line in zip(labels, lines, strict=True)]
    table = tag("table", tag("thead", tag("tr", tag("th"), *head)), tag("tbody", *body), class_="heat")
    yield explained("criterion")
    yield tag("div", table, class_="scroll")
    if shares := training.get("tangent_share"):
        along = ", ".join(f"{joint_label(joint)} {fixed(share, 2)}" for joint, share in shares.items())
        yield explained("along", shares=along)


def _pretraining(training: Training) -> str | None:
    """Whether the pre-training collapsed; None without one."""
    if "pretraining" not in training.get("stages", {}):
        return None
    if (signs := training.get("collapse")) is None:
        return "The validation split is too small to test whether pre-training collapsed."
    if signs["fault"] is not None:
        return f"Pre-training collapsed: {signs['fault']}."
    return (
        f"Pre-training did not collapse: at its end, mean target tokens have a standard deviation of "
        f"{fixed(signs['spread'])} over a camera's images (entries of a token: 1) and an effective rank of "
        f"{signs['rank']:.0f}."
    )


def _stopped(training: Training) -> str | None:
    """Which step's weights were kept, and whether early stopping ended the training; None without a record."""
    if "planned_steps" not in training:
        return None
    stages = training["stages"]
    watched = stages["angles"] if "angles" in stages else stages["encoder"]
    best, planned, last = training["best_step"], training["planned_steps"], watched["steps"][-1]
    step = f"those of step {best:,} of {planned:,}, with the smallest held-out loss."
    kept = f"The kept weights are {step}"
    if "student" in stages:
        kept = f"The kept weights of the encoder, the student's teacher, are {step} The estimator uses both."
    if last >= planned:
        return kept
    return f"{kept} Early stopping ended the training at step {last:,.0f}."


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    """Nested settings as ("a.b", "value") pairs."""
    for key, value in content.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}.")
        elif isinstance(value, list):
            yield name, ("\n" if key == "commands" else ", ").join(map(str, value)) or "none"
        else:
            yield name, "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)

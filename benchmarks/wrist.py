"""What limits the wrist: the same fit with other policies, a wider range of angles, or another size of the network.

    python -m benchmarks.wrist --work FOLDER [--anchors 1000] [--changes NAME ...] [--seeds 0 ...]
        [--out results/wrist.json] [--page]

Each change is made alone, to the training poses of joints 5 and 6 or to the network of `anchored`, without a student.
Test poses and their images stay the same. The table has the squared errors of joints 5 and 6 after a line on 1,000
labels of such poses, and the share of the first fit's error that a change removes. Data sets and fits that are in
FOLDER are not made again. --page also writes the table of docs/curves.md.

- apart: the variance of both policies of joints 5 and 6 is .15 in place of .4 rad², so that their Bayes floors fall to
  an eighth and to a sixth. If this hardly changes the errors, the floor of the contrast does not limit a fit with so
  few images.
- wide: joints 5 and 6 are nearly uniform over their ranges without intervention (variance 4 rad² before truncation), so
  that angles at the ends are no longer rare.
- half, more: half, and one and a half times as many channels in every layer.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.budget_entries import MIN_SAMPLES
from benchmarks.figures import described, keep, options, origin, table
from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.common.seeds import generator
from ropes.data.generate import simulate
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import states_of
from ropes.methods.fit import fit
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.registry import recipe_of
from ropes.metrics import protocol
from ropes.models.shapes import EncoderConfig
from ropes.report.table import grouped
from ropes.report.words import counted, joint_label
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.settings import Setting, setting_named

PAGE = Path(__file__).parents[1] / "docs" / "curves.md"
SETTING, WRIST = "panda-2c-independent", ("panda_joint5", "panda_joint6")
SCENE: SceneName = "panda-gym"
TESTS = {"test-id": "in distribution", "test-ood": "shifted"}


@dataclass(frozen=True)
class Change:
    """What differs from the first fit.

    Attributes:
        words: for the table.
        model: of the training poses.
        encoder: of `anchored`.
    """

    words: str
    model: Callable[[CausalModel], CausalModel] = lambda model: model
    encoder: Callable[[EncoderConfig], EncoderConfig] = lambda encoder: encoder


def _apart(model: CausalModel) -> CausalModel:
    def narrow(policy: TruncatedNormal) -> TruncatedNormal:
        return replace(policy, variance=0.15)

    interventions = dict(model.interventions)
    for joint in WRIST:
        first, second = interventions[joint]
        interventions[joint] = narrow(first), narrow(second)
    return replace(model, interventions=interventions)


def _wide(model: CausalModel) -> CausalModel:
    changed = {joint: replace(model.observational[joint], variance=4.0) for joint in WRIST}
    return replace(model, observational={**model.observational, **changed})


def channels(encoder: EncoderConfig, factor: float) -> EncoderConfig:
    """An encoder with so many times the channels in every layer."""

    def scaled(*widths: int) -> tuple[int, ...]:
        return tuple(round(factor * width) for width in widths)

    (hidden,) = scaled(encoder.hidden)
    return replace(encoder, widths=scaled(*encoder.widths), window_widths=scaled(*encoder.window_widths), hidden=hidden)


CHANGES: Mapping[str, Change] = {
    "first": Change("none"),
    "apart": Change("policies of joints 5 and 6 farther apart", model=_apart),
    "wide": Change("joints 5 and 6 nearly uniform without intervention", model=_wide),
    "half": Change("half as many channels", encoder=lambda encoder: channels(encoder, 0.5)),
    "more": Change("one and a half times as many channels", encoder=lambda encoder: channels(encoder, 1.5)),
}


def setting_of(change: Change) -> Setting:
    """The setting with the change of its training poses."""
    setting = replace(setting_named(SETTING), scene=SCENE)
    return replace(setting, splits={**setting.splits, "train": change.model(setting.splits["train"])})


def measured(work: Path, name: str, anchors: int, seed: int) -> list[dict[str, Any]]:
    """Simulate, fit and measure what is not done yet.

    Args:
        work: folder of data and runs.
        name: of the change.
        anchors: number of training anchors.
        seed: of the fit.

    Returns:
        A row for each split of test poses: `mse`, joint → squared error, rad².
    """
    change, setting = CHANGES[name], setting_of(CHANGES[name])
    first = setting_of(CHANGES["first"])
    data = work / ("data" if setting == first else f"data-{name}")
    dataset = simulate(setting, out=data, anchors=anchors)
    recipe = recipe_of("anchored", "compact")
    assert isinstance(recipe, EncoderRecipe)
    training = replace(recipe.training, min_samples=MIN_SAMPLES)
    recipe = replace(recipe, training=training, encoder=change.encoder(recipe.encoder), foreign=0.0)
    estimator = Estimator.load(fit(dataset, work / f"{name}-{seed}", recipe, seed))
    rows = []
    for split in TESTS:
        angles = states_of(estimator.run, dataset, split)
        images = estimator.images(dataset, split, len(angles))
        found = protocol(estimator.coordinates(images), angles, generator(0, "wrist"))
        mse = dict(zip(estimator.run.joints, found.mse_mean.tolist(), strict=True))
        rows.append({"change": name, "seed": seed, "split": split, "mse": {joint: mse[joint] for joint in WRIST}})
    return rows


def written(found: Mapping[str, Any]) -> str:
    """The Markdown table of such figures, means over seeds, and what they are of."""
    means = {
        key: {joint: float(np.mean([row["mse"][joint] for row in rows])) for joint in WRIST}
        for key, rows in grouped(found["rows"], lambda row: (row["change"], row["split"])).items()
    }
    lines = []
    for name in dict.fromkeys(name for name, _ in means):
        entries = []
        for split, joint in product(TESTS, WRIST):
            error, usual = means[name, split][joint], means["first", split][joint]
            entries.append(f"{error:.3f}" + ("" if name == "first" else f" ({1 - error / usual:.0%})"))
        lines.append([CHANGES[name].words, *entries])
    heads = ["change", *(f"{joint_label(joint)}, {poses}" for poses, joint in product(TESTS.values(), WRIST))]
    seeds = counted(len({row["seed"] for row in found["rows"]}), "training seed")
    return (
        f"{table(heads, lines)}\nSquared errors in rad² after a line on 1,000 labels, and the share that the change "
        f"removes. {found['anchors']:,} anchors, without a student, {seeds}. "
        f"Scene {SCENE}; {origin(found)}, {found['seconds']} s.\n"
    )


def main() -> None:
    """Fit with each change and print the table."""
    parser = options(__doc__)
    parser.add_argument("--work", type=Path, required=True, help="folder of data and runs")
    parser.add_argument("--anchors", type=int, default=1_000)
    parser.add_argument("--changes", nargs="+", default=list(CHANGES), choices=tuple(CHANGES), metavar="NAME")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the fits")
    parser.add_argument("--page", action="store_true", help="also write the table of docs/curves.md")
    given, began = parser.parse_args(), time.monotonic()
    names = list(dict.fromkeys(["first", *given.changes]))
    rows = [
        row for name, seed in product(names, given.seeds) for row in measured(given.work, name, given.anchors, seed)
    ]
    found = {"rows": rows, "anchors": given.anchors, **described(began)}
    keep(found, "wrist", written(found), given.out, PAGE if given.page else None)


if __name__ == "__main__":
    main()

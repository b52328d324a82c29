"""Which stage of method `ropes` causes how much of its error: stages with ideal inputs in place of the stage before.

    python -m benchmarks.ideal_inputs --work FOLDER [--fits SETTING:ANCHORS ...] [--seeds 0 ...] [--out FILE] [--page]

The compact recipe without a student is fitted on panda-gym's scene. Then each stage is trained again with

- codes: AE1's, or the true angles, mapped linearly into the space of codes: an AE1 that loses nothing;
- log ratios: learned from the policies' names, or by regression to the exact log ratio of each training pose: density
  ratios without the noise of their labels;
- coordinates: AE2's, or the logits themselves: no AE2.

Errors and correlations are of the clean test poses, in distribution and shifted, by the paper's protocol (a line fitted
on 1,000 labels of these poses). The share of a stage is the part of the squared error that vanishes where its output
alone is ideal, or where AE2 is left out; shares of several stages need not add up to one. Data sets, fits and stages
that are in FOLDER are not made again. --page also writes the tables of docs/ropes.md.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.figures import described, keep, options, simulate, table
from ropes.causal.scm import CausalModel
from ropes.common.arrays import Floats
from ropes.common.files import read_json
from ropes.common.seeds import generator
from ropes.data.batches import TrainingImages, held_out_anchors
from ropes.data.cache import ImageCache
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.methods.context import Context
from ropes.methods.policies import described_model
from ropes.methods.recipes import RopesRecipe, recipe_to_dict, ropes_recipe
from ropes.methods.ropes.codes import Codes, encode, standardise
from ropes.methods.ropes.density_ratios import DensityRatios, fit_ldrs
from ropes.methods.ropes.disentangle import AE2Trainer
from ropes.methods.ropes.fit import fit
from ropes.methods.training.best_weights import BestWeightsStage
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.loop import SUMMARY
from ropes.methods.training.sampling import EpochShuffle
from ropes.metrics import protocol
from ropes.models.autoencoder import AE1
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.models.density_ratio import LDR
from ropes.models.shapes import CODE_SIDE
from ropes.report.table import grouped
from ropes.report.words import counted

PAGE = Path(__file__).parents[1] / "docs" / "ropes.md"
FITS = ("panda-1c-independent:10000", "panda-2c-independent:10000", "panda-2c-causal:10000")
#: Split of test poses → what they are.
TESTS = {"test-id": "poses in distribution", "test-ood": "shifted poses"}
#: Codes, log ratios and coordinates: as they are, and ideal.
CODES, RATIOS, COORDINATES = ("AE1", "angles"), ("learned", "exact"), ("AE2", "logits")
#: Stage → codes, log ratios and coordinates without its error.
WITHOUT = {
    "AE1": ("angles", "learned", "AE2"),
    "log ratios": ("AE1", "exact", "AE2"),
    "AE2": ("AE1", "learned", "logits"),
}
_BATCH = 256


class RatioRegression(BestWeightsStage):
    """An LDR by regression to exact log ratios, as a share of their variance, on codes with the recipe's noise."""

    network: LDR
    records, criterion = 40, "held_out"

    def __init__(self, network: LDR, recipe: RopesRecipe, *, seed: int, held_out: tuple[Tensor, Tensor], count: int):
        optimisation = replace(recipe.ldr_training, batch=_BATCH)
        super().__init__(network, optimisation, steps=optimisation.steps(count), seed=seed)
        self.held_out, self.noise = held_out, recipe.code_noise
        self.variance = held_out[1].var()

    def training_step(self, batch: tuple[Tensor, Tensor], batch_idx: int) -> Tensor:
        """Standardised codes (B, V, 8, 8) and log ratios (B,) → loss."""
        codes, exact = batch
        loss = functional.mse_loss(self.network(codes + self.noise * torch.randn_like(codes)), exact) / self.variance
        self.note(train=loss)
        return loss

    def evaluate(self) -> dict[str, float]:
        """The loss on held-out anchors, without noise."""
        codes, exact = self.held_out
        loss = float(functional.mse_loss(self.network(codes), exact) / self.variance)
        self.update_best(loss)
        return {"held_out": loss}


@dataclass(frozen=True)
class Poses:
    """Codes (n, V, 8, 8) before standardisation, regimes (n,) and true angles (n, d) of some poses."""

    codes: Tensor
    regime: np.ndarray
    angles: Floats


def parts_of(dataset: Dataset, run: Path, recipe: RopesRecipe, seed: int) -> dict[str, Poses]:
    """Training poses ("train"), held-out ones ("held-out") and those of each test, with the codes of the run's AE1."""
    ae1 = AE1(recipe.ae1, 1)
    load_weights(ae1, run / "ae1" / WEIGHTS)
    ae1 = ae1.eval()

    def of(split: str) -> tuple[TrainingImages, Floats]:
        frames = dataset.frames(split)
        cache = ImageCache(dataset, split, recipe.ae1.image_size, progress=False)
        return TrainingImages(cache, frames, dataset.regimes, complete=split == "train"), dataset.states(split)

    def poses(images: TrainingImages, angles: Floats) -> Poses:
        return Poses(encode(ae1, images, torch.device("cpu")), images.regime, angles)

    images, angles = of("train")
    out = np.isin(images.anchor, held_out_anchors(images.anchor, recipe.val_fraction, seed))
    kept, held = images.split(out)
    tests = {split: poses(*of(split)) for split in TESTS}
    return {"train": poses(kept, angles[~out]), "held-out": poses(held, angles[out]), **tests}


def lift(views: int, train: Floats, seed: int) -> Callable[[Floats], Tensor]:
    """The map of angles (n, d) to codes (n, V, 8, 8): linear, without loss, of unit variance."""
    entries, joints = views * CODE_SIDE**2, train.shape[1]
    axes, _ = np.linalg.qr(generator(seed, "ideal codes").normal(size=(entries, joints)))
    mean, deviation = train.mean(0), train.std(0)

    def lifted(angles: Floats) -> Tensor:
        codes = (angles - mean) / deviation @ axes.T * np.sqrt(entries / joints)
        return torch.from_numpy(codes.astype(np.float32)).unflatten(1, (views, CODE_SIDE, CODE_SIDE))

    return lifted


def fit_exact_ldrs(
    context: Context, model: CausalModel, codes: Codes, held_out: Codes, angles: tuple[Floats, Floats], upstream: str
) -> DensityRatios:
    """As `fit_ldrs`, by regression to the exact log ratio of every training pose, whatever its regime."""
    recipe, views = context.recipe, len(context.run.cameras)
    shape = replace(recipe.ldr, dropout=0.0, others=False)
    ratios: list[torch.nn.Module] = []
    summaries = {}
    for k, joint in enumerate(context.run.joints):
        kept, held = (
            torch.from_numpy(model.log_density_ratio(joint, part[:, k]).astype(np.float32)) for part in angles
        )
        known = torch.isfinite(kept).nonzero()[:, 0]
        order = EpochShuffle(len(known), _BATCH, context.seed("exact ldr", joint, "order"))

        def batch_at(
            step: int, order: EpochShuffle = order, known: Tensor = known, kept: Tensor = kept
        ) -> tuple[Tensor, Tensor]:
            rows = known[order(step)]
            return codes.values[rows], kept[rows]

        network = seeded(context.seed("exact ldr", joint, "weights"), lambda: LDR(shape, views=views))
        tested = held_out.values[torch.isfinite(held)], held[torch.isfinite(held)]
        seed = context.seed("exact ldr", joint)
        stage = RatioRegression(network, recipe, seed=seed, held_out=tested, count=len(known))
        settings = "exact", joint, asdict(shape), recipe_to_dict(stage.optimisation), recipe.code_noise, upstream
        summaries[joint] = context.train(stage, batch_at, f"ldr/{joint}", context.digest(*settings), full=True)
        ratios.append(network)
    return DensityRatios(ratios, summaries, {}, sum(summary["seconds"] for summary in summaries.values()))


def measured(work: Path, asked: str, seed: int) -> list[dict[str, Any]]:
    """Simulate, fit and measure what is not done yet; the errors of each combination of inputs.

    Args:
        work: folder of data and runs.
        asked: SETTING:ANCHORS.
        seed: of the fit.
    """
    setting, anchors = asked.split(":")
    data, run = work / f"{setting}-{anchors}", work / f"{setting}-{anchors}-{seed}"
    if not (data / "meta" / "info.json").exists():
        simulate(f"--setting {setting} --scene panda-gym --anchors {anchors} --test-anchors 2000", data)
    dataset, recipe = open_dataset(data), replace(ropes_recipe("compact"), foreign=0.0)
    fitted = fit(data, run, recipe, seed)
    model = described_model(dataset)
    assert model is not None
    parts = parts_of(dataset, run, recipe, seed)
    lifted = lift(len(fitted.cameras), parts["train"].angles, seed)
    rows = []
    for source in CODES:
        of = parts if source == "AE1" else {name: replace(p, codes=lifted(p.angles)) for name, p in parts.items()}
        kept, held = of["train"], of["held-out"]
        scale, (values, held_values) = standardise(kept.codes, held.codes)
        codes, held_codes = (Codes(v, p.regime, dataset.regimes) for v, p in ((values, kept), (held_values, held)))
        upstream = read_json(run / "ae1" / SUMMARY)["fingerprint"] + ("" if source == "AE1" else " angles")
        for kind in RATIOS:
            folder = run if (source, kind) == ("AE1", "learned") else run.with_name(f"{run.name}-{source}-{kind}")
            folder.mkdir(exist_ok=True)
            context = Context(fitted, folder, show=True)
            if kind == "learned":
                ratios = fit_ldrs(context, codes, held_codes, upstream)
            else:
                angles = kept.angles, held.angles
                ratios = fit_exact_ldrs(context, model, codes, held_codes, angles, upstream)
            trainer = AE2Trainer(context, codes, held_codes, ratios.networks, scale, ratios.fingerprints)
            (name,) = trainer.networks
            ae2, _ = trainer.train(name, recipe.sparsity_weights[0])
            for split, coordinates in product(TESTS, COORDINATES):
                with torch.no_grad():
                    if coordinates == "AE2":
                        read = ae2.read(of[split].codes)
                    else:
                        read = torch.stack([r(scale(of[split].codes)) for r in ratios.networks], 1)
                found = protocol(read.double().numpy(), of[split].angles, generator(seed, "ideal inputs"))
                rows.append(
                    {
                        "setting": setting,
                        "anchors": int(anchors),
                        "seed": seed,
                        "split": split,
                        "codes": source,
                        "ratios": kind,
                        "coordinates": coordinates,
                        "joints": list(fitted.joints),
                        "mse": found.mse_mean.tolist(),
                        "mcc": found.mcc_mean.tolist(),
                        "r2": found.r2_mean.tolist(),
                    }
                )
    return rows


def written(found: Mapping[str, Any]) -> str:
    """The Markdown tables of such figures, means over seeds, and what they are of."""
    text = ""
    for (setting, anchors, split), own in grouped(
        found["rows"], lambda row: (row["setting"], row["anchors"], row["split"])
    ).items():
        joints = [f"J{name[-1]}" for name in own[0]["joints"]]
        means = {
            inputs: {name: np.mean([row[name] for row in rows], axis=0) for name in ("mse", "mcc")}
            for inputs, rows in grouped(own, lambda row: (row["codes"], row["ratios"], row["coordinates"])).items()
        }
        seeds = counted(len({row["seed"] for row in own}), "training seed")
        lines = [
            [*inputs, *(f"{mse:.4f} ({mcc:.3f})" for mse, mcc in zip(mean["mse"], mean["mcc"], strict=True))]
            for inputs, mean in means.items()
        ]
        as_it_is = means[CODES[0], RATIOS[0], COORDINATES[0]]["mse"]
        shares = [
            [stage, *(f"{share:.0%}" for share in 1 - means[inputs]["mse"] / as_it_is)]
            for stage, inputs in WITHOUT.items()
        ]
        text += f"`{setting}`, {anchors:,} anchors, {TESTS[split]}, {seeds}:\n\n"
        text += table(["codes", "log ratios", "coordinates", *joints], lines) + "\n"
        text += table(["share of the error of", *joints], shares) + "\n"
    return text + (
        "Mean squared error, rad², and MCC in brackets. Scene panda-gym, without a student; "
        f"{found['device']}, version {found['version']}.\n"
    )


def main() -> None:
    """Measure and print the tables."""
    parser = options(__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--fits", nargs="+", default=list(FITS), metavar="SETTING:ANCHORS")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--page", action="store_true", help="also write the tables of docs/ropes.md")
    arguments, began = parser.parse_args(), time.monotonic()
    arguments.work.mkdir(parents=True, exist_ok=True)
    fits = product(arguments.fits, arguments.seeds)
    rows = [row for asked, seed in fits for row in measured(arguments.work, asked, seed)]
    found = {**described(began), "rows": rows}
    keep(found, "ideal-inputs", written(found), arguments.out, PAGE if arguments.page else None)


if __name__ == "__main__":
    main()

"""A data set of drawn blobs with two joints, and a recipe whose every stage takes a moment."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ropes.causal.scm import CausalModel, TruncatedNormal
from ropes.common import files, png
from ropes.data import parquet, schema, writer
from ropes.methods.recipes import (
    CNNRecipe,
    EncoderRecipe,
    JointNetRecipe,
    Optimisation,
    Recipe,
    RopesRecipe,
    VAERecipe,
    paper_recipe,
)
from ropes.methods.registry import METHODS, method_named
from ropes.metrics import PAPER_SIZES, ProtocolSizes
from ropes.models.shapes import AE1Config, AE2Config, EncoderConfig, LDRConfig, VAEConfig, ViTConfig

if TYPE_CHECKING:
    from torch import nn

CAMERAS, JOINTS = ("right", "left"), ("elbow", "wrist")
SIDE = 16
#: Poses in the test split: just enough for the evaluation by the paper's protocol.
TESTED = PAPER_SIZES.fit + PAPER_SIZES.test
#: Methods that read labels.
LABELLED = tuple(name for name in METHODS if method_named(name).reads_labels)
#: Of evaluations whose figures do not count.
SIZES = ProtocolSizes(repeats=2, fit=40, test=20)


def model() -> CausalModel:
    def tn(mean: float) -> TruncatedNormal:
        return TruncatedNormal(mean=mean, variance=0.4, low=-1.5, high=1.5)

    return CausalModel(
        joints=JOINTS,
        observational=dict.fromkeys(JOINTS, tn(0)),
        interventions=dict.fromkeys(JOINTS, (tn(0.9), tn(-0.9))),
    )


def draw(angles: NDArray[np.float64], side: int = SIDE) -> NDArray[np.uint8]:
    """(..., 2) radians → uint8 (..., 2, side, side): each camera sees a blob, the second one from behind."""
    at = (angles[..., None, :] / 3 + 0.5) * np.array([[1.0, 1.0], [-1.0, 1.0]]) + np.array([[0.0, 0.0], [1.0, 0.0]])
    grid = (np.arange(side) + 0.5) / side
    columns, rows = (np.exp(-(((grid - at[..., k, None]) / 0.15) ** 2)) for k in (0, 1))
    return np.round(255 * rows[..., :, None] * columns[..., None, :]).astype(np.uint8)


def write_splits(
    path: Path,
    plans: Sequence[writer.SplitPlan],
    states: Mapping[str, NDArray[np.float64]],
    causal: CausalModel,
    provenance: Mapping[str, object],
) -> Path:
    """Write drawn images of the angles (frames, joints) of each split, with further entries of `meta/ropes.json`."""
    features = schema.features(CAMERAS, (SIDE, SIDE), JOINTS)
    shards = writer.plan_shards(plans, len(CAMERAS))
    for shard in shards:
        angles = states[shard.split][shard.first_row : shard.first_row + shard.frames]
        images = [[png.encode(view) for view in pose] for pose in draw(angles)]
        writer.write_shard(path, shard, features, images, angles)
    described = {
        "schema": 1,
        "cameras": [{"name": name} for name in CAMERAS],
        **provenance,
        "setting": {"name": "tiny", "splits": {"train": causal.to_dict()}},
    }
    writer.finish(path, shards=shards, features=features, regimes=causal.regimes, provenance=described)
    return path


def write_data(
    path: Path,
    *,
    anchors: int = 16,
    tests: int = TESTED,
    described: bool = True,
    change: Callable[[dict[str, NDArray[np.float64]]], None] | None = None,
    **options: Any,
) -> Path:
    """Write the data set; `described` stores its distributions, as ropes simulate does.

    Options of `ropes.data.writer.write_arrays` take the place of what is drawn here.
    """
    rng, causal = np.random.default_rng(0), model()
    states = {"train": causal.sample(rng, anchors)}
    if tests:
        states["test-id"] = causal.sample_observational(rng, tests)[:, None]
    images = {split: draw(angles) for split, angles in states.items()}
    if change:
        change(states)
    given: dict[str, Any] = {
        "images": images,
        "states": states,
        "cameras": CAMERAS,
        "joints": JOINTS,
        "regimes": causal.regimes,
    }
    writer.write_arrays(path, **(given | options))
    if described:
        note = files.read_json(path / schema.PROVENANCE)
        note["setting"] = {"name": "tiny", "splits": {"train": causal.to_dict()}}
        files.write_json(path / schema.PROVENANCE, note)
    return path


def forget_angle(path: Path, split: str) -> None:
    """Put NaN in the place of an angle of a split, as if it had been recorded so."""
    change_states(path, split, lambda angles: angles[5 if split == "train" else -5].__setitem__(0, float("nan")))


def change_states(path: Path, split: str, change: Callable[[list[list[float]]], None]) -> None:
    """Change the states of the first shard of training, or of the last one, as if they had been recorded so."""
    shard = sorted(path.glob(schema.DATA_PATH.partition("/")[0] + "/*/*.parquet"))[0 if split == "train" else -1]
    table = parquet.read_table(shard)
    angles = table[schema.STATE].to_pylist()
    change(angles)
    field = table.field(schema.STATE)
    column = pa.array(angles, field.type)
    parquet.write_table(shard, table.set_column(table.column_names.index(schema.STATE), field, column))
    note = files.read_json(path / schema.PROVENANCE)
    note["files"][shard.relative_to(path).as_posix()]["sha256"] = files.sha256(shard)
    files.write_json(path / schema.PROVENANCE, note)


def count_weights(module: "nn.Module") -> int:
    """Number of weights."""
    return sum(weight.numel() for weight in module.parameters())


def recipe(**changes: Any) -> RopesRecipe:
    """Tiny widths, six steps of AE1, LDR and AE2 each."""
    small = replace(
        paper_recipe(),
        ae1=AE1Config(
            image_size=SIDE, encoder_widths=(4,), encoder_blocks=(1,), decoder_widths=(4,), decoder_blocks=(1,)
        ),
        ldr=LDRConfig(widths=(4, 4, 4), hidden=8, dropout=0.2, others=True),
        ae2=AE2Config(encoder_widths=(4, 4, 8), decoder_widths=(8, 4, 4), seed_width=8, blocks=1),
        ae1_training=Optimisation(epochs=2, batch=40, learning_rate=1e-3),
        ldr_training=Optimisation(epochs=6, batch=24, learning_rate=1e-3, weight_decay=1e-2),
        ae2_training=Optimisation(epochs=4, batch=40, learning_rate=1e-3),
        joint_ae2=True,
        sparsity_weights=(1.0,),
        val_fraction=0.25,
    )
    return replace(small, **changes)


def encoder_recipe(**changes: Any) -> EncoderRecipe:
    """A tiny encoder for the method `anchored`, trained until it reads the blobs."""
    small = EncoderRecipe(
        preset="compact",
        encoder=EncoderConfig(
            image_size=SIDE,
            stem=2,
            widths=(8, 16),
            blocks=(1, 1),
            hidden=16,
            window=8,
            window_widths=(8, 8),
            window_blocks=(1, 1),
        ),
        training=Optimisation(epochs=8, batch=20, learning_rate=1e-2),
        anchor_weight=3.0,
        val_fraction=0.25,
    )
    if changes.get("anchor_weight") == 0:
        changes["encoder"] = replace(small.encoder, window=0)
    return replace(small, **changes)


def cnn_recipe(**changes: Any) -> CNNRecipe:
    """A tiny network for the method `cnn`, trained until it reads the blobs."""
    small = CNNRecipe(
        preset="compact",
        encoder=replace(encoder_recipe().encoder, window=0),
        training=Optimisation(epochs=8, batch=20, learning_rate=1e-2),
        val_fraction=0.25,
    )
    return replace(small, **changes)


def jointnet_recipe(**changes: Any) -> JointNetRecipe:
    """A tiny transformer for the method `jointnet`, pre-trained for some steps, then trained on the blobs."""
    small = JointNetRecipe(
        preset="compact",
        vit=ViTConfig(
            image_size=SIDE,
            patch=4,
            width=32,
            depth=2,
            heads=2,
            predictor_width=16,
            predictor_depth=1,
            predictor_heads=2,
            hidden=32,
            rounds=2,
        ),
        pretraining=Optimisation(epochs=0.2, batch=20, learning_rate=1e-3),
        training=Optimisation(epochs=12, batch=20, learning_rate=1e-3, clip=1.0),
        val_fraction=0.25,
    )
    return replace(small, **changes)


def vae_recipe(**changes: Any) -> VAERecipe:
    """A tiny VAE of colour images, trained for some steps."""
    small = VAERecipe(
        preset="compact",
        vae=VAEConfig(image_size=SIDE, stem=4, widths=(4, 8), blocks=1, hidden=16, latents=4),
        training=Optimisation(epochs=3, batch=8, learning_rate=1e-3, clip=1.0),
        val_fraction=0.25,
    )
    return replace(small, **changes)


def recipe_of(method: str) -> Recipe:
    """The tiny recipe of a method."""
    match method:
        case "ropes":
            return recipe()
        case "cnn":
            return cnn_recipe()
        case "jointnet":
            return jointnet_recipe()
        case "ada-gvae" | "beta-vae":
            return vae_recipe()
        case _:
            return encoder_recipe(anchor_weight=3.0 * (method == "anchored"))


def short(recipe: Recipe, epochs: float = 0.5) -> Recipe:
    """The recipe with at most this many epochs of each training."""
    trainings = {name: value for name, value in vars(recipe).items() if isinstance(value, Optimisation)}
    few: dict[str, Any] = {name: replace(value, epochs=min(epochs, value.epochs)) for name, value in trainings.items()}
    return replace(recipe, **few)


def weights(run: Path) -> dict[str, str]:
    """Digest of every file of weights in a run."""
    found = sorted(run.rglob("weights.safetensors"))
    return {str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def size_of(folder: Path) -> int:
    """Bytes of all its files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def tree(path: Path) -> dict[str, str]:
    """Digest of every file in a folder; nothing for a folder that is not there."""
    found = sorted(entry for entry in path.rglob("*") if entry.is_file())
    return {str(entry.relative_to(path)): hashlib.sha256(entry.read_bytes()).hexdigest() for entry in found}

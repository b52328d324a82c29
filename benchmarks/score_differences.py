"""How far the gradients of the density ratios are score differences: of the codes, and of the angles.

    python -m benchmarks.score_differences --run FOLDER [--poses 500] [--step .05] [--out FILE] [--page]

FOLDER is that of `ropes reproduce eq3`.  Each joint of a test pose is moved by ± STEP and the arm rendered, so the
Jacobian J of the codes y by the angles z is known without a decoder, up to the step.  With Δs_i = ∇_y LDR_i(y):

- along: E ‖P Δs_i‖ / ‖Δs_i‖ with P the projection on the span of J, the tangent of the surface of codes.  A score
  difference of the codes has a part off it, which depends on how densities are continued off the surface;
- mean: E (Jᵀ Δs_i)_i as a share of the exact mean derivative of log q_i(z_i) − log q̄_i(z_i);
- error: E ‖Jᵀ Δs_i − exact‖² / E ‖exact‖², over all joints, in units of each joint's deviation: 0 for a score
  difference, 1 for no gradient;
- own and beside: Eq. 3's matrix E|J_gᵀ Δs_i| for the true angles as coordinates, each scaled such that the second term
  of Eq. 3 is least: at coordinate i, and its maximum over the others.  Exact score differences have 1 and 0;
- second term: that of Eq. 3, Σ_i ‖E|J_gᵀ Δs_i| − e_i‖², for these coordinates.

The density ratios are those of every setting of FOLDER, from codes with and without noise, and smoothed.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.figures import described, keep, options, origin, table
from ropes.causal.scm import CausalModel
from ropes.common.arrays import Floats
from ropes.data.layout import open_dataset
from ropes.data.views import planes, squares
from ropes.methods.policies import described_model
from ropes.methods.recipes import RopesRecipe, ropes_recipe
from ropes.methods.run import Run
from ropes.models.autoencoder import AE1, Standardise
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.models.density_ratio import LDR, score_difference, softplus_copy
from ropes.simulation.settings import Setting
from ropes.simulation.workers import arm_scene

PAGE = Path(__file__).parents[1] / "docs" / "eq3.md"
TEST = "test-id"
#: Variants of method ropes whose density ratios differ, and what from.
VARIANTS = {
    "classifier": "codes",
    "encoder-whitened-softplus-noise": "codes with noise of .05 or .1",
    "encoder-noise": "codes with noise of .2 or .4",
    "encoder-noise-0.3": "codes with noise of .3 or .6",
}
#: Figures of each joint.
KINDS = "along", "mean", "error", "own", "beside"
_BETA = ropes_recipe("compact").softplus_beta


def moved(poses: Floats, step: float) -> Floats:
    """Poses (n, d) with each joint one step forward, then one backward: (n, d, 2, d)."""
    steps = step * np.eye(poses.shape[1])
    return poses[:, None, None] + np.stack([steps, -steps], 1)


def inside(model: CausalModel, joints: tuple[str, ...], poses: Floats, step: float) -> Floats:
    """The poses at which both policies have a density one step to either side of every joint."""
    ratios = [
        model.log_density_ratio(joint, poses[:, k] + shift) for k, joint in enumerate(joints) for shift in (-step, step)
    ]
    return poses[np.isfinite(ratios).all(0)]


def exact(model: CausalModel, joints: tuple[str, ...], poses: Floats, step: float) -> Floats:
    """Derivatives of the log ratio of each joint's policies, by central differences, (n, d) nats a radian."""
    return np.stack(
        [
            (model.log_density_ratio(joint, angles + step) - model.log_density_ratio(joint, angles - step)) / (2 * step)
            for joint, angles in zip(joints, poses.T, strict=True)
        ],
        1,
    )


def codes_of(
    ae1: AE1, scale: Standardise, setting: Setting, joints: tuple[str, ...], poses: Floats, side: int
) -> Tensor:
    """Render poses (n, d): their standardised codes (n, V, 8, 8)."""
    with arm_scene(setting, joints) as scene, torch.no_grad():
        images = planes(squares(np.stack(list(scene.render_all(poses))), side))
        values = torch.from_numpy(images).float().div_(255)
        return torch.cat([scale(ae1.encode_views(part)) for part in values.split(256)])


def rows_of(folder: Path, seed: int, count: int, step: float) -> Iterator[dict[str, Any]]:
    """The figures of each joint, with each variant's density ratios, of one setting's folder."""
    dataset = open_dataset(folder / "data")
    first = folder / "ropes@classifier" / f"seed-{seed}"
    run = Run.read(first)
    recipe = run.recipe
    assert isinstance(recipe, RopesRecipe)
    model = described_model(dataset)
    assert model is not None
    assert dataset.provenance is not None
    setting = Setting.from_dict(dataset.provenance["setting"])
    angles = dataset.states(TEST)
    poses = inside(model, run.joints, angles, step)[:count]
    ae1, scale = AE1(recipe.ae1, run.channels).eval(), Standardise(len(run.cameras))
    load_weights(ae1, first / "ae1" / WEIGHTS)
    load_weights(scale, first / "codes" / WEIGHTS)
    side = recipe.ae1.image_size
    codes = codes_of(ae1, scale, setting, run.joints, poses, side)
    steps = codes_of(ae1, scale, setting, run.joints, moved(poses, step).reshape(-1, poses.shape[1]), side)
    ends = steps.flatten(1).unflatten(0, (*poses.shape, 2)).double()
    jacobian = ((ends[:, :, 0] - ends[:, :, 1]) / (2 * step)).transpose(1, 2)  # (n, codes, d)
    tangent, _ = torch.linalg.qr(jacobian)
    wanted = torch.from_numpy(exact(model, run.joints, poses, step))
    deviations = torch.from_numpy(angles.std(0))
    for variant, source in VARIANTS.items():
        for beta in (0.0, _BETA) if variant == "classifier" else (0.0,):
            matrix, rows = wanted.new_empty(len(run.joints), len(run.joints)), []
            for k, joint in enumerate(run.joints):
                ratio = LDR(recipe.ldr, views=len(run.cameras)).eval()
                load_weights(ratio, folder / f"ropes@{variant}" / f"seed-{seed}" / "ldr" / joint / WEIGHTS)
                scores = score_difference(softplus_copy(ratio.requires_grad_(False), beta), codes).flatten(1).double()
                along = (tangent.transpose(1, 2) @ scores[:, :, None]).norm(dim=(1, 2)) / scores.norm(dim=1)
                pulled = (jacobian.transpose(1, 2) @ scores[:, :, None])[:, :, 0]
                target = torch.zeros_like(pulled)
                target[:, k] = wanted[:, k]
                wrong, known = (((part * deviations) ** 2).sum() for part in (pulled - target, target))
                matrix[k] = pulled.abs().mean(0)
                rows.append(
                    {
                        "setting": folder.name,
                        "seed": seed,
                        "ratios": source + (", smoothed" if beta else ""),
                        "joint": joint,
                        "poses": len(poses),
                        "code_change": float(jacobian[:, :, k].norm(dim=1).mean()),  # for each radian
                        "along": float(along.mean()),
                        "mean": float(pulled[:, k].mean() / wanted[:, k].mean()),
                        "error": float(wrong / known),
                    }
                )
            scaled = matrix * (matrix.diagonal() / matrix.square().sum(0))
            beside = (scaled - torch.diag(scaled.diagonal())).amax(1)
            term = (scaled - torch.eye(len(scaled))).square().sum()
            for row, own, other in zip(rows, scaled.diagonal().tolist(), beside.tolist(), strict=True):
                yield {**row, "own": own, "beside": other, "second_term": float(term)}


def written(found: dict[str, Any]) -> str:
    """The Markdown tables of such figures, one for each setting, and what they are of."""
    text = ""
    for name in dict.fromkeys(row["setting"] for row in found["rows"]):
        own = [row for row in found["rows"] if row["setting"] == name]
        joints = list(dict.fromkeys(row["joint"] for row in own))
        lines = []
        for source in dict.fromkeys(row["ratios"] for row in own):
            of = {row["joint"]: row for row in own if row["ratios"] == source}
            figures = [" ".join(f"{of[joint][kind]:.2f}" for joint in joints) for kind in KINDS]
            lines.append([source, *figures, f"{of[joints[0]]['second_term']:.2f}"])
        text += f"`{name}`, {own[0]['poses']} test poses:\n\n"
        text += table(["density ratios of", *KINDS, "second term"], lines) + "\n"
    return text + f"Steps of {found['step']} rad; {origin(found)}.\n"


def main() -> None:
    """Measure and print the tables."""
    parser = options(__doc__)
    parser.add_argument("--run", type=Path, required=True, help="folder of ropes reproduce eq3")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--poses", type=int, default=500)
    parser.add_argument("--step", type=float, default=0.05, help="by which joints are moved, rad")
    parser.add_argument("--page", action="store_true", help="also write the tables of docs/eq3.md")
    given, began = parser.parse_args(), time.monotonic()
    folders = sorted(path.parent for path in given.run.glob("*/data"))
    if not folders:
        raise SystemExit(f"{given.run} has no data set; give the folder of ropes reproduce eq3")
    rows = [row for folder in folders for row in rows_of(folder, given.seed, given.poses, given.step)]
    found = {**described(began), "step": given.step, "rows": rows}
    keep(found, "score-differences", written(found), given.out, PAGE if given.page else None)


if __name__ == "__main__":
    main()

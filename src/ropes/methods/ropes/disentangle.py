"""The third stage of ROPES: trains AE2, and selects λ on held-out anchors."""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.methods.context import Context
from ropes.methods.recipes import recipe_to_dict
from ropes.methods.ropes.codes import Codes
from ropes.methods.ropes.criteria import held_out_contrasts
from ropes.methods.ropes.objectives import decode_with_scores, sparsity_matrix, tangent_share
from ropes.methods.ropes.reader import network_of_codes
from ropes.methods.ropes.stages import AE2Stage, DecodedRatios, standardised_codes
from ropes.methods.training.initial_weights import seeded
from ropes.methods.training.loop import Inputs
from ropes.methods.training.sampling import EpochShuffle
from ropes.models.autoencoder import AE2, Standardise
from ropes.models.dense import DenseAE2, Directions
from ropes.models.density_ratio import softplus_copy

#: Folder of the directions in which AE2 works.
DIRECTIONS = "directions"
_HELD_OUT_POSES = 512
#: Version of `score_loss`: a checkpoint of an earlier version is discarded and training restarts.
_SCORE_LOSS = 2


@dataclass(frozen=True)
class Disentangled:
    """Result of the third stage.

    Attributes:
        summaries: network → summary of its training; networks are named after their joints, or "joint" for one of all.
        matrix: E|J_gᵀ Δs_i| on held-out poses, row i from the network of coordinate i; (d, d).
        tangent: `tangent_share` of Δs_i for the network of coordinate i, on held-out poses; (d,).
        contrasts: joint → held-out contrast of its coordinate, nats.
        sparsity_weight: λ.
        search: candidate λ → mean held-out contrast; empty for a single λ.
    """

    summaries: dict[str, dict[str, Any]]
    matrix: Tensor
    tangent: Tensor
    contrasts: dict[str, float]
    sparsity_weight: float
    search: dict[str, float]


class AE2Trainer:
    """Trains AE2s on fixed codes and score differences.

    Args:
        context: of the fit.
        codes: codes of the training poses.
        held_out: codes of the held-out poses.
        ratios: log density ratio of the two policies on each joint, from codes (B, V, 8, 8) to (B,).
        scale: standardisation of the codes, with which networks begin.
        upstream: digests of the stages before, part of each network's digest.
        inputs: weights of the stages before, see `Context.train`.

    Attributes:
        networks: name of each AE2 → indices of the joints of its coordinates.
        directions: directions in which AE2 works; None for codes as they are.
    """

    def __init__(
        self,
        context: Context,
        codes: Codes,
        held_out: Codes,
        ratios: list[torch.nn.Module],
        scale: Standardise,
        upstream: list[str],
        inputs: Inputs | None = None,
    ) -> None:
        self.context, self.codes, self.held_out, self.inputs = context, codes, held_out, inputs
        self.ratios, self.scale, self.upstream = ratios, scale, upstream
        for ratio in ratios:
            ratio.requires_grad_(False).to(context.device)
        smooth = [softplus_copy(ratio, context.recipe.softplus_beta) for ratio in ratios]
        self.scores = codes.scores(smooth, context.device, show=context.show)
        self.held_scores = held_out.scores(smooth, context.device)
        self.logits = codes.logits(ratios, context.device)
        self.held_logits = held_out.logits(ratios, context.device)
        self.held_scores_of_codes = self.held_scores
        self.directions = self._directions()
        sample = EpochShuffle(len(held_out.values), min(len(held_out.values), _HELD_OUT_POSES), context.seed("ae2"))
        self.sample = sample(0)
        self.networks = context.recipe.networks(context.run.joints)

    def _directions(self) -> Directions | None:
        """The directions in which AE2 works; projects codes and score differences on them.  None without a basis."""
        recipe = self.context.recipe
        if recipe.basis == "none":
            return None
        run = self.context.run
        count = recipe.count_directions(views=len(run.cameras), joints=len(run.joints))
        directions = Directions.of(self.codes.values, count, self.scores if recipe.basis == "scores" else None)
        stored = self.context.store_once(directions, DIRECTIONS, self._digest_of_directions(count), self.inputs)
        self.upstream = [*self.upstream, stored]
        self.codes, self.held_out = (
            Codes(directions(part.values), part.regime, part.regimes) for part in (self.codes, self.held_out)
        )
        self.scores, self.held_scores = directions.gradients(self.scores), directions.gradients(self.held_scores)
        return directions

    def _digest_of_directions(self, count: int) -> str:
        """Digest of the inputs of the directions."""
        basis = self.context.recipe.basis
        smooth = [self.context.recipe.softplus_beta] if basis == "scores" else []
        return self.context.digest("directions", basis, count, *smooth, self.upstream)

    def train(self, name: str, weight: float, *, share: float = 1.0) -> tuple[AE2 | DenseAE2, dict[str, Any]]:
        """Train one network with λ = `weight` for a share of the recipe's epochs."""
        context, recipe, columns = self.context, self.context.recipe, self.networks[name]
        optimisation = recipe.ae2_training.shortened(share)
        run = context.run

        def build() -> AE2 | DenseAE2:
            network = network_of_codes(recipe, views=len(run.cameras), joints=len(run.joints))
            if isinstance(network, AE2):
                network.initialise(self.scale)
            else:
                assert self.directions is not None
                network.initialise(self.scale, self.directions)
            return network

        order = EpochShuffle(len(self.codes.values), optimisation.batch, context.seed("ae2", name, "order"))
        targets = torch.eye(len(run.joints))
        count = min(recipe.sparsity_rows or len(columns), len(columns))

        def batch_at(step: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
            rows = torch.from_numpy(order(step))
            subset = [columns[(step * count + k) % len(columns)] for k in range(count)]
            scores = torch.stack([self.scores[rows, k] for k in subset])
            return self.codes.values[rows], scores, targets[subset], self.logits[rows][:, columns]

        network = seeded(context.seed("ae2", name, "weights"), build).to(memory_format=torch.channels_last)
        steps = optimisation.steps(len(self.codes.values))
        stage = AE2Stage(
            network,
            optimisation,
            steps=steps,
            seed=context.seed("ae2", name),
            columns=columns,
            weights={
                "sparsity": weight,
                "logit": recipe.logit_weight,
                "decoded_logit": recipe.decoded_logit_weight,
                "score": recipe.score_weight,
            },
            sparsity_start=round(recipe.sparsity_start * steps),
            sparsity_of_mean=recipe.sparsity_of_mean,
            ratios=DecodedRatios([self.ratios[k] for k in columns], self.directions),
            held_out=(*self._held(columns), targets[columns], self.held_logits[self.sample][:, columns]),
        )
        folder = f"ae2/{name}" if share == 1.0 else f"search/lambda-{weight:g}/{name}"
        options = ("decoded_logit_weight", "softplus_beta", "sparsity_start", "sparsity_of_mean")
        further = {name: value for name in options if (value := getattr(recipe, name))}
        settings = (
            name,
            weight,
            count,
            recipe.logit_weight,
            *([recipe.score_weight, _SCORE_LOSS] if recipe.score_weight else []),
            *([further] if further else []),
        )
        settings += (recipe.basis, recipe.directions) if self.directions else ()
        settings += (recipe.dense_layers,) if self.directions and recipe.dense_layers != 2 else ()
        fingerprint = context.digest("ae2", *settings, asdict(recipe.ae2), recipe_to_dict(optimisation), self.upstream)
        return network, context.train(stage, batch_at, folder, fingerprint, full=True, inputs=self.inputs)

    def _held(self, columns: list[int]) -> tuple[Tensor, Tensor]:
        return self.held_out.values[self.sample], self.held_scores[self.sample][:, columns].transpose(0, 1)

    def contrasts(self, networks: dict[str, AE2 | DenseAE2]) -> dict[str, float]:
        """Held-out contrast of each joint's coordinate."""
        joints, contrasts = self.context.run.joints, {}
        for name, network in networks.items():
            columns = {joints[k]: k for k in self.networks[name]}
            contrasts.update(held_out_contrasts(network, self.held_out, columns))
        return contrasts

    def choose_weight(self) -> tuple[float, dict[str, float]]:
        """The λ of the least mean held-out contrast after a short training, and the contrast of each candidate.

        Only the first network is trained: with one AE2 per joint, that of the first joint.
        """
        candidates = self.context.recipe.sparsity_weights
        if len(candidates) == 1:
            return candidates[0], {}
        name = next(iter(self.networks))
        means = {}
        for weight in candidates:
            network, _ = self.train(name, weight, share=self.context.recipe.search_share)
            means[weight] = float(np.mean(list(self.contrasts({name: network}).values())))
        return min(means, key=means.__getitem__), {f"{weight:g}": mean for weight, mean in means.items()}

    def matrix(self, networks: dict[str, AE2 | DenseAE2]) -> tuple[Tensor, Tensor]:
        """`Disentangled.matrix` and `Disentangled.tangent`."""
        joints = len(self.context.run.joints)
        rows, shares = torch.empty(joints, joints), torch.empty(joints)
        for name, network in networks.items():
            columns = self.networks[name]
            codes, scores = self._held(columns)
            with torch.no_grad():
                coordinates = network.encode(codes)
            _, latent = decode_with_scores(network.decode, coordinates, scores)
            rows[columns] = sparsity_matrix(latent).detach()
            of_codes = self.held_scores_of_codes[self.sample][:, columns].transpose(0, 1)
            shares[columns] = tangent_share(partial(self._decode, network), coordinates, of_codes).detach()
        return rows, shares

    def _decode(self, network: AE2 | DenseAE2, coordinates: Tensor) -> Tensor:
        """Coordinates (B, d) → standardised codes (B, V, 8, 8)."""
        return standardised_codes(network.decode(coordinates), self.directions)


def fit_ae2(
    context: Context,
    codes: Codes,
    held_out: Codes,
    ratios: list[torch.nn.Module],
    scale: Standardise,
    upstream: list[str],
    inputs: Inputs,
) -> Disentangled:
    """Train AE2, one for all joints or one per joint as the recipe says (ROPES Eq. 3, Section 3.3)."""
    trainer = AE2Trainer(context, codes, held_out, ratios, scale, upstream, inputs)
    weight, search = trainer.choose_weight()
    networks, summaries = {}, {}
    for name in trainer.networks:
        networks[name], summaries[name] = trainer.train(name, weight)
    return Disentangled(summaries, *trainer.matrix(networks), trainer.contrasts(networks), weight, search)

"""The third stage of ROPES: trains AE2, and chooses λ on held-out anchors."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ropes.methods.codes import Codes
from ropes.methods.context import Context
from ropes.methods.criteria import held_out_contrasts
from ropes.methods.objectives import decode_with_scores, sparsity_matrix, tangent_share
from ropes.methods.readers import network_of_codes
from ropes.methods.recipes import recipe_to_dict
from ropes.methods.sampling import EpochShuffle
from ropes.methods.stages import AE2Stage, seeded
from ropes.models.autoencoder import AE2, Standardise
from ropes.models.dense import DenseAE2, Directions

_HELD_OUT_POSES = 512


@dataclass(frozen=True)
class Disentangled:
    """Outcome of the third stage.

    Attributes:
        summaries: by network: each joint's name, or "joint" for the one of all.
        matrix: E|J_gᵀ Δs_i| on held-out poses, row i from the network that gives coordinate i; (d, d).
        tangent: share of Δs_i that lies along the codes that this network draws, on held-out poses; (d,).
        contrasts: joint → held-out contrast of its coordinate, nats.
        sparsity_weight: λ.
        search: λ → mean held-out contrast, where there was a choice.
    """

    summaries: dict[str, dict[str, Any]]
    matrix: Tensor
    tangent: Tensor
    contrasts: dict[str, float]
    sparsity_weight: float
    search: dict[str, float]


class _Trainer:
    """Trains AE2s on fixed codes and score differences."""

    def __init__(
        self,
        context: Context,
        codes: Codes,
        held_out: Codes,
        ratios: list[torch.nn.Module],
        scale: Standardise,
        upstream: list[str],
    ) -> None:
        self.context, self.codes, self.held_out, self.scale, self.upstream = (
            context,
            codes,
            held_out,
            scale,
            upstream,
        )
        for ratio in ratios:
            ratio.requires_grad_(False).to(context.device)
        self.scores = codes.scores(ratios, context.device, show=context.show)
        self.held_scores = held_out.scores(ratios, context.device)
        self.logits = codes.logits(ratios, context.device)
        self.held_logits = held_out.logits(ratios, context.device)
        self.held_in_codes = self.held_scores
        self.directions = self._directions()
        sample = EpochShuffle(len(held_out.values), min(len(held_out.values), _HELD_OUT_POSES), context.seed("ae2"))
        self.sample = sample(0)
        self.networks = context.recipe.networks(context.run.joints)

    def _directions(self) -> Directions | None:
        """The directions that AE2 works in, in which codes and score differences are from here on; None for none."""
        recipe = self.context.recipe
        if recipe.basis == "none":
            return None
        count = recipe.directions or len(self.context.run.joints)
        found = Directions.of(self.codes.values, count, self.scores if recipe.basis == "scores" else None)
        self.codes, self.held_out = (
            Codes(found(part.values), part.regime, part.regimes) for part in (self.codes, self.held_out)
        )
        self.scores, self.held_scores = found.gradients(self.scores), found.gradients(self.held_scores)
        return found

    def train(self, name: str, weight: float, *, share: float = 1.0) -> tuple[AE2 | DenseAE2, dict[str, Any]]:
        """Train one network with λ = `weight` for a share of the recipe's epochs."""
        context, recipe, columns = self.context, self.context.recipe, self.networks[name]
        whole = recipe.ae2_training
        optimisation = replace(whole, epochs=whole.epochs * share, min_samples=round(whole.min_samples * share))
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
        drawn = min(recipe.sparsity_rows or len(columns), len(columns))

        def batch_at(step: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
            rows = torch.from_numpy(order(step))
            some = [columns[(step * drawn + k) % len(columns)] for k in range(drawn)]
            scores = torch.stack([self.scores[rows, k] for k in some])
            return self.codes.values[rows], scores, targets[some], self.logits[rows][:, columns]

        network = seeded(context.seed("ae2", name, "weights"), build).to(memory_format=torch.channels_last)
        stage = AE2Stage(
            network,
            optimisation,
            steps=optimisation.steps(len(self.codes.values)),
            seed=context.seed("ae2", name),
            columns=columns,
            sparsity_weight=weight,
            logit_weight=recipe.logit_weight,
            score_weight=recipe.score_weight,
            held_out=(*self._held(columns), targets[columns], self.held_logits[self.sample][:, columns]),
        )
        folder = f"ae2/{name}" if share == 1.0 else f"search/lambda-{weight:g}/{name}"
        asked = name, weight, drawn, recipe.logit_weight, *([recipe.score_weight] if recipe.score_weight else [])
        asked += (recipe.basis, recipe.directions) if self.directions else ()
        fingerprint = context.digest("ae2", *asked, asdict(recipe.ae2), recipe_to_dict(optimisation), self.upstream)
        return network, context.train(stage, batch_at, folder, fingerprint, full=True)

    def _held(self, columns: list[int]) -> tuple[Tensor, Tensor]:
        return self.held_out.values[self.sample], self.held_scores[self.sample][:, columns].transpose(0, 1)

    def contrasts(self, networks: dict[str, AE2 | DenseAE2]) -> dict[str, float]:
        """Held-out contrast of each joint's coordinate."""
        joints, found = self.context.run.joints, {}
        for name, network in networks.items():
            columns = {joints[k]: k for k in self.networks[name]}
            found.update(held_out_contrasts(network, self.held_out, columns))
        return found

    def choose_weight(self) -> tuple[float, dict[str, float]]:
        """The λ whose coordinates tell the policies apart best on held-out anchors, after a short training each.

        Only the first network is tried: with one AE2 a joint the choice is made on the first joint's.
        """
        candidates = self.context.recipe.sparsity_weights
        if len(candidates) == 1:
            return candidates[0], {}
        name = next(iter(self.networks))
        found = {}
        for weight in candidates:
            network, _ = self.train(name, weight, share=self.context.recipe.search_share)
            found[weight] = float(np.mean(list(self.contrasts({name: network}).values())))
        return min(found, key=found.__getitem__), {f"{weight:g}": value for weight, value in found.items()}

    def matrix(self, networks: dict[str, AE2 | DenseAE2]) -> tuple[Tensor, Tensor]:
        """On held-out poses E|J_gᵀ Δs_i|, (d, d), and the share of Δs_i along the codes that are drawn, (d,)."""
        joints = len(self.context.run.joints)
        rows, shares = torch.empty(joints, joints), torch.empty(joints)
        for name, network in networks.items():
            columns = self.networks[name]
            codes, scores = self._held(columns)
            with torch.no_grad():
                coordinates = network.encode(codes)
            _, latent = decode_with_scores(network.decode, coordinates, scores)
            rows[columns] = sparsity_matrix(latent).detach()
            in_codes = self.held_in_codes[self.sample][:, columns].transpose(0, 1)
            shares[columns] = tangent_share(partial(self._drawn, network), coordinates, in_codes).detach()
        return rows, shares

    def _drawn(self, network: AE2 | DenseAE2, coordinates: Tensor) -> Tensor:
        """What a network draws from coordinates (B, d), as standardised codes (B, V, 8, 8)."""
        drawn = network.decode(coordinates)
        return drawn if self.directions is None else self.directions.inverse(drawn)


def fit_ae2(
    context: Context,
    codes: Codes,
    held_out: Codes,
    ratios: list[torch.nn.Module],
    scale: Standardise,
    upstream: list[str],
) -> Disentangled:
    """Train AE2, one for all joints or one for each as the recipe says (ROPES Eq. 3, Section 3.3)."""
    trainer = _Trainer(context, codes, held_out, ratios, scale, upstream)
    weight, search = trainer.choose_weight()
    networks, summaries = {}, {}
    for name in trainer.networks:
        networks[name], summaries[name] = trainer.train(name, weight)
    return Disentangled(summaries, *trainer.matrix(networks), trainer.contrasts(networks), weight, search)

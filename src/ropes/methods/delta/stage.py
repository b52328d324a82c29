"""The training stage of causal delta embeddings and of their baselines.

Source: causal delta embeddings (arXiv 2508.04492); Causal Triplet (Liu et al. 2023).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ropes.methods.recipes import DeltaRecipe
from ropes.methods.training.augmentation import random_crops, random_mirrors
from ropes.methods.training.best_weights import BestWeightsStage
from ropes.models.blocks import as_levels
from ropes.models.delta import DeltaNetwork, PairNetwork, Reading, reversed_gradient

_CHUNK = 128
#: Images of pairs (B, 2, …), numbers of verbs (B,) and of nouns (B,).
Batch = tuple[Tensor, Tensor, Tensor]


class DeltaStage(BestWeightsStage):
    """Classification of the verb from the delta δ = φ(x̃) − φ(x), plus the terms of the recipe.

        L = CE(verb | δ) + w_c L_SupCon(δ) + w_s E‖δ‖₁ (+ critic of ICM, + block sparsity of SMS)

    Ends with the weights of the least held-out error.

    Args:
        network: to train.
        recipe: its settings.
        steps: number of training steps.
        seed: of its noise.
        held_out: pairs for `evaluate`.
        block_of: index of each verb's block of φ, (verbs,): antonyms share one.
    """

    network: DeltaNetwork | PairNetwork
    rate_option = "--training.learning-rate"
    criterion = "held_out_error"

    def __init__(
        self,
        network: DeltaNetwork | PairNetwork,
        recipe: DeltaRecipe,
        *,
        steps: int,
        seed: int,
        held_out: Batch,
        block_of: Tensor,
    ) -> None:
        super().__init__(network, recipe.training, steps=steps, seed=seed)
        self.recipe, self.held_out, self.block_of = recipe, held_out, block_of
        self.contrast = contrastive_loss(recipe.temperature, summed=recipe.contrast_sum)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Pairs with their verbs and nouns → loss."""
        images, verbs, nouns = batch
        views = random_views(as_levels(images[:, 0]), as_levels(images[:, 1]), self.recipe.crop)
        outputs = self.spread(self.network, *views)
        terms = self._terms(outputs, verbs, nouns)
        self.note(**{name: value for name, (_, value) in terms.items()})
        return torch.stack([weight * value for weight, value in terms.values()]).sum()

    def _terms(self, outputs: Reading, verbs: Tensor, nouns: Tensor) -> dict[str, tuple[float, Tensor]]:
        """Name → weight and value of each term of the loss; patches count as samples of their own."""
        recipe, patches = self.recipe, outputs.logits.shape[1]
        of_each = verbs.repeat_interleave(patches)
        deltas = outputs.deltas.flatten(0, 1)
        terms = {"classification": (1.0, functional.cross_entropy(outputs.logits.flatten(0, 1), of_each))}
        if recipe.contrast:
            # With `contrast_sum` the sum over the batch, but the mean over patches.
            divisor = patches if recipe.contrast_sum else 1
            terms["contrast"] = recipe.contrast, self.contrast(deltas, of_each) / divisor
        if recipe.sparsity:
            terms["sparsity"] = recipe.sparsity, deltas.abs().sum(-1).mean()
        if recipe.independence and isinstance(self.network, PairNetwork) and self.network.critic is not None:
            noun_logits = self.network.critic(reversed_gradient(deltas, recipe.independence))
            terms["critic"] = 1.0, functional.cross_entropy(noun_logits.float(), nouns)
        if recipe.blocks:
            block, count = self.block_of.to(verbs.device)[verbs], int(self.block_of.max()) + 1
            terms["outside"] = recipe.blocks, change_outside(outputs, block, count)
        return terms

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Error rate and cross-entropy of the verb on held-out pairs."""
        images, verbs, _ = self.held_out
        wrong = loss = 0.0
        for first in range(0, len(verbs), _CHUNK):
            part = images[first : first + _CHUNK].to(self.device)
            labels = verbs[first : first + _CHUNK].to(self.device)
            probabilities = self.network(as_levels(part[:, 0]), as_levels(part[:, 1])).shares
            wrong += float((probabilities.argmax(1) != labels).sum())
            loss += float(functional.nll_loss(probabilities.clamp_min(1e-9).log(), labels, reduction="sum"))
        error, loss = wrong / len(verbs), loss / len(verbs)
        self.update_best(error)
        return {"held_out_error": error, "held_out_loss": loss}


def random_views(before: Tensor, after: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """The same random crop and mirroring of both images of each pair, (B, C, S, S); unchanged for `least` = 1."""
    if least >= 1:
        return before, after
    first, second = random_mirrors(random_crops(torch.cat([before, after], dim=1), least)).chunk(2, dim=1)
    channels_last = torch.channels_last
    return first.contiguous(memory_format=channels_last), second.contiguous(memory_format=channels_last)


def contrastive_loss(temperature: float, *, summed: bool = False) -> Callable[[Tensor, Tensor], Tensor]:
    """Supervised contrastive loss of deltas (n, l) with their verbs (n,), by cosine similarity.

        L = −E_i mean_{p: verb_p = verb_i} log( exp(cos(δ_i, δ_p) / τ) / Σ_{k ≠ i} exp(cos(δ_i, δ_k) / τ) )

    The cosine ignores the lengths of the deltas, which the L1 term shrinks.

    Deviation: the contrastive loss is the mean over the batch, unless the recipe sets `contrast_sum`.  Why: it is the
    library's default.  Effect: if the paper means the sum over the batch, as another summary writes it, its weight of 2
    counts B (32 to 64) times as much.  On single objects accuracies hardly change, and deltas are less sparse (one
    seed, docs/deltas.md).

    Source: Khosla et al. 2020, in the implementation of pytorch-metric-learning.

    Args:
        temperature: τ.
        summed: the sum over the batch instead of the mean.
    """
    from pytorch_metric_learning.distances import CosineSimilarity
    from pytorch_metric_learning.losses import SupConLoss
    from pytorch_metric_learning.reducers import SumReducer

    over: dict[str, Any] = {"reducer": SumReducer()} if summed else {}
    loss: Callable[[Tensor, Tensor], Tensor] = SupConLoss(temperature=temperature, distance=CosineSimilarity(), **over)
    return loss


def change_outside(outputs: Reading, block: Tensor, count: int) -> Tensor:
    """Mean squared change of φ outside each action's block (B,); φ has `count` blocks of equal size."""
    size = outputs.before.shape[1]
    of_dimension = torch.arange(size, device=block.device) * count // size
    outside = of_dimension[None] != block[:, None]
    return ((outputs.after - outputs.before).square() * outside).mean()

"""The training stage of causal delta embeddings and of their baselines.

Source: causal delta embeddings (arXiv 2508.04492); Causal Triplet (Liu et al. 2023).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from ropes.methods.augmentation import random_crops, random_mirrors
from ropes.methods.best_weights import KeptWeightsStage
from ropes.methods.recipes import DeltaRecipe
from ropes.models.blocks import as_levels
from ropes.models.delta import DeltaNetwork, PairNetwork, Reading, reversed_gradient

_CHUNK = 128
#: Images of pairs (B, 2, …), numbers of verbs (B,) and of nouns (B,).
Batch = tuple[Tensor, Tensor, Tensor]


class DeltaStage(KeptWeightsStage):
    """Cross-entropy of the verb, and what a method adds to it; ends with the weights of the least held-out error.

    Args:
        network: to train.
        recipe: how.
        steps: of the training.
        seed: of its noise.
        held_out: pairs that a record asks.
        block_of: block of φ that belongs to each verb, (verbs,): antonyms share one.
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
        found = self.network(*random_views(as_levels(images[:, 0]), as_levels(images[:, 1]), self.recipe.crop))
        terms = self._terms(found, verbs, nouns)
        self.note(**{name: value for name, (_, value) in terms.items()})
        return torch.stack([weight * value for weight, value in terms.values()]).sum()

    def _terms(self, found: Reading, verbs: Tensor, nouns: Tensor) -> dict[str, tuple[float, Tensor]]:
        """Name → weight and value of each term of the loss; of patches, each of them counts by itself."""
        recipe, chosen = self.recipe, found.logits.shape[1]
        of_each = verbs.repeat_interleave(chosen)
        deltas = found.deltas.flatten(0, 1)
        terms = {"classification": (1.0, functional.cross_entropy(found.logits.flatten(0, 1), of_each))}
        if recipe.contrast:
            # Summed over the batch, and over patches the mean.
            terms["contrast"] = recipe.contrast, self.contrast(deltas, of_each) / (chosen if recipe.contrast_sum else 1)
        if recipe.sparsity:
            terms["sparsity"] = recipe.sparsity, deltas.abs().sum(-1).mean()
        if recipe.independence and isinstance(self.network, PairNetwork) and self.network.critic is not None:
            told = self.network.critic(reversed_gradient(deltas, recipe.independence))
            terms["critic"] = 1.0, functional.cross_entropy(told.float(), nouns)
        if recipe.blocks:
            terms["outside"] = recipe.blocks, change_outside(found, *self._blocks(verbs))
        return terms

    def _blocks(self, verbs: Tensor) -> tuple[Tensor, int]:
        """The block of each verb (B,), and how many there are."""
        return self.block_of.to(verbs.device)[verbs], int(self.block_of.max()) + 1

    @torch.no_grad()
    def evaluate(self) -> dict[str, float]:
        """Error and loss of classification on held-out pairs; remembers the weights of the least error."""
        images, verbs, _ = self.held_out
        wrong = loss = 0.0
        for first in range(0, len(verbs), _CHUNK):
            part = images[first : first + _CHUNK].to(self.device)
            wanted = verbs[first : first + _CHUNK].to(self.device)
            shares = self.network(as_levels(part[:, 0]), as_levels(part[:, 1])).shares
            wrong += float((shares.argmax(1) != wanted).sum())
            loss += float(functional.nll_loss(shares.clamp_min(1e-9).log(), wanted, reduction="sum"))
        error, loss = wrong / len(verbs), loss / len(verbs)
        self.remember(error)
        return {"held_out_error": error, "held_out_loss": loss}


def random_views(before: Tensor, after: Tensor, least: float) -> tuple[Tensor, Tensor]:
    """The same part of both images of each pair (B, C, S, S), mirrored or not; at 1 they stay as they are."""
    if least >= 1:
        return before, after
    first, second = random_mirrors(random_crops(torch.cat([before, after], dim=1), least)).chunk(2, dim=1)
    channels_last = torch.channels_last
    return first.contiguous(memory_format=channels_last), second.contiguous(memory_format=channels_last)


def contrastive_loss(temperature: float, *, summed: bool = False) -> Callable[[Tensor, Tensor], Tensor]:
    """Supervised contrastive loss of deltas (n, l) with their verbs (n,), of their directions alone.

    Deltas themselves, not their directions, would shrink the L1 term's way without an end.

    Deviation: the contrastive loss is the mean over the batch, unless the recipe says the sum.  Why: it is the
    library's default.  Effect: if the paper means the sum over the batch, as one summary writes it, its weight of 2
    counts B (32 to 64) times as much; not measured yet (experiment "delta-options").

    Source: Khosla et al. 2020, as pytorch-metric-learning has it.

    Args:
        temperature: of the softmax.
        summed: the sum over the batch instead of the mean.
    """
    from pytorch_metric_learning.distances import CosineSimilarity
    from pytorch_metric_learning.losses import SupConLoss
    from pytorch_metric_learning.reducers import SumReducer

    over: dict[str, Any] = {"reducer": SumReducer()} if summed else {}
    loss: Callable[[Tensor, Tensor], Tensor] = SupConLoss(temperature=temperature, distance=CosineSimilarity(), **over)
    return loss


def change_outside(found: Reading, block: Tensor, count: int) -> Tensor:
    """Mean squared change of φ outside of each action's block (B,); `count` blocks share φ out evenly."""
    size = found.before.shape[1]
    of_dimension = torch.arange(size, device=block.device) * count // size
    outside = of_dimension[None] != block[:, None]
    return ((found.after - found.before).square() * outside).mean()

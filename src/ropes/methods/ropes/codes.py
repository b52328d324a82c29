"""AE1's codes of all training poses, and the subsets of them for the later stages of ROPES."""

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import TensorDataset

from ropes.causal.scm import Regime
from ropes.common.arrays import Ints, Rows
from ropes.common.progress import progress
from ropes.data.batches import TrainingImages
from ropes.errors import UserError
from ropes.methods.policies import second_regime
from ropes.models.autoencoder import AE1, Standardise
from ropes.models.density_ratio import score_difference

_CHUNK = 512


class Codes:
    """Standardised codes of poses with their regimes.

    Attributes:
        values: (n, V, 8, 8), or (n, k) along k directions of `ropes.models.dense.Directions`.
        regime: regime index of each pose, (n,).
        regimes: the regime of each index.
    """

    def __init__(self, values: Tensor, regime: Ints, regimes: tuple[Regime, ...]) -> None:
        self.values, self.regime, self.regimes = values, regime, regimes

    def contrast(self, joint: str, *, balanced: bool = False) -> TensorDataset:
        """The poses under the two contrasted regimes of `joint`: codes, and 1 for policy 1, 0 for the other regime.

        With `balanced`, as many poses under either, as the Bayes floor assumes.

        Raises:
            UserError: one of the two regimes has no poses.
        """
        first, second = self._contrasted(joint)
        if balanced:
            count = min(len(first), len(second))
            first, second = first[:count], second[:count]
        labels = torch.cat([torch.ones(len(first)), torch.zeros(len(second))])
        return TensorDataset(self.values[np.concatenate([first, second])], labels)

    def first_share(self, joint: str) -> float:
        """Share of policy 1 in the poses under the two contrasted regimes of a joint."""
        first, second = self._contrasted(joint)
        return len(first) / (len(first) + len(second))

    def others(self, joint: str) -> Tensor:
        """The codes under neither of the two contrasted regimes of `joint`, (n, V, 8, 8)."""
        return self.values[np.setdiff1d(np.arange(len(self.values)), np.concatenate(self._contrasted(joint)))]

    def _contrasted(self, joint: str) -> tuple[Ints, Ints]:
        """Rows under policy 1 of a joint, and under the regime with which it is contrasted."""
        return self._rows(Regime(joint, 1)), self._rows(second_regime(self.regimes, joint))

    def _rows(self, regime: Regime) -> Ints:
        number = self.regimes.index(regime) if regime in self.regimes else -1
        rows = np.flatnonzero(self.regime == number)
        if not len(rows):
            raise UserError(f"no image under {regime.name}: this method needs both policies on every joint")
        return rows

    @torch.no_grad()
    def logits(self, ratios: list[torch.nn.Module], device: torch.device) -> Tensor:
        """Log density ratios of every pose, (n, k)."""
        logits = torch.empty(len(self.values), len(ratios))
        for start in range(0, len(self.values), _CHUNK):
            part = self.values[start : start + _CHUNK].to(device)
            logits[start : start + _CHUNK] = torch.stack([ratio(part).cpu() for ratio in ratios], 1)
        return logits

    def scores(self, ratios: list[torch.nn.Module], device: torch.device, *, show: bool = False) -> Tensor:
        """Score differences Δs of every pose, one for each density ratio, (n, k, V, 8, 8)."""
        scores = torch.empty(len(self.values), len(ratios), *self.values.shape[1:])
        with progress("score differences, poses", len(self.values), show=show) as update:
            for start in range(0, len(self.values), _CHUNK):
                part = self.values[start : start + _CHUNK].to(device)
                for k, ratio in enumerate(ratios):
                    scores[start : start + _CHUNK, k] = score_difference(ratio, part).cpu()
                update(start + len(part))
        return scores


@torch.no_grad()
def encode(ae1: AE1, images: TrainingImages, device: torch.device, *, show: bool = False) -> Tensor:
    """Codes of all poses before standardisation, (n, V, 8, 8), on the CPU."""
    ae1 = ae1.to(device)
    codes = Rows[np.float32](len(images))
    with progress("encode, poses", len(images), show=show) as update:
        for start in range(0, len(images), _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, len(images)))
            codes.put(start, ae1.encode_views(images.batch(rows).images.to(device)).float().cpu().numpy())
            update(start + len(rows))
    ae1.cpu()
    return torch.from_numpy(codes.all())


def standardise(train: Tensor, *others: Tensor) -> tuple[Standardise, list[Tensor]]:
    """The affine map that standardises the training codes, and all codes standardised by it.

    Raises:
        UserError: the codes of a camera are constant.
    """
    scale = Standardise(train.shape[1])
    try:
        scale.fit(train)
    except ValueError as error:
        raise UserError(f"{error}; fit with another --seed or a lower --ae1-training.learning-rate") from error
    with torch.no_grad():
        return scale, [scale(codes) for codes in (train, *others)]

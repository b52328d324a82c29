"""What the stages of method `anchored` share: weights of the attention loss and of the invariance loss."""

from typing import Any

from ropes.methods.anchored.encoder_stage import EncoderStage
from ropes.methods.recipes import EncoderRecipe
from ropes.models.encoder import ContrastNetwork

#: Weight of the attention loss.
ATTENTION = 0.1
#: Share of the steps over which the weight of the invariance loss rises.
_RAMP = 0.4
#: Value of the ramp from which on weights can be the best: earlier ones have hardly been trained on invariance.
_COMPARED_FROM = 0.5


class InvarianceStage(EncoderStage):
    """A stage whose invariance loss gets its full weight only when the policies have assigned coordinates to joints.

    Poses that share a joint's angle determine what a coordinate must not depend on, but not which coordinate belongs to
    which joint.

    Args:
        network: to train.
        recipe: its settings.
        common: arguments of `EncoderStage`.

    Attributes:
        anchor_weight: final weight of the invariance loss.
        warm_up: number of steps without it.
    """

    patience = 3

    def __init__(self, network: ContrastNetwork, recipe: EncoderRecipe, **common: Any) -> None:
        super().__init__(network, recipe, **common)
        self.anchor_weight = recipe.anchor_weight
        self.warm_up = round(
            min(recipe.anchor_warmup_poses / recipe.training.batch, recipe.anchor_warmup_fraction * self.steps)
        )

    def penalty_ramp(self, step: int) -> float:
        """Rises from 0 at the end of the warm-up to 1 after another two fifths of the steps."""
        return min(1.0, max(0.0, (step - self.warm_up) / (_RAMP * self.steps)))

    def may_be_best(self, step: int) -> bool:
        """From the middle of the ramp on; at the last step if that is never reached."""
        return self.penalty_ramp(step) >= min(_COMPARED_FROM, self.penalty_ramp(self.steps))

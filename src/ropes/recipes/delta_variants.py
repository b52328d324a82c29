"""What deltas are held against beside the baselines: their ablations, another backbone, and a beginning in poses."""

from collections.abc import Mapping
from dataclasses import replace

from ropes.models.shapes import DeltaConfig
from ropes.recipes.delta import DeltaRecipe, delta_recipe
from ropes.recipes.optimisation import Optimisation

#: Deltas of the ResNet that baselines have, and of an encoder that begins as the packaged estimator's.
OF_A_RESNET, FROM_POSES = "cde-global@resnet", "cde-global@panda-2c"


def delta_variants(recipe: DeltaRecipe) -> Mapping[str, DeltaRecipe]:
    """Variants of method `cde-global`.

    Args:
        recipe: of the method.
    """
    return {
        "cde-global@no-contrast": replace(recipe, contrast=0.0),
        "cde-global@no-sparsity": replace(recipe, sparsity=0.0),
        "cde-global@classification": replace(recipe, contrast=0.0, sparsity=0.0),
        OF_A_RESNET: of_a_resnet(recipe),
        FROM_POSES: replace(
            recipe,
            delta=DeltaConfig(backbone="pose", checkpoint="panda-2c", image_size=128),
            training=Optimisation(
                epochs=1, at_least=2_000 * 32, batch=32, learning_rate=5e-4, weight_decay=0.05, clip=1.0
            ),
        ),
    }


def of_a_resnet(recipe: DeltaRecipe) -> DeltaRecipe:
    """The same losses on the ResNet of the preset's baselines, which is trained as they are."""
    return replace(delta_recipe("plain-resnet", recipe.preset), contrast=recipe.contrast, sparsity=recipe.sparsity)

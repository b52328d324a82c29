"""A small experiment for tests with kills: `ropes reproduce` with few images and few steps.

    python -m benchmarks.small_experiment [--at-once] [--anchors 120] --out FOLDER

Three methods are fitted on the anchors of an arm with one camera, one fit after the other, or with
`--at-once` two at a time in separate processes. To resume, run the same command again. The fits are too short to learn
anything. Evaluations are short too: errors are over 20 poses, and with `--at-once` there are scores of disentanglement.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from ropes.errors import UserError
from ropes.experiments.plan import Experiment
from ropes.experiments.run import run_experiment
from ropes.methods.recipes import EncoderRecipe, Optimisation, Recipe, RopesRecipe
from ropes.methods.registry import recipe_of
from ropes.metrics import ProtocolSizes
from ropes.models.shapes import AE1Config, AE2Config, EncoderConfig, LDRConfig

METHODS, SETTING = ("anchored", "ldr", "ropes"), "panda-1c-independent"
_TRAINING = Optimisation(epochs=2, batch=104, learning_rate=1e-3)


def small_recipe(method: str) -> Recipe:
    """The method's compact recipe with small networks and few steps."""
    recipe = recipe_of(method, "compact")
    match recipe:
        case RopesRecipe():
            return replace(
                recipe,
                ae1=AE1Config(
                    image_size=64, stem=8, encoder_widths=(4,), encoder_blocks=(1,), decoder_widths=(4,),
                    decoder_blocks=(1,),
                ),
                ldr=LDRConfig(widths=(4, 4, 4), hidden=8, dropout=0.2, others=True),
                ae2=AE2Config(encoder_widths=(4, 4, 8), decoder_widths=(8, 4, 4), seed_width=8, blocks=1),
                ae1_training=_TRAINING,
                ldr_training=_TRAINING,
                ae2_training=_TRAINING,
                student_encoder=EncoderConfig(
                    image_size=64, stem=4, widths=(8, 16), blocks=(1, 1), hidden=16, window=0
                ),
                student=_TRAINING,
            )  # fmt: skip
        case EncoderRecipe():
            # Method `anchored` looks at a window of the image with a second network; `ldr` has none.
            window = 20 if recipe.encoder.window else 0
            encoder = EncoderConfig(
                image_size=64, stem=4, widths=(8, 16), blocks=(1, 1), hidden=16, window=window,
                window_widths=(8, 8), window_blocks=(1, 1),
            )  # fmt: skip
            return replace(recipe, encoder=encoder, training=_TRAINING, student=_TRAINING)
        case _:
            raise ValueError(f"{method} has no small recipe")


def main() -> None:
    """Run the experiment, or go on with it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-once", action="store_true", help="run two fits at a time")
    parser.add_argument("--anchors", type=int, default=120, help="number of anchors to learn from")
    parser.add_argument("--out", type=Path, required=True, help="folder of the experiment")
    arguments = parser.parse_args()
    plan = Experiment(
        name="supervision" if arguments.at_once else "demo",
        recipes={method: small_recipe(method) for method in METHODS},
        anchors={SETTING: arguments.anchors},
        test_anchors=200 if arguments.at_once else 60,
        seeds=(0,),
        occlusions=() if arguments.at_once else (0, 32),
        at_once=arguments.at_once,
        measures="factors" if arguments.at_once else "joints",
        sizes=ProtocolSizes(fit=40, test=20),
    )
    processes = 2 if arguments.at_once else None
    try:
        run_experiment(plan, preset="compact", out=arguments.out, processes=processes, show=False)
    except UserError as error:  # as the command line ends
        print(f"ropes: {error}", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from ropes.errors import UserError
from ropes.methods.recipes import (
    PRESETS,
    CNNRecipe,
    Optimisation,
    RopesRecipe,
    cnn_recipe,
    encoder_recipe,
    recipe_from_dict,
    recipe_to_dict,
    ropes_recipe,
)
from ropes.methods.registry import recipe_of
from ropes.models.shapes import EncoderConfig


@pytest.mark.parametrize("preset", PRESETS)
def test_recipes_round_trip_through_json(preset: str) -> None:
    recipe = ropes_recipe(preset)
    assert recipe_from_dict(json.loads(json.dumps(recipe_to_dict(recipe))), type(recipe)) == recipe


def test_added_field_is_stored_only_when_used() -> None:
    recipe = cnn_recipe("compact")
    assert "anchors" not in recipe_to_dict(recipe)
    few = replace(recipe, anchors=50)
    assert recipe_to_dict(few) == recipe_to_dict(recipe) | {"anchors": 50}
    for each in (recipe, few):
        assert recipe_from_dict(json.loads(json.dumps(recipe_to_dict(each))), CNNRecipe) == each
    with pytest.raises(UserError, match="anchors must be at least 2, got 1; leave it out for all"):
        replace(recipe, anchors=1)


def test_unknown_presets_are_refused() -> None:
    with pytest.raises(UserError, match=r"unknown preset 'papier': did you mean paper\?"):
        ropes_recipe("papier")
    with pytest.raises(UserError, match="unknown preset 'x': choose one of compact, paper"):
        ropes_recipe("x")


def training(**changes: Any) -> Optimisation:
    return Optimisation(**({"epochs": 1.5, "batch": 10, "learning_rate": 1e-3} | changes))


def test_number_of_steps_is_rounded_and_positive() -> None:
    assert [training().steps(samples) for samples in (100, 1)] == [15, 1]
    assert [training(min_samples=300).steps(samples) for samples in (100, 1000)] == [30, 150]


NAN = float("nan")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"epochs": 0}, "epochs must be positive, got 0"),
        ({"epochs": float("inf")}, "epochs must be positive, got inf"),
        ({"batch": -1}, "batch must be positive, got -1"),
        ({"learning_rate": NAN}, "learning_rate must be positive, got nan"),
        ({"weight_decay": -1.0}, "weight_decay must be at least 0, got -1.0"),
        ({"min_samples": -1}, "min_samples must be at least 0, got -1"),
        ({"clip": 0.0}, "clip must be positive, got 0.0; leave it out for no bound"),
    ],
)
def test_optimiser_settings_out_of_range_are_refused(change: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError, match=line):
        training(**change)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"sparsity_weights": ()}, "sparsity_weights must be one or more numbers of at least 0"),
        ({"sparsity_weights": (1.0, -1.0)}, "sparsity_weights must be one or more numbers of at least 0"),
        ({"search_share": 1.0}, "search_share must be above 0 and below 1, got 1.0"),
        ({"val_fraction": 0.0}, "val_fraction must be above 0 and below 1, got 0.0"),
        ({"sparsity_rows": -1}, "sparsity_rows must be at least 0, got -1"),
        ({"logit_weight": NAN}, "logit_weight must be at least 0, got nan"),
        ({"score_weight": -1.0}, "score_weight must be at least 0, got -1.0"),
        ({"coordinates": "ae1"}, "unknown coordinates 'ae1'"),
        ({"coordinates": "logits", "basis": "codes"}, "need no AE2: leave basis and directions out"),
        ({"basis": "pixels"}, "unknown basis 'pixels'"),
        ({"directions": 3}, "directions must be at least 0, and need a basis of codes or scores, got 3"),
        (
            {"directions": -1, "basis": "codes"},
            "directions must be at least 0, and need a basis of codes or scores, got -1",
        ),
        ({"code_noise": math.inf}, "code_noise must be at least 0, got inf"),
        ({"ldr_shares": ()}, r"ldr_shares must be one or more numbers above 0 and at most 1, got \(\)"),
        ({"ldr_shares": (1.0, 0.0)}, "ldr_shares must be one or more numbers above 0 and at most 1"),
        ({"ldr_shares": (0.5, 0.5)}, "ldr_shares must differ in six digits"),
        ({"dense_layers": 0}, "dense_layers must be positive, got 0"),
        ({"softplus_beta": -1.0}, r"softplus_beta must be at least 0, got -1\.0"),
    ],
)
def test_recipes_out_of_range_are_refused(change: dict[str, Any], line: str) -> None:
    with pytest.raises(UserError, match=line):
        replace(ropes_recipe("compact"), **change)


def test_loss_weights_of_an_unused_ae2_are_ignored() -> None:
    recipe = replace(ropes_recipe("compact"), coordinates="logits")
    assert recipe == replace(recipe, score_weight=3.0, logit_weight=2.0, sparsity_weights=(0.1, 1.0), softplus_beta=3.0)
    stored = json.loads(json.dumps({**recipe_to_dict(recipe), "logit_weight": 1.0}))  # as earlier versions had it
    assert recipe_from_dict(stored, type(recipe)) == recipe


def test_window_without_anchors_is_refused_with_a_suggestion() -> None:
    with pytest.raises(
        UserError, match=r"only anchors train the attention of the window: .* use --method ldr, without --encoder"
    ):
        replace(encoder_recipe("compact"), anchor_weight=0.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_recipes_without_a_student_equal_older_recipes(preset: str) -> None:
    recipe = replace(recipe_of("ldr", preset), foreign=0.0)
    earlier = recipe_to_dict(recipe)
    del earlier["foreign"], earlier["student"], earlier["independent"]
    assert recipe_from_dict(json.loads(json.dumps(earlier)), type(recipe)) == recipe
    other = replace(recipe, student=Optimisation(epochs=1, batch=2, learning_rate=1e-3))  # of which there is none
    assert other == recipe


def test_student_image_size_must_be_a_multiple_of_its_grid() -> None:
    odd = EncoderConfig(image_size=50, stem=1, widths=(8, 16), blocks=(1, 1), window=8)
    with pytest.raises(UserError, match=r"an image size that is a multiple of 4, not 50: .* --foreign 0"):
        replace(encoder_recipe("compact"), encoder=odd)
    assert replace(encoder_recipe("compact"), foreign=0.0, encoder=odd).encoder == odd


def test_stored_recipe_may_have_a_preset_of_another_name() -> None:
    content = json.loads(json.dumps(recipe_to_dict(ropes_recipe("compact")) | {"preset": "tiny"}))
    recipe = recipe_from_dict(content, RopesRecipe)
    assert recipe.preset == "tiny"
    assert recipe_from_dict(json.loads(json.dumps(recipe_to_dict(recipe))), RopesRecipe) == recipe


def test_hidden_layers_count_only_with_directions() -> None:
    dense = ropes_recipe("compact")
    assert replace(dense, dense_layers=dense.dense_layers + 1) != dense
    convolutions = replace(dense, basis="none")
    assert replace(convolutions, dense_layers=3) == convolutions

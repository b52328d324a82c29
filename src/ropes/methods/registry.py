"""The table of methods: those of this package, and those of other packages' entry points `ropes.methods`."""

from dataclasses import replace
from typing import Any

from ropes.common.plugins import load_plugins
from ropes.errors import UserError
from ropes.methods.method import Method
from ropes.methods.recipes import (
    CNNRecipe,
    DeltaRecipe,
    EncoderRecipe,
    JointNetRecipe,
    Recipe,
    RopesRecipe,
    VAERecipe,
    cnn_recipe,
    delta_recipe,
    encoder_recipe,
    jointnet_recipe,
    ropes_recipe,
    vae_recipe,
)
from ropes.methods.recipes.optimisation import PRESETS, require_name


def _without_anchors(preset: str, _: float) -> EncoderRecipe:
    recipe = encoder_recipe(preset)
    return replace(recipe, anchor_weight=0.0, encoder=replace(recipe.encoder, window=0))


def _action_method(name: str, summary: str) -> Method:
    return Method(
        name=name,
        summary=summary,
        learns="actions",
        recipe_type=DeltaRecipe,
        recipe=lambda preset, _: delta_recipe(name, preset),
        fit="ropes.methods.delta:fit",
        reader=None,
        weights="ropes.methods.readers:network_weights",
    )


_ENCODER: dict[str, Any] = {
    "learns": "joints",
    "recipe_type": EncoderRecipe,
    "fit": "ropes.methods.anchored:fit",
    "reader": "ropes.methods.readers:encoder_reader",
    "weights": "ropes.methods.readers:encoder_weights",
}
_SUPERVISED: dict[str, Any] = {
    "learns": "joints",
    "fit": "ropes.methods.supervised:fit",
    "reader": "ropes.methods.readers:angles_reader",
    "weights": "ropes.methods.readers:network_weights",
    "reads_labels": True,
}
_VAE: dict[str, Any] = {
    "learns": "factors",
    "recipe_type": VAERecipe,
    "recipe": lambda preset, _: vae_recipe(preset),
    "fit": "ropes.methods.vae:fit",
    "reader": "ropes.methods.readers:vae_reader",
    "weights": "ropes.methods.readers:network_weights",
}
_OWN = (
    Method(
        name="anchored",
        summary="joints from regimes and anchors, without labels",
        description="An encoder maps images to one coordinate per joint. It is trained to classify the policies that "
        "moved the arm, with coordinates that do not change under interventions on other joints.",
        recipe=lambda preset, _: encoder_recipe(preset),
        **_ENCODER,
    ),
    Method(
        name="ldr",
        summary="joints from regimes alone, without labels",
        description="An encoder maps images to one coordinate per joint. It is trained to classify the policies that "
        "moved the arm.",
        recipe=_without_anchors,
        **_ENCODER,
    ),
    Method(
        name="ropes",
        summary="joints by the ROPES paper's three stages, without labels",
        description="The three stages of ROPES: autoencoder, log density ratios, disentanglement by score differences.",
        learns="joints",
        recipe_type=RopesRecipe,
        recipe=lambda preset, _: ropes_recipe(preset),
        fit="ropes.methods.ropes:fit",
        reader="ropes.methods.readers:ropes_reader",
        weights="ropes.methods.readers:ropes_weights",
        pretrained=True,
    ),
    Method(
        name="cnn",
        summary="joints from labels, by a convolutional network",
        recipe_type=CNNRecipe,
        recipe=cnn_recipe,
        **_SUPERVISED,
    ),
    Method(
        name="jointnet",
        summary="joints from labels, by the paper's baseline, I-JEPA and JointNet",
        recipe_type=JointNetRecipe,
        recipe=jointnet_recipe,
        pretrained=True,
        **_SUPERVISED,
    ),
    Method(name="beta-vae", summary="factors from single images", **_VAE),
    Method(name="ada-gvae", summary="factors from pairs that differ in one", **_VAE),
    _action_method("cde-global", "actions by deltas of whole images"),
    _action_method("cde-patch", "actions by deltas of patches"),
    _action_method("icm", "actions by the baseline ICM"),
    _action_method("plain-resnet", "actions by a plain ResNet"),
    _action_method("plain-vit", "actions by a plain vision transformer"),
    _action_method("sms", "actions by the baseline SMS"),
)


def _table() -> tuple[dict[str, Method], dict[str, str]]:
    """Name → method, in alphabetical order and with plug-ins; and name → the fault of a plug-in that cannot be used."""
    plugins, broken = load_plugins("ropes.methods", _fault)
    return dict(sorted(({method.name: method for method in _OWN} | plugins).items())), broken


def _fault(name: str, method: object) -> str | None:
    """The fault of an entry point's object; None if it can join the table."""
    if not isinstance(method, Method):
        return f"its entry point is a {type(method).__name__}, not a Method"
    if method.name != name:
        return f"its entry point is called {name} and its Method {method.name}"
    if name in OWN_METHODS:
        return f"method {name} is part of ropes; choose another name"
    if method.learns != "joints" or method.reader is None:
        return "a plug-in must learn joints and have a reader"
    return None


#: Methods of this package.
OWN_METHODS = tuple(sorted(each.name for each in _OWN))
_METHODS, _BROKEN = _table()
#: Names of all methods, those of other packages included.
METHODS = tuple(_METHODS)
#: Methods that learn factors of variation; actions; joints with labels.
VAE_METHODS = tuple(name for name, each in _METHODS.items() if each.learns == "factors")
DELTA_METHODS = tuple(name for name, each in _METHODS.items() if each.learns == "actions")
LABELLED_METHODS = tuple(name for name, each in _METHODS.items() if each.reads_labels)


def method_named(name: str) -> Method:
    """The method of that name.

    Raises:
        UserError: see `require_method`.
    """
    require_method(name)
    return _METHODS[name]


def require_method(name: str) -> None:
    """Check that there is a method of that name.

    Raises:
        UserError: there is none, with the most similar name; or its package cannot be loaded.
    """
    if name in _BROKEN and name not in METHODS:
        raise UserError(f"method {name} cannot be loaded ({_BROKEN[name]}); update or uninstall its package")
    require_name(name, METHODS, "method")


def method_of(label: str) -> str:
    """The method of a fit labelled METHOD or METHOD@VARIANT in an experiment."""
    return label.partition("@")[0]


def recipe_of(method: str, preset: str, *, labels: float = 1.0) -> Recipe:
    """The recipe of a method under a preset.

    Args:
        method: see `METHODS`.
        preset: see `ropes.methods.recipes.PRESETS`.
        labels: share of the labels, for methods of `LABELLED_METHODS`; ignored by the others.

    Raises:
        UserError: no method or preset of that name.
    """
    entry = method_named(method)
    require_name(preset, PRESETS, "preset")
    recipe: Recipe = entry.recipe(preset, labels)
    return recipe

"""What every recipe offers, and recipes as JSON.

A renamed field keeps its first name in JSON and in digests, and an added field is left out there with its default, so
that older runs open and resume.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import Field, field, fields, is_dataclass
from typing import Any, ClassVar, Protocol, get_args, get_type_hints

from ropes.models.shapes import EncoderConfig, is_stored, with_tuples

#: Default of the recipes' `cleaner_samples`.
CLEANER_SAMPLES = 38_400


class Shape(Protocol):
    """The shape of the network that reads the images."""

    @property
    def image_size(self) -> int:
        """Side of the images in pixels."""


def input_size(shape: Shape) -> int:
    """Side in pixels of the images that a network of this shape takes."""
    return shape.input_size if isinstance(shape, EncoderConfig) else shape.image_size


def anchors_of(recipe: Any) -> int | None:
    """Number of the first anchors that a recipe learns from; None for all."""
    anchors: int | None = getattr(recipe, "anchors", None)
    return anchors


def cleaner_samples_of(recipe: Any) -> int:
    """Least number of poses that a recipe trains the cleaner of passers-by on; the default for recipes without it."""
    samples: int = getattr(recipe, "cleaner_samples", CLEANER_SAMPLES)
    return samples


class Recipe(Protocol):
    """The configuration of a method: a frozen dataclass with at least these fields and properties."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def preset(self) -> str:
        """The preset that the recipe starts from."""

    @property
    def val_fraction(self) -> float:
        """Fraction of the training anchors held out for validation."""

    @property
    def shape(self) -> Shape:
        """Shape of the network that reads the images."""


def renamed(stored: str, default: Any) -> Any:
    """A dataclass field with a default; `stored` is its first name, used in JSON, in digests and as an old option."""
    return field(default=default, metadata={"stored": stored})


def recipe_to_dict(recipe: Any, without: Collection[str] = ()) -> dict[str, Any]:
    """A recipe, or a dataclass in it, as a dictionary for JSON and digests: stored name → value.

    Args:
        recipe: the dataclass.
        without: names of fields to leave out.
    """
    return {
        _stored(each): recipe_to_dict(value) if is_dataclass(value := getattr(recipe, each.name)) else value
        for each in fields(recipe)
        if each.name not in without and is_stored(each, getattr(recipe, each.name))
    }


def recipe_from_dict(content: Mapping[str, Any], kind: type[Any]) -> Any:
    """The inverse of `recipe_to_dict` for a recipe of type `kind`; takes lists read back from JSON as tuples.

    Raises:
        TypeError, ValueError: an unknown field, a missing one, or a value out of range.
    """
    hints, names = get_type_hints(kind), {_stored(each): each.name for each in fields(kind)}
    present = {names.get(key, key): value for key, value in content.items()}
    return kind(**with_tuples({name: _part(hints.get(name), value) for name, value in present.items()}))


def old_options(recipe: Any, prefix: str = "--") -> Iterator[tuple[str, str]]:
    """Each renamed option of `ropes fit` for this recipe, old name and new name."""
    for each in fields(recipe):
        old, new = (f"{prefix}{name.replace('_', '-')}" for name in (_stored(each), each.name))
        if old != new:
            yield old, new
        if is_dataclass(part := getattr(recipe, each.name)):
            yield from old_options(part, f"{new}.")


def _stored(each: Field[Any]) -> str:
    name: str = each.metadata.get("stored", each.name)
    return name


def _part(hint: Any, value: Any) -> Any:
    """A nested dataclass of a recipe from its dictionary; any other value unchanged."""
    kinds = [each for each in (hint, *get_args(hint)) if isinstance(each, type) and is_dataclass(each)]
    return recipe_from_dict(value, kinds[0]) if kinds and isinstance(value, dict) else value

"""`Method`: what the package knows of a training method. Other packages register one by an entry point."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

#: What a run's coordinates, or answers, are of.
Learns = Literal["joints", "factors", "actions"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A training method.

    Functions are named as "MODULE:FUNCTION" and imported on first use, so that the table stays light.

    Attributes:
        name: as `ropes fit --method` has it.
        summary: what it learns from and how, for `ropes fit --help`; a phrase.
        description: for the model card, sentences; the summary where empty.
        learns: "joints": coordinates of joints; "factors": latents; "actions": what was done between two images.
        recipe_type: dataclass of its recipe.
        recipe: (preset, share of the labels) → its recipe.
        fit: (data, out, recipe, seed, *, method, precision, show) → the run; with `pretrained` where that is true.
        reader: (run, folder, device, precision) → `ropes.methods.reader.Reader`; None for a method that reads no pose.
        weights: (run) → the files of weights, within the run's folder, that the reader loads.
        reads_labels: whether training reads joint angles.
        pretrained: whether first stages can be taken over from another run.
    """

    name: str
    summary: str
    description: str = ""
    learns: Learns
    recipe_type: type[Any]
    recipe: Callable[[str, float], Any]
    fit: str
    reader: str | None
    weights: str
    reads_labels: bool = False
    pretrained: bool = False

    def load(self, part: Literal["fit", "reader", "weights"]) -> Callable[..., Any]:
        """One of its functions."""
        place: str = getattr(self, part)
        module, _, function = place.partition(":")
        loaded: Callable[..., Any] = getattr(import_module(module), function)
        return loaded

"""`Method`: the description of a training method. Other packages register one by an entry point."""

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any, Literal

#: What a method learns: coordinates of joints, factors of variation, or actions.
Learns = Literal["joints", "factors", "actions"]


@dataclass(frozen=True, kw_only=True)
class Method:
    """A training method.

    Functions are given as "MODULE:FUNCTION" and imported on first use.

    Attributes:
        name: for `ropes fit --method`.
        summary: a phrase for `ropes fit --help`: what it learns, and from what.
        description: sentences for the model card; the summary if empty.
        learns: "joints": coordinates of joints; "factors": latents; "actions": the action between two images.
        recipe_type: dataclass of its recipe.
        recipe: (preset, share of the labels) → its recipe.
        fit: (data, out, recipe, seed, *, method, precision, show) → the run; with `pretrained` if that is true.
        reader: (run, folder, device, precision) → `ropes.methods.reader.Reader`; None for a method of actions.
        weights: (run) → the files of weights, within the run's folder, that the reader loads.
        reads_labels: whether training uses joint angles.
        pretrained: whether first stages of another run can be reused.
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
        """Import one of its functions."""
        function: Callable[..., Any] = resolve_name(getattr(self, part))
        return function

"""What made the images of a data set: scene, meshes, renderer and camera faults, or how a recording was cropped."""

from typing import Any

from ropes.data.dataset import Dataset
from ropes.simulation.settings import usual_renderer

#: Formats of `ropes import` whose factors keep the unit of their table.
_OWN_UNITS = ("table", "chambers")


def has_own_units(dataset: Dataset) -> bool:
    """Whether the values of a data set are factors in the unit of an imported table, not joint angles in radians."""
    return (dataset.provenance or {}).get("source", {}).get("format") in _OWN_UNITS


def scene_of(dataset: Dataset) -> str | None:
    """The scene of a data set simulated by ropes, see `ropes.simulation.backgrounds`; None for others."""
    return _of_rendering(dataset, "scene", "white")


def mesh_of(dataset: Dataset) -> str | None:
    """The visual meshes of an arm's data set simulated by ropes, "simplified" or "full"; None for others."""
    return None if scene_of(dataset) is None else str((dataset.provenance or {}).get("mesh", "simplified"))


def renderer_of(dataset: Dataset) -> str | None:
    """The renderer of an arm's data set simulated by ropes; None for others."""
    scene, provenance = scene_of(dataset), dataset.provenance or {}
    return None if scene is None else str(provenance.get("renderer", {}).get("name", usual_renderer(scene)))


def camera_level_of(dataset: Dataset) -> str | None:
    """The level of the cameras' faults in a data set simulated by ropes, see `ropes.simulation.camera_levels`."""
    return _of_rendering(dataset, "camera_level", "clean")


def _of_rendering(dataset: Dataset, name: str, default: str) -> str | None:
    """A property of the setting of an arm that ropes simulated; None for other data sets."""
    setting = (dataset.provenance or {}).get("setting", {})
    return str(setting.get(name, default)) if "robot" in setting else None


def views_of(dataset: Dataset) -> dict[str, dict[str, Any]]:
    """Camera → how a recording or an import turned and cropped its images; rendered cameras have no entry.

    Each is a `ropes.data.recordings.views.View` as a dictionary, and `source_size`, height and width of the camera's
    own images in pixels, where it is known.
    """
    records = (dataset.provenance or {}).get("cameras", [])
    sizes = {record["name"]: {"source_size": record["source_size"]} for record in records if "source_size" in record}
    return {record["name"]: record["view"] | sizes.get(record["name"], {}) for record in records if "view" in record}

"""Where the errors of a table come from: units, training seeds, training data beside the paper's, device."""

from collections.abc import Mapping, Sequence

from ropes.errors import UserError
from ropes.evaluation.paper import ANCHORS, SCENE
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors
from ropes.methods.registry import method_of
from ropes.report.table import grouped
from ropes.report.words import method_label, origin


def below(
    found: Results, cells: Sequence[JointErrors], bar: str = "the paper's ROPES", *, in_degrees: bool = False
) -> str:
    """Units, deviations and training seeds of the errors, their training data beside the paper's, and the origin."""
    several = any(len(cell.seeds) > 1 for cell in cells)
    second = ", the second ± over training seeds" if several else ""
    errors = "RMS error in degrees, mean over test draws" if in_degrees else "MSE in rad², ± over test draws"
    published = [cell for cell in cells if cell.paper_mse is not None]
    bold = f", bold where it reaches {bar}" if published else ""
    about = (
        f"{errors} of {_seeds(cells)}{'' if in_degrees else second}{bold}.",
        _data(found, published) or renderings(found),
        origin(found),
    )
    return " ".join(filter(None, about))


def _seeds(cells: Sequence[JointErrors]) -> str:
    """Number of training seeds, by method where it differs; a range where it differs between settings."""
    seeds: dict[str, list[int]] = {}
    for (_, method), own in grouped(cells, lambda cell: (cell.setup, cell.method)).items():
        seeds.setdefault(method, []).append(len({seed for cell in own for seed in cell.seeds}))
    return f"{_by_method(seeds)} training {'seed' if max(map(max, seeds.values())) == 1 else 'seeds'}"


def _anchors(cells: Sequence[JointErrors]) -> str:
    """Number of training anchors, by method where methods differ; a range where variants or settings differ."""
    anchors: dict[str, list[int]] = {}
    for cell in cells:
        if cell.anchors is not None:
            anchors.setdefault(method_of(cell.method), []).append(cell.anchors)
    return _by_method(anchors) if any(number != ANCHORS for own in anchors.values() for number in own) else ""


def _by_method(numbers: Mapping[str, Sequence[int]]) -> str:
    """The range of the numbers of all methods if they agree, or else of each group of methods that do."""
    ranges = {method: (min(own), max(own)) for method, own in numbers.items()}
    by_range = grouped(sorted(ranges, key=lambda method: (ranges[method], method)), ranges.__getitem__)
    words = [f"{most:,}" if least == most else f"{least:,} to {most:,}" for least, most in by_range]
    if len(words) > 1:
        named = ("; ".join(map(method_label, methods)) for methods in by_range.values())
        words = [f"{number} ({methods})" for number, methods in zip(words, named, strict=True)]
    return " or ".join(words)


def _data(found: Results, cells: Sequence[JointErrors]) -> str:
    """Training anchors and background of cells beside the paper's; empty where they are the paper's."""
    if not cells:
        return ""
    anchors = _anchors(cells)
    parts = [f"Training anchors: {anchors}; the paper's: {ANCHORS:,}."] if anchors else []
    if found.scene is None:
        parts.append(f"The background is not recorded; earlier versions rendered a white one, the paper {SCENE}'s.")
    elif found.scene != SCENE:
        parts.append(f"The background is {found.scene}, the paper's {SCENE}'s.")
    return " ".join((*parts, renderings(found)))


def renderings(found: Results) -> str:
    """How meshes and cameras differ from the paper's."""
    meshes = "Meshes are simplified, the paper's full. " if _meshes(found) == "simplified" else ""
    return f"{meshes}The paper does not state where its cameras stand."


def _meshes(found: Results) -> str:
    """The meshes of the arm; for files of older versions, which do not record them, those that the preset has."""
    return found.mesh or ("full" if found.preset == "paper" else "simplified")


def devices(*found: Results) -> str:
    """The devices of several results, each once."""
    return " and ".join(dict.fromkeys(device for each in found for device in each.device.split(" and ")))


def require_alike(first: Results, second: Results, names: tuple[object, object], advice: str) -> None:
    """Check that rows of two files can stand in one table.

    Args:
        first: the results of one file.
        second: those of the other.
        names: of the two in a message.
        advice: the end of a message.

    Raises:
        UserError: they differ in preset, scene or meshes.
    """
    scenes = [each.scene or "that of an older version" for each in (first, second)]
    properties = {
        "preset": (first.preset, second.preset),
        "scene": scenes,
        "meshes": (_meshes(first), _meshes(second)),
    }
    for words, (own, other) in properties.items():
        if own != other:
            raise UserError(f"{names[0]} has {words} {own} and {names[1]} {other}; {advice}")

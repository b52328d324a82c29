"""Where the errors of a table come from: units, training seeds, training data beside the paper's, device."""

from collections.abc import Sequence

from ropes.errors import UserError
from ropes.evaluation.paper import ANCHORS, SCENE
from ropes.evaluation.results import Results
from ropes.evaluation.summary import JointErrors
from ropes.report.table import grouped
from ropes.report.words import counted, method_label, origin


def below(
    found: Results, cells: Sequence[JointErrors], bar: str = "the paper's ROPES", *, in_degrees: bool = False
) -> str:
    """Units, deviations and training seeds of the errors, their training data beside the paper's, and the origin."""
    several = any(len(cell.seeds) > 1 for cell in cells)
    second = ", the second ± over training seeds" if several else ""
    errors = "RMS error in degrees, mean over test draws" if in_degrees else "MSE in rad², ± over test draws"
    about = (
        f"{errors} of {_seeds(cells)}{'' if in_degrees else second}, bold where it reaches {bar}.",
        _data(found, [cell for cell in cells if cell.paper_mse is not None]),
        origin(found),
    )
    return " ".join(filter(None, about))


def _seeds(cells: Sequence[JointErrors]) -> str:
    """Number of training seeds, by method where it differs; a range where it differs between settings."""
    seeds: dict[str, tuple[int, int]] = {}
    for (_, method), own in grouped(cells, lambda cell: (cell.setup, cell.method)).items():
        count = len({seed for cell in own for seed in cell.seeds})
        least, most = seeds.get(method, (count, count))
        seeds[method] = min(least, count), max(most, count)
    by_number = grouped(sorted(seeds, key=lambda method: (seeds[method], method)), seeds.__getitem__)
    words = {
        (least, most): counted(most, "training seed") if least == most else f"{least} to {most} training seeds"
        for least, most in by_number
    }
    if len(by_number) == 1:
        return next(iter(words.values()))
    return " or ".join(
        f"{words[number]} ({', '.join(map(method_label, methods))})" for number, methods in by_number.items()
    )


def _data(found: Results, cells: Sequence[JointErrors]) -> str:
    """Training anchors and background of cells beside the paper's; empty where they are the paper's."""
    if not cells:
        return ""
    anchors = sorted({cell.anchors for cell in cells if cell.anchors is not None})
    counts = " to ".join(f"{count:,}" for count in dict.fromkeys((*anchors[:1], *anchors[-1:])))
    parts = [f"Training anchors: {counts}; the paper's: {ANCHORS:,}."] if anchors and anchors != [ANCHORS] else []
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

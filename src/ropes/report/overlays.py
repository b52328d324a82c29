"""The first picture of the page: the arm at the estimated angles over images."""

import numpy as np
from markupsafe import Markup

from ropes.report import artefacts, pictures
from ropes.report.elements import image, tag
from ropes.report.page import Source
from ropes.report.words import heading_of


def opening(source: Source) -> list[Markup]:
    """The overlays of the first method and setup that has any; empty without."""
    for setup, method in dict.fromkeys((row.setup, row.method) for row in source.results.rows):
        for run in artefacts.load(source.folder, {(setup, method)}):
            if run.evaluation is not None and run.evaluation.overlays is not None:
                drawn = run.evaluation.overlays["overlay_images"]
                alt = "The arm at the estimated angles, drawn over images of the test split"
                strip = pictures.strip(np.concatenate(list(drawn)))
                caption = f"{alt}: {heading_of(setup, method)}. Each pose from {' and '.join(run.evaluation.cameras)}."
                return [tag("figure", image(strip, alt), tag("figcaption", caption), class_="overlays")]
    return []

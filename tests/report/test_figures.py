"""Plots say what they should: panels, lines, values; odd inputs do not break them."""

from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from ropes.evaluation.summary import over_seeds
from ropes.report import figures, joint_figures
from tests.report.pages import a_row


def curve(**changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"steps": [0, 10], "train": [0.7, 0.4], "held_out": [0.7, 0.5], "floor": 0.35, "best": 0.5}
    return base | changes


def test_scatter_has_a_panel_per_joint_with_its_figures() -> None:
    angle = np.linspace(-1, 1, 20)[None].repeat(4, axis=0)
    figure = joint_figures.scatter(
        ["panda_joint1", "panda_joint2", "panda_joint3", "elbow"],
        {
            "scatter_estimate": angle + 0.1,
            "scatter_angle": angle,
            "scatter_mcc": np.full(4, 0.9876),
            "scatter_mse": np.array([0.01, 0.0003, 0.01, 0.01]),
        },
        "In distribution, without squares",
    )
    assert figure.get_suptitle() == "In distribution, without squares"
    titles = [panel.get_title() for panel in figure.axes]
    assert titles[0] == "joint 1: MCC 0.988, RMS 5.7°"
    assert titles[1] == "joint 2: MCC 0.988, RMS 0.99°"
    assert titles[3].startswith("elbow: ")
    dots = np.asarray(figure.axes[0].collections[0].get_offsets(), float)
    np.testing.assert_allclose(dots[:, 1] - dots[:, 0], np.degrees(0.1))


def test_floor_and_chance_level_are_drawn_in_nats() -> None:
    figure = joint_figures.density_ratio_curves({"panda_joint4": curve()})
    lines = {line.get_label(): np.asarray(line.get_ydata(), float) for line in figure.axes[0].lines}
    assert set(lines) == {"train", "held out", "Bayes floor", "guessing"}
    np.testing.assert_allclose(lines["Bayes floor"], 0.35)
    np.testing.assert_allclose(lines["guessing"], np.log(2))
    bars = joint_figures.density_ratio_bars({"panda_joint4": curve()})
    patches = bars.axes[0].patches
    assert [patch.get_height() for patch in patches if isinstance(patch, Rectangle)] == [0.5, 0.35]


def test_unknown_floors_and_missing_values_are_left_out() -> None:
    ldr = {"elbow": curve(floor=None, best=None, held_out=[None, 0.5], train=[])}
    figure = joint_figures.density_ratio_curves(ldr)
    assert {line.get_label() for line in figure.axes[0].lines} == {"held out", "guessing"}
    assert "<svg" in figures.to_svg(figure, "curves")
    assert "<svg" in figures.to_svg(joint_figures.density_ratio_bars(ldr), "bars")


def test_training_curves_show_the_recorded_terms_only() -> None:
    assert joint_figures.training_curves({}) is None
    assert joint_figures.training_curves({"ae1": {"steps": [], "loss": []}}) is None
    figure = joint_figures.training_curves(
        {
            "ae1": {"steps": [0, 1], "loss": [1.0, 0.5]},
            "ae2": {"all": {"steps": [0, 1], "sparsity": [1.0, 0.1], "reconstruction": []}},
        }
    )
    assert figure is not None
    assert [panel.get_title() for panel in figure.axes] == [
        "first autoencoder: reconstruction",
        "second autoencoder: sparsity",
    ]


def test_seven_joints_have_seven_marks() -> None:
    curve = {"steps": [0, 1], "sparsity": [1.0, 0.1]}
    figure = joint_figures.training_curves({"ae2": {f"joint_{number}": curve for number in range(7)}})
    assert figure is not None
    marks = [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert len(set(marks)) == 7
    several = figures.marks(24)
    assert len({(each.colour, each.marker) for each in several}) == 24
    assert len({(each.colour, each.dashes) for each in several}) == 24


def test_names_with_dollars_are_no_formulas() -> None:
    stages = {"ae2": {name: {"steps": [0, 1], "sparsity": [1.0, 0.1]} for name in ("$a$_^$", "b")}}
    figure = joint_figures.training_curves(stages)
    assert figure is not None
    text = figures.to_svg(figure, "curves")
    assert "$a$_^$" in text
    assert "mathdefault" not in text
    assert "mathdefault" not in figures.to_svg(joint_figures.density_ratio_curves({"$a$_^$": curve()}), "curves")


def test_numbers_of_heat_maps_can_be_read_on_light_and_on_dark_pages() -> None:
    figure, (panel,) = figures.make_panels(1, height=2.0, columns=1)
    values = np.linspace(-1, 1, 41)[None]
    figures.heat(panel, values, ["row"], [""] * 41)
    cells = np.asarray(panel.images[0].get_array(), float)[0]
    assert (cells[:, 3] == 1).all()  # the page does not shine through
    inks = [to_rgb(str(text.get_color())) for text in panel.texts]
    assert figures.INK not in [text.get_color() for text in panel.texts]  # is light on dark pages
    for cell, ink in zip(cells[:, :3], inks, strict=True):
        lighter, darker = sorted((luminance(cell), luminance(np.array(ink))), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) > 3.5
    assert "#1b1f25" in figures.to_svg(figure, "map")


def luminance(colour: NDArray[np.float64]) -> float:
    """Relative luminance of sRGB, as WCAG defines it."""
    light = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return float(light @ [0.2126, 0.7152, 0.0722])


def test_legend_uses_as_many_rows_as_needed() -> None:
    for width, columns in ((9.6, 4), (3.2, 1)):
        figure, panels = figures.make_panels(1, height=2.0, width=width, columns=1)
        for number in range(6):
            panels[0].plot([0, 1], [0, number], label=f"a line of a curve, number {number}")
        figures.shared_legend(figure, panels)
        figure.draw_without_rendering()
        (legend,) = figure.legends
        tops = {round(text.get_window_extent().y0) for text in legend.get_texts()}
        assert len(tops) == -(-6 // columns)


def test_occlusion_plot_shows_the_paper_only_where_it_has_numbers() -> None:
    rows = [a_row(joint=joint, occlusion=size) for joint in ("panda_joint2", "a_joint") for size in (0, 32)]
    figure = joint_figures.occlusions(over_seeds(rows))
    labels = [panel.get_legend_handles_labels()[1] for panel in figure.axes]
    assert labels[0] == ["ours, id"]
    assert sorted(labels[1]) == ["ours, id", "paper, id"]


def test_errors_are_drawn_in_degrees() -> None:
    assert figures.as_degrees(1.0) == pytest.approx(180 / np.pi)
    assert np.isnan(figures.as_degrees(None))
    bars = figures.error_bars([0.04, 0.04, None, 0.01], [0.0225, None, 0.1, 0.05])
    below, above = np.radians(bars)
    np.testing.assert_allclose(below, [0.2 - 0.0175**0.5, 0, np.nan, 0.1])  # down to 0 at most
    np.testing.assert_allclose(above, [0.05, 0, np.nan, 0.06**0.5 - 0.1])


@pytest.mark.parametrize("label", ['a "quoted" <label> & more', "plain"])
def test_svg_is_themed_labelled_and_deterministic(label: str) -> None:
    def draw() -> str:
        return figures.to_svg(joint_figures.density_ratio_bars({"panda_joint1": curve()}), label)

    text = draw()
    assert text == draw()
    assert text.startswith('<svg role="img" aria-label="')
    assert "<label>" not in text
    assert figures.INK not in text
    assert figures.RULE not in text
    assert "<metadata" not in text
    assert "joint 1" in text

"""Every deviation from a paper that the code declares stands in docs/fidelity.md, with its reason and its effect."""

import re
from pathlib import Path

import pytest
import torch

from benchmarks import fidelity
from ropes.methods.recipes import jointnet_recipe
from ropes.methods.training.stage import Stage

ROOT = Path(__file__).parents[1]
#: The page itself, and trials.
_RECORDS = ("fidelity.md", "log.md")


def test_fidelity_page_lists_every_deviation_in_the_code() -> None:
    page = fidelity.PAGE.read_text(encoding="utf-8")
    found = list(fidelity.deviations())
    assert len(found) > 40
    assert fidelity.written(page, found) == page
    for one in found:
        assert f"](../src/ropes/{one.module})" in page


def test_no_deviation_is_declared_outside_the_scanned_places() -> None:
    declared = sum(path.read_text(encoding="utf-8").count("Deviation:") for path in fidelity.SOURCE.rglob("*.py"))
    assert declared == len(list(fidelity.deviations()))


def test_pages_that_compare_with_the_paper_link_to_fidelity() -> None:
    published = re.compile(r"^\|.*\b(the paper's (ROPES|RoboPEPP|best)|the paper, |RoboPEPP)", re.MULTILINE)
    pages = [page for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")) if page.name not in _RECORDS]
    shown = {page.name: text for page in pages if published.search(text := page.read_text(encoding="utf-8"))}
    assert shown.keys() >= {"README.md", "curves.md", "deltas.md", "disentanglement.md", "eq3.md", "results.md"}
    assert [name for name, text in shown.items() if "fidelity.md" not in text] == []


def test_correlations_that_an_effect_cites_are_on_its_page() -> None:
    page = (ROOT / "docs" / "eq3.md").read_text(encoding="utf-8")
    rows = page.partition("**One camera,")[2].partition("**Two cameras,")[0].splitlines()
    measured = {tuple(f"{float(each):.2f}"[1:] for each in re.findall(r"\((\d\.\d+)[;)]", row)) for row in rows}
    cited = [
        triple
        for one in fidelity.deviations()
        if "(docs/eq3.md)" in one.effect
        for triple in re.findall(r"(\.\d\d) (\.\d\d) (\.\d\d)\b", one.effect)
    ]
    assert len(cited) >= 6
    assert set(cited) <= measured


def test_schedule_of_the_training_on_labels_is_declared_as_it_is() -> None:
    stage = Stage(torch.nn.Linear(1, 1), jointnet_recipe("paper").training, steps=99, seed=0)
    found = stage.configure_optimizers()
    optimiser, rates, momenta = found["optimizer"], [], set()
    for _ in range(stage.steps):
        rates.append(optimiser.param_groups[0]["lr"])
        momenta.add(optimiser.param_groups[0]["betas"])
        optimiser.step()
        found["lr_scheduler"]["scheduler"].step()
    assert max(rates) == pytest.approx(1e-4)
    assert rates.index(max(rates)) == pytest.approx(stage.steps / 10, abs=1)
    assert len(momenta) == 1
    (declared,) = (one for one in fidelity.deviations() if one.name == "jointnet_recipe" and "one-cycle" in one.what)
    assert "rises for a tenth of the steps, and Adam's momentum stays constant" in declared.what


def test_a_deviation_needs_a_reason_and_an_effect(tmp_path: Path) -> None:
    module = tmp_path / "scm.py"
    module.write_text('def f():\n    """Draw.\n\n    Deviation: ours.  Why: it is.\n    """\n', encoding="utf-8")
    with pytest.raises(ValueError, match='"Why:" and "Effect:"'):
        list(fidelity.deviations(tmp_path))
    text = (
        'def f():\n    """Draw.\n\n    Deviation: ours\n    too.  Why: it is.  Effect: a | b.\n\n    Args:\n    """\n'
    )
    module.write_text(text, encoding="utf-8")
    assert list(fidelity.deviations(tmp_path)) == [("scm.py", "f", "ours too.", "it is.", "a | b.")]


def test_a_module_belongs_to_one_table() -> None:
    assert fidelity.table_of("metrics/disentanglement/predictive.py") == "disentanglement"
    assert fidelity.table_of("metrics/calibration.py") == "ropes"
    with pytest.raises(ValueError, match="not to 0"):
        fidelity.table_of("cli.py")

"""Options of learning commands that are left out, and those that are given all the same."""

import inspect
from dataclasses import fields, is_dataclass
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import pytest

from ropes.cli import entry as cli
from ropes.methods.registry import METHODS, recipe_of
from ropes.methods.run import Run
from tests.command_line import Stub, refusal


def test_evaluate_defaults_equal_the_library_defaults(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "read", lambda _: SimpleNamespace(method="anchored"))
    calls = stub("ropes.evaluation.joints.evaluate", result="the results")
    stub("ropes.report.terminal.print_table")
    assert cli.main(["evaluate", "R", "--data", "D", "--out", "E"]) == 0
    assert calls == [((Path("R"), Path("D"), Path("E")), {"seed": 0, "out_of_distribution": (), "precision": "auto"})]


@pytest.mark.parametrize(
    ("method", "words", "line"),
    [
        ("cde-global", "--seed 0", "leave --seed"),
        ("cde-global", "--occlusions 0 16 32 64", "leave --seed, --out-of-distribution, --occlusions"),
        (
            "beta-vae",
            "--occlusions 0 16 32 64",
            "--occlusions, --hide, --calibration-poses and --test-poses go with errors of joint angles",
        ),
    ],
)
def test_inapplicable_option_is_refused_even_with_its_default_value(
    method: str, words: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Run, "read", lambda _: SimpleNamespace(method=method))
    assert line in refusal(capsys, "evaluate", "R", "--data", "D", "--out", "E", *words.split())


@pytest.mark.parametrize("typed", ["0", "few"])
def test_fit_help_still_refuses_an_invalid_label_fraction(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "fit", "--method", "cnn", "--labels", typed, "--help")
    assert line == f"fit: --labels is {typed}; give a fraction above 0 and at most 1, for example 0.05"


@pytest.mark.parametrize("images", ["1", "7"])
def test_vae_batch_with_an_odd_number_of_images_is_refused(images: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "fit", "--method", "ada-gvae", "--training.batch", images, "--data", "D", "--out", "R")
    assert f"a batch holds whole pairs: give an even number of images, not {images}" in line


@pytest.mark.parametrize("words", ["--independent", "--anchor-warmup-poses 9", "--anchor-warmup-fraction .1"])
def test_anchor_options_are_refused_for_methods_without_anchors(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "fit", "--method", "ldr", *words.split(), "--data", "D", "--out", "R")
    assert line == f"{words.split()[0]} has no effect with method ldr, which does not use anchors; leave it out"


@pytest.mark.parametrize(
    ("method", "old", "new", "field"),
    [
        ("anchored", "--alone 9", "--anchor-warmup-poses", ("anchor_warmup_poses", 9)),
        ("anchored", "--alone=9", "--anchor-warmup-poses", ("anchor_warmup_poses", 9)),
        ("anchored", "--alone-at-most .1", "--anchor-warmup-fraction", ("anchor_warmup_fraction", 0.1)),
        ("anchored", "--alone_at_most .1", "--anchor-warmup-fraction", ("anchor_warmup_fraction", 0.1)),
        ("anchored", "--erased .5", "--random-erasing", ("random_erasing", 0.5)),
        ("cnn", "--erased .5", "--random-erasing", ("random_erasing", 0.5)),
        ("jointnet", "--erased .5", "--random-erasing", ("random_erasing", 0.5)),
        *(
            (method, "--held-out .2", "--val-fraction", ("val_fraction", 0.2))
            for method in ("anchored", "ldr", "ropes", "cnn", "jointnet", "beta-vae", "cde-global")
        ),
        *(
            (method, f"--{stage}.at-least 7", f"--{stage}.min-samples", (f"{stage.replace('-', '_')}.min_samples", 7))
            for method, stages in {
                "anchored": ("training", "student"),
                "ldr": ("training",),
                "ropes": ("ae1-training", "ldr-training", "ae2-training"),
                "cnn": ("training",),
                "jointnet": ("training", "pretraining"),
                "ada-gvae": ("training",),
                "icm": ("training",),
            }.items()
            for stage in stages
        ),
    ],
)
def test_deprecated_option_names_work_and_print_the_new_name(
    method: str, old: str, new: str, field: tuple[str, object], stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = stub("ropes.methods.fit.fit")
    assert cli.main(["fit", "--method", method, "--data", "D", "--out", "R", *old.split()]) == 0
    assert attrgetter(field[0])(calls[0][0][2]) == field[1]
    typed = old.split()[0].partition("=")[0].replace("_", "-")
    assert capsys.readouterr().err == f"ropes: {typed} is now {new}\n"


@pytest.mark.parametrize("method", METHODS)
def test_fit_help_omits_deprecated_option_names(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fit", "--method", method, "--help"]) == 0
    printed = capsys.readouterr().out
    assert "--val-fraction" in printed
    assert "min-samples" in printed or method == "linear"
    for old in ("--alone", "--erased", "--held-out", "at-least"):
        assert old not in printed


@pytest.mark.parametrize("method", ["anchored", "cnn"])
def test_fit_help_says_that_anchors_count_chains(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["fit", "--method", method, "--help"]) == 0
    assert "chains of moves" in " ".join(capsys.readouterr().out.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "function"),
    [
        ("fit --data D --out R", "ropes.methods.fit.fit"),
        ("predict panda-2c --images photos", "ropes.inference.prediction.predict_lines"),
        ("evaluate R --data D --out E", "ropes.evaluation.joints.evaluate"),
        ("reproduce demo --out R", "ropes.experiments.run.reproduce"),
    ],
)
def test_commands_that_compute_pass_the_precision_on(
    words: str, function: str, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "read", lambda _: SimpleNamespace(method="anchored"))
    calls = stub(function, result=iter(()))
    for printed in ("print_table", "print_results"):
        monkeypatch.setattr(f"ropes.report.terminal.{printed}", lambda *_, **__: None, raising=False)
    monkeypatch.setattr("ropes.report.html.write_report", lambda *_, **__: None, raising=False)
    assert cli.main([*words.split(), "--precision", "32-true"]) == 0
    assert [given["precision"] for _, given in calls] == ["32-true"]


@pytest.mark.parametrize("method", METHODS)
def test_help_texts_of_recipes_do_not_break_within_a_sentence(method: str) -> None:
    """tyro keeps a line break before a line that does not begin with a letter."""
    recipe = recipe_of(method, "compact")
    parts = [recipe, *(part for each in fields(recipe) if is_dataclass(part := getattr(recipe, each.name)))]
    lines = [line for part in parts for line in (inspect.getdoc(type(part)) or "").splitlines()]
    continued = [line.strip() for line in lines if line.startswith(" " * 8)]
    assert [line for line in continued if not line[0].isalpha()] == []

import dataclasses
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ropes.cli import entry as cli
from ropes.cli.commands import COMMANDS, Command, summary
from ropes.cli.tables import Tables
from ropes.methods.anchored.encoder_stage import EncoderStage
from ropes.methods.recipes import encoder_recipe, ropes_recipe
from ropes.methods.registry import METHODS, recipe_of
from ropes.methods.ropes.stages import AE1Stage, AE2Stage, LDRStage
from ropes.methods.run import Run
from ropes.methods.training.stage import Stage
from tests import tiny
from tests.command_line import Stub, refusal

AUTO = {"precision": "auto"}
FITTED = {**AUTO, "logger": None}


def examples(command: type[Command]) -> list[list[str]]:
    lines = (command.__doc__ or "").partition("Example:")[2].replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.strip()]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_example_parses_as_its_command(name: str) -> None:
    for words in examples(COMMANDS[name]):
        kind = cli.command_kind(words[0], words[1:])
        assert words[0] == name
        assert isinstance(cli.parse(kind, name, words[1:]), COMMANDS[name])


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("reproduce table3 --out R", "table3"),
        ("simulate --setting s --anchors many --out D", "--anchors"),
        ("simulate --setting s --anchors 0 --out D", "--anchors is 0; it must be 1 or more"),
        ("simulate --setting s --anchors 5 --workers 0 --out D", "--workers is 0"),
        ("simulate --anchors 5 --out D", "either --setting NAME or --urdf FILE"),
        ("simulate --setting s --urdf u --anchors 5 --out D", "either --setting NAME or --urdf FILE"),
        ("simulate --setting s --joints a --anchors 5 --out D", "go with --urdf"),
        ("simulate --setting s --mesh coarse --anchors 5 --out D", "coarse"),
        ("simulate --setting panda-2c-casual --anchors 5 --out D", "did you mean panda-2c-causal?"),
        ("evaluate R --data D --out E --occlusions -1", "--occlusions is -1"),
        ("evaluate R --data D --out E --occlusions", "--occlusions needs at least one number"),
        ("evaluate R --data D --out E --occlusions 0 16 0", "--occlusions has 0 twice; give each number once"),
        ("reproduce demo --out R --seeds 0 0", "--seeds has 0 twice; give each number once"),
        ("reproduce demo --out R --methods ldr,ropes,ldr", "--methods has ldr twice; give each name once"),
        ("reproduce demo --out R --methods ropes,anchord", "unknown method 'anchord': did you mean anchored?"),
        ("reproduce demo --out R --methods ropes,", "--methods 'ropes,' has an empty name; separate names by a comma"),
        ("reproduce demo --out R --methods @eq3", "--methods @eq3 lacks the method before the @"),
        ("reproduce demo --out R --settings a,", "--settings 'a,' has an empty name; separate names by a comma"),
        ("reproduce demo --out R --methods ,,", "--methods ',,' has an empty name"),
        ("export D --out E --count 0", "--count is 0; it must be 1 or more"),
        ("calibrate R", "either --data DATA or --labels FILE.csv"),
        ("calibrate R --data D --samples 1", "--samples is 1; it must be 2 or more"),
        (
            "calibrate R --labels l.csv --samples 5",
            "--samples are drawn from labelled --data; leave it out with --labels",
        ),
        ("calibrate R --labels l.csv --seed 3", "--seed is of samples drawn from --data; leave it out with --labels"),
        ("score --task t --data D --split test-id", "--split is of predictions, and --data is checked whole"),
        ("calibrate R --data D --commanded --samples 5", "leave it out with --commanded"),
        ("calibrate R --data D --commanded a.json b.json", "--commanded takes one file, got 2"),
        ("calibrate R --labels l.csv --commanded", "--commanded needs --data, with images under each policy"),
        ("predict R --images D --split test-id --predictions a.npz", "--predictions is of the test poses"),
        ("evaluate R --data D --out E --calibration-poses 1", "--calibration-poses is 1; it must be 2 or more"),
        ("evaluate R --data D --out E --test-poses 0", "--test-poses is 0; it must be 2 or more"),
        ("calibrate R --data D --level 1.5", "--level is 1.5; it must lie between 0 and 1"),
        ("predict R --images", "--images needs CAMERA=FILE"),
        ("predict R --images photos --urdf a.urdf", "--urdf needs --poses or --overlay"),
        ("predict R --images photos --camera-file c.json", "--camera-file needs --overlay"),
        ("fit --data D --out R --seed -1", "--seed is -1"),
        ("fit --data D --out R --method robopepp", "robopepp"),
        ("fit --data D --out R --preset compct", "compct"),
        ("fit --data D --out R --preset", "--preset"),
    ],
)
def test_invalid_options_are_refused(arguments: str, part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert part in refusal(capsys, *arguments.split())


def test_fit_options_set_recipe_fields(stub: Stub) -> None:
    calls = stub("ropes.methods.fit.fit")
    words = "fit --method ropes --preset paper --data D --out R --seed 4 --ae1-training.epochs 2.5 --joint-ae2"
    assert cli.main(words.split()) == 0
    paper = ropes_recipe("paper")
    expected = dataclasses.replace(
        paper, joint_ae2=True, ae1_training=dataclasses.replace(paper.ae1_training, epochs=2.5)
    )
    assert calls == [((Path("D"), Path("R"), expected, 4), {"method": "ropes", "pretrained": None, **FITTED})]


@pytest.mark.parametrize("stage", [AE1Stage, LDRStage, AE2Stage, EncoderStage])
def test_divergence_message_names_a_valid_learning_rate_option(stage: type[Stage], stub: Stub) -> None:
    calls = stub("ropes.methods.fit.fit")
    method = "anchored" if stage is EncoderStage else "ropes"
    assert cli.main(["fit", "--method", method, "--data", "D", "--out", "R", stage.rate_option, "1e-9"]) == 0
    optimised = stage.rate_option.removeprefix("--").partition(".")[0].replace("-", "_")
    assert getattr(calls[0][0][2], optimised).learning_rate == 1e-9


def test_fit_defaults_to_the_compact_anchored_recipe(stub: Stub) -> None:
    calls = stub("ropes.methods.fit.fit")
    assert cli.main(["fit", "--data", "D", "--out", "R"]) == 0
    assert cli.main(["fit", "--method", "ropes", "--data", "D", "--out", "R"]) == 0
    first, second = calls
    assert (first[0][2], first[1]) == (encoder_recipe("compact"), {"method": "anchored", "pretrained": None, **FITTED})
    assert (second[0][2], second[1]) == (ropes_recipe("compact"), {"method": "ropes", "pretrained": None, **FITTED})


@pytest.mark.parametrize("method", tiny.LABELLED)
def test_label_fraction_selects_the_recipe(method: str, stub: Stub) -> None:
    calls = stub("ropes.methods.fit.fit")
    words = ["fit", "--method", method, "--data", "D", "--out", "R", "--preset", "paper"]
    assert cli.main([*words, "--labels", "0.05", "--pretrained", "P"]) == 0
    assert cli.main(words) == 0
    (first, second) = calls
    expected = {"method": method, "pretrained": Path("P"), **FITTED}
    assert (first[0][2], first[1]) == (recipe_of(method, "paper", labels=0.05), expected)
    assert second[0][2] == recipe_of(method, "paper", labels=1.0)


@pytest.mark.parametrize(("typed", "said"), [("0", "above 0 and at most 1"), ("1.5", "above 0"), ("few", "few")])
def test_label_fraction_out_of_range_is_refused(typed: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said in refusal(capsys, "fit", "--method", "cnn", "--labels", typed, "--data", "D", "--out", "R")


@pytest.mark.parametrize("method", METHODS)
def test_fit_help_describes_presets_and_omits_refused_options(
    method: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert cli.main(["fit", "--method", method, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "--preset {compact,paper} compact: two CPU cores; paper: one CUDA GPU and the paper's sizes." in shown
    assert "your own recordings (docs/data.md)" in shown
    assert "0 leaves anchors out" not in shown


def test_fit_suggests_a_recipe_field_for_a_mistyped_option(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "fit", "--method", "ropes", "--data", "D", "--out", "R", "--ae1-training.epoch", "3")
    assert "perhaps you meant --ae1-training.epochs (see" in line


def test_fit_refuses_incompatible_image_size(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "fit", "--method", "ropes", "--data", "D", "--out", "R", "--ae1.image-size", "100")
    assert "need images of side 64 or 128, not 100" in line


@pytest.mark.parametrize(
    ("words", "function", "args", "kwargs"),
    [
        ("validate D", "ropes.data.validate.validate", (Path("D"),), {}),
        ("strip D --out E", "ropes.data.layout.copy_without_labels", (Path("D"), Path("E")), {}),
        (
            "export D --split train --count 2 --out E",
            "ropes.data.layout.export_images",
            (Path("D"), "train", 2, Path("E")),
            {},
        ),
        ("report E", "ropes.report.html.write_report", (Path("E"), Path("E/report.html")), {}),
        ("report E --out p.html", "ropes.report.html.write_report", (Path("E"), Path("p.html")), {}),
        (
            "tables --check --pages docs/curves.md",
            "ropes.report.readme_tables.update",
            (Path("docs/curves.md"), Path("results"), True),
            {},
        ),
    ],
)
def test_commands_call_their_functions(
    words: str, function: str, args: tuple[Any, ...], kwargs: dict[str, Any], stub: Stub
) -> None:
    calls = stub(function)
    assert cli.main(words.split()) == 0
    assert calls == [(args, kwargs)]


def test_tables_command_checks_the_readme_and_the_docs(stub: Stub) -> None:
    calls = stub("ropes.report.readme_tables.update")
    assert cli.main(["tables", "--check"]) == 0
    assert calls == [((page, Path("results"), True), {}) for page in Tables().pages]
    assert {Path("README.md"), Path("docs/results.md")} <= {page for (page, *_), _ in calls}


def test_reproduce_writes_the_report_and_prints_the_table(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    runs = stub("ropes.experiments.run.reproduce", result="the results")
    reports, tables = stub("ropes.report.html.write_report"), stub("ropes.report.terminal.print_table")
    words = "reproduce table1 --preset paper --out R --seeds 0 1 --precision 32-true --trial"
    assert cli.main(words.split()) == 0
    options = {"preset": "paper", "out": Path("R"), "methods": None, "seeds": (0, 1), "settings": None}
    options |= {
        "workers": None,
        "processes": None,
        "recorded": None,
        "precision": "32-true",
        "scene": None,
        "mesh": None,
    }
    options |= {"trial": True, "logger": None}
    assert runs == [(("table1",), options)]
    assert reports == [((Path("R"), Path("R/report.html")), {})]
    assert tables == [(("the results",), {})]
    assert capsys.readouterr().out == "wrote R/results.json and R/report.html\n"


def test_reproduce_takes_comma_separated_methods_and_settings(stub: Stub) -> None:
    runs = stub("ropes.experiments.run.reproduce", result="the results")
    stub("ropes.report.html.write_report")
    stub("ropes.report.terminal.print_table")
    assert (
        cli.main(["reproduce", "table1", "--methods", "ropes, ldr,ropes@eq3", "--settings", "a,b", "--out", "R"]) == 0
    )
    assert runs[0][1]["methods"] == ("ropes", "ldr", "ropes@eq3")
    assert runs[0][1]["settings"] == ("a", "b")


@pytest.mark.parametrize(
    ("option", "said"),
    [("--out-of-distribution", ""), ("--unlike", "ropes: --unlike is now --out-of-distribution\n")],
)
def test_evaluate_prints_the_table(
    option: str, said: str, stub: Stub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "read", lambda _: SimpleNamespace(method="anchored"))
    calls = stub("ropes.evaluation.joints.evaluate", result="the results")
    tables = stub("ropes.report.terminal.print_table")
    words = f"evaluate R --data D --out E --seed 2 --occlusions 0 8 {option} F G --precision bf16-mixed"
    assert cli.main(words.split()) == 0
    others = Path("F"), Path("G")
    options = {"seed": 2, "occlusions": (0, 8), "out_of_distribution": others, "precision": "bf16-mixed"}
    assert calls == [((Path("R"), Path("D"), Path("E")), options)]
    assert tables == [(("the results",), {})]
    assert capsys.readouterr() == ("wrote E/results.json\n", said)


@pytest.mark.parametrize(
    ("words", "function", "kwargs"),
    [
        ("--labels l.csv", "inference.prediction.calibrate", {"data": None, "labels": Path("l.csv"), "samples": 100}),
        (
            "--data D --samples 7 --seed 3",
            "inference.prediction.calibrate",
            {"data": Path("D"), "labels": None, "samples": 7, "seed": 3},
        ),
        ("--data D --commanded", "inference.policy_calibration.calibrate_commanded", {"file": None}),
        ("--data D --commanded c.json", "inference.policy_calibration.calibrate_commanded", {"file": Path("c.json")}),
    ],
)
def test_calibrate_passes_its_options_and_prints_the_table(
    words: str, function: str, kwargs: dict[str, Any], stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    calls = stub(f"ropes.{function}", result="the calibration")
    tables = stub("ropes.report.terminal.print_calibration")
    assert cli.main(["calibrate", "R", *words.split(), "--level", "0.8"]) == 0
    args = (Path("R"), Path("D")) if "commanded" in function else (Path("R"),)
    assert calls == [(args, {"seed": 0, **kwargs, "level": 0.8})]
    assert tables == [(("the calibration",), {})]
    assert capsys.readouterr().out == "wrote R/calibration.json; ropes predict now gives radians\n"


def test_predict_prints_each_line_as_it_is_computed(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    calls = stub("ropes.inference.prediction.predict_lines", result=iter(['{"a": 1}', '{"a": 2}']))
    assert cli.main(["predict", "R", "--images", "cam45=a.png", "cam135=b.png"]) == 0
    sources = {"cam45": Path("a.png"), "cam135": Path("b.png")}
    assert calls == [((Path("R"), sources), {"poses": None, "urdf": None, **AUTO})]
    assert capsys.readouterr().out == '{"a": 1}\n{"a": 2}\n'


@pytest.mark.parametrize(
    ("words", "poses", "urdf"),
    [
        ("--poses", (), None),
        ("--poses all", ("all",), None),
        ("--poses tool hand --urdf a.urdf", ("tool", "hand"), Path("a.urdf")),
    ],
)
def test_predict_adds_poses_on_request(words: str, poses: tuple[str, ...], urdf: Path | None, stub: Stub) -> None:
    calls = stub("ropes.inference.prediction.predict_lines", result=iter(()))
    assert cli.main(["predict", "R", "--images", "photos", *words.split()]) == 0
    assert calls == [((Path("R"), Path("photos")), {"poses": poses, "urdf": urdf, **AUTO})]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_documentation_has_every_command_with_its_examples(name: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")
    section = page.partition(f"## ropes {name}\n")[2].partition("\n## ")[0].replace("\\\n", " ")
    section = " ".join(section.split())
    assert " ".join(summary(COMMANDS[name]).split()) in section
    assert examples(COMMANDS[name])
    assert all(f"ropes {' '.join(words)}" in section for words in examples(COMMANDS[name]))

"""Options from files, and the files of options that commands store with their output."""

import shlex
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from ropes.cli import entry as cli
from ropes.cli.commands import COMMANDS
from ropes.cli.config import Config, write_options
from ropes.methods.recipes import EncoderRecipe
from ropes.methods.run import Run
from tests import tiny
from tests.command_line import Stub, refusal


def config(text: str) -> Path:
    file = Path("config.yaml")
    file.write_text(text, encoding="utf-8")
    return file


def values(words: list[str]) -> dict[str, Any]:
    """The values of all options after parsing, without the name of a file of options."""
    name, *options = words
    given = Config.of(options)
    command: Any = cli.parse(cli.command_kind(name, [*given.scalars, *options]), name, options, given)
    if given.file is None:
        write_options(command, Path("options.yaml"))
    return {key: value for key, value in asdict(command).items() if key != "config"}


@pytest.mark.parametrize("name", COMMANDS)
def test_stored_options_of_every_example_give_the_same_command(name: str) -> None:
    lines = (COMMANDS[name].__doc__ or "").partition("Example:")[2].replace("\\\n", " ").splitlines()
    for words in (shlex.split(line)[1:] for line in lines if line.strip()):
        first = values(words)
        assert values([name, "--config", "options.yaml"]) == first


@pytest.mark.parametrize(
    "words",
    [
        "fit --method ldr --data D --out R",
        "fit --method ropes --preset paper --ldr.no-others --no-registration --data D --out R",
        "fit --method cnn --labels 0.05 --training.clip None --training.learning-rate 1e-5 --data D --out R",
        "fit --method beta-vae --anchors 7 --data D --out R",
        "fit --method cde-global --data D --out R",
        "import S --out D --offset -0.5 --no-boxes --crop none",
        "simulate --urdf a.urdf --joints a b --ranges -1:1 0:30 --anchors 5 --out D",
        "predict R --images a=b.png --poses",
        "calibrate R --data D --commanded",
    ],
)
def test_stored_options_keep_values_of_every_kind(words: str) -> None:
    first = values(words.split())
    assert values([words.split()[0], "--config", "options.yaml"]) == first


def test_command_line_overrides_the_file(stub: Stub) -> None:
    calls = stub("ropes.data.generate.simulate")
    file = config("setting: panda-1c-independent\nanchors: 50\ntest_anchors: 7\nstate: true\nout: D\nmesh: full\n")
    assert cli.main(["simulate", "--config", str(file), "--anchors=9", "--no-state", "--out", "E"]) == 0
    [(_, options)] = calls
    assert (options["anchors"], options["test_anchors"], options["state"]) == (9, 7, False)
    assert (options["out"], options["mesh"]) == (Path("E"), "full")


def test_nested_options_change_the_recipe_of_the_method_in_the_file(stub: Stub) -> None:
    calls = stub("ropes.methods.fit.fit")
    text = "data: D\nout: R\npreset: paper\nencoder: {window: 28, widths: [8, 16, 32, 64]}\ntraining.epochs: 3\n"
    assert cli.main(["fit", "--config", str(config(text)), "--encoder.window", "32"]) == 0
    recipe = calls[0][0][2]
    assert isinstance(recipe, EncoderRecipe)
    assert (recipe.preset, recipe.encoder.window, recipe.encoder.widths) == ("paper", 32, (8, 16, 32, 64))
    assert (recipe.training.epochs, recipe.training.batch) == (3, 208)


def test_old_option_names_of_simulate_are_read_from_files(capsys: pytest.CaptureFixture[str]) -> None:
    file = config("setting: action-pairs\nsamples: 9\nout: D\nthings: 4\n")
    assert values(["simulate", "--config", str(file)])["objects"] == 4
    assert capsys.readouterr().err == "ropes: config.yaml: things is now objects\n"


def test_old_option_names_of_fit_are_read_from_files(stub: Stub, capsys: pytest.CaptureFixture[str]) -> None:
    calls = stub("ropes.methods.fit.fit")
    text = "data: D\nout: R\nheld_out: .2\nalone: 9\ntraining: {at_least: 7}\n"
    assert cli.main(["fit", "--config", str(config(text)), "--alone", "8"]) == 0
    recipe = calls[0][0][2]
    assert isinstance(recipe, EncoderRecipe)
    assert (recipe.val_fraction, recipe.training.min_samples) == (0.2, 7)
    assert recipe.anchor_warmup_poses == 8  # the command line replaces it, under either name
    assert capsys.readouterr().err.splitlines() == [
        "ropes: --alone is now --anchor-warmup-poses",
        "ropes: config.yaml: held-out is now val-fraction",
        "ropes: config.yaml: alone is now anchor-warmup-poses",
        "ropes: config.yaml: training.at-least is now training.min-samples",
    ]


@pytest.mark.parametrize(("typed", "read"), [([], "D"), (["E"], "E")])
def test_option_without_a_name_may_be_in_the_file(typed: list[str], read: str, stub: Stub) -> None:
    calls = stub("ropes.data.validate.validate")
    assert cli.main(["validate", *typed, "--config", str(config("data: D\n"))]) == 0
    assert calls == [((Path(read),), {})]


def test_lists_of_the_file_do_not_take_words_of_the_command_line(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "read", lambda _: SimpleNamespace(method="anchored"))
    calls = stub("ropes.evaluation.joints.evaluate", result="the results")
    stub("ropes.report.terminal.print_table")
    file = config("occlusions: [0, 16]\nout_of_distribution: [F, G]\n")
    assert cli.main(["evaluate", "--config", str(file), "R", "--data", "D", "--out", "E"]) == 0
    [(arguments, options)] = calls
    assert arguments == (Path("R"), Path("D"), Path("E"))
    assert (options["occlusions"], options["out_of_distribution"]) == ((0, 16), (Path("F"), Path("G")))


@pytest.mark.parametrize(
    ("text", "words", "line"),
    [
        ("ancors: 50", "simulate --out D", "config.yaml: unknown option 'ancors': did you mean anchors?"),
        ("encoder: {windw: 3}", "fit --data D --out R", "unknown option 'encoder.windw': did you mean encoder.window?"),
        ("purple: 3", "fit --data D --out R", "config.yaml: unknown option 'purple': see ropes fit --help"),
        ("config: a.yaml", "card R", "config.yaml: unknown option 'config': see ropes card --help"),
        ("anchors: many", "simulate --setting s --out D", "config.yaml: --anchors is 'many'; give a whole number"),
        ("anchors: [1, 2]", "simulate --setting s --out D", "config.yaml: anchors is a list; give one"),
        ("anchors: 0", "simulate --setting s --out D", "config.yaml: --anchors is 0; it must be 1 or more"),
        ("state: maybe", "simulate --setting s --anchors 5 --out D", "state is 'maybe'; give true or false"),
        ("hide: sqare", "evaluate R --data D --out E", "config.yaml: invalid choice 'sqare' for argument '--hide'"),
        ("preset: compct", "fit --data D --out R", "config.yaml: unknown preset 'compct': did you mean compact?"),
        ("name: dem", "reproduce --out R", "config.yaml: unknown name 'dem': did you mean demo?"),
        ("- anchors", "card R", "config.yaml has no options; write a line NAME: VALUE for each"),
        ("a: [", "card R", "config.yaml is not valid YAML: "),
        ("a: !!python/object/apply:os.getcwd []", "card R", "config.yaml: unknown option 'a': see ropes card --help"),
        ("seed: 1\nse_ed: 2\nse-ed: 3", "simulate --out D", "config.yaml gives se-ed twice; leave one of them out"),
        (
            "erased: .1\nrandom_erasing: .2",
            "fit --data D --out R",
            "config.yaml gives random-erasing and its old name erased; leave one of them out",
        ),
        ("seed: 1\nseed: 2", "simulate --out D", "config.yaml gives seed twice; leave one of them out"),
        ("training: {epochs: 1, epochs: 2}", "fit --data D --out R", "config.yaml gives epochs twice; leave one"),
        ("ranges: [1:2, on]", "simulate --urdf u --joints a b --anchors 1 --out D", "'on' is not LOW:HIGH"),
    ],
)
def test_faults_of_a_file_name_the_file(text: str, words: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line in refusal(capsys, *words.split(), "--config", str(config(text)))
    assert sorted(path.name for path in Path().iterdir()) == ["R", "config.yaml"]


def test_fault_of_the_command_line_does_not_name_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    file = config("anchors: 5\nsetting: s\n")
    line = refusal(capsys, "simulate", "--config", str(file), "--anchors", "0", "--out", "D")
    assert line == "--anchors is 0; it must be 1 or more"


def test_missing_file_of_options_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--config" in refusal(capsys, "card", "R", "--config")
    assert cli.main(["card", "R", "--config", "none.yaml"]) == 2
    assert "none.yaml: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["card", "fit"])
def test_help_names_the_option(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert "--config FILE.yaml" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("words", "function", "file"),
    [
        ("fit --data D --out R", "ropes.methods.fit.fit", "R/options.yaml"),
        ("reproduce demo --out R", "ropes.experiments.run.reproduce", "R/options.yaml"),
        ("strip D --out E", "ropes.data.layout.copy_without_labels", "E.options.yaml"),
        ("export D --out E", "ropes.data.layout.export_images", "E.options.yaml"),
        ("simulate --setting panda-1c-six --anchors 5 --out .", "ropes.data.generate.simulate", "../{}.options.yaml"),
    ],
)
def test_stored_options_make_the_same_call(
    words: str, function: str, file: str, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.report.html.write_report", lambda *_: None)
    monkeypatch.setattr("ropes.report.terminal.print_table", lambda *_: None)
    calls = stub(function)
    (folder := Path.cwd() / "empty").mkdir()
    monkeypatch.chdir(folder)
    stored = Path(file.format(folder.name))
    assert cli.main(words.split()) == 0
    assert stored.exists()
    assert cli.main([words.split()[0], "--config", str(stored)]) == 0
    assert cli.main([*words.split(), "--out", "../other"]) == 0
    assert calls[0] == calls[1] != calls[2]


@pytest.mark.parametrize("begun", [True, False])
def test_interrupted_fit_stores_its_options(begun: bool, stub: Stub) -> None:
    stub("ropes.methods.fit.fit", KeyboardInterrupt())
    Path("R").mkdir(exist_ok=True)
    if begun:
        Path("R/run.json").touch()
    words = ["fit", "--data", "D", "--out", "R", "--training.epochs", "3"]
    assert cli.main(words) == 130
    assert Path("R/options.yaml").exists() == begun
    if begun:
        assert values(["fit", "--config", "R/options.yaml"]) == values(words)


def test_commands_that_write_one_file_store_options_beside_it(
    stub: Stub, monkeypatch: pytest.MonkeyPatch, tiny_data: Path
) -> None:
    monkeypatch.setattr("ropes.report.html.write_report", lambda *_: None)
    monkeypatch.setattr("ropes.inference.prediction.predict_lines", lambda *_, **__: ["{}"])
    monkeypatch.setattr("ropes.models.registry.find_run", Path)
    results = Path(__file__).parents[2] / "results" / "demo-compact.json"
    for words, output in (
        ("report E", "E/report.html"),
        (f"csv {results} --out figures.csv", "figures.csv"),
        (f"inspect {tiny_data} --json inspection.json", "inspection.json"),
        ("predict R --images a.png --overlay overlays", "overlays"),
    ):
        assert cli.main(words.split()) == 0
        assert values([words.split()[0], "--config", f"{output}.options.yaml"]) == values(words.split())


def test_refused_command_stores_no_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tiny.tree(tmp_path)
    assert "D" in refusal(capsys, "strip", "D", "--out", "E")
    assert tiny.tree(tmp_path) == before


def test_copies_of_a_data_set_at_other_places_are_equal(tiny_data: Path) -> None:
    assert cli.main(["strip", str(tiny_data), "--out", "first"]) == 0
    assert cli.main(["strip", "--config", "first.options.yaml", "--out", "second"]) == 0
    assert tiny.tree(Path("first")) == tiny.tree(Path("second"))
    stored = yaml.safe_load(Path("second.options.yaml").read_text(encoding="utf-8"))
    assert stored == {"data": str(tiny_data), "out": "second"}


SMALL = """
method: ldr
seed: 3
encoder: {image-size: 16, stem: 2, widths: [8, 16], blocks: [1, 1], hidden: 16, window: 0}
training: {epochs: 0.5, min-samples: 0, batch: 20}
foreign: 0
val-fraction: 0.25
"""


@pytest.mark.slow
def test_fit_runs_again_with_its_stored_options(tiny_data: Path) -> None:
    file = config(f"data: {tiny_data}\nout: first\n{SMALL}")
    assert cli.main(["fit", "--config", str(file)]) == 0
    stored = Path("first/options.yaml").read_bytes()
    assert cli.main(["fit", "--config", "first/options.yaml", "--out", "second"]) == 0
    assert Run.read(Path("first")) == Run.read(Path("second"))
    assert tiny.weights(Path("first")) == tiny.weights(Path("second")) != {}
    assert cli.main(["fit", "--config", "first/options.yaml", "--logger", "csv"]) == 0
    assert Path("first/options.yaml").read_bytes() == stored.replace(b"logger: null", b"logger: csv") != stored
    assert Path("first/logs/csv/metrics.csv").exists()

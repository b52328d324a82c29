import errno
import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

from ropes.cli import entry as cli
from ropes.cli.commands import COMMANDS, help_texts
from ropes.cli.simulate import Simulate
from ropes.errors import UserError
from tests.command_line import Stub, refusal
from tests.timeouts import PATIENCE


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(f"  {name} " in out for name in COMMANDS)
    assert max(map(len, out.splitlines())) <= 120


def test_help_imports_no_heavy_package() -> None:
    code = (
        "import sys; from ropes.cli.entry import main; main(['--help']); main(['--version']);"
        "heavy = {'torch', 'lightning', 'pybullet', 'matplotlib', 'scipy', 'numpy', 'pyarrow'};"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_version_option_prints_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("ropes 0.")


def test_python_dash_m_is_the_same_program() -> None:
    done = subprocess.run([sys.executable, "-m", "ropes", "ft"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ropes: unknown command 'ft': did you mean fit?\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert f"  ropes {name} " in capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_help_texts_do_not_break_within_a_sentence(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "3000")  # every text fits on one line
    assert cli.main([name, "--help"]) == 0
    shown, texts = capsys.readouterr().out, help_texts(COMMANDS[name]).values()
    assert texts
    assert [text for text in texts if text not in shown] == []


def test_multi_line_help_text_is_joined() -> None:
    text = help_texts(Simulate)["setting"]
    assert "\n" not in text
    assert text.startswith("panda-1c-independent, panda-2c-independent, ")
    assert text.endswith(", or a setting of another package.")


def test_missing_command_prints_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2
    captured = capsys.readouterr()
    assert "simulate" in captured.out
    assert captured.err == "ropes: no command given; choose one of the above\n"


def test_unknown_command_without_a_similar_name_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "xyz").startswith("unknown command 'xyz': choose one of simulate, validate, ")


def test_mistyped_option_is_refused_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "evaluate", "R", "--data", "D", "--out", "E", "--occlusion", "16")
    fault, hint = "Unrecognized options: --occlusion, 16", "perhaps you meant --occlusions"
    assert line == f"evaluate: {fault}; {hint} (see ropes evaluate --help)"


def test_a_mistyped_required_option_is_refused_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "simulate", "--anchors", "6", "--setting", "panda-2c-causal", "--outt", "D")
    assert line.startswith("simulate: missing --out FOLDER|URL; Unrecognized")
    assert line.endswith("Unrecognized options: --outt D; perhaps you meant --out (see ropes simulate --help)")


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_error_line_does_not_depend_on_the_terminal(encoding: str) -> None:
    words = [sys.executable, "-m", "ropes", "strip", "D", "--outt", "E"]
    surroundings = os.environ | {"PYTHONIOENCODING": encoding, "COLUMNS": "40"}
    done = subprocess.run(words, env=surroundings, capture_output=True, text=True)
    missing = "missing --out PATH"
    unknown = "Unrecognized options: --outt E"
    assert done.stderr == f"ropes: strip: {missing}; {unknown}; perhaps you meant --out (see ropes strip --help)\n"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ("evaluate R --out E", "missing --data FOLDER|URL"),
        ("calibrate", "missing RUN"),
        ("fit", "missing --data FOLDER|URL; missing --out PATH"),
        ("score", "missing --task"),
        ("evaluate R --data D --out E --occlusions a", "--occlusions is 'a'; give whole numbers"),
        ("reproduce demo --out R --seeds a", "--seeds is 'a'; give numbers"),
        ("fit --data x --out y --seed", "--seed needs a value"),
        ("fit --data x --out y --anchors two", "--anchors is 'two'; give a whole number"),
        ("fit --data x --out y --seed 1.5", "--seed is '1.5'; give a whole number"),
        ("fit --data x --out y --val-fraction a", "--val-fraction is 'a'; give a number"),
    ],
)
def test_missing_and_misspelt_values_are_reported(words: str, fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = words.split()[0]
    assert refusal(capsys, *words.split()) == f"{name}: {fault} (see ropes {name} --help)"


def test_a_missing_choice_lists_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "reproduce")
    assert line.startswith("reproduce: missing one of cameras, causal-triplet, coverage, ")
    assert line.endswith(", table2; missing --out PATH (see ropes reproduce --help)")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (UserError("D is empty; simulate first"), "D is empty; simulate first"),
        (UserError("D is damaged (in page 1:\n  bad header\n)"), "D is damaged (in page 1: bad header )"),
        (OSError(errno.ENOSPC, "No space left on device", "D/x"), "the disk is full at D/x; free some space"),
        (
            RuntimeError("I/O error: No space left on device (os error 28)"),
            "the disk is full; free some space",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "D/x"), "D/x: Permission denied; check the path"),
        (ModuleNotFoundError("no", name="pybullet"), "pip install 'pybullet>="),
        (ModuleNotFoundError("no", name="sklearn"), "the package sklearn is not installed; run make install, or pip"),
        (ModuleNotFoundError("no", name="sklearn"), "pip install 'scikit-learn>="),
        (ModuleNotFoundError("no", name="PIL"), "pip install 'pillow>="),
        (ModuleNotFoundError("no", name="collada"), "pip install 'pycollada>="),
        (ModuleNotFoundError("no", name="pytorch_metric_learning"), "pip install 'pytorch-metric-learning>="),
    ],
)
def test_user_errors_print_one_line(
    error: BaseException, line: str, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub("ropes.data.validate.validate", result=error)
    assert line in refusal(capsys, "validate", "D")


@pytest.mark.parametrize(
    "error",
    [
        ZeroDivisionError("our mistake"),
        OSError("no errno"),
        ImportError("ours"),
        ModuleNotFoundError("a module that an installed package no longer has", name="scipy.gone"),
        ModuleNotFoundError("ours", name="ropes.gone"),
        ModuleNotFoundError("a name that is mistyped in our own import", name="numpi"),
    ],
)
def test_internal_errors_print_their_traceback_and_have_an_exit_code_of_their_own(
    error: Exception, stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub("ropes.data.validate.validate", result=error)
    assert cli.main(["validate", "D"]) == 70
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert f"{type(error).__name__}: {error}" in said


def test_full_disk_on_stdout_prints_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "ropes", "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "ropes: the disk is full; free some space and run the same command again to resume\n"


def test_closed_pipe_is_silent() -> None:
    done = subprocess.run(
        f"{shlex.quote(sys.executable)} -m ropes --help | true; exit ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (done.returncode in (0, 141), done.stderr) == (True, "")


SLEEPER = """
import os, signal, sys, time, types
from ropes.cli.entry import main
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup, or whatever started the tests, may ignore it
def validate(path):
    print("ready", flush=True)
    try:
        for _ in range(6000):  # under Python 3.14 a signal during print(…, flush=True) waits for the next call to end
            time.sleep(0.1)
    except KeyboardInterrupt:
        if path.name == "lightning":
            sys.exit(1)
        raise
module = types.ModuleType("ropes.data.validate")
module.validate = validate
sys.modules["ropes.data.validate"] = module
sys.exit(main(["validate", sys.argv[1]]))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("behaviour", ["plain", "lightning"])
def test_signals_set_the_exit_code(number: int, code: int, behaviour: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEPER, behaviour], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    _, error = process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    assert error == "ropes: interrupted\n"


def test_keyboard_interrupt_from_another_handler_has_the_same_exit_code(
    stub: Stub, capsys: pytest.CaptureFixture[str]
) -> None:
    stub("ropes.data.validate.validate", result=KeyboardInterrupt())
    assert cli.main(["validate", "D"]) == 130
    assert capsys.readouterr().err == "ropes: interrupted\n"


def test_nohup_ignores_sighup() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with cli.recorded_signals() as received:
            os.kill(os.getpid(), signal.SIGHUP)
        assert received == []
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_forked_worker_dies_of_sigterm_silently() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with cli.recorded_signals() as received:
        child = os.fork()
        if child == 0:
            time.sleep(PATIENCE)
            os._exit(0)
        time.sleep(0.1)
        os.kill(child, signal.SIGTERM)
        _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGTERM
    assert received == []
    assert signal.getsignal(signal.SIGTERM) is before

"""Logs of fits: their curves are those of the stages, also after a fit was killed."""

import csv
import sys
from collections import defaultdict
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.typing import NDArray
from PIL import Image

from ropes.common.files import as_json, read_json
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.methods.fit import fit
from ropes.methods.ropes.stages import LDRStage
from ropes.methods.training.run_log import LoggerName, RunLog
from tests import tiny
from tests.kills import killed

#: Name of a curve → its points, (step, value).
Curves = dict[str, list[tuple[int, float]]]
RECIPE = tiny.recipe()


def logged_fit(data: Path, out: Path, logger: LoggerName | None) -> None:
    fit(data, out, RECIPE, method="ropes", show=False, logger=logger)


def recorded(run: Path) -> Curves:
    """The curves of all stages, from their summaries."""
    curves: Curves = {}
    for path in run.rglob("stage.json"):
        history = read_json(path)["history"]
        steps = history.pop("steps")
        for name, values in history.items():
            points = [(int(step), value) for step, value in zip(steps, values, strict=True)]
            curves[f"{path.parent.relative_to(run).as_posix()}/{name}"] = points
    return curves


def in_table(run: Path) -> Curves:
    """The curves in the table of the csv logger, in the order of its rows."""
    curves: Curves = defaultdict(list)
    with (run / "logs" / "csv" / "metrics.csv").open(newline="", encoding="utf-8") as table:
        for row in csv.DictReader(table):
            step = int(row.pop("step"))
            for name, value in row.items():
                if value:
                    curves[name].append((step, float(value)))
    return dict(curves)


def read_picture(run: Path, name: str) -> NDArray[np.uint8]:
    with Image.open(run / "logs" / "csv" / f"{name}.png") as picture:
        return np.asarray(picture)


@pytest.fixture
def csv_run(tiny_data: Path, tmp_path: Path) -> Path:
    logged_fit(tiny_data, tmp_path / "run", "csv")
    return tmp_path / "run"


@pytest.mark.slow
def test_log_has_the_curves_of_all_stages_and_the_recipe(csv_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    curves = in_table(csv_run)
    assert curves == recorded(csv_run)
    assert {"ae1/held_out", "ldr/elbow/held_out", "ldr/wrist/train", "ae2/joint/held_out_logit"} <= curves.keys()
    stored = yaml.safe_load((csv_run / "logs" / "csv" / "hparams.yaml").read_text(encoding="utf-8"))
    assert (stored["method"], stored["seed"], stored["setting"]) == ("ropes", 0, "tiny")
    assert stored["ldr_training"]["weight_decay"] == RECIPE.ldr_training.weight_decay
    assert stored["ae1"] == as_json(vars(RECIPE.ae1))
    images, rebuilt = (read_picture(csv_run, name) for name in ("images", "reconstructions"))
    frames = open_dataset(tiny_data).read_images(range(8))  # cameras below one another, poses side by side
    expected = frames.transpose(1, 2, 0, 3).reshape(2 * tiny.SIDE, 8 * tiny.SIDE)
    np.testing.assert_array_equal(images, np.repeat(expected[..., None], 3, axis=-1))
    assert rebuilt.shape == images.shape
    assert rebuilt.std() > 0

    logged_fit(tiny_data, tmp_path / "plain", None)
    assert tiny.weights(tmp_path / "plain") == tiny.weights(csv_run)
    assert not (tmp_path / "plain" / "logs").exists()


@pytest.mark.slow
def test_resumed_fit_repeats_no_step_in_the_log(csv_run: Path, tiny_data: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    with killed(LDRStage, 2):
        logged_fit(tiny_data, again, "csv")
    begun = in_table(again)
    assert begun["ae1/loss"] == in_table(csv_run)["ae1/loss"]
    assert "ldr/wrist/train" not in begun
    logged_fit(tiny_data, again, "csv")
    assert in_table(again) == in_table(csv_run)


@pytest.mark.slow
def test_finished_run_is_logged_without_training(csv_run: Path, tiny_data: Path) -> None:
    before, log = tiny.weights(csv_run), csv_run / "logs" / "csv"
    table = (log / "metrics.csv").read_bytes()
    (log / "metrics.csv").write_text("step\n1\n", encoding="utf-8")
    logged_fit(tiny_data, csv_run, "csv")
    assert (log / "metrics.csv").read_bytes() == table
    assert tiny.weights(csv_run) == before


@pytest.mark.parametrize("logger", ["mlflow", "tensorboard", "wandb"])
def test_missing_logger_names_the_command_that_installs_it(
    logger: LoggerName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.methods.training.run_log.find_spec", lambda name: None)
    with pytest.raises(UserError, match=rf"--logger {logger} needs .*: pip install -e '\.\[{logger}\]'"):
        logged_fit(tmp_path / "data", tmp_path / "run", logger)
    assert list(tmp_path.iterdir()) == []


def test_unknown_logger_is_refused(tmp_path: Path) -> None:
    name: Any = "tensorbord"
    with pytest.raises(UserError, match=r"unknown logger 'tensorbord': did you mean tensorboard\?"):
        logged_fit(tmp_path / "data", tmp_path / "run", name)


def test_refused_data_leave_no_log(tmp_path: Path) -> None:
    data = tiny.write_data(tmp_path / "data", anchors=1, tests=0)
    with pytest.raises(UserError):
        logged_fit(data, tmp_path / "run", "csv")
    assert not (tmp_path / "run").exists()


def test_method_of_another_package_may_have_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_log(
        data: Path, out: Path, recipe: object, seed: int, *, method: str, precision: str, show: bool
    ) -> None:
        raise AssertionError

    monkeypatch.setattr("ropes.methods.anchored.fit.fit", without_log)
    with pytest.raises(UserError, match="method anchored writes no log; leave --logger out"):
        fit(tmp_path / "data", tmp_path / "run", logger="csv", show=False)
    assert list(tmp_path.iterdir()) == []


class Recorder:
    """Stands for a logger of Lightning whose package is not installed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.args, self.kwargs = args, kwargs
        self.curves: Curves = defaultdict(list)
        self.hyperparameters: dict[str, Any] = {}
        self.ended, self.experiment_id, self.run_id = "", "1", "new"
        self.deleted: list[str] = []
        self.pictures: dict[str, tuple[int, ...]] = {}
        self.experiment = SimpleNamespace(
            add_image=lambda name, picture, dataformats: self.pictures.update({name: picture.shape}),
            log_image=lambda run, picture, file: self.pictures.update({file.removesuffix(".png"): picture.shape}),
            search_runs=lambda _: [SimpleNamespace(info=SimpleNamespace(run_id=name)) for name in ("new", "old")],
            delete_run=self.deleted.append,
        )

    def log_hyperparams(self, values: dict[str, Any]) -> None:
        self.hyperparameters = values

    def log_metrics(self, values: dict[str, float], step: int) -> None:
        for name, value in values.items():
            self.curves[name].append((step, value))

    def log_image(self, key: str, images: list[NDArray[np.uint8]]) -> None:
        self.pictures[key] = images[0].shape

    def save(self) -> None:
        """Nothing is held back."""

    def finalize(self, status: str) -> None:
        self.ended = status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("logger", "kind"), [("mlflow", "MLFlowLogger"), ("tensorboard", "TensorBoardLogger"), ("wandb", "WandbLogger")]
)
def test_every_logger_gets_the_curves_and_stays_offline(
    logger: LoggerName, kind: str, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, finished = list[Recorder](), list[int]()

    def make(*args: Any, **kwargs: Any) -> Recorder:
        made.append(Recorder(*args, **kwargs))
        return made[-1]

    package: Any = ModuleType(logger)
    package.__spec__ = ModuleSpec(logger, None)
    package.finish = lambda exit_code: finished.append(exit_code)
    monkeypatch.setitem(sys.modules, logger, package)
    monkeypatch.setattr(f"lightning.pytorch.loggers.{kind}", make)
    run = tmp_path / "run"
    logged_fit(tiny_data, run, logger)
    (log,) = made
    assert log.curves == recorded(run)
    assert (log.hyperparameters["method"], log.ended) == ("ropes", "success")
    shape = 2 * tiny.SIDE, 8 * tiny.SIDE, 3
    assert log.pictures == {"images": shape, "reconstructions": shape}
    if logger == "tensorboard":
        assert (log.args, log.kwargs) == ((run / "logs",), {"name": "tensorboard", "version": ""})
    elif logger == "wandb":
        offline = {"save_dir": run / "logs", "project": "ropes", "name": "run", "offline": True}
        assert (log.kwargs, finished) == (offline, [0])
    else:
        assert log.kwargs["tracking_uri"] == f"sqlite:///{run / 'logs' / 'mlflow' / 'mlflow.db'}"
        assert log.deleted == ["old"]


@pytest.mark.slow
def test_log_of_a_killed_fit_is_closed_as_failed(
    tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Recorder()
    monkeypatch.setattr("lightning.pytorch.loggers.CSVLogger", lambda *_, **__: made)
    with killed(LDRStage, 1):
        logged_fit(tiny_data, tmp_path / "run", "csv")
    assert made.ended == "failed"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_event_files_of_tensorboard_have_the_curves(tiny_data: Path, tmp_path: Path) -> None:
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with killed(LDRStage, 2):
        logged_fit(tiny_data, tmp_path / "run", "tensorboard")
    logged_fit(tiny_data, tmp_path / "run", "tensorboard")
    events = reader.EventAccumulator(str(tmp_path / "run" / "logs" / "tensorboard"))
    events.Reload()
    expected = recorded(tmp_path / "run")
    assert set(events.Tags()["scalars"]) - {"hp_metric"} == set(expected)
    assert sorted(events.Tags()["images"]) == ["images", "reconstructions"]
    for name, points in expected.items():
        found = [(event.step, event.value) for event in events.Scalars(name)]
        assert [step for step, _ in found] == [step for step, _ in points]
        assert [value for _, value in found] == pytest.approx([value for _, value in points], rel=1e-6)


@pytest.mark.slow
def test_log_of_an_encoder_shows_where_it_looks(tiny_data: Path, tmp_path: Path) -> None:
    fit(tiny_data, tmp_path, tiny.short(tiny.encoder_recipe()), show=False, logger="csv")
    images, attention = (read_picture(tmp_path, name).astype(int) for name in ("images", "attention"))
    assert not (tmp_path / "logs" / "csv" / "reconstructions.png").exists()
    assert (attention <= images).all()
    assert (attention < images).any()


def test_stage_without_a_record_writes_nothing(tmp_path: Path) -> None:
    with RunLog("csv", tmp_path) as log:
        log.begin({})
        log.add("encoder", {})
        assert not (tmp_path / "logs" / "csv" / "metrics.csv").exists()
        log.add("encoder", {"steps": [3.0], "loss": [0.5]})
    assert in_table(tmp_path) == {"encoder/loss": [(3, 0.5)]}

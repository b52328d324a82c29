"""The identity of a run: method, recipe, seed, and the data that it was fitted on."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ropes import __version__
from ropes.common.files import read_json, require_free, write_json
from ropes.common.hardware import AskedPrecision, Precision, capability, precision_of
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.methods.recipes import Recipe, recipe_from_dict, recipe_to_dict
from ropes.methods.registry import METHODS, method_named
from ropes.models import registry
from ropes.simulation.settings import SETTINGS

TRAINING_FILE, CALIBRATION_FILE = "training.json", "calibration.json"
RUN_FILE = registry.RUN_FILE
TRUST_FILE = "trust.safetensors"
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """The identity of a run; stored as `run.json`.

    Attributes:
        method: one of `ropes.methods.registry.METHODS`.
        recipe: all its settings.
        seed: of the fit.
        setting: name of the setting that was filmed, or of the data set's folder.
        cameras: their names, in the order of the views.
        joints: names, in the order of the coordinates.
        image_size: side of the images in the data set, in pixels.
        data_checksum: of the images and regimes (never of the angles).
        version: of the package that began the run, or last began weights of it anew.
        anchors: in the training split; None where a run of an earlier version does not say.
        angles_checksum: of the training angles, of a method that reads labels; None for the others.
        precision: that its networks are trained in, but for stages that always take float32; None where a run of an
            earlier version does not say.
        processor: what the machine that began it computes with, see `ropes.common.hardware.capability`; None likewise.
        scene: behind the arm in the images, see `scene_of`.
    """

    method: str
    recipe: Recipe
    seed: int
    setting: str
    cameras: tuple[str, ...]
    joints: tuple[str, ...]
    image_size: int
    data_checksum: str
    version: str = __version__
    anchors: int | None = None
    angles_checksum: str | None = None
    precision: Precision | None = None
    processor: str | None = None
    scene: str | None = None

    @classmethod
    def of(
        cls, dataset: Dataset, *, method: str, recipe: Recipe, seed: int, angles_checksum: str | None = None
    ) -> "Run":
        """The run of a method on the training split of a data set."""
        return cls(
            method=method,
            recipe=recipe,
            seed=seed,
            setting=str((dataset.provenance or {}).get("setting", {}).get("name", dataset.path.resolve().name)),
            cameras=dataset.cameras,
            joints=dataset.joints,
            image_size=dataset.image_size[0],
            data_checksum=dataset.checksum,
            anchors=len(np.unique(dataset.frames("train").anchor)),
            angles_checksum=angles_checksum,
            scene=scene_of(dataset),
        )

    def write(self, folder: Path) -> "Run":
        """Store in `folder`, unless it is stored there already, by whichever version began it.

        What a run there led to under another recipe is no longer vouched for: until the fit ends again the folder
        counts as unfinished, and a calibration of other weights is gone.

        Returns:
            What is stored.

        Raises:
            UserError: the folder holds something else, or a run of another method, seed or data set.
        """
        self.require_same(folder)
        if (folder / RUN_FILE).exists():
            stored = Run.read(folder)
            if stored.recipe == self.recipe:
                return stored
            for stale in (TRAINING_FILE, CALIBRATION_FILE, TRUST_FILE):
                (folder / stale).unlink(missing_ok=True)
        write_json(folder / RUN_FILE, {"format": FORMAT, **asdict(self), "recipe": recipe_to_dict(self.recipe)})
        return self

    def begin_anew(self, folder: Path) -> "Run":
        """Store in `folder` that weights are trained anew by this version; until the fit ends it is unfinished.

        A precision that an earlier version did not store is from now on what this machine is fast in.
        """
        (folder / TRAINING_FILE).unlink(missing_ok=True)
        anew = replace(self, version=__version__)
        if self.precision is None:
            anew = replace(anew, precision=precision_of("auto"), processor=capability())
        write_json(folder / RUN_FILE, {"format": FORMAT, **asdict(anew), "recipe": recipe_to_dict(anew.recipe)})
        return anew

    def named_as_in(self, folder: Path) -> "Run":
        """This run with the setting's name that `folder` has for it, if it holds this run already."""
        self.require_same(folder)
        return replace(self, setting=Run.read(folder).setting) if (folder / RUN_FILE).exists() else self

    def in_precision(self, folder: Path, asked: AskedPrecision) -> "Run":
        """This run in the precision that `folder` began it in; where it has not, in the one that is asked for.

        Raises:
            UserError: no such precision, or another one than the run was begun in.
        """
        precision = precision_of(asked)
        begun = Run.read(folder) if (folder / RUN_FILE).exists() else None
        if begun is None or (begun.precision is None and begun.recipe != self.recipe):
            return replace(self, precision=precision, processor=capability())
        begun.require_precision(folder, asked)
        return replace(self, precision=begun.precision, processor=begun.processor)

    def require_precision(self, folder: Path, asked: AskedPrecision) -> None:
        """Check that this run, which `folder` holds, may go on in the precision that is asked for.

        Raises:
            UserError: it was begun in another one.
        """
        if asked not in ("auto", self.precision):
            how = self.precision or "a precision that it does not say"
            raise UserError(f"{folder} was begun in {how}; leave --precision out, or choose another --out")

    def require_same(self, folder: Path) -> None:
        """Check that `folder` may hold this run: it is empty, or holds it already; another recipe is no other run.

        Raises:
            UserError: the folder holds something else, or a run of another method, seed or data set.
        """
        require_free(folder, RUN_FILE)
        if not (folder / RUN_FILE).exists():
            return
        other = Run.read(folder)
        identity = ("method", "seed", "data_checksum", "angles_checksum")
        if changed := [name for name in identity if _differ(self, other, name)]:
            raise UserError(f"{folder} holds a run with another {changed[0].replace('_', ' ')}; choose another --out")

    @classmethod
    def read(cls, folder: Path) -> "Run":
        """Read the identity of the run in `folder`.

        Raises:
            UserError: no run there, or one of another version.
        """
        content = read_json(folder / RUN_FILE)
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            found = content.get("format") if isinstance(content, Mapping) else None
            raise UserError(
                f"{folder / RUN_FILE} has format {found}, this version of ropes reads {FORMAT}; fit the run again"
            )
        fields: dict[str, Any] = {key: value for key, value in content.items() if key != "format"}
        method = fields.get("method")
        if isinstance(method, str) and method not in METHODS:
            raise UserError(f"{folder} is of method {method}, which is not installed; install the package that has it")
        try:
            if "scene" not in fields and fields["setting"] in SETTINGS:  # from before there was another one
                fields["scene"] = "white"
            fields["recipe"] = recipe_from_dict(fields["recipe"], method_named(fields["method"]).recipe_type)
            fields["cameras"], fields["joints"] = tuple(fields["cameras"]), tuple(fields["joints"])
            return cls(**fields)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{folder / RUN_FILE} is damaged ({error}); fit the run again") from error
        except UserError as error:  # a value that recipes no longer take
            raise UserError(f"{folder / RUN_FILE} is of another version ({error}); fit the run again") from error


def scene_of(dataset: Dataset) -> str | None:
    """The scene of a data set that ropes simulated, see `ropes.simulation.settings.SceneName`; None of others."""
    setting = (dataset.provenance or {}).get("setting", {})
    return str(setting.get("scene", "white")) if "robot" in setting else None


def warn_of_scene(run: Run, dataset: Dataset) -> None:
    """Say on standard error that a data set shows another scene than the run was fitted on, where both are known."""
    if run.scene is not None and (shown := scene_of(dataset)) not in (None, run.scene):
        print(
            f"ropes: warning: {dataset.path} shows the scene {shown}, and the run was fitted on {run.scene}",
            file=sys.stderr,
        )


def _differ(first: Run, second: Run, name: str) -> bool:
    return bool(getattr(first, name) != getattr(second, name))


def require_pretrained_in(run: Path, wanted: Precision | None) -> None:
    """Check that the run in a folder was pre-trained in the precision of another one, where both are known.

    Raises:
        UserError: in another one.
    """
    begun = Run.read(run).precision
    if wanted is not None and begun not in (None, wanted):
        raise UserError(f"{run} was pre-trained in {begun}; give --precision {begun}, or leave --pretrained out")


def read_training(folder: Path) -> dict[str, Any]:
    """What the fit in `folder` tells of itself, training.json.

    Raises:
        UserError: the fit is unfinished, or the file is damaged.
    """
    path = folder / TRAINING_FILE
    if not path.exists():
        raise UserError(f"{folder} is an unfinished run; run the same ropes fit command again to go on")
    content = read_json(path)
    parts = ("stages", "provenance")
    if not isinstance(content, dict) or not all(isinstance(content.get(part), Mapping) for part in parts):
        raise UserError(f"{path} is damaged; delete it and run the same ropes fit command again")
    return content


def training_seconds(story: Mapping[str, Any]) -> float:
    """How long all stages of a fit trained, from what `read_training` found."""
    return float(sum(story["provenance"]["seconds"].values()))

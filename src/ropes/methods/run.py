"""The identity of a run: method, recipe, seed and training data."""

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ropes import __version__
from ropes.common.files import read_json, require_free, write_json
from ropes.common.hardware import Precision, RequestedPrecision, capability, resolve_precision
from ropes.data.dataset import Dataset
from ropes.data.origin import camera_level_of, renderer_of, scene_of, views_of
from ropes.errors import UserError
from ropes.methods.recipes import Recipe, recipe_from_dict, recipe_to_dict
from ropes.methods.registry import METHODS, method_named
from ropes.models import registry
from ropes.simulation.settings import SETTINGS, usual_renderer

TRAINING_FILE, CALIBRATION_FILE = "training.json", "calibration.json"
RUN_FILE = registry.RUN_FILE
UNCERTAINTY_FILE, REGISTRATION_FILE = "trust.safetensors", "registration.safetensors"
#: Entry of a training summary: the anchors that the fit left out because a camera was at another place.
MOVED_ANCHORS = "moved_anchors"
FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Run:
    """The identity of a run, stored as `run.json`.

    Attributes:
        method: one of `ropes.methods.registry.METHODS`.
        recipe: all its settings.
        seed: of the fit.
        setting: name of the simulated setting, or of the data set's folder.
        cameras: names, in the order of the views.
        joints: names, in the order of the coordinates.
        image_size: the longest side of the images in the data set, in pixels.
        data_checksum: of the images and regimes (never of the angles).
        version: of the package that began the run, or last restarted a stage of it.
        anchors: number in the training split; None for some runs of earlier versions.
        angles_checksum: of the training angles, for methods with labels; None for the others.
        precision: of the training, except for stages that always use float32; None for some runs of earlier versions.
        processor: `ropes.common.hardware.capability` of the machine that began the run; None for some runs of earlier
            versions.
        scene: background of the images, see `scene_of`.
        renderer: of the images, see `renderer_of`.
        camera_level: level of the cameras' faults, see `camera_level_of`; None for runs of earlier versions, too.
        image_shapes: (height, width), or (height, width, 3) in colour, of each camera's images in the data set; None
            for runs of earlier versions, whose images are squares of `image_size`.
        views: how a recording or an import turned and cropped images, by camera, see `views_of`; empty for rendered
            images, and for runs of earlier versions.
        folder: where the run was fitted or read; None before. It is not stored, and equal runs may differ in it.
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
    camera_level: str | None = None
    image_shapes: tuple[tuple[int, ...], ...] | None = None
    renderer: str | None = None
    views: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folder: Path | None = field(default=None, compare=False)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """`image_shapes`, of runs of earlier versions as well."""
        return self.image_shapes or ((self.image_size, self.image_size),) * len(self.cameras)

    @property
    def channels(self) -> int:
        """Channels of an image: 1 in grey, 3 in colour."""
        return 3 if len(self.shapes[0]) > 2 else 1

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
            joints=dataset.labelled_joints if method_named(method).reads_labels else dataset.joints,
            image_size=max(side for shape in dataset.image_shapes for side in shape[:2]),
            data_checksum=dataset.checksum,
            anchors=len(np.unique(dataset.frames("train").anchor)),
            angles_checksum=angles_checksum,
            scene=scene_of(dataset),
            camera_level=camera_level_of(dataset),
            image_shapes=dataset.image_shapes,
            renderer=renderer_of(dataset),
            views=views_of(dataset),
        )

    def write(self, folder: Path) -> "Run":
        """Store the run in `folder`, unless it is stored there already.

        With another recipe than the stored one, the folder's training summary, calibration and uncertainty model are
        deleted: it is unfinished until the fit ends again.

        Returns:
            The stored run.

        Raises:
            UserError: see `require_same`.
        """
        self.require_same(folder)
        if (folder / RUN_FILE).exists():
            stored = Run.read(folder)
            if stored.recipe == self.recipe:
                return stored
            for stale in (TRAINING_FILE, CALIBRATION_FILE, UNCERTAINTY_FILE):
                (folder / stale).unlink(missing_ok=True)
        self._store(folder)
        return self

    def _store(self, folder: Path) -> None:
        content = {"format": FORMAT, **asdict(self), "recipe": recipe_to_dict(self.recipe)}
        del content["folder"]
        write_json(folder / RUN_FILE, content)

    def restart(self, folder: Path) -> "Run":
        """Store in `folder` that this version trains a stage again; the folder is unfinished until the fit ends.

        A precision that an earlier version did not store is chosen for this machine.
        """
        (folder / TRAINING_FILE).unlink(missing_ok=True)
        run = replace(self, version=__version__)
        if self.precision is None:
            run = replace(run, precision=resolve_precision("auto"), processor=capability())
        run._store(folder)
        return run

    def in_precision(self, folder: Path, requested: RequestedPrecision) -> "Run":
        """This run in the requested precision, or with the precision and setting's name of the run stored in `folder`.

        Raises:
            UserError: no such precision, the stored run has another one, or see `require_same`.
        """
        self.require_same(folder)
        precision = resolve_precision(requested)
        run = replace(self, precision=precision, processor=capability())
        if not (folder / RUN_FILE).exists():
            return run
        stored = Run.read(folder)
        if stored.precision is None and stored.recipe != self.recipe:
            return replace(run, setting=stored.setting)
        stored.require_precision(folder, requested)
        return replace(run, setting=stored.setting, precision=stored.precision, processor=stored.processor)

    def require_precision(self, folder: Path, requested: RequestedPrecision) -> None:
        """Check that this run, stored in `folder`, can be resumed in the requested precision.

        Raises:
            UserError: it was begun in another one.
        """
        if requested not in ("auto", self.precision):
            precision = self.precision or "an unknown precision"
            raise UserError(f"{folder} was begun in {precision}; leave --precision out, or choose another --out")

    def require_same(self, folder: Path) -> None:
        """Check that `folder` is empty or holds this run, perhaps with another recipe.

        Raises:
            UserError: the folder holds something else, or a run of another method, seed or data set.
        """
        require_free(folder, RUN_FILE)
        if not (folder / RUN_FILE).exists():
            return
        other = Run.read(folder)
        identity = ("method", "seed", "data_checksum", "angles_checksum")
        if changed := [name for name in identity if getattr(self, name) != getattr(other, name)]:
            raise UserError(f"{folder} holds a run with another {changed[0].replace('_', ' ')}; choose another --out")

    @classmethod
    def read(cls, folder: Path) -> "Run":
        """Read the identity of the run in `folder`.

        Raises:
            UserError: no run there, or one of another version.
        """
        content = read_json(folder / RUN_FILE)
        if not isinstance(content, Mapping) or content.get("format") != FORMAT:
            stored = content.get("format") if isinstance(content, Mapping) else None
            raise UserError(
                f"{folder / RUN_FILE} has format {stored}, this version of ropes reads {FORMAT}; fit the run again"
            )
        fields: dict[str, Any] = {key: value for key, value in content.items() if key != "format"}
        method = fields.get("method")
        if isinstance(method, str) and method not in METHODS:
            raise UserError(f"{folder} is of method {method}, which is not installed; install the package that has it")
        try:
            if "scene" not in fields and fields["setting"] in SETTINGS:  # written before there were other scenes
                fields["scene"] = "white"
            if "renderer" not in fields and fields.get("scene"):  # written while each scene had one renderer
                fields["renderer"] = usual_renderer(fields["scene"])
            fields["recipe"] = recipe_from_dict(fields["recipe"], method_named(fields["method"]).recipe_type)
            fields["cameras"], fields["joints"] = tuple(fields["cameras"]), tuple(fields["joints"])
            if fields.get("image_shapes") is not None:
                fields["image_shapes"] = tuple(tuple(map(int, shape)) for shape in fields["image_shapes"])
            return cls(**fields, folder=folder)
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"{folder / RUN_FILE} is damaged ({error}); fit the run again") from error
        except UserError as error:  # a value that recipes no longer accept
            raise UserError(f"{folder / RUN_FILE} is of another version ({error}); fit the run again") from error


def warn_if_other_scene(run: Run, dataset: Dataset) -> None:
    """Warn on standard error if a data set has another scene or renderer than the run's training data.

    Prints nothing if one of the two is unknown.
    """
    for does, shown, fitted in (
        ("shows the scene", scene_of(dataset), run.scene),
        ("is drawn by the renderer", renderer_of(dataset), run.renderer),
    ):
        if fitted is not None and shown not in (None, fitted):
            print(f"ropes: warning: {dataset.path} {does} {shown}, and the run was fitted on {fitted}", file=sys.stderr)
            return


def require_pretraining_precision(run: Path, precision: Precision | None) -> None:
    """Check that the pre-trained run in a folder has the given precision, where both are known.

    Raises:
        UserError: it has another one.
    """
    stored = Run.read(run).precision
    if precision is not None and stored not in (None, precision):
        raise UserError(f"{run} was pre-trained in {stored}; give --precision {stored}, or leave --pretrained out")


def read_training(folder: Path) -> dict[str, Any]:
    """Read the training summary of the fit in `folder`, training.json.

    Raises:
        UserError: the fit is unfinished, or the file is damaged.
    """
    path = folder / TRAINING_FILE
    if not path.exists():
        raise UserError(f"{folder} is an unfinished run; run the same ropes fit command again to resume it")
    content = read_json(path)
    parts = ("stages", "provenance")
    if not isinstance(content, dict) or not all(isinstance(content.get(part), Mapping) for part in parts):
        raise UserError(f"{path} is damaged; delete it and run the same ropes fit command again")
    return content


def read_labelled_images(folder: Path) -> int:
    """Number of images with angles in the training of a method with labels.

    Raises:
        UserError: see `read_training`.
    """
    count = read_training(folder).get("labelled_images")
    if not isinstance(count, int):
        raise UserError(f"{folder / TRAINING_FILE} is damaged; delete it and run the same ropes fit command again")
    return count


def read_moved_anchors(folder: Path) -> list[int]:
    """The anchors that a fit left out because a camera was at another place; none where it is unfinished."""
    content = read_json(folder / TRAINING_FILE) if (folder / TRAINING_FILE).exists() else {}
    return list(content.get(MOVED_ANCHORS, []))


def training_seconds(summary: Mapping[str, Any]) -> float:
    """Total training time of all stages, from the training summary of `read_training`."""
    return float(sum(summary["provenance"]["seconds"].values()))

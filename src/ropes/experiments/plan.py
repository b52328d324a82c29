"""The configuration of an experiment: data sets, methods, anchors, seeds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from ropes.common.hardware import RequestedPrecision
from ropes.methods.recipes import EncoderRecipe, Optimisation, Recipe
from ropes.methods.training.run_log import LoggerName
from ropes.metrics import PAPER_SIZES, ProtocolSizes
from ropes.simulation.backgrounds import SceneName
from ropes.simulation.camera_levels import LevelName
from ropes.simulation.scene import Mesh
from ropes.simulation.settings import (
    MPI3D,
    MPI3D_FACTORS,
    MPI3D_GRID,
    Setting,
    find_setting,
    setting_named,
    usual_renderer,
)

#: Fraction of the training data and steps of a trial, and the least number of its anchors and of its test poses.
_TRIAL_SHARE, _TRIAL_ANCHORS, _TRIAL_POSES = 0.01, 40, 100
#: Least number of test images of a trial whose factors have up to 40 values, each of which metrics need twice.
_TRIAL_PAIRS = 400
_TRIAL_SIZES = ProtocolSizes(repeats=2, fit=50, test=25)


@dataclass(frozen=True, kw_only=True)
class Rendering:
    """How the images of a data set are rendered; several data sets of a setting show the same poses.

    Attributes:
        setting: name of the setting, of an arm.
        scene: background of the arm, drawn by its usual renderer.
        camera: level of the cameras' faults.
    """

    setting: str
    scene: SceneName
    camera: LevelName = "clean"

    @property
    def images(self) -> str:
        """Renderer and camera level, as in "mujoco+webcam"."""
        return f"{usual_renderer(self.scene)}+{self.camera}"

    @property
    def dataset(self) -> str:
        """Name of the data set, as "panda-2c-independent+mujoco+webcam"."""
        return f"{self.setting}+{self.images}"


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment of data sets × methods × training seeds.

    A data set has the name of its setting, except those of `renderings`.

    Attributes:
        name: name in results files.
        recipes: method, or METHOD@VARIANT (see `ropes.methods.registry.method_of`) → recipe of its fits.
        anchors: data set → number of training anchors; of training images in settings without an arm; 0 for recordings
            whose number is fixed, and for data sets of test images alone.
        test_anchors: poses in each test split.
        seeds: training seeds.
        occlusions: sides of the occluding squares, pixels.
        data_seed: seed of the simulation.
        at_once: whether fits are small: several run at once, one process each, if no number of processes is given.
        measures: "joints" (`ropes.evaluation.joints`), "factors" (`ropes.evaluation.factors`) or "actions"
            (`ropes.evaluation.actions`).
        only: data set → the methods and variants that are fitted there; all if the data set is missing.
        own: data set → method or variant → recipe that replaces `recipes` there.
        recorded: recordings to train on instead of simulated data, photographs to test on, or those of MPI3D.
        sizes: sizes of the protocol's draws, for joint angles.
        precision: precision of training and evaluation, see `ropes.common.hardware.resolve_precision`.
        logger: of every fit, see `ropes.methods.fit.fit`.
        scene: background of arms, see `ropes.simulation.backgrounds`.
        camera: level of the cameras' faults, of arms.
        colour: whether images of arms are RGB instead of grey.
        full_meshes: whether arms are rendered with all their triangles.
        image_size: side of the images of arms, pixels; None for that of the setting.
        labelled: of finger-cube, images in each split that regressors are fitted on; None for `test_anchors`.
        renderings: data set → its rendering, where one setting has several data sets.
        transfers: data set → method or variant → other data sets whose test images its fits read as well.
        chains: data set of chains of moves → its setting; `anchors` has the number of its chains.
        filmed: data set of anchors with frames on the way of their moves → its setting.
    """

    name: str
    recipes: Mapping[str, Recipe]
    anchors: Mapping[str, int]
    test_anchors: int = 2_000
    seeds: tuple[int, ...] = (0,)
    occlusions: tuple[int, ...] = ()
    data_seed: int = 0
    at_once: bool = False
    measures: Literal["joints", "factors", "actions"] = "joints"
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Recipe]] = field(default_factory=dict)
    recorded: str | None = None
    sizes: ProtocolSizes = PAPER_SIZES
    precision: RequestedPrecision = "auto"
    logger: LoggerName | None = None
    scene: SceneName = "white"
    camera: LevelName = "clean"
    colour: bool = False
    full_meshes: bool = False
    image_size: int | None = None
    labelled: int | None = None
    renderings: Mapping[str, Rendering] = field(default_factory=dict)
    transfers: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    chains: Mapping[str, str] = field(default_factory=dict)
    filmed: Mapping[str, str] = field(default_factory=dict)

    def fits(self, dataset: str, label: str) -> bool:
        """Whether a method or variant is fitted on a data set."""
        return dataset not in self.only or label in self.only[dataset]

    def measures_of(self, dataset: str) -> Literal["joints", "factors", "actions", "axes"]:
        """What is measured on a data set: of MPI3D joints of anchors, factors of pairs, and axes of common points."""
        return "axes" if dataset == MPI3D_GRID else "factors" if dataset == MPI3D_FACTORS else self.measures

    def read_elsewhere(self) -> list[str]:
        """The data sets on which no method is fitted, but whose test images fits of `transfers` read."""
        read = {other for labels in self.transfers.values() for others in labels.values() for other in others}
        return [each for each in self.anchors if each in read and not any(self.fits(each, of) for of in self.recipes)]

    @property
    def mesh(self) -> Mesh:
        """The visual meshes of arms."""
        return "full" if self.full_meshes else "simplified"

    def arm(self, dataset: str) -> Setting | None:
        """The setting of a data set, with its scene and cameras; None if it is not an arm's."""
        rendering = self.renderings.get(dataset)
        if rendering is None:
            if (arm := find_setting({**self.chains, **self.filmed}.get(dataset, dataset))) is None:
                return None
            return replace(
                arm,
                scene=self.scene,
                camera_level=self.camera,
                colour=self.colour or arm.colour,
                image_size=self.image_size or arm.image_size,
            )
        return replace(
            setting_named(rendering.setting),
            scene=rendering.scene,
            camera_level=rendering.camera,
            requested_renderer=usual_renderer(rendering.scene),
        )

    def method(self, dataset: str, label: str) -> str:
        """Name of a method or variant in rows of results; it differs between the renderings of a setting."""
        rendering = self.renderings.get(dataset)
        return label if rendering is None else f"{label}+{rendering.images}"

    def recipe(self, dataset: str, label: str) -> Recipe:
        """The recipe of a method or variant on a data set.

        Deviation: method anchored is told which arms have independent joints (`--independent`); elsewhere it estimates
        their causal graph.  Why: among independent joints one estimated graph in a hundred has an edge.  Effect: none
        where the estimated graph has no edge.
        """
        recipe = self.own.get(dataset, {}).get(label, self.recipes[label])
        arm = self.arm(dataset)
        independent = dataset == MPI3D or (arm is not None and arm.independent)
        if independent and isinstance(recipe, EncoderRecipe) and recipe.anchor_weight:
            return replace(recipe, independent=True)
        return recipe

    def trial(self) -> "Experiment":
        """The same fits with 1% of the data, of the training steps and of the paper's draws, and the first seed.

        All networks have their full sizes.  It shows in minutes whether the experiment runs on a machine; its results
        have a name of their own and say nothing about the method.
        """
        return replace(
            self,
            name=f"{self.name}-trial",
            recipes={label: _on_trial(recipe) for label, recipe in self.recipes.items()},
            own={dataset: {label: _on_trial(each) for label, each in own.items()} for dataset, own in self.own.items()},
            anchors={dataset: _share_of(count, _TRIAL_ANCHORS) for dataset, count in self.anchors.items()},
            test_anchors=_share_of(self.test_anchors, _TRIAL_PAIRS if MPI3D_FACTORS in self.anchors else _TRIAL_POSES),
            labelled=None if self.labelled is None else _share_of(self.labelled, _TRIAL_POSES),
            seeds=self.seeds[:1],
            sizes=_TRIAL_SIZES,
        )


def _on_trial(recipe: Recipe) -> Recipe:
    """A recipe with 1% of its anchors and training samples."""
    changes: dict[str, object] = {}
    for each in fields(recipe):
        value = getattr(recipe, each.name)
        if isinstance(value, Optimisation):
            changes[each.name] = replace(value, min_samples=_share_of(value.min_samples, 0))
        elif each.name == "anchors" and value is not None:
            changes[each.name] = _share_of(value, _TRIAL_ANCHORS)
        elif each.name == "warm_up":
            changes[each.name] = round(_TRIAL_SHARE * value)
        elif each.name == "cleaner_samples":
            changes[each.name] = _share_of(value, 0)
    return replace(recipe, **changes)


def _share_of(count: int, least: int) -> int:
    """1% of a number, at least `least`."""
    return max(least, round(_TRIAL_SHARE * count))

"""Inference wrappers: one class per method family, sharing one interface."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from ropes.common.hardware import Precision, RequestedPrecision, require_precision, resolve_precision, warn_if_emulated
from ropes.errors import UserError
from ropes.methods.reader import Read, Reader, autocast
from ropes.methods.recipes import CNNRecipe, EncoderRecipe, JointNetRecipe, RopesRecipe, VAERecipe
from ropes.methods.registry import method_named
from ropes.methods.run import Run, read_training
from ropes.methods.vae_reader import VAEReader
from ropes.models.angles import AngleCNN, AngleTransformer, angle_network
from ropes.models.autoencoder import AE1, AE2, Standardise
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.models.dense import DenseAE2
from ropes.models.density_ratio import LDR
from ropes.models.encoder import ContrastNetwork, PoseEncoder
from ropes.models.student import StudentNetwork

Module = TypeVar("Module", bound=torch.nn.Module)


class RopesReader(Reader):
    """Method ropes: AE1's codes, then the coordinates of one AE2, or of one AE2 per joint, or the LDRs' logits.

    With a student these three stages only give the reconstructions; with a student of the logits, nothing.
    """

    precision: Precision = "32-true"

    def __init__(self, run: Run, recipe: RopesRecipe, folder: Path, device: torch.device) -> None:
        self.size = recipe.ae1.image_size
        views, self._joints = len(run.cameras), len(run.joints)
        self._columns = recipe.networks(run.joints)

        def loaded(network: Module, name: str) -> Module:
            load_weights(network, folder / name / WEIGHTS)
            return network.to(device).eval()

        self._ae2: dict[str, AE2 | DenseAE2] = {}
        self._ratios: list[LDR] = []
        self._student: StudentNetwork | None = None
        if recipe.foreign:
            self._student = loaded(student_of(recipe, run), "student")
            if recipe.coordinates == "logits":
                return
        self._ae1 = loaded(AE1(recipe.ae1, run.channels), "ae1")
        make = partial(network_of_codes, recipe, views=views, joints=self._joints)
        self._ae2 = {name: loaded(make(), f"ae2/{name}") for name in self._columns}
        if recipe.coordinates == "logits":
            self._standardise = loaded(Standardise(views), "codes")
            self._ratios = [loaded(LDR(recipe.ldr, views=views), f"ldr/{joint}") for joint in run.joints]

    def read(self, images: Tensor) -> Read:
        """(n, P, size, size) → coordinates (n, d), and as features AE1's codes or the student's own."""
        if self._student is not None:
            return Read(*self._student.read(images))
        codes = self._ae1.encode_views(_in_unit(images))
        if self._ratios:
            standardised = self._standardise(codes)
            return Read(torch.stack([ratio(standardised) for ratio in self._ratios], dim=1), codes.flatten(1))
        coordinates = codes.new_empty(codes.shape[0], self._joints)
        for name, network in self._ae2.items():
            columns = self._columns[name]
            coordinates[:, columns] = network.read(codes)[:, columns]
        return Read(coordinates, codes.flatten(1))

    def networks(self) -> Sequence[torch.nn.Module]:
        """The student; without one, AE1 and the networks from its codes to coordinates."""
        if self._student is not None:
            return (self._student,)
        if self._ratios:
            return self._ae1, self._standardise, *self._ratios
        return self._ae1, *self._ae2.values()

    def reconstructions(self, images: Tensor) -> tuple[Tensor, Tensor] | None:
        """Reconstructions by AE1, and by AE1 around AE2 (the first joint's of several); None without an AE2."""
        if not self._ae2:
            return None
        codes = self._ae1.encode_views(_in_unit(images))
        rebuilt = next(iter(self._ae2.values())).rebuilt(codes)
        return self._ae1.decode_views(codes), self._ae1.decode_views(rebuilt)


def student_of(recipe: RopesRecipe, run: Run) -> StudentNetwork:
    """The student of method ropes, untrained."""
    return StudentNetwork(
        recipe.student_encoder,
        views=len(run.cameras),
        joints=len(run.joints),
        channels=run.channels,
        with_teacher=False,
    )


def network_of_codes(recipe: RopesRecipe, *, views: int, joints: int) -> AE2 | DenseAE2:
    """The AE2 of a recipe, untrained."""
    if recipe.basis == "none":
        return AE2(recipe.ae2, views=views, joints=joints)
    return DenseAE2(views=views, joints=joints, directions=recipe.count_directions(views=views, joints=joints))


class NetworkReader(Reader):
    """One network from images to coordinates."""

    def __init__(
        self,
        network: PoseEncoder | StudentNetwork | AngleCNN | AngleTransformer,
        size: int,
        device: torch.device,
        precision: RequestedPrecision = "auto",
    ) -> None:
        self.size, self._network = size, network.to(device).eval()
        # "auto": float32 is fast enough for convolutions; a transformer is much slower in it.
        full = precision == "auto" and not isinstance(network, AngleTransformer)
        self.precision: Precision = "32-true" if full else resolve_precision(precision)
        warn_if_emulated(self.precision)

    def read(self, images: Tensor) -> Read:
        """(n, P, size, size) → coordinates (n, d), features, and a student's map of foreign objects."""
        with autocast(images, self.precision):
            return Read(*self._network.read(images))

    def networks(self) -> Sequence[torch.nn.Module]:
        """The one network."""
        return (self._network,)

    def attention(self, images: Tensor) -> Tensor | None:
        """(n, P, size, size) → attention logits (n, V, s, s); None for a network without a window."""
        with autocast(images, self.precision):
            match self._network:
                case StudentNetwork():
                    return self._network(images)[1]
                case PoseEncoder():
                    return self._network.look(images)[1]
                case _:
                    return None


def _encoder(run: Run, recipe: EncoderRecipe, folder: Path) -> PoseEncoder | StudentNetwork:
    """The encoder of the methods `ldr` and `anchored`, or its student if the fit trained one."""
    network_type = StudentNetwork if recipe.foreign else ContrastNetwork
    network = network_type(recipe.encoder, views=len(run.cameras), joints=len(run.joints), channels=run.channels)
    load_weights(network, folder / _last_training(recipe) / WEIGHTS)
    torch.nn.utils.convert_conv2d_weight_memory_format(network, torch.channels_last)
    return network if isinstance(network, StudentNetwork) else network.encoder


def _last_training(recipe: EncoderRecipe) -> str:
    """The folder of the training with the weights for inference."""
    return "student" if recipe.foreign else "encoder"


def _in_unit(images: Tensor) -> Tensor:
    return images.float().div_(255)


def ropes_weights(run: Run) -> list[str]:
    """The weight files of method ropes."""
    recipe = run.recipe
    assert isinstance(recipe, RopesRecipe)
    read_by_student_alone = recipe.foreign and recipe.coordinates == "logits"
    folders = [] if read_by_student_alone else stage_folders(recipe, run.joints)
    folders += ["student"] if recipe.foreign else []
    return [f"{folder}/{WEIGHTS}" for folder in folders]


def stage_folders(recipe: RopesRecipe, joints: Sequence[str]) -> list[str]:
    """The folders of the weights of the three stages that give the coordinates of method ropes."""
    if recipe.coordinates == "logits":
        return ["ae1", "codes", *(f"ldr/{joint}" for joint in joints)]
    return ["ae1", *(f"ae2/{name}" for name in recipe.networks(joints))]


def encoder_weights(run: Run) -> list[str]:
    """The weight files of methods `anchored` and `ldr`."""
    assert isinstance(run.recipe, EncoderRecipe)
    return [f"{_last_training(run.recipe)}/{WEIGHTS}"]


def network_weights(run: Run) -> list[str]:
    """The weight files of methods with one network: supervised baselines, VAEs, methods of actions."""
    folder = {"joints": "angles", "factors": "vae", "actions": "delta"}[method_named(run.method).learns]
    return [f"{folder}/{WEIGHTS}"]


def ropes_reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> RopesReader:
    """The reader of method ropes, always in float32; prints a line on standard error if another one is requested."""
    assert isinstance(run.recipe, RopesRecipe)
    if precision not in ("auto", RopesReader.precision):
        print(f"ropes: method ropes reads in {RopesReader.precision}, not in {precision}", file=sys.stderr)
    return RopesReader(run, run.recipe, folder, device)


def encoder_reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> NetworkReader:
    """The reader of methods `anchored` and `ldr`."""
    assert isinstance(run.recipe, EncoderRecipe)
    return NetworkReader(_encoder(run, run.recipe, folder), run.recipe.shape.input_size, device, precision)


def angles_reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> NetworkReader:
    """The reader of the supervised baselines, whose coordinates are angles in radians."""
    assert isinstance(run.recipe, CNNRecipe | JointNetRecipe)
    views, joints = len(run.cameras), len(run.joints)
    network = angle_network(run.recipe.shape, views=views, joints=joints, channels=run.channels)
    load_weights(network, folder / "angles" / WEIGHTS)
    return NetworkReader(network, run.recipe.shape.image_size, device, precision)


def vae_reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> VAEReader:
    """The reader of VAEs."""
    assert isinstance(run.recipe, VAERecipe)
    return VAEReader(run.recipe, folder, device, precision)


def weight_files(run: Run) -> list[str]:
    """The weight files that the run's reader loads, relative to its folder."""
    files: list[str] = method_named(run.method).load("weights")(run)
    return files


def load_reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision = "auto") -> Reader:
    """The reader of the run in `folder`.

    Args:
        run: its identity.
        folder: of the run.
        device: of the networks.
        precision: of the networks; "auto": float32 for convolutions, for others the faster one on this machine.

    Raises:
        UserError: no such precision; weights are missing, damaged or of another shape; or the method predicts actions.
    """
    require_precision(precision)
    method = method_named(run.method)
    if method.reader is None:
        raise UserError(f"{folder} is of method {run.method}, which predicts actions, not joints")
    reader: Reader = method.load("reader")(run, folder, device, precision)
    return reader


def finished_reader(folder: Path, device: torch.device, precision: RequestedPrecision = "auto") -> tuple[Run, Reader]:
    """The finished run in `folder` with its reader, see `load_reader`.

    Raises:
        UserError: no run there, or one of another version, without weights, unfinished or damaged.
    """
    run = Run.read(folder)
    reader = load_reader(run, folder, device, precision)
    read_training(folder)
    return run, reader


def finished_encoder(folder: Path) -> tuple[Run, PoseEncoder]:
    """The finished run of `anchored` or `ldr` in `folder` with its encoder; the student's if there is one.

    Raises:
        UserError: no such run there, or as `finished_reader`.
    """
    run, network = finished_network(folder)
    return run, network.encoder if isinstance(network, StudentNetwork) else network


def finished_network(folder: Path) -> tuple[Run, PoseEncoder | StudentNetwork]:
    """The finished run of `anchored` or `ldr` in `folder` with its network for inference, see `finished_encoder`."""
    run = Run.read(folder)
    if not isinstance(run.recipe, EncoderRecipe):
        raise UserError(f"{folder} is a run of {run.method}, which has no pose encoder; give a run of anchored")
    network = _encoder(run, run.recipe, folder)
    read_training(folder)
    return run, network

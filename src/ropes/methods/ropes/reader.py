"""The inference wrapper of method `ropes`."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor

from ropes.common.hardware import Precision, RequestedPrecision
from ropes.methods.reader import Read, Reader
from ropes.methods.recipes import RopesRecipe
from ropes.methods.run import Run
from ropes.models.autoencoder import AE1, AE2, Standardise
from ropes.models.checkpoints import WEIGHTS, load_weights
from ropes.models.dense import DenseAE2
from ropes.models.density_ratio import LDR
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
        return Read(self.coordinates_of_codes(codes), codes.flatten(1))

    def coordinates_of_codes(self, codes: Tensor) -> Tensor:
        """AE1's codes before standardisation, (n, V, 8, 8) → coordinates (n, d), without the student."""
        if self._ratios:
            standardised = self._standardise(codes)
            return torch.stack([ratio(standardised) for ratio in self._ratios], dim=1)
        coordinates = codes.new_empty(codes.shape[0], self._joints)
        for name, network in self._ae2.items():
            columns = self._columns[name]
            coordinates[:, columns] = network.read(codes)[:, columns]
        return coordinates

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
    directions = recipe.count_directions(views=views, joints=joints)
    return DenseAE2(views=views, joints=joints, directions=directions, layers=recipe.dense_layers)


def _in_unit(images: Tensor) -> Tensor:
    return images.float().div_(255)


def weights(run: Run) -> list[str]:
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


def reader(run: Run, folder: Path, device: torch.device, precision: RequestedPrecision) -> RopesReader:
    """The reader of method ropes, always in float32; prints a line on standard error if another one is requested."""
    assert isinstance(run.recipe, RopesRecipe)
    if precision not in ("auto", RopesReader.precision):
        print(f"ropes: method ropes reads in {RopesReader.precision}, not in {precision}", file=sys.stderr)
    return RopesReader(run, run.recipe, folder, device)

"""Configuration of method `ropes`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from ropes.errors import UserError, require_name
from ropes.methods.optimisation import PRESETS, Optimisation, Preset, require
from ropes.methods.recipe import CLEANER_SAMPLES, renamed
from ropes.models.shapes import ADDED, CODE_SIDE, AE1Config, AE2Config, EncoderConfig, LDRConfig, added

#: Name of the AE2 of all joints.
JOINT = "joint"
#: Source of the coordinates; linear directions of the codes that AE2 works in.
Coordinates = Literal["ae2", "logits"]
Basis = Literal["none", "codes", "scores", "whitened"]

#: Fields of AE2, which coordinates of logits do without.
_WITHOUT_AE2 = {
    **dict.fromkeys(("logit_weight", "decoded_logit_weight", "score_weight", "sparsity_start"), 0.0),
    "sparsity_weights": (0.0,),
    "basis": "none",
    "directions": 0,
    "dense_layers": 2,
    "softplus_beta": 0.0,
}
#: Least number of cells of a student's first stage, along a side.
_CELLS = 32


def _student_encoder(image_size: int) -> EncoderConfig:
    """Shape of a student of images of this size; patches are powers of two, which ONNX can pool."""
    stem = 1 << max(0, (image_size // _CELLS).bit_length() - 1)
    return EncoderConfig(image_size=image_size, stem=stem, window=0)


_STUDENT_ENCODER = _student_encoder(64)
_STUDENT = Optimisation(epochs=4, min_samples=280_800, batch=104, learning_rate=2e-3, weight_decay=0.05, clip=1.0)


@dataclass(frozen=True, kw_only=True)
class RopesRecipe:
    """The three stages of ROPES.

    Attributes:
        preset: compact: two CPU cores; paper: one CUDA GPU and the paper's sizes.
        ae1: shape of AE1, the autoencoder of images.
        ldr: shape of the LDR networks, one density-ratio classifier for each joint.
        ae2: shape of AE2, the autoencoder from codes to coordinates.  Ignored with a basis.
        ae1_training: optimiser of AE1; samples are images of one camera.
        ldr_training: optimiser of each LDR network; samples are poses.
        ae2_training: optimiser of each AE2; samples are poses.
        joint_ae2: one AE2 for all joints (sparsity against the identity) instead of the paper's one for each.
        sparsity_rows: rows of the sparsity matrix that one step of a joint AE2 estimates, in turn; 0 for all.
        logit_weight: weight of the term that ties each coordinate to its joint's logit; 0 for the paper's Eq. 3.
        decoded_logit_weight: weight of the term that gives decoded codes the logits of the codes; 0 for the
            paper's Eq. 3.
        sparsity_start: fraction of AE2's steps before the term of λ is added; 0 for the paper's Eq. 3.
        sparsity_of_mean: whether the sparsity term is of |E J_gᵀ Δs_i| instead of E|J_gᵀ Δs_i|, as in the paper.
        score_weight: weight of the term that matches the gradient of each coordinate to its joint's score
            difference, see `ropes.methods.ropes.objectives.score_loss`; 0 for the paper's Eq. 3.
        code_noise: standard deviation of Gaussian noise on the standardised codes that LDRs train on; 0 for none, as in
            the paper.
        ldr_shares: candidates for the length of each LDR's training, as fractions of its epochs; with a fraction s the
            noise is code_noise / s. The LDR of the least held-out contrast is used, joint by joint.
        softplus_beta: β of the softplus, log(1 + exp(βx)) / β, that replaces the ReLUs of LDRs where their gradient is
            taken, so that it has no jumps; 0 for the ReLUs themselves, as in the paper.
        coordinates: ae2: the code of AE2; logits: the log density ratios, without any AE2, its basis and its terms.
        basis: input of AE2. none: the codes, in the paper's AE2 of convolutions. Otherwise their coordinates, of about
            unit variance, in an AE2 of dense layers: whitened, along all their principal directions; codes or scores,
            along some directions of the codes or of the score differences, see `ropes.models.dense.Directions`.
        directions: number of these directions; 0 for as many as joints.
        dense_layers: hidden layers of that AE2's encoder and decoder each; ignored without a basis.
        sparsity_weights: candidates for λ of Eq. 3; several are compared on held-out anchors.
        search_share: fraction of AE2's epochs for each candidate.
        val_fraction: fraction of the training anchors held out for early stopping and model selection.
        registration: register frames to their camera's background, where light, camera position or noise vary.
        cleaner_samples: train the cleaner of a recording with passers-by on at least this many poses.
        foreign: fraction of images with synthetic occluders in the training of a student, which reproduces the
            coordinates from images; 0 disables the student, as in the paper.
        student_encoder: shape of the student, whose images are as large as AE1's; the default has 32
            to 63 cells a side for every size of at least 32 pixels.  Ignored without a student.
        student: optimiser of the student; samples are poses.  Ignored without a student.
    """

    preset: Preset
    ae1: AE1Config = field(default_factory=AE1Config)
    ldr: LDRConfig = field(default_factory=LDRConfig)
    ae2: AE2Config = field(default_factory=AE2Config)
    ae1_training: Optimisation
    ldr_training: Optimisation
    ae2_training: Optimisation
    joint_ae2: bool = False
    sparsity_rows: int = 0
    logit_weight: float = 0.0
    decoded_logit_weight: float = added(0.0)
    sparsity_start: float = added(0.0)
    sparsity_of_mean: bool = added(False)
    score_weight: float = 0.0
    code_noise: float = 0.0
    ldr_shares: tuple[float, ...] = added((1.0,))
    softplus_beta: float = added(0.0)
    coordinates: Coordinates = "ae2"
    basis: Basis = "none"
    directions: int = 0
    dense_layers: int = added(2)
    sparsity_weights: tuple[float, ...] = (1.0,)
    search_share: float = 0.25
    val_fraction: float = renamed("held_out", 0.1)
    registration: bool = True
    cleaner_samples: int = added(CLEANER_SAMPLES)
    foreign: float = added(0.0)
    student_encoder: EncoderConfig = field(default=_STUDENT_ENCODER, metadata=ADDED)
    student: Optimisation = field(default=_STUDENT, metadata=ADDED)

    def __post_init__(self) -> None:
        if not self.sparsity_weights or not all(0 <= weight < math.inf for weight in self.sparsity_weights):
            raise UserError(f"sparsity_weights must be one or more numbers of at least 0, got {self.sparsity_weights}")
        if not self.ldr_shares or not all(0 < share <= 1 for share in self.ldr_shares):
            raise UserError(f"ldr_shares must be one or more numbers above 0 and at most 1, got {self.ldr_shares}")
        if len({f"{share:g}" for share in self.ldr_shares}) < len(self.ldr_shares):  # names of folders
            raise UserError(f"ldr_shares must differ in six digits, got {self.ldr_shares}")
        require("above 0 and below 1", self, "search_share", "val_fraction")
        weights = ("logit_weight", "decoded_logit_weight", "score_weight")
        require("at least 0", self, "sparsity_rows", *weights, "code_noise", "softplus_beta", "cleaner_samples")
        require("positive", self, "dense_layers")
        require_name(self.coordinates, get_args(Coordinates), "coordinates")
        require_name(self.basis, get_args(Basis), "basis")
        if self.coordinates == "logits":
            if self.basis in ("codes", "scores") or self.directions:
                raise UserError("coordinates of logits need no AE2: leave basis and directions out")
            for name, unused in _WITHOUT_AE2.items():
                object.__setattr__(self, name, unused)  # recipes that give the same weights are equal
        require("between 0 and 1", self, "foreign", "sparsity_start")
        if self.basis == "none":
            object.__setattr__(self, "dense_layers", 2)  # of the default: recipes that give the same weights are equal
        if not self.foreign:
            object.__setattr__(self, "student_encoder", _STUDENT_ENCODER)
            object.__setattr__(self, "student", _STUDENT)
        elif self.student_encoder == _student_encoder(self.student_encoder.image_size):  # the default
            object.__setattr__(self, "student_encoder", _student_encoder(self.ae1.image_size))
        elif self.student_encoder.window or self.student_encoder.image_size != self.ae1.image_size:
            raise UserError(
                f"a student of method ropes has no window, and images as large as AE1's, {self.ae1.image_size} pixels; "
                f"change --student-encoder.window and --student-encoder.image-size, or leave it out with --foreign 0"
            )
        if self.directions < 0 or (self.directions and self.basis not in ("codes", "scores")):
            raise UserError(
                f"directions must be at least 0, and need a basis of codes or scores, got {self.directions}"
            )

    def count_directions(self, *, views: int, joints: int) -> int:
        """Number of directions in which AE2 works, with a `basis`."""
        return views * CODE_SIDE**2 if self.basis == "whitened" else self.directions or joints

    @property
    def shape(self) -> AE1Config:
        """Shape of the network that reads the images."""
        return self.ae1

    def networks(self, joints: Sequence[str]) -> dict[str, list[int]]:
        """Name of each AE2 → indices of its coordinates: one AE2 for all joints, one for each, or none."""
        if self.coordinates == "logits":
            return {}
        if self.joint_ae2:
            return {JOINT: list(range(len(joints)))}
        return {joint: [k] for k, joint in enumerate(joints)}


def paper_recipe() -> RopesRecipe:
    """Tables 3 to 5 and App. C: 128×128 images, full widths, an AE2 of its own for each joint.

    Deviation: λ is chosen among .1, 1 and 10 on held-out anchors, once, on the first joint; rates are those of the
    tables, not searched, and rectified outputs start with a positive bias.  Why: the paper gives no λ; its search of
    rates (App. C) takes many trainings, and a rectified output that starts below zero gets no gradient.  Effect: not
    measured; docs/log.md, the paper's sizes on a GPU, has the one fit of this preset.

    Deviation: LDRs train for 20 passes, and the weights of the least held-out contrast are kept; Section 4.4 trains
    ROPES "for just a single epoch".  Why: one pass leaves their cross-entropy far from its floor.  Effect: more
    computation than in the paper.

    Deviation: AE2 has batches of 256, as AE1.  Why: App. C gives the batches of AE1 and of the LDRs only.  Effect: not
    measured.

    Deviation: a tenth of the anchors is held out.  Why: λ and the LDRs' weights are chosen on held-out poses.  Effect:
    nine tenths of the paper's training images.
    """
    return RopesRecipe(
        preset="paper",
        ae1_training=Optimisation(epochs=1, batch=256, learning_rate=1e-4, schedule="constant"),
        ldr_training=Optimisation(epochs=20, batch=64, learning_rate=1e-3, schedule="constant"),
        ae2_training=Optimisation(epochs=1, batch=256, learning_rate=7e-5, schedule="constant"),
        sparsity_weights=(0.1, 1.0, 10.0),
    )


def compact_recipe() -> RopesRecipe:
    """The same stages and the same 8×8×1 code with narrower networks and 64×64 images, for two CPU cores.

    Deviation: score differences are imposed on the encoder of AE2 (`score_loss`, the encoder's side of Lemma 8) and not
    on its decoder, as Eq. 3 does; AE2 works in the whitened codes, with three hidden layers.  Why: Eq. 3 reads at
    most two joints of three here, at any λ; the hand's joints move the codes least.  Effect: with one camera MCCs of
    .99 .99 .96 instead of Eq. 3's .05 .33 .04 (Table 1; .91 .86 .03 with density ratios of 48 passes, docs/log.md, two
    lengths).

    Deviation: each LDR learns twice from codes with Gaussian noise: for 48 passes with noise of .05, and for 24 with
    .1; that of the lower held-out contrast is used.  Why: joint 5 with two cameras needs the longer training, most
    other joints memorise poses in it.  Effect: with two cameras and independent joints .023 nats on joint 5 against the
    shorter training alone, and .003 to .005 on the others against the longer one; with causal joints, joints 2, 3 and 6
    also prefer the longer one, by less than .001 to .007 (docs/log.md, two lengths).

    Deviation: with 10,000 anchors and two cameras AE1 sees two fifths of the training images once, where Section 4.4
    trains "for just a single epoch".  Why: it takes a third of a fit's time.  Effect: not measured.

    Deviation: AE2 takes 864,000 samples, some 7 passes with 10,000 anchors and two cameras, where Section 4.4 trains
    "for just a single epoch".  Why: contrasts still fall after a fifth of them.  Effect: with 5,000 anchors half of the
    steps give errors .009 rad² larger on joint 4 and equal ones within .005 elsewhere (docs/log.md, whitened codes).

    Deviation: a student learns to reproduce the coordinates from images with foreign objects (`StudentStage`), where
    the paper tests its one network under white squares.  Why: AE1, trained on clean images, takes a square on the
    paper's scene for the arm.  Effect: published results are the student's, except in
    experiment "eq3" and rows "ropes+logit" and "ropes, Eq. 3" of Table 1.  Under 32-pixel squares the student divides
    the errors of joints 1, 2 and 4 by five (docs/log.md).

    Deviation: images of 64 pixels, narrower networks; one AE2 for all joints; dropout and weight decay in the LDRs,
    one-cycle schedules, clipped gradients, and a gradient that leaks below zero at AE1's rectified ends.  Why: it fits
    two cores.  Effect: not separated from the other differences; call these figures "compact ROPES".
    """
    return RopesRecipe(
        preset="compact",
        ae1=AE1Config(
            image_size=64,
            stem=4,
            encoder_widths=(32, 64),
            encoder_blocks=(1, 3),
            decoder_widths=(64, 32),
            decoder_blocks=(3, 1),
            groups=8,
            revive=0.1,
        ),
        ldr=LDRConfig(dropout=0.3, others=True),
        ae2=AE2Config(encoder_widths=(32, 64, 128), decoder_widths=(128, 64, 32), seed_width=128, blocks=1),
        ae1_training=Optimisation(epochs=0.4, min_samples=93_600, batch=16, learning_rate=3e-3, clip=0.5),
        ldr_training=Optimisation(epochs=48, batch=128, learning_rate=1.5e-3, weight_decay=0.05),
        ae2_training=Optimisation(epochs=1, min_samples=864_000, batch=128, learning_rate=2e-3, clip=1.0),
        joint_ae2=True,
        score_weight=30.0,
        code_noise=0.05,
        ldr_shares=(1.0, 0.5),
        softplus_beta=50.0,
        basis="whitened",
        dense_layers=3,
        sparsity_weights=(0.0,),
        foreign=0.5,
    )


def with_convolutions(recipe: RopesRecipe) -> RopesRecipe:
    """The recipe with AE2 by convolutions on the codes, as in the paper, without a student and without extra terms.

    Deviation: this AE2, that of the compact rows "ropes, Eq. 3" and "ropes+logit" and of most objectives, takes 144,000
    samples in 1,125 steps, and each step has the term of one joint, in turn, of the sum of Eq. 3; that of `ropes` takes
    six times as many steps, with the terms of all joints.  Why: a step by convolutions with all terms takes several
    times as long.  Effect: docs/eq3.md has Eq. 3 with as many steps and terms as `ropes`.
    """
    plain = replace(recipe, logit_weight=0.0, score_weight=0.0, code_noise=0.0, softplus_beta=0.0, foreign=0.0)
    if recipe.basis == "none":
        return plain
    training = replace(recipe.ae2_training, min_samples=144_000)
    return replace(plain, basis="none", sparsity_rows=1, ae2_training=training)


def ropes_recipe(preset: str) -> RopesRecipe:
    """The recipe of method `ropes`.

    Raises:
        UserError: unknown preset.
    """
    require_name(preset, PRESETS, "preset")
    return paper_recipe() if preset == "paper" else compact_recipe()

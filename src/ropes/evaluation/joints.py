"""Table 1's protocol: correlation and calibrated error on test splits, with and without occlusion (ROPES Section 4)."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ropes.common.files import write_text
from ropes.common.hardware import RequestedPrecision
from ropes.common.old_names import with_old_keywords
from ropes.common.progress import progress
from ropes.common.stores import Location
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.origin import has_own_units, mesh_of, scene_of
from ropes.errors import UserError
from ropes.evaluation.causal_graph import GRAPH_FILE, write_graph
from ropes.evaluation.drawn_poses import require_moving_joints
from ropes.evaluation.flags import flag_rows, occluded, out_of_distribution_images
from ropes.evaluation.joint_protocol import (
    TestedPoses,
    arm_or_none,
    comparable_with_paper,
    conditions_of_images,
    freed_rows,
)
from ropes.evaluation.labels import label_free_calibration, labelled_poses
from ropes.evaluation.pictures import SPLITS, write_pictures
from ropes.evaluation.record import ARTEFACTS, claim_evaluation
from ropes.evaluation.results import Results
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.kinds import CoverageRow, FlagRow, PoseRow, criterion_rows
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of, states_of, views_of
from ropes.methods.recipes import RopesRecipe
from ropes.methods.run import TRAINING_FILE, Run, read_training, warn_if_other_scene
from ropes.methods.run_folder import run_folder
from ropes.methods.uncertainty.coverage import IN_DISTRIBUTION, Condition, measure_uncertainty
from ropes.metrics import PAPER_SIZES, Evaluation, ProtocolSizes
from ropes.simulation.corruption import Hiding, check_square, require_occluder

OCCLUSIONS = (0, 16, 32, 64)
#: Numbers of calibration labels for which the coverage of intervals is measured.
COVERAGE_LABELS = (100, 1000)


@with_old_keywords(unlike="out_of_distribution")
def evaluate(
    run: Run | Path | str,
    data: Dataset | Location | str,
    out: Path | str,
    *,
    seed: int = 0,
    occlusions: Sequence[int] = OCCLUSIONS,
    name: str = "evaluation",
    label: str | None = None,
    out_of_distribution: Dataset | Path | str | Sequence[Dataset | Path | str] = (),
    sizes: ProtocolSizes = PAPER_SIZES,
    hide: Hiding = "square",
    precision: RequestedPrecision = "auto",
    show: bool = True,
) -> Results:
    """Evaluate a run on the test splits of a labelled data set.

    For each split and occlusion, 15 repeats draw 1,000 poses to fit a linear calibration per joint, and 500 others to
    test it; the correlation is of the same 500.  Both sets are drawn from the split, with the same occlusion.
    For shifted poses the calibration is also fitted on poses in distribution (`shift_rows`).
    Without occlusion, the calibration is also fitted on 100 and on 10 of the 1,000 poses.  If the data set describes
    its policy distributions, label-free calibration on them is tested as well.  Supervised methods predict radians and
    need no calibration.

    Deviation: the draws of different repeats may share poses when the split holds fewer than 22,500.  Why: so many test
    poses would add a third or more to the rendering.  Effect: with 2,000 test poses the standard deviation over draws
    is some 13% too small, by √(1 − 500 / 2,000).

    Deviation: rows of shifted poses with 1,000 labels fit their line on shifted poses.  Why: Section 4 does not say
    which set the 1,000 samples come from.  Effect: these rows are not zero-shot; rows without a label, rows of methods
    that learn from labels, and those called "not shifted" are.

    Deviation: test poses are observational.  Why: the paper does not say; the variances that follow from its MSE and
    MCC are those of observational angles.  Effect: not measured.

    Deviation: every camera's image has a square of its own, and lines of occluded rows are fitted on images with
    squares.  Why: the paper says neither; in its occluded rows MSE = (1 − MCC²) · variance of the angles, as for such
    lines.  Effect: errors are at most those by lines of clean images, up to sampling noise; not measured for squares.

    Args:
        run: folder of the run, name of a packaged estimator, or what `ropes.fit` returned.
        data: data set with angles and test splits, or its folder; need not be the training data.
        out: folder for `results.json` and `artefacts/` (input of the report).
        seed: seed of the draws and the occlusions.
        occlusions: sides of the occluding squares in pixels of the data set's images, all different; 0 for none.
        name: name of the results.
        label: name of the method in the rows; the run's method if None.
        out_of_distribution: data sets of another robot or other cameras, or their folders, see
            `ropes.evaluation.flags`; also a single one.
        sizes: sizes of the draws.  The paper's numbers are beside the rows only if `fit` is its 1,000, images have its
            128×128 pixels, and the data set has the run's setting.
        hide: kind of occlusion; the paper's is white squares.
        precision: precision of inference, see `ropes.methods.readers.load_reader`.
        show: show progress.

    Raises:
        UserError: factors of an imported table in place of angles, too few test poses, no angles, a joint that never
            moves, missing cameras or joints, an occlusion larger than the images, an unfinished run, a folder that
            holds something else, or see `out_of_distribution_images`.
    """
    began, hide = time.monotonic(), require_occluder(hide)
    if not occlusions or len(set(occlusions)) < len(occlusions):
        raise UserError(f"occlusions are {list(occlusions)}; give one or more, all different, for example 0 and 16")
    run, out = run_folder(run), Path(out)
    estimator, dataset = Estimator.load(run, precision=precision), open_dataset(data)
    if has_own_units(dataset):
        raise UserError(
            f"{dataset.path} has factors in the unit of an imported table, and errors of joint angles need radians; "
            "measure its factors by --factors"
        )
    setting = estimator.run.setting
    splits = test_splits(dataset, sizes)
    views_of(estimator.run, dataset)
    warn_if_other_scene(estimator.run, dataset)
    angles = {split: states_of(estimator.run, dataset, SPLITS[split]) for split in splits}
    for occlusion in occlusions:
        for height, width, *_ in estimator.run.shapes:
            check_square(occlusion, (height, width))
    require_moving_joints(estimator.run, dataset, angles, seed=seed, sizes=sizes, occlusions=occlusions)
    if isinstance(out_of_distribution, Dataset | Path | str):
        out_of_distribution = [out_of_distribution]
    if out_of_distribution and "id" not in splits:
        raise UserError(
            f"--out-of-distribution compares images with those of {SPLITS['id']}, which {dataset.path} does not have"
        )
    foreign = out_of_distribution_images(estimator, out_of_distribution)
    precisions = precision, estimator.precision
    folder = claim_evaluation(out, run, estimator.run, dataset, label, precisions, began=began, setting=setting)
    method = folder.fit_row.method
    label_free = None if estimator.is_supervised else label_free_calibration(estimator, dataset, seed)
    tested = TestedPoses(
        estimator=estimator,
        method=method,
        seed=seed,
        sizes=sizes,
        hide=hide,
        label_free=label_free,
        arm=arm_or_none(estimator.run, dataset),
        angles=angles,
        images=conditions_of_images(estimator.run, dataset),
        comparable=comparable_with_paper(estimator.run, dataset),
    )
    rows: list[Row] = []
    shift_rows: list[Row] = []
    pose_rows: list[PoseRow] = []
    example: tuple[Condition, Evaluation] | None = None  # in distribution without occlusion, if that is evaluated
    flags: tuple[FlagRow, ...] = ()
    with progress("evaluate", len(splits) * len(occlusions), show=show) as update:
        for split in splits:
            images = images_of(estimator.run, dataset, dataset.frames(SPLITS[split]).index)
            for occlusion in sorted({0, *occlusions}):  # uncertainty is calibrated without occlusion
                condition = split, occlusion
                reading = estimator.read(occluded(images, occlusion, seed, split, hide))
                tested.readings[condition] = reading
                if condition == IN_DISTRIBUTION:
                    flags = flag_rows(estimator, method, reading, images, foreign)
                if occlusion not in occlusions:
                    continue
                measured = tested.measured(condition)
                rows += tested.rows(condition, measured)
                shift_rows += tested.shift_rows(condition)
                pose_rows += tested.pose_rows(condition)
                update(len({(row.split, row.occlusion) for row in rows}))
                if example is None or condition == IN_DISTRIBUTION:
                    example = condition, measured
    assert example is not None
    artefacts = out / ARTEFACTS / setting / method
    to_angles = partial(tested.map_to_angles, example[0])
    write_pictures(artefacts / "evaluation.npz", estimator, dataset, *example, seed, hide, to_angles)
    write_text(artefacts / TRAINING_FILE, (run / TRAINING_FILE).read_text(encoding="utf-8"))
    if "train" in dataset.splits:
        write_graph(artefacts / GRAPH_FILE, estimator, dataset, seed=seed)
    of_ropes = isinstance(estimator.run.recipe, RopesRecipe)
    coordinates = tested.readings[IN_DISTRIBUTION].coordinates if "id" in splits else None
    return folder.write(
        name,
        rows=tuple(rows),
        trust_rows=_trust_rows(tested, dataset, occlusions),
        flag_rows=flags,
        pose_rows=tuple(pose_rows),
        shift_rows=tuple(shift_rows),
        criterion_rows=criterion_rows(read_training(run), method) if of_ropes else (),
        freed_rows=() if coordinates is None else freed_rows(estimator.run, dataset, method, coordinates),
        hiding=hide if any(occlusions) else None,
        scene=scene_of(dataset),
        mesh=mesh_of(dataset),
    )


def evaluate_transfer(
    run: Path,
    data: Location,
    out: Path,
    *,
    seed: int = 0,
    name: str = "transfer",
    label: str | None = None,
    sizes: ProtocolSizes = PAPER_SIZES,
    precision: RequestedPrecision = "auto",
) -> Results:
    """Measure the errors of a run on other images of the same arm, by the protocol of `evaluate`.

    The coordinates are those of the training images; lines to radians of methods without labels are fitted on poses of
    the other images.

    Args:
        run: folder of the run.
        data: data set with the other images.
        out: folder for `results.json`, whose rows are `transfer_rows`.
        seed: seed of the draws.
        name: name of the results.
        label: name of the method in the rows; the run's method if None.
        sizes: sizes of the draws.
        precision: precision of inference, see `ropes.methods.readers.load_reader`.

    Raises:
        UserError: the data set has too few test poses, a joint that never moves, other cameras or joints, the run is
            unfinished, or the folder holds something else.
    """
    began = time.monotonic()
    estimator, dataset = Estimator.load(run, precision=precision), open_dataset(data)
    splits = test_splits(dataset, sizes)
    views_of(estimator.run, dataset)
    angles = {split: states_of(estimator.run, dataset, SPLITS[split]) for split in splits}
    require_moving_joints(estimator.run, dataset, angles, seed=seed, sizes=sizes)
    precisions = precision, estimator.precision
    setting = estimator.run.setting
    folder = claim_evaluation(out, run, estimator.run, dataset, label, precisions, began=began, setting=setting)
    tested = TestedPoses(
        estimator=estimator,
        method=folder.fit_row.method,
        seed=seed,
        sizes=sizes,
        angles=angles,
        images=conditions_of_images(estimator.run, dataset),
        comparable=comparable_with_paper(estimator.run, dataset),
    )
    rows: list[Row] = []
    for split in splits:
        condition = split, 0
        images = images_of(estimator.run, dataset, dataset.frames(SPLITS[split]).index)
        tested.readings[condition] = estimator.read(images)
        rows += tested.rows(condition, tested.measured(condition))
    return folder.write(name, transfer_rows=tuple(rows), scene=scene_of(dataset), mesh=mesh_of(dataset))


def test_splits(dataset: Dataset, sizes: ProtocolSizes) -> list[str]:
    """The test splits of a data set, "id" before "ood"; each must have enough poses."""
    splits = [split for split, name in SPLITS.items() if name in dataset.splits]
    if not splits:
        raise UserError(
            f"{dataset.path} has no split test-id or test-ood; simulate it with --test-anchors 2000, or compare a "
            "recording with its encoders by ropes check"
        )
    required = sizes.fit + sizes.test
    for name in (SPLITS[split] for split in splits):
        if (poses := len(dataset.frames(name))) < required:
            more = "simulate with more --test-anchors" if scene_of(dataset) else "record more test poses"
            raise UserError(
                f"{dataset.path}: split {name} has {poses} poses; the evaluation needs at least {required} "
                f"({sizes.fit} to calibrate, {sizes.test} to test): {more}, or give smaller --calibration-poses and "
                "--test-poses"
            )
    return splits


def _trust_rows(tested: TestedPoses, dataset: Dataset, occlusions: Sequence[int]) -> tuple[CoverageRow, ...]:
    """Interval coverage and out-of-distribution rates; empty for a run without an uncertainty model."""
    estimator = tested.estimator
    if estimator.trust is None:
        return ()
    labelled = {} if tested.to_radians else labelled_poses(estimator, dataset, COVERAGE_LABELS, tested.sizes.repeats)
    free = tested.label_free
    measured = measure_uncertainty(
        estimator.trust,
        tested.readings,
        tested.angles,
        labelled=labelled,
        commanded=None if free is None or free.intervals is None else (free.intervals, free.angles),
        own=tested.to_radians,
    )
    run = estimator.run
    return tuple(
        CoverageRow(setup=run.setting, method=tested.method, seed=run.seed, joint=run.joints[column], **row)
        for column, row in measured
        if row["occlusion"] in occlusions
    )

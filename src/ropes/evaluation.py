"""Table 1's protocol: correlation and calibrated error on test splits, with and without occlusion (ROPES Section 4)."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ropes import __version__
from ropes.calibration import Calibration
from ropes.causal_graph import GRAPH_FILE, write_graph
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.estimator import Estimator
from ropes.evaluation_pictures import SPLITS, occluded, write_pictures
from ropes.evaluation_record import ARTEFACTS, RESULTS_FILE, claim_evaluation
from ropes.files import write_text
from ropes.flag_evaluation import flag_rows, unlike_images
from ropes.flag_rows import FlagRow
from ropes.hardware import AskedPrecision, device_name
from ropes.joint_rows import Row
from ropes.label_evaluation import FEWER, few_label_rows, labelled_poses, map_without_labels
from ropes.methods.run import TRAINING_FILE, scene_of, warn_of_scene
from ropes.metrics import PAPER_SIZES, Evaluation, ProtocolSizes, protocol
from ropes.pose_evaluation import arm_or_none, pose_row
from ropes.pose_rows import PoseRow
from ropes.prediction import images_of, states_of, views_of
from ropes.progress import progress
from ropes.recipes import EncoderRecipe, LabelledRecipe
from ropes.results import Results, write
from ropes.seeds import generator
from ropes.simulate.corruption import Hiding, check_square, require_hiding
from ropes.trust.measure import USUAL, Condition, ToAngles, measure_trust
from ropes.trust.trust import Reading
from ropes.trust_rows import TrustRow

OCCLUSIONS = (0, 16, 32, 64)
#: Labelled poses that intervals rest on, where their coverage is measured.
COVERAGE_LABELS = (100, 1000)


def evaluate(
    run: Path,
    data: Path,
    out: Path,
    *,
    seed: int = 0,
    occlusions: Sequence[int] = OCCLUSIONS,
    name: str = "evaluation",
    label: str | None = None,
    unlike: Sequence[Path] = (),
    sizes: ProtocolSizes = PAPER_SIZES,
    hide: Hiding = "square",
    precision: AskedPrecision = "auto",
    show: bool = True,
) -> Results:
    """Measure a run on the test splits of a labelled data set.

    For each split and occlusion: 15 times, a line per joint is fitted on 1,000 poses and tested on 500 others; the
    correlation is of the same 500.  Both sets are drawn afresh each time from the split, with the same occlusion.
    Lines for shifted poses are fitted on poses that are not shifted too (`shift_rows`).
    Without occlusion the line is also fitted on 100 and on 10 of the 1,000; and where the data set tells what its
    policies were commanded to draw, the monotone map that this implies is tested, which takes no label.  A method that
    learns from labels reads radians, which are tested as they are.

    Deviation: the draws of different repeats may share poses when the split holds fewer than 22,500.  Why: so many test
    poses would add a third or more to the filming.  Effect: with 2,000 test poses the spread over draws (±) is some 13%
    too small, by √(1 − 500 / 2,000).

    Deviation: rows of shifted poses with 1,000 labels fit their line on shifted poses.  Why: Section 4 does not say
    which set the 1,000 samples come from.  Effect: these rows are not zero-shot; rows without a label, rows of methods
    that learn from labels, and those called "not shifted" are.

    Args:
        run: folder of the run.
        data: data set with angles and test splits; another one than the run was fitted on may be given.
        out: folder for `results.json` (`trust_rows` in it: see `ropes.trust.measure`; `flag_rows`: see
            `ropes.flag_evaluation`) and `artefacts/` (what the report shows).
        seed: of the draws and the occlusions.
        occlusions: different sides of the white squares in pixels, 0 for none.
        name: of the results.
        label: what the rows call the method; its own name where None.
        unlike: data sets of another robot or of other cameras, whose images are to be called unusual.
        sizes: of the draws; the paper's figures beside the rows are always of its own sizes.
        hide: what hides a part of each image where `occlusions` say how large; white squares are the paper's.
        precision: that images are read in, see `ropes.methods.readers.load_reader`.
        show: show progress.

    Raises:
        UserError: too few test poses, no angles, cameras or joints missing, an occlusion larger than the images, an
            unfinished run, a folder that holds something else, or see `unlike_images`.
    """
    began, hide = time.monotonic(), require_hiding(hide)
    estimator, dataset = Estimator.load(run, precision=precision), open_dataset(data)
    called = label or estimator.run.method
    splits = _test_splits(dataset, sizes)
    views_of(estimator.run, dataset)
    warn_of_scene(estimator.run, dataset)
    angles_of = {split: states_of(estimator.run, dataset, SPLITS[split]) for split in splits}
    for occlusion in occlusions:
        check_square(occlusion, dataset.image_size)
    if unlike and "id" not in splits:
        raise UserError(f"--unlike compares images with those of {SPLITS['id']}, which {data} does not have")
    foreign = unlike_images(estimator, unlike)
    precisions = precision, estimator.precision
    fitted = claim_evaluation(out, run, estimator.run, dataset, called, precisions, setting=estimator.run.setting)
    own: ToAngles | None = np.asarray if estimator.learnt_from_labels else None  # what is read are radians
    known = None if own else map_without_labels(estimator, dataset, seed)
    arm = arm_or_none(estimator.run, dataset)
    rows: list[Row] = []
    readings: dict[Condition, Reading] = {}
    shift_rows: list[Row] = []
    pose_rows: list[PoseRow] = []
    shown: tuple[Condition, Evaluation] | None = None  # in distribution without squares, where that is measured
    flags: tuple[FlagRow, ...] = ()
    with progress("evaluate", len(splits) * len(occlusions), show=show) as update:
        for split in splits:
            frames = dataset.frames(SPLITS[split])
            images = images_of(estimator.run, dataset, frames.index)
            for occlusion in sorted({0, *occlusions}):  # what to trust is learnt from images without squares
                reading = readings[split, occlusion] = estimator.read(occluded(images, occlusion, seed, split, hide))
                if (split, occlusion) == USUAL:
                    flags = flag_rows(estimator, called, reading, images, foreign)
                if occlusion not in occlusions:
                    continue
                draws = reading.coordinates, angles_of[split]
                first, *others = (generator(seed, "evaluation", split, occlusion) for _ in range(3))  # the same draws
                measured = protocol(*draws, first, sizes.repeats, sizes.fit, sizes.test, known=own)
                found = _rows(estimator, called, measured, split, occlusion, sizes, hide)
                rows += found
                if own is None:
                    fewer = FEWER if occlusion == 0 else ()  # lines are fitted without squares in practice
                    rows += few_label_rows(found, *draws, others[0], known, fewer, sizes)
                    if split == "ood" and "id" in splits:
                        usual = readings["id", occlusion].coordinates, angles_of["id"]
                        again, there = (generator(seed, "evaluation", each, occlusion) for each in (split, "id"))
                        measured_there = protocol(
                            *draws, again, sizes.repeats, sizes.fit, sizes.test, elsewhere=(*usual, there)
                        )
                        shift_rows += _rows(estimator, called, measured_there, split, occlusion, sizes, hide)
                if arm is not None:
                    about_pose = _conditions(estimator, called, split, occlusion)
                    pose_rows.append(pose_row(arm, *draws, others[1], sizes, own, **about_pose))
                update(len({(row.split, row.occlusion) for row in rows}))
                if shown is None or (split, occlusion) == USUAL:
                    shown = (split, occlusion), measured
    assert shown is not None
    artefacts = out / ARTEFACTS / estimator.run.setting / called
    write_pictures(artefacts / "evaluation.npz", estimator, dataset, *shown, seed, hide)
    write_text(artefacts / TRAINING_FILE, (run / TRAINING_FILE).read_text(encoding="utf-8"))
    if "train" in dataset.splits:
        write_graph(artefacts / GRAPH_FILE, estimator, dataset, seed=seed)
    results = Results(
        name=name,
        preset=estimator.run.recipe.preset,
        device=device_name(),
        version=__version__,
        seconds=round(time.monotonic() - began, 1),
        rows=tuple(rows),
        trust_rows=_trust_rows(estimator, dataset, called, readings, angles_of, known, own, occlusions, sizes.repeats),
        flag_rows=flags,
        pose_rows=tuple(pose_rows),
        shift_rows=tuple(shift_rows),
        fit_rows=(fitted,),
        hiding=hide if any(occlusions) else None,
        scene=scene_of(dataset),
    )
    write(out / RESULTS_FILE, results)
    return results


def _test_splits(dataset: Dataset, sizes: ProtocolSizes) -> list[str]:
    found = [split for split, name in SPLITS.items() if name in dataset.splits]
    if not found:
        raise UserError(f"{dataset.path} has no split test-id or test-ood; simulate it with --test-anchors 2000")
    for split in found:
        poses = len(dataset.frames(SPLITS[split]))
        if poses < sizes.fit + sizes.test:
            raise UserError(
                f"{dataset.path}: split {SPLITS[split]} has {poses} poses; the evaluation needs at least "
                f"{sizes.fit + sizes.test} ({sizes.fit} to calibrate, {sizes.test} to test): "
                "simulate with more --test-anchors"
            )
    return found


def _rows(
    estimator: Estimator,
    called: str,
    measured: Evaluation,
    split: str,
    occlusion: int,
    sizes: ProtocolSizes,
    hide: Hiding,
) -> list[Row]:
    as_published = hide == "square" or not occlusion
    return [
        Row.measured(
            joint=joint,
            mcc=(float(measured.mcc_mean[k]), float(measured.mcc_std[k])),
            mse=(float(measured.mse_mean[k]), float(measured.mse_std[k])),
            mcc_matched=float(measured.mcc_matched[k]),
            calibration_labels=0 if estimator.learnt_from_labels else sizes.fit,
            published_too=as_published,
            **_trained_on(estimator),
            **_conditions(estimator, called, split, occlusion),
        )
        for k, joint in enumerate(estimator.run.joints)
    ]


def _trust_rows(
    estimator: Estimator,
    dataset: Dataset,
    called: str,
    readings: dict[Condition, Reading],
    angles: dict[str, NDArray[np.float64]],
    known: Calibration | None,
    own: ToAngles | None,
    occlusions: Sequence[int],
    repeats: int,
) -> tuple[TrustRow, ...]:
    """Intervals and flags against the truth; nothing for a run that knows nothing of its errors."""
    if estimator.trust is None:
        return ()
    measured = measure_trust(
        estimator.trust,
        readings,
        angles,
        labelled={} if own else labelled_poses(estimator, dataset, COVERAGE_LABELS, repeats),
        commanded=known.angles if known else None,
        own=own,
    )
    run = estimator.run
    return tuple(
        TrustRow(setup=run.setting, method=called, seed=run.seed, joint=run.joints[column], **row)
        for column, row in measured
        if row["occlusion"] in occlusions
    )


def _trained_on(estimator: Estimator) -> dict[str, Any]:
    """Anchors, side of the images, and shares of erased images and of labels of the training, for a `Row`."""
    run, recipe = estimator.run, estimator.run.recipe
    anchors, erased, share = run.anchors, 0.0, None
    if isinstance(recipe, EncoderRecipe):
        anchors, erased = recipe.anchors or run.anchors, recipe.erased
    if isinstance(recipe, LabelledRecipe):
        erased, share = recipe.erased, recipe.labels
    return {"anchors": anchors, "image_size": recipe.shape.image_size, "erased": erased, "label_share": share}


def _conditions(estimator: Estimator, called: str, split: str, occlusion: int) -> dict[str, Any]:
    run = estimator.run
    return {
        "setup": run.setting,
        "method": called,
        "split": split,
        "occlusion": int(occlusion),
        "seed": run.seed,
        "labels": estimator.labelled_images,
    }

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
from ropes.evaluation_record import ARTEFACTS, RESULTS_FILE, claim_evaluation
from ropes.files import atomic_path, write_text
from ropes.flag_evaluation import flag_rows, unlike_images
from ropes.flag_rows import FlagRow
from ropes.hardware import AskedPrecision, device_name
from ropes.label_evaluation import FEWER, few_label_rows, labelled_poses, map_without_labels
from ropes.methods.run import TRAINING_FILE, scene_of, warn_of_scene
from ropes.metrics import PAPER_SIZES, Evaluation, ProtocolSizes, protocol
from ropes.pose_evaluation import arm_or_none, pose_row
from ropes.pose_rows import PoseRow
from ropes.prediction import images_of, states_of, views_of
from ropes.progress import progress
from ropes.recipes import EncoderRecipe, LabelledRecipe
from ropes.results import Results, Row, write
from ropes.scm import Regime
from ropes.seeds import generator
from ropes.simulate.corruption import check_square, occlude
from ropes.trust.measure import USUAL, Condition, ToAngles, measure_trust
from ropes.trust.trust import Reading
from ropes.trust_rows import TrustRow

OCCLUSIONS = (0, 16, 32, 64)
#: Labelled poses that intervals rest on, where their coverage is measured.
COVERAGE_LABELS = (100, 1000)
_SPLITS = {"id": "test-id", "ood": "test-ood"}
_SHOWN_OCCLUSION = 32
_SHOWN = 4
Images = NDArray[np.uint8]


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
    precision: AskedPrecision = "auto",
    show: bool = True,
) -> Results:
    """Measure a run on the test splits of a labelled data set.

    For each split and occlusion: 15 times, a line per joint is fitted on 1,000 poses and tested on 500 others; the
    correlation is of the same 500.  Both sets are drawn afresh each time from the split, with the same occlusion.
    Without occlusion the line is also fitted on 100 and on 10 of the 1,000; and where the data set tells what its
    policies were commanded to draw, the monotone map that this implies is tested, which takes no label.  A method that
    learns from labels reads radians, which are tested as they are.

    Deviation: the draws of different repeats may share poses when the split holds fewer than 22,500.

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
        precision: that images are read in, see `ropes.methods.readers.load_reader`.
        show: show progress.

    Raises:
        UserError: too few test poses, no angles, cameras or joints missing, an occlusion larger than the images, an
            unfinished run, a folder that holds something else, or see `unlike_images`.
    """
    began = time.monotonic()
    estimator, dataset = Estimator.load(run, precision=precision), open_dataset(data)
    called = label or estimator.run.method
    splits = _test_splits(dataset, sizes)
    views_of(estimator.run, dataset)
    warn_of_scene(estimator.run, dataset)
    angles_of = {split: states_of(estimator.run, dataset, _SPLITS[split]) for split in splits}
    for occlusion in occlusions:
        check_square(occlusion, dataset.image_size)
    if unlike and "id" not in splits:
        raise UserError(f"--unlike compares images with those of {_SPLITS['id']}, which {data} does not have")
    foreign = unlike_images(estimator, unlike)
    fitted = claim_evaluation(out, run, estimator.run, dataset, called, setting=estimator.run.setting)
    own: ToAngles | None = np.asarray if estimator.learnt_from_labels else None  # what is read are radians
    known = None if own else map_without_labels(estimator, dataset, seed)
    arm = arm_or_none(estimator.run, dataset)
    rows: list[Row] = []
    readings: dict[Condition, Reading] = {}
    pose_rows: list[PoseRow] = []
    shown: tuple[Condition, Evaluation] | None = None  # in distribution without squares, where that is measured
    flags: tuple[FlagRow, ...] = ()
    with progress("evaluate", len(splits) * len(occlusions), show=show) as update:
        for split in splits:
            frames = dataset.frames(_SPLITS[split])
            images = images_of(estimator.run, dataset, frames.index)
            for occlusion in sorted({0, *occlusions}):  # what to trust is learnt from images without squares
                reading = readings[split, occlusion] = estimator.read(_occluded(images, occlusion, seed, split))
                if (split, occlusion) == USUAL:
                    flags = flag_rows(estimator, called, reading, images, foreign)
                if occlusion not in occlusions:
                    continue
                draws = reading.coordinates, angles_of[split]
                first, *others = (generator(seed, "evaluation", split, occlusion) for _ in range(3))  # the same draws
                measured = protocol(*draws, first, sizes.repeats, sizes.fit, sizes.test, known=own)
                found = _rows(estimator, called, measured, split, occlusion, sizes)
                rows += found
                if own is None:
                    fewer = FEWER if occlusion == 0 else ()  # lines are fitted without squares in practice
                    rows += few_label_rows(found, *draws, others[0], known, fewer, sizes)
                if arm is not None:
                    about_pose = _conditions(estimator, called, split, occlusion)
                    pose_rows.append(pose_row(arm, *draws, others[1], sizes, own, **about_pose))
                update(len({(row.split, row.occlusion) for row in rows}))
                if shown is None or (split, occlusion) == USUAL:
                    shown = (split, occlusion), measured
    assert shown is not None
    artefacts = out / ARTEFACTS / estimator.run.setting / called
    _write_artefacts(artefacts / "evaluation.npz", estimator, dataset, *shown, seed)
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
        fit_rows=(fitted,),
        scene=scene_of(dataset),
    )
    write(out / RESULTS_FILE, results)
    return results


def _test_splits(dataset: Dataset, sizes: ProtocolSizes) -> list[str]:
    found = [split for split, name in _SPLITS.items() if name in dataset.splits]
    if not found:
        raise UserError(f"{dataset.path} has no split test-id or test-ood; simulate it with --test-anchors 2000")
    for split in found:
        poses = len(dataset.frames(_SPLITS[split]))
        if poses < sizes.fit + sizes.test:
            raise UserError(
                f"{dataset.path}: split {_SPLITS[split]} has {poses} poses; the evaluation needs at least "
                f"{sizes.fit + sizes.test} ({sizes.fit} to calibrate, {sizes.test} to test): "
                "simulate with more --test-anchors"
            )
    return found


def _occluded(images: Images, occlusion: int, seed: int, split: str) -> Images:
    if not occlusion:
        return images
    return occlude(images, occlusion, generator(seed, "occlusion", split, occlusion))


def _rows(
    estimator: Estimator, called: str, measured: Evaluation, split: str, occlusion: int, sizes: ProtocolSizes
) -> list[Row]:
    return [
        Row.measured(
            joint=joint,
            mcc=(float(measured.mcc_mean[k]), float(measured.mcc_std[k])),
            mse=(float(measured.mse_mean[k]), float(measured.mse_std[k])),
            calibration_labels=0 if estimator.learnt_from_labels else sizes.fit,
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


def _write_artefacts(
    path: Path, estimator: Estimator, dataset: Dataset, condition: Condition, best: Evaluation, seed: int
) -> None:
    run = estimator.run
    test = dataset.frames(next(name for name in _SPLITS.values() if name in dataset.splits)).index[:_SHOWN]
    original = images_of(run, dataset, test)
    covered = _occluded(original, min(_SHOWN_OCCLUSION, run.image_size // 2), seed, "pictures")
    with atomic_path(path) as temporary, temporary.open("wb") as stream:
        np.savez_compressed(
            stream,
            joints=np.array(run.joints),
            cameras=np.array(run.cameras),
            scatter_estimate=best.best_estimate,
            scatter_angle=best.best_angle,
            scatter_mcc=best.best_mcc,
            scatter_mse=best.best_mse,
            scatter_split=np.array(condition[0]),
            scatter_occlusion=np.array(condition[1]),
            **_reconstructions(estimator, "", original),
            **_reconstructions(estimator, "occluded_", covered),
            **_interventions(estimator, dataset),
        )


def _reconstructions(estimator: Estimator, prefix: str, images: Images) -> dict[str, Any]:
    """Images and what the two autoencoders make of them, by name; nothing for a method that has none."""
    made = estimator.reconstructions(images)
    if made is None:
        return {}
    return {f"{prefix}original": images, f"{prefix}ae1": made[0], f"{prefix}ae2": made[1]}


def _interventions(estimator: Estimator, dataset: Dataset) -> dict[str, Any]:
    """Samples of every regime (Figs. 6 and 7); nothing where the data set has only test poses."""
    if "train" not in dataset.splits:
        return {}
    run, frames = estimator.run, dataset.frames("train")
    shown = [regime for regime in dataset.regimes if regime == Regime() or regime.joint in run.joints]
    numbers = [frames.index[frames.regime == dataset.regimes.index(regime)][:_SHOWN] for regime in shown]
    few = min(len(rows) for rows in numbers)
    return {
        "intervention_images": np.stack([images_of(run, dataset, rows[:few]) for rows in numbers]),
        "intervention_names": np.array([regime.name for regime in shown]),
    }

"""Table 1's protocol: correlation and calibrated error on test splits, with and without occlusion (ROPES Section 4)."""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ropes import __version__
from ropes.common.files import write_text
from ropes.common.hardware import AskedPrecision, device_name
from ropes.common.progress import progress
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.errors import UserError
from ropes.evaluation.causal_graph import GRAPH_FILE, write_graph
from ropes.evaluation.flags import flag_rows, unlike_images
from ropes.evaluation.joint_protocol import TestedPoses
from ropes.evaluation.labels import labelled_poses, map_without_labels
from ropes.evaluation.partial_disentanglement import freed_rows
from ropes.evaluation.pictures import SPLITS, occluded, write_pictures
from ropes.evaluation.poses import arm_or_none
from ropes.evaluation.record import ARTEFACTS, RESULTS_FILE, claim_evaluation
from ropes.evaluation.results import Results, write
from ropes.evaluation.rows.criterion import criterion_rows
from ropes.evaluation.rows.flag import FlagRow
from ropes.evaluation.rows.joint import Row
from ropes.evaluation.rows.pose import PoseRow
from ropes.evaluation.rows.trust import TrustRow
from ropes.inference.calibration import Calibration
from ropes.inference.estimator import Estimator
from ropes.inference.prediction import images_of, states_of, views_of
from ropes.methods.recipes import RopesRecipe
from ropes.methods.run import TRAINING_FILE, read_training, scene_of, warn_of_scene
from ropes.methods.uncertainty.coverage import IN_DISTRIBUTION, Condition, ToAngles, measure_uncertainty
from ropes.methods.uncertainty.model import Reading
from ropes.metrics import PAPER_SIZES, Evaluation, ProtocolSizes
from ropes.models.registry import find_run
from ropes.simulation.corruption import Hiding, check_square, require_hiding

OCCLUSIONS = (0, 16, 32, 64)
#: Labelled poses that intervals rest on, where their coverage is measured.
COVERAGE_LABELS = (100, 1000)


def evaluate(
    run: Path | str,
    data: Path | str,
    out: Path | str,
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
        run: folder of the run, or name of a packaged estimator.
        data: data set with angles and test splits; another one than the run was fitted on may be given.
        out: folder for `results.json` (`trust_rows` in it: see `ropes.methods.uncertainty.coverage`; `flag_rows`: see
            `ropes.evaluation.flags`) and `artefacts/` (what the report shows).
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
    run, data, out = find_run(run), Path(data), Path(out)
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
    readings: dict[Condition, Reading] = {}
    tested = TestedPoses(estimator, called, seed, sizes, hide, own, known, arm, angles_of, readings)
    rows: list[Row] = []
    shift_rows: list[Row] = []
    pose_rows: list[PoseRow] = []
    shown: tuple[Condition, Evaluation] | None = None  # in distribution without squares, where that is measured
    flags: tuple[FlagRow, ...] = ()
    with progress("evaluate", len(splits) * len(occlusions), show=show) as update:
        for split in splits:
            frames = dataset.frames(SPLITS[split])
            images = images_of(estimator.run, dataset, frames.index)
            for occlusion in sorted({0, *occlusions}):  # what to trust is learnt from images without squares
                condition = split, occlusion
                reading = readings[condition] = estimator.read(occluded(images, occlusion, seed, split, hide))
                if condition == IN_DISTRIBUTION:
                    flags = flag_rows(estimator, called, reading, images, foreign)
                if occlusion not in occlusions:
                    continue
                measured = tested.measured(condition)
                rows += tested.rows(condition, measured)
                shift_rows += tested.shift_rows(condition)
                pose_rows += tested.pose_rows(condition)
                update(len({(row.split, row.occlusion) for row in rows}))
                if shown is None or condition == IN_DISTRIBUTION:
                    shown = condition, measured
    assert shown is not None
    artefacts = out / ARTEFACTS / estimator.run.setting / called
    write_pictures(artefacts / "evaluation.npz", estimator, dataset, *shown, seed, hide)
    write_text(artefacts / TRAINING_FILE, (run / TRAINING_FILE).read_text(encoding="utf-8"))
    of_ropes = isinstance(estimator.run.recipe, RopesRecipe)
    criteria = criterion_rows(read_training(run), called) if of_ropes else ()
    freed = freed_rows(estimator.run, dataset, called, readings[IN_DISTRIBUTION].coordinates) if "id" in splits else ()
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
        criterion_rows=criteria,
        freed_rows=freed,
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
    measured = measure_uncertainty(
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

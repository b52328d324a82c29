"""The folder of an evaluation: which run, weights and data its results are of, and whether they are current."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ropes import __version__
from ropes.common.files import check_manifest, ensure_output_folder, read_json, write_json
from ropes.common.hardware import Precision, RequestedPrecision, device_name
from ropes.data.dataset import Dataset
from ropes.errors import UserError
from ropes.evaluation.results import Results, write
from ropes.evaluation.rows.kinds import FitRow
from ropes.evaluation.rows.schema import MeasuredRow
from ropes.methods.recipe import anchors_of
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run, read_training
from ropes.methods.weights import uncertainty_digest, weights_digest

#: Revision of the measurements, of joints and of the other kinds. An evaluation of an earlier revision is out of date.
REVISION, _REVISIONS = 3, {"actions": 3, "factors": 4, "moves": 3}

RESULTS_FILE, ABOUT_FILE, ARTEFACTS = "results.json", "evaluation.json", "artefacts"


@dataclass(frozen=True, kw_only=True)
class EvaluationFolder:
    """A folder that one evaluation of a run writes to.

    Attributes:
        out: the folder.
        run: the evaluated run.
        fit_row: identifies the fit; its `method` is the name of the method in all rows.
        began: start of the evaluation, by `time.monotonic`.
    """

    out: Path
    run: Run
    fit_row: FitRow
    began: float

    def artefacts(self, row: MeasuredRow | None = None) -> Path:
        """The folder of a fit's pictures, named after a row; after `fit_row` if None."""
        row = row or self.fit_row
        return self.out / ARTEFACTS / row.setup / row.method / f"seed-{row.seed}"

    def write(self, name: str, **fields: Any) -> Results:
        """Write results.json.

        Args:
            name: name of the results.
            fields: other fields of `Results`.
        """
        results = Results(
            name=name,
            preset=self.run.recipe.preset,
            device=device_name(),
            version=__version__,
            seconds=round(time.monotonic() - self.began, 1),
            fit_rows=(self.fit_row,),
            **{"rows": (), **fields},
        )
        write(self.out / RESULTS_FILE, results)
        return results


def claim_evaluation(
    out: Path,
    folder: Path,
    run: Run,
    dataset: Dataset,
    label: str | None,
    precisions: tuple[RequestedPrecision, Precision],
    *,
    began: float,
    **about: Any,
) -> EvaluationFolder:
    """Claim a folder for an evaluation of a run; delete results there of the run's other weights or precisions.

    Args:
        out: folder of the evaluation.
        folder: folder of the run.
        run: the run.
        dataset: data set that the run is evaluated on.
        label: name of the method in the rows; the run's method if None.
        precisions: requested precision, and precision of inference.
        began: start of the evaluation, by `time.monotonic`.
        about: other entries that the folder must agree with, JSON-able.

    Raises:
        UserError: the folder holds something else, or the evaluation of another run or data set.
    """
    ensure_output_folder(out, ABOUT_FILE)
    about |= {"method": run.method, "seed": run.seed, "fitted_on": run.data_checksum, "measured_on": dataset.checksum}
    check_manifest(out / ABOUT_FILE, about, "holds the evaluation of another run or data set; choose another --out")
    content, now = read_json(out / ABOUT_FILE), _state(folder, about) | {"precisions": list(precisions)}
    if content != content | now:
        (out / RESULTS_FILE).unlink(missing_ok=True)  # first, so that an interruption leaves no outdated results
        write_json(out / ABOUT_FILE, content | now)
    stages = read_training(folder)["provenance"].get("seconds")
    fit_row = FitRow(
        setup=run.setting,
        method=label or run.method,
        seed=run.seed,
        weights=now["weights"],
        data_checksum=run.data_checksum,
        version=run.version,
        seconds=round(sum(stages.values()), 1) if stages else None,
    )
    return EvaluationFolder(out=out, run=run, fit_row=fit_row, began=began)


def require_views(run: Run, dataset: Dataset, channels: int) -> None:
    """Check that a data set has the run's cameras, and colour images if the run's network has colour channels.

    Raises:
        UserError: it has others.
    """
    colour = channels != len(run.cameras)
    if dataset.cameras != run.cameras or colour != (len(dataset.image_shape) > 2):
        kind = "colour" if colour else "grey"
        raise UserError(f"{dataset.path} has other images; the run reads {kind} ones of {', '.join(run.cameras)}")


def is_current(evaluation: Path, folder: Path, precision: RequestedPrecision = "auto") -> bool:
    """Whether a finished evaluation is of the present revision, and of a run's present weights and data.

    Args:
        evaluation: folder of the evaluation.
        folder: folder of the run.
        precision: required precision of the evaluation; "auto" for any.
    """
    required = evaluation / RESULTS_FILE, evaluation / ABOUT_FILE, folder / TRAINING_FILE, folder / RUN_FILE
    if not all(path.exists() for path in required):
        return False
    about = read_json(evaluation / ABOUT_FILE)
    if about.get("fitted_on") != Run.read(folder).data_checksum:
        return False
    if precision not in ("auto", *about.get("precisions", ())):
        return False
    return all(about.get(name) == value for name, value in _state(folder, about).items())


def _state(folder: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Digests of a run's weights and uncertainty model, and the revision of the measurements that `about` names.

    Earlier versions computed the map without labels of a fit on some of the anchors from all of them.
    """
    revision = _REVISIONS.get(about.get("measures", ""), REVISION)
    chosen = None if "measures" in about else anchors_of(Run.read(folder).recipe)
    return {
        "weights": weights_digest(folder),
        "trust": uncertainty_digest(folder),
        "revision": revision,
        **({} if chosen is None else {"calibrated_on": chosen}),
    }

"""Records which run and data an evaluation belongs to, and whether it is of the run's present weights."""

from pathlib import Path
from typing import Any

from ropes.common.files import claim_folder, claim_record, read_json, write_json
from ropes.common.hardware import AskedPrecision, Precision
from ropes.data.dataset import Dataset
from ropes.evaluation.rows.fit import FitRow
from ropes.methods.run import RUN_FILE, TRAINING_FILE, Run
from ropes.methods.weights import trust_digest, weights_digest

#: Counts the changes of what is measured, of joints' and of the others: an evaluation of an earlier revision is made
#: again.
REVISION, _REVISIONS = 2, {"actions": 3, "factors": 3, "moves": 3}

RESULTS_FILE, ABOUT_FILE, ARTEFACTS = "results.json", "evaluation.json", "artefacts"


def claim_evaluation(
    out: Path,
    folder: Path,
    run: Run,
    dataset: Dataset,
    called: str,
    precisions: tuple[AskedPrecision, Precision],
    **about: Any,
) -> FitRow:
    """Take a folder for an evaluation of a run; results there of other weights or precisions of that run are dropped.

    Args:
        out: folder of the evaluation.
        folder: of the run.
        run: its identity.
        dataset: that it is measured on.
        called: what the rows call the method.
        precisions: the one that was asked for, and the one that is read in.
        about: what else has to agree, JSON-able.

    Returns:
        The row that says which fit the results are of.

    Raises:
        UserError: the folder holds something else, or the evaluation of another run or data set.
    """
    claim_folder(out, ABOUT_FILE)
    about |= {"method": run.method, "seed": run.seed, "fitted_on": run.data_checksum, "measured_on": dataset.checksum}
    claim_record(out / ABOUT_FILE, about, "holds the evaluation of another run or data set; choose another --out")
    weights, content = weights_digest(folder), read_json(out / ABOUT_FILE)
    revision = _REVISIONS.get(about.get("measures", ""), REVISION)
    now = {"weights": weights, "trust": trust_digest(folder), "precisions": list(precisions), "revision": revision}
    if content != content | now:
        (out / RESULTS_FILE).unlink(missing_ok=True)  # first: what is left half-done must not vouch for old figures
        write_json(out / ABOUT_FILE, content | now)
    return FitRow(
        setup=run.setting,
        method=called,
        seed=run.seed,
        weights=weights,
        data_checksum=run.data_checksum,
        version=run.version,
    )


def is_current(measured: Path, folder: Path, precision: AskedPrecision = "auto") -> bool:
    """Whether a finished evaluation measured what is measured now, of a finished run's present weights and data.

    Args:
        measured: folder of the evaluation.
        folder: of the run.
        precision: that it has to be in; "auto" for any.
    """
    needed = measured / RESULTS_FILE, measured / ABOUT_FILE, folder / TRAINING_FILE, folder / RUN_FILE
    if not all(path.exists() for path in needed):
        return False
    about = read_json(measured / ABOUT_FILE)
    if about.get("fitted_on") != Run.read(folder).data_checksum:
        return False
    if precision not in ("auto", *about.get("precisions", ())):
        return False
    known = about.get("weights"), about.get("trust"), about.get("revision")
    revision = _REVISIONS.get(about.get("measures", ""), REVISION)
    return known == (weights_digest(folder), trust_digest(folder), revision)

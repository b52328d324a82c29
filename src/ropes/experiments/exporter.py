"""Exports a finished run as one file for other runtimes, compared with the estimator before it is kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ropes import __version__
from ropes.common.arrays import evenly
from ropes.common.files import read_json, replaced_folder, write_json, write_text
from ropes.common.stores import Location
from ropes.data.dataset import Dataset
from ropes.data.layout import open_dataset
from ropes.data.recordings.views import views_as_recorded
from ropes.data.views import Views, by_camera, count, squares, take
from ropes.errors import UserError
from ropes.evaluation.results import Results
from ropes.experiments.packager import read_results, require_name, require_same_data
from ropes.inference.estimator import Estimator
from ropes.inference.formats import FILES, OPSET, Format, read, require_packages, write
from ropes.inference.prediction import images_of
from ropes.inference.sample_images import made_up_images
from ropes.inference.single_network import ExportedEstimator
from ropes.methods.run import read_training
from ropes.methods.weights import weights_digest
from ropes.models.registry import CARD_FILE, README_FILE, read_card
from ropes.report.hub_card import hub_card
from ropes.report.model_card import model_card

CONFIG_FILE = "config.json"
#: Largest difference from the estimator, in radians (in units of the coordinate where it is not calibrated).
TOLERANCE = 1e-4
#: Largest difference of distances as a share of the estimator's; ends of intervals may differ by this share of the
#: standard deviation as well, which is the exponential of a sum with large terms.
SHARE = 1e-3
#: The same where frames are registered: another order of sums has changed distances by a thousandth.
REGISTERED_SHARE = 2e-3
#: Poses that both read.
_COMPARED = 32
Outputs = Mapping[str, NDArray[np.float64]]


def export(
    run: Path, *, kind: Format, name: str, out: Path, data: Location | None = None, results: Path | None = None
) -> Path:
    """Write the folder `out`/`name` atomically: the exported estimator, its description, and a card for a hub.

    An earlier export of that name is replaced.  The exported estimator must agree with the run's.

    Args:
        run: folder of the run.
        kind: format of the file.
        name: of the folder.
        out: folder that holds it.
        data: data set with images to compare on; if omitted, images are made up.
        results: results.json of the run's evaluation, for the card; `data` is then its training data set.

    Returns:
        The folder `out`/`name`.

    Raises:
        UserError: the run is unfinished or cannot be exported, the outputs differ, a package is missing, data or
            results are of another run, the name is invalid, or the folder holds something else.
    """
    require_name(name)
    require_packages(kind)
    estimator, target = Estimator.load(run, precision="32-true"), out / name
    if target.exists():
        _require_export(target)
    dataset, evaluation = None if data is None else open_dataset(data), None
    if results is not None:
        if dataset is None:
            raise UserError("--results needs --data, the training data set of the run")
        require_same_data(run, estimator.run, dataset)
        evaluation = read_results(results, run, estimator.run)
    images = made_up_images(estimator, _COMPARED) if dataset is None else _images(estimator, dataset)
    with replaced_folder(target) as new:
        network = ExportedEstimator(estimator, elementary=kind == "onnx")
        config = _config(run, kind, estimator, network)
        write(network, new / FILES[kind], kind, [each["name"] for each in config["inputs"]])
        difference = _require_agreement(estimator, new / FILES[kind], kind, images)
        compared = {"poses": count(images), "images": "data set" if dataset else "made up", "difference": difference}
        write_json(new / CONFIG_FILE, config | {"compared": compared})
        card = read_card(run) if (run / CARD_FILE).is_file() else None
        if card is None and dataset is not None and evaluation is not None:
            card = _card(name, run, estimator, new / FILES[kind], dataset, evaluation)
        write_text(new / README_FILE, hub_card(name, estimator.run, config, card=card, results=evaluation))
    return target


def read_config(folder: Path) -> dict[str, Any]:
    """The description of the exported estimator in a folder.

    Raises:
        UserError: the folder holds none.
    """
    content = read_json(folder / CONFIG_FILE)
    if not isinstance(content, dict) or content.get("library_name") != "ropes" or content.get("format") not in FILES:
        raise UserError(f"{folder / CONFIG_FILE} is not of ropes package")
    return content


def _require_export(folder: Path) -> None:
    """Check that a folder is one that `export` wrote, which may be replaced."""
    try:
        read_config(folder)
    except UserError:
        refusal = f"{folder} holds something else (no export by ropes package); choose another --name or --out"
        raise UserError(refusal) from None


def _images(estimator: Estimator, dataset: Dataset) -> Views:
    """Images of a test split, or of the training split where there is none."""
    split = next((name for name in ("test-id", *dataset.splits) if name in dataset.splits), "train")
    rows = dataset.frames(split).index
    chosen = evenly(len(rows), _COMPARED)
    return images_of(estimator.run, dataset, rows[chosen])


def _config(run: Path, kind: Format, estimator: Estimator, network: ExportedEstimator) -> dict[str, Any]:
    """What a program must know to use the file."""
    identity = estimator.run
    unit = "raw" if estimator.calibration is None else "rad"
    joints = ["batch", len(identity.joints)]
    kinds = {
        "distance": {"dtype": "float32", "shape": ["batch"], "unit": "1, above it the images are out of distribution"},
        "out_of_distribution": {
            "dtype": "bool",
            "shape": ["batch"],
            "unit": "distance > 1, without blank or covered views",
        },
    }
    each_joint = {"dtype": "float32", "shape": joints, "unit": unit}
    intervals = estimator.intervals
    views = views_as_recorded(dict(zip(identity.cameras, identity.shapes, strict=True)), identity.views, {}, {})
    return {
        "library_name": "ropes",
        "format": kind,
        "file": FILES[kind],
        "method": identity.method,
        "joints": list(identity.joints),
        "cameras": [
            {
                "name": camera,
                "height": height,
                "width": width,
                "channels": identity.channels,
                "view": views[camera].to_dict() if camera in identity.views else None,
            }
            for camera, (height, width, *_) in zip(identity.cameras, identity.shapes, strict=True)
        ],
        "inputs": [
            {"name": f"image_{camera}", "camera": camera, "dtype": "uint8", "shape": ["batch", *shape]}
            for camera, shape in zip(identity.cameras, network.shapes, strict=True)
        ],
        "outputs": [{"name": name, **kinds.get(name, each_joint)} for name in network.outputs],
        "unit": unit,
        "level": None if intervals is None else intervals.level,
        "registered": network.registration is not None,
        "versions": {"ropes": __version__, "torch": str(torch.__version__), "opset": OPSET if kind == "onnx" else None},
        "data_checksum": identity.data_checksum,
        "weights_sha256": weights_digest(run),
    }


def expected(estimator: Estimator, images: Views) -> Outputs:
    """The estimator's outputs, by the names of `ExportedEstimator.outputs`."""
    reading, intervals, calibration = estimator.read(images), estimator.intervals, estimator.calibration
    to_shown = np.asarray if calibration is None else calibration.angles
    found = {"coordinates" if calibration is None else "angles": to_shown(reading.coordinates)}
    if intervals is not None:
        low, high = intervals.around(reading.coordinates, reading.deviation, to_shown)
        found |= {"std": intervals.ratio * (high - low) / 2, "low": low, "high": high}
    if reading.distance is not None:
        found |= {"distance": reading.distance, "out_of_distribution": (reading.distance > 1).astype(np.float64)}
    return found


def _require_agreement(estimator: Estimator, path: Path, kind: Format, images: Views) -> float:
    """Read the file back, and compare its outputs with the estimator's on the images, one pose first and then the rest.

    Returns:
        The largest difference of angles.

    Raises:
        UserError: the outputs differ.
    """
    parts = [take(images, rows) for rows in (slice(0, 1), slice(1, None))]
    wanted = _joined([expected(estimator, part) for part in parts])
    run, side = read(path, kind, tuple(wanted)), estimator.networks[0].size
    found = _joined([run([np.ascontiguousarray(each) for each in by_camera(squares(part, side))]) for part in parts])
    share = SHARE if estimator.networks[1] is None else REGISTERED_SHARE
    differences = _differences(found, wanted, share)
    unit = "rad" if estimator.calibration else "units of the coordinate"
    for name, difference in differences.items():
        most, of = (TOLERANCE, unit) if name != "distance" else (share, "of the estimator's")
        if not difference <= most:  # also where NaN
            other = ""
            if kind == "onnx" and estimator.networks[1] is not None:
                other = ": it registers frames otherwise in the last bits; --format torch-export does so exactly"
            raise UserError(
                f"the {kind} file gives {name} that differ by {difference:.1e} {of} from the estimator's, more than "
                f"{most:g}, and is not kept{other}"
            )
    return next(iter(differences.values()))


def _joined(parts: Sequence[Mapping[str, NDArray[np.generic]]]) -> Outputs:
    """The outputs of several batches of poses, in float64."""
    return {name: np.concatenate([part[name] for part in parts]).astype(np.float64) for name in parts[0]}


def _differences(found: Outputs, wanted: Outputs, share: float) -> dict[str, float]:
    """Largest difference of each output; of distances as a share. A flag must agree unless its distance is at 1.

    Ends of intervals may differ by this share of the standard deviation in addition.
    """
    differences = {}
    for name in [name for name in wanted if name not in ("distance", "out_of_distribution")]:
        allowed = 0 if name in ("angles", "coordinates") else share * wanted["std"]
        differences[name] = float((np.abs(found[name] - wanted[name]) - allowed).max())
    if "distance" in wanted:
        distance = wanted["distance"]
        differences["distance"] = float((np.abs(found["distance"] - distance) / np.maximum(distance, 1e-3)).max())
        clear = np.abs(distance - 1) > share
        name = "out_of_distribution"
        differences[name] = float((found[name] != wanted[name])[clear].any())
    return differences


def _card(name: str, run: Path, estimator: Estimator, file: Path, dataset: Dataset, evaluation: Results) -> str | None:
    """The model card of a run without labels that is calibrated; None for another one."""
    if estimator.calibration is None or estimator.is_supervised:
        return None
    weights = sum(tensor.numel() for network in estimator.networks[0].networks() for tensor in network.parameters())
    return model_card(
        name,
        estimator.run,
        dataset,
        estimator.calibration,
        evaluation,
        read_training(run),
        weights=weights,
        precision="float32",
        size=file.stat().st_size,
    )

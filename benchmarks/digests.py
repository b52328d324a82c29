"""Checks that a change of the code keeps its behaviour: digests of tiny data sets, fits, evaluations and tables.

    python -m benchmarks.digests record digests.json     # before the change
    python -m benchmarks.digests compare digests.json    # after it; code 1 where anything differs

The digests cover data sets of every setting and scene, fits of every method, evaluations of one run of each kind, and
the tables of all committed results. Record and compare on the same machine, because other processors round differently.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from ropes.common.files import read_json, write_json
from ropes.data.generate import simulate
from ropes.data.generate_actions import simulate_arm_actions, simulate_pairs
from ropes.data.generate_finger import simulate_finger
from ropes.evaluation import results
from ropes.evaluation.factors import evaluate_factors
from ropes.evaluation.joints import evaluate
from ropes.experiments.fits import torch_threads
from ropes.methods.fit import fit
from ropes.methods.recipes import Optimisation
from ropes.methods.registry import OWN_METHODS, methods_of
from ropes.report.readme_tables import _written
from ropes.simulation.actions import PairsSetting
from ropes.simulation.finger_setting import FingerSetting
from ropes.simulation.settings import SETTINGS, setting_named
from tests import tiny, tiny_pairs

ROOT = Path(__file__).parents[1]
#: Of results and records: what tells when, how long and on what they were made.
_PASSING = ("seconds", "device", "version", "provenance")


def data_sets(work: Path) -> Iterator[tuple[str, str]]:
    """Name → digest of the images, angles and tables of a tiny data set."""
    few: dict[str, Any] = {"seed": 3, "workers": 1, "progress": False}
    for name in SETTINGS:
        for scene in ("white", "panda-gym"):
            setting = replace(setting_named(name), scene=scene)
            out = work / f"{name}-{scene}"
            simulate(setting, out=out, anchors=2, test_anchors=2, **few)
            yield f"data {out.name}", digest_of(out / "data")
    simulate_finger(FingerSetting(image_size=32), out=work / "finger", samples=4, test_samples=2, **few)
    yield "data finger-cube", digest_of(work / "finger" / "data")
    for objects in (1, 4):
        out = work / f"things-{objects}"
        simulate_pairs(PairsSetting(objects=objects), out=out, samples=170, test_samples=20, **few)
        yield f"data {out.name}", digest_of(out / "data")
    arm = setting_named("panda-2c-independent")
    simulate_arm_actions(arm, out=work / "arm-actions", samples=24, test_samples=24, **few)
    yield "data arm-actions", digest_of(work / "arm-actions" / "data")


def fits(work: Path) -> Iterator[tuple[str, str]]:
    """Name → digest of the weights of a tiny fit; and of what evaluations of some of them say."""
    data = tiny.write_data(work / "tiny")
    pairs = tiny_pairs.write_pairs(work / "pairs", {"train": 64, "validation": 16, "test-iid": 16})
    for method in OWN_METHODS:
        out = work / "runs" / method
        of_pairs = method in methods_of("actions")
        recipe = tiny_pairs.recipe(method) if of_pairs else tiny.recipe_of(method)
        fit(pairs if of_pairs else data, out, recipe, 0, method=method, precision="32-true", show=False)
        yield f"fit {method}", digest_of(out, "*.safetensors")
    student = tiny.encoder_recipe(foreign=0.5, student=Optimisation(epochs=2, batch=20, learning_rate=1e-2))
    fit(data, work / "runs" / "student", student, 0, method="anchored", precision="32-true", show=False)
    yield "fit anchored with a student", digest_of(work / "runs" / "student", "*.safetensors")
    for method in ("ropes", "student"):
        out = work / "evaluations" / method
        evaluate(work / "runs" / method, data, out, occlusions=(0, 8), show=False)
        yield f"evaluation {method}", digest_of_json(out / "results.json")
    evaluate_factors(work / "runs" / "ada-gvae", data, work / "evaluations" / "factors", workers=1)
    yield "evaluation of factors", digest_of_json(work / "evaluations" / "factors" / "results.json")


def tables() -> Iterator[tuple[str, str]]:
    """Name → digest of the tables of committed results."""
    for path in sorted((ROOT / "results").glob("*-compact.json")):
        yield f"table {path.stem}", sha256(_written(results.read(path)).encode()).hexdigest()


def digest_of(folder: Path, pattern: str = "*") -> str:
    """SHA-256 of all files there, by their names."""
    found = sha256()
    for path in sorted(path for path in folder.rglob(pattern) if path.is_file()):
        found.update(path.relative_to(folder).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def digest_of_json(path: Path) -> str:
    """SHA-256 of a JSON file without what passes."""
    return sha256(json.dumps(_lasting(read_json(path)), sort_keys=True).encode()).hexdigest()


def _lasting(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _lasting(value) for key, value in content.items() if key not in _PASSING}
    return [_lasting(value) for value in content] if isinstance(content, list) else content


def digests() -> dict[str, str]:
    """All of them."""
    with tempfile.TemporaryDirectory() as folder, torch_threads(1):
        os.environ["XDG_CACHE_HOME"] = folder
        found = {}
        for name, value in (*data_sets(Path(folder)), *fits(Path(folder)), *tables()):
            found[name] = value
            print(f"{value[:12]}  {name}", flush=True)
    return found


def main() -> None:
    """Record, or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    found = digests()
    if arguments.what == "record":
        write_json(arguments.file, found)
        return
    before = read_json(arguments.file)
    differ = sorted(name for name in before.keys() | found.keys() if before.get(name) != found.get(name))
    print(f"{len(before)} digests, {len(differ)} differ" + "".join(f"\n  {name}" for name in differ))
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()

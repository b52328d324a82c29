"""Compares a data set on an object store with its local copy, and fits on many images with fits on few.

    python -m benchmarks.stores [--images 50000] [--rounds 3] [--out FILE] [--page FILE]

The store is a server on this machine that speaks S3 (moto). "decoding" is the time until all images of a split are in
the cache; "epochs" is the rate at which batches are then read. The best of some rounds counts. The memory is that of a
compact fit of a few steps, as in `benchmarks.memory`, on the given number of images and on ten times as many, read
from the store.
"""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import described, keep, options, table
from benchmarks.memory import SETTING, STEPS, apart, fit_and_watch, write
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.methods.anchored.recipe import encoder_recipe
from ropes.simulation.settings import setting_named

BATCH, BUCKET = 104, "lab"


@contextmanager
def s3_server() -> Iterator[None]:
    """A server that speaks S3, with a bucket, which s3fs finds by the environment."""
    from moto.server import ThreadedMotoServer
    from upath import UPath

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    names = ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "DEFAULT_REGION", "ENDPOINT_URL")
    os.environ |= {
        f"AWS_{name}": value
        for name, value in zip(names, ("a", "b", "us-east-1", f"http://{host}:{port}"), strict=True)
    }
    UPath(f"s3://{BUCKET}").fs.mkdir(BUCKET)
    try:
        yield
    finally:
        server.stop()


def upload(folder: Path, name: str) -> str:
    """Copy a data set to the store; gives its URL."""
    from upath import UPath

    target = UPath(f"s3://{BUCKET}/{name}")
    target.fs.put(f"{folder}/", f"{target.path}/", recursive=True)
    return str(target)


def read(data: str, cache: Path) -> tuple[float, float]:
    """Seconds until the training split is in an empty cache, and images a second of the epoch after that."""
    os.environ["XDG_CACHE_HOME"] = str(cache)
    began = time.perf_counter()
    images = ImageCache(open_dataset(data), "train", 128, progress=False)
    decoded = time.perf_counter() - began
    order = np.random.default_rng(0).permutation(len(images))
    began = time.perf_counter()
    for batch in np.array_split(order, max(1, len(order) // BATCH)):
        images.read(batch)
    return decoded, len(order) * images.shape[1] / (time.perf_counter() - began)


def compared(anchors: int, rounds: int, root: Path) -> dict[str, float]:
    """Decoding and epochs of a data set on the store and of its local copy, which take turns."""
    write(root / "data", setting_named(SETTING), anchors)
    sources = {"local": str(root / "data"), "store": upload(root / "data", "compared")}
    found: dict[str, list[float]] = {f"{name}_{what}": [] for name in sources for what in ("decoding", "epochs")}
    for number in range(rounds):
        for name, data in sources.items():
            decoding, rate = read(data, root / f"{name}-{number}")
            found[f"{name}_decoding"].append(decoding)
            found[f"{name}_epochs"].append(rate)
    best = {name: (min if "decoding" in name else max)(values) for name, values in found.items()}
    return {**best, "epochs_ratio": best["store_epochs"] / best["local_epochs"]}


def memory(anchors: int, root: Path) -> float:
    """Peak memory that no file backs of a fit on the store, bytes."""
    write(root / "data", setting_named(SETTING), anchors)
    data = upload(root / "data", f"anchors-{anchors}")
    shutil.rmtree(root / "data")
    os.environ["XDG_CACHE_HOME"] = str(root / "cache")
    recipe = encoder_recipe("compact")
    training = replace(recipe.training, min_samples=0, epochs=STEPS * recipe.training.batch / (anchors * 13))
    found = apart(fit_and_watch, data, root / "run", replace(recipe, training=training, foreign=0.0), "anchored")
    return float(found["peak_own"])


def measure(images: int, rounds: int) -> dict[str, Any]:
    """Every figure by its name: seconds, images a second, and gigabytes of 10⁹ bytes."""
    began, setting = time.monotonic(), setting_named(SETTING)
    anchors = images // (len(setting.splits["train"].regimes) * len(setting.cameras))
    with tempfile.TemporaryDirectory() as folder, s3_server():
        rates = compared(anchors, rounds, Path(folder, "compared"))
        few, many = (memory(count, Path(folder, str(count))) / 1e9 for count in (anchors, 10 * anchors))
    peaks = {"few_gb": few, "many_gb": many, "memory_ratio": many / few}
    return {"images": images, **rates, **peaks, **described(began)}


def text(found: Mapping[str, Any]) -> str:
    """Two tables: reading, and the memory of a fit."""
    local, store = (
        [f"{found[f'{name}_decoding']:.0f}", f"{found[f'{name}_epochs']:,.0f}"] for name in ("local", "store")
    )
    images = found["images"]
    heads = ["training split", "seconds until it is decoded", "images a second of the epochs"]
    rates = table(heads, [["in a local folder", *local], ["on a store of this machine", *store]])
    sizes = [[f"{images:,}", f"{found['few_gb']:.2f}"], [f"{10 * images:,}", f"{found['many_gb']:.2f}"]]
    peaks = table(["images on the store", "peak memory of a fit, GB"], sizes)
    return f"\n{rates}\n{peaks}\n{found['device']}, version {found['version']}, {found['seconds']} s.\n\n"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--images", type=int, default=50_000, help="images of the smaller data set")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is read")
    parser.add_argument("--page", type=Path, help="page between whose markers the tables are written")
    given = parser.parse_args()
    found = measure(given.images, given.rounds)
    keep(found, "stores", text(found), given.out, given.page)


if __name__ == "__main__":
    main()

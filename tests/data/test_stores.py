"""Data sets on an object store, against a server that speaks S3."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ropes.cli import entry as cli
from ropes.common import stores
from ropes.common.cached_files import fetched, sha256
from ropes.data import parquet, schema
from ropes.data.cache import ImageCache
from ropes.data.layout import open_dataset
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.methods.fit import fit
from tests import tiny as tiny_files
from tests.command_line import refusal
from tests.data.conftest import MakeTiny, Tiny
from tests.fake_renderer import FakeRenderer, make, renderer, tree
from tests.ports import free_port
from tests.s3 import forget_connections, objects, s3, s3_address, silent_server, upload

if TYPE_CHECKING:
    from upath import UPath

__all__ = ["renderer", "s3", "s3_address"]


@pytest.fixture
def stored(tiny: Tiny, s3: "UPath") -> str:
    """The URL of a copy of the small data set."""
    return upload(tiny.path, s3 / "sets/tiny")


def cached(tmp_path: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (tmp_path / "cache-home/ropes").iterdir()}


def test_a_data_set_on_a_store_reads_as_its_local_copy(stored: str, tiny: Tiny) -> None:
    dataset, local = open_dataset(stored), tiny.dataset
    assert repr(dataset).startswith("Dataset('s3://lab/sets/tiny', ")
    assert (dataset.cameras, dataset.splits, dataset.regimes) == (local.cameras, local.splits, local.regimes)
    assert dataset.checksum == local.checksum
    for split in local.splits:
        np.testing.assert_array_equal(dataset.frames(split).regime, local.frames(split).regime)
        np.testing.assert_array_equal(dataset.states(split), local.states(split))
    np.testing.assert_array_equal(dataset.read_images([30, 2, 41]), local.read_images([30, 2, 41]))
    assert validate(stored, progress=False) == validate(tiny.path, progress=False).replace(str(tiny.path), stored)


def test_opening_fetches_no_images(stored: str, tmp_path: Path) -> None:
    dataset = open_dataset(stored)
    dataset.states("train")
    assert not [name for name in cached(tmp_path) if "-file-" in name]
    dataset.read_images([0])
    assert [name.split("-", 2)[2] for name in cached(tmp_path) if "-file-" in name] == ["file-000.parquet"]


def test_a_fit_on_a_store_has_the_weights_of_a_local_one(
    s3: "UPath", tiny_data: Path, tiny_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = upload(tiny_data, s3 / "tiny")
    fit(url, tmp_path / "run", tiny_files.recipe(), 0, method="ropes", show=False)
    names = [path.relative_to(tiny_run) for path in tiny_run.rglob("*.safetensors")]
    assert names
    for name in names:
        assert (tmp_path / "run" / name).read_bytes() == (tiny_run / name).read_bytes()
    lines = []
    for images in (url, str(tiny_data)):
        assert cli.main(["predict", str(tmp_path / "run"), "--images", images]) == 0
        lines.append(capsys.readouterr().out)
    assert lines[0] == lines[1]


def test_a_changed_object_is_read_again(stored: str, tiny: Tiny, make_tiny: MakeTiny) -> None:
    dataset = open_dataset(stored)
    shard, other = dataset.data_files[0], make_tiny("other", size=16, anchors=7)
    before = dataset.read_images([0])
    table = parquet.read_table(other.dataset.data_files[0])
    column = table.column_names.index(schema.IMAGES + "left")
    parquet.write_table(shard, table.set_column(column, table.field(column), table[schema.IMAGES + "right"]))
    changed = dataset.read_images([0])
    np.testing.assert_array_equal(changed[:, 1], before[:, 0])
    with pytest.raises(UserError, match=r"s3://lab/.*file-000.parquet has changed since it was written"):
        ImageCache(dataset, "train", 8, progress=False)
    with pytest.raises(UserError, match=r"data/chunk-000/file-000.parquet: changed since it was written"):
        validate(stored, progress=False)


def test_damaged_copies_are_fetched_again(stored: str, tiny: Tiny, tmp_path: Path) -> None:
    def read() -> tuple[Any, ...]:
        dataset = open_dataset(stored)
        assert dataset.urdf is None
        return dataset.read_images([0, 40]), dataset.states("train"), dataset.checksum

    before, folder = read(), tmp_path / "cache-home/ropes"
    for copy in sorted(folder.iterdir()):
        content = bytearray(copy.read_bytes())
        content[len(content) // 2] ^= 1
        copy.write_bytes(content)
    sizes = cached(tmp_path)
    for ours, theirs in zip(read(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert cached(tmp_path) == sizes  # in their places
    assert all(copy.name.split("-")[1] in sha256(copy) for copy in folder.iterdir())


def test_the_cache_keeps_its_limit(stored: str, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, rows = open_dataset(stored), np.arange(44)
    sizes = [path.stat().st_size for path in tiny.dataset.data_files]
    assert len(sizes) > 2
    monkeypatch.setenv("ROPES_CACHE_GB", str(1.5 * max(sizes) / 1e9))
    np.testing.assert_array_equal(dataset.read_images(rows), tiny.dataset.read_images(rows))
    assert sum(cached(tmp_path).values()) <= 1.5 * max(sizes)
    monkeypatch.setenv("ROPES_CACHE_GB", "0")
    with fetched(dataset.data_files[0]) as held, fetched(dataset.data_files[1]):
        assert held.exists()  # in use


def test_simulation_on_a_store_resumes_to_the_local_bytes(renderer: FakeRenderer, s3: "UPath", tmp_path: Path) -> None:
    make(tmp_path / "whole")
    frames, whole = renderer.drawn, tree(tmp_path / "whole")
    renderer.drawn, renderer.stop_after = 0, 61
    with pytest.raises(KeyboardInterrupt):
        make("s3://lab/sim")
    begun = objects(s3 / "sim")
    shards = {name for name in begun if name.endswith(".parquet")}
    assert shards
    assert all(begun[name] == whole[name] for name in shards)
    with pytest.raises(UserError, match="s3://lab/sim is unfinished; run the same ropes simulate command again"):
        open_dataset("s3://lab/sim")
    renderer.stop_after = None
    make("s3://lab/sim")
    assert objects(s3 / "sim") == whole
    assert renderer.drawn < frames + 31
    with pytest.raises(UserError, match="s3://lab/sim holds something else, a data set with seed 1, not 2"):
        make("s3://lab/sim", seed=2)


def test_a_lost_shard_is_made_again(renderer: FakeRenderer, s3: "UPath", tmp_path: Path) -> None:
    make("s3://lab/sim")
    whole = objects(s3 / "sim")
    lost = s3 / "sim/data/chunk-000/file-000.parquet"
    lost.unlink()
    (s3 / "sim/meta/info.json").write_text("{}")
    renderer.drawn = 0
    make("s3://lab/sim")
    assert objects(s3 / "sim") == whole
    assert renderer.drawn == len(parquet.read_table(lost, ["index"]))


def test_a_folder_with_other_objects_is_refused(renderer: FakeRenderer, s3: "UPath") -> None:
    (s3 / "full/notes.txt").write_text("mine")
    with pytest.raises(UserError, match=r"s3://lab/full holds something else \(no meta/ropes.json in it\)"):
        make("s3://lab/full")


def test_commands_name_the_url_and_store_their_options_beside_it(
    s3: "UPath", capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ropes.data.generate_finger.simulate_finger", lambda *_, **given: given["out"].joinpath("x"))
    words = ["simulate", "--setting", "finger-cube", "--samples", "2", "--out", "s3://lab/sim"]
    assert cli.main(words) == 0
    assert "wrote s3://lab/sim" in capsys.readouterr().out
    assert "out: s3://lab/sim\n" in (s3 / "sim.options.yaml").read_text()
    line = refusal(capsys, *words[:-1], "s3://lab")
    assert line == "s3://lab/ is a whole bucket; give a folder in it, s3://lab/data"


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["strip", "data", "--out", "s3://lab/x"], "--out"),
        (["fit", "--data", "s3://lab/x", "--out=s3://lab/y"], "--out"),
        (["import", "s3://lab/x", "--out", "data"], "source"),
    ],
)
def test_options_of_local_files_refuse_urls(
    words: list[str], option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    line = refusal(capsys, *words)
    assert line.startswith(f"{option} is s3://lab/")
    assert line.endswith("; give a file or folder of this machine")
    assert not list(tmp_path.iterdir())


def test_a_file_of_options_may_name_a_url(stored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "options.yaml").write_text(f"data: {stored}\n")
    assert cli.main(["validate", "--config", str(tmp_path / "options.yaml")]) == 0
    assert capsys.readouterr().out.startswith(f"{stored}: valid; ")
    (tmp_path / "options.yaml").write_text(f"data: {stored}\nformat: causal-triplet\n")
    assert "reads local files" in refusal(capsys, "validate", "--config", str(tmp_path / "options.yaml"))


def test_what_is_not_there_is_refused(s3: "UPath", capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, "validate", "s3://lab/none")
    assert line == "s3://lab/none/meta/info.json is missing; is s3://lab/none the right folder?"
    line = refusal(capsys, "validate", "s3://no-such-bucket/x")
    assert line == "s3://no-such-bucket/x/meta/info.json: The specified bucket does not exist; check the address"
    assert "no data set; copy images" in refusal(capsys, "predict", "panda-2c", "--images", "s3://lab/photos")


def test_missing_credentials_are_refused(
    stored: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    forget_connections()
    line = refusal(capsys, "validate", stored)
    assert line.startswith(f"{stored}/meta/info.json: Unable to locate credentials; check the address, the network and")


def test_a_store_that_is_gone_is_refused(
    stored: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "PATIENCE", 0.3)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with silent_server() as address:
        monkeypatch.setenv("AWS_ENDPOINT_URL", address)
        forget_connections()
        line = refusal(capsys, "validate", stored)
    assert line == f"{stored}/meta/info.json: no answer in 0 seconds; check the network"


def test_a_web_server_that_does_not_answer_lacks_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    folder = f"http://127.0.0.1:{free_port()}/tiny"
    line = refusal(capsys, "validate", folder)
    assert line.startswith(f"{folder}/meta/info.json: Cannot connect to host 127.0.0.1")


def test_missing_packages_are_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert refusal(capsys, "validate", "nowhere://lab/x") == "nowhere://lab/x: Unsupported filesystem: 'nowhere'"
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    assert refusal(capsys, "validate", "gs://lab/x") == "gs://lab/x: Please install gcsfs to access Google Storage"
    monkeypatch.setitem(sys.modules, "upath", None)
    line = refusal(capsys, "validate", "s3://lab/x")
    assert line == "s3://lab/x needs the package upath; pip install -e '.[stores]' in the clone of ropes"


def test_any_file_system_of_fsspec_will_do(tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from upath import UPath

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache-home"))
    folder = UPath("memory://sets/tiny")
    upload(tiny.path, folder)
    dataset = open_dataset(folder)
    assert dataset.checksum == tiny.dataset.checksum
    np.testing.assert_array_equal(dataset.read_images([3]), tiny.dataset.read_images([3]))
    assert open_dataset(f"file://{tiny.path}").path == tiny.path
    record = json.loads((folder / schema.PROVENANCE).read_text())
    (folder / schema.PROVENANCE).write_text(json.dumps({**record, "complete": False}))
    with pytest.raises(UserError, match="is unfinished"):
        open_dataset(folder)

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropes.common import png
from ropes.common.seeds import generator
from ropes.data import generate, parquet, writer
from ropes.data.layout import copy_without_labels
from ropes.data.validate import validate
from ropes.errors import UserError
from ropes.simulation.settings import Setting, setting_named
from tests.fake_renderer import SMALL, FakeRenderer, draw, make, renderer, tree

__all__ = ["renderer"]


def test_frames_are_samples_of_the_causal_model(renderer: FakeRenderer, tmp_path: Path) -> None:
    dataset = make(tmp_path / "d")
    validate(dataset.path, progress=False)
    model = SMALL.splits["train"]
    poses = model.sample(generator(1, "train"), 7).reshape(-1, 6)
    np.testing.assert_allclose(dataset.states("train"), poses, rtol=1e-6)
    ood = SMALL.splits["test-ood"].sample_observational(generator(1, "test-ood"), 40)
    np.testing.assert_allclose(dataset.states("test-ood"), ood, rtol=1e-6)
    assert dataset.regimes == model.regimes
    assert dataset.cameras == ("cam45", "cam135")
    assert dataset.joints == model.joints
    assert {name: len(span) for name, span in dataset.splits.items()} == {
        "train": 7,
        "test-id": 40,
        "test-ood": 40,
    }
    for split, row, pose in (("train", 17, poses[17]), ("test-ood", 39, ood[39])):
        image = dataset.read_images(dataset.frames(split).index[[row]])[0]
        expected = [png.decode(data, (8, 8)) for data in draw(2, 8, pose)]
        np.testing.assert_array_equal(image, expected)


def test_provenance_is_recorded(renderer: FakeRenderer, tmp_path: Path) -> None:
    make(tmp_path / "d")
    content = json.loads((tmp_path / "d/meta/ropes.json").read_text())
    assert (content["seed"], content["anchors"], content["mesh"]) == (1, 7, "simplified")
    assert Setting.from_dict(content["setting"]) == Setting.from_dict(SMALL.with_renderer().to_dict())
    assert np.shape(content["cameras"][1]["intrinsics"]) == (3, 3)
    assert np.shape(content["cameras"][1]["extrinsics"]) == (4, 4)
    assert content["libraries"]["pillow"]


@pytest.mark.parametrize(
    ("stop", "error"),
    [(0, KeyboardInterrupt()), (30, KeyboardInterrupt()), (61, UserError("a rendering process died"))],
)
def test_interrupted_generation_resumes_to_the_same_files(
    renderer: FakeRenderer, tmp_path: Path, stop: int, error: BaseException
) -> None:
    make(tmp_path / "whole")
    frames = renderer.drawn
    renderer.drawn, renderer.stop_after, renderer.error = 0, stop, error
    with pytest.raises(type(error)):
        make(tmp_path / "broken")
    assert renderer.closed == 2
    assert not list((tmp_path / "broken").rglob("*.part"))
    for path in (tmp_path / "broken").rglob("*.parquet"):
        parquet.read_table(path)  # whole
    # As a kill in the middle of a write leaves it.
    (tmp_path / "broken/meta/.info.json.x.part").write_bytes(b"half")
    renderer.stop_after = None
    make(tmp_path / "broken")
    assert tree(tmp_path / "broken") == tree(tmp_path / "whole")
    assert renderer.drawn < frames + 30  # at most one shard was drawn twice


@pytest.mark.parametrize("damage", ["cut", "byte", "empty"])
def test_shard_damaged_during_generation_is_rebuilt(renderer: FakeRenderer, tmp_path: Path, damage: str) -> None:
    make(tmp_path / "whole")
    renderer.stop_after = 100
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "broken")
    shard = min((tmp_path / "broken").rglob("*.parquet"))
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes({"cut": bytes(data[:-20]), "byte": bytes(data), "empty": b""}[damage])
    renderer.stop_after = None
    make(tmp_path / "broken")
    assert tree(tmp_path / "broken") == tree(tmp_path / "whole")


def test_different_arm_with_the_same_name_is_refused(renderer: FakeRenderer, tmp_path: Path) -> None:
    urdf = tmp_path / "arm.urdf"
    urdf.write_text('<robot name="arm"><link name="base"/></robot>')
    setting = dataclasses.replace(SMALL, robot=dataclasses.replace(SMALL.robot, urdf=str(urdf)))
    make(tmp_path / "d", setting)
    make(tmp_path / "d", setting)
    urdf.write_text('<robot name="arm"><link name="base"/><!-- changed --></robot>')
    with pytest.raises(UserError, match="holds something else, a data set with arm_sha256"):
        make(tmp_path / "d", setting)


def test_full_disk_leaves_complete_shards(
    renderer: FakeRenderer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "whole")
    write = writer.write_shard

    def full(root: Path, shard: writer.Shard, *rest: Any) -> None:
        if shard.number == 3:
            raise OSError(28, "No space left on device")
        write(root, shard, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(writer, "write_shard", full)
        with pytest.raises(OSError, match="No space left"):
            make(tmp_path / "broken")
    make(tmp_path / "broken")
    assert tree(tmp_path / "broken") == tree(tmp_path / "whole")


def test_generation_resumes_after_a_kill_before_the_first_file(renderer: FakeRenderer, tmp_path: Path) -> None:
    (tmp_path / "d/meta").mkdir(parents=True)
    (tmp_path / "d/meta/.ropes.json.x.part").write_bytes(b"{")
    make(tmp_path / "d")
    validate(tmp_path / "d", progress=False)
    assert not list(tmp_path.rglob("*.part"))


def test_complete_data_set_is_not_rendered_again(
    renderer: FakeRenderer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = make(tmp_path / "d", progress=True)
    drawn = renderer.drawn
    assert "ropes: 91 training poses, 80 test poses (2 x --test-anchors)\n" in capsys.readouterr().err
    assert make(tmp_path / "d", progress=True).checksum == first.checksum
    assert renderer.drawn == drawn
    assert "training poses" not in capsys.readouterr().err


@pytest.mark.parametrize("how", ["removed", "changed"])
def test_only_a_damaged_shard_is_rendered_again(renderer: FakeRenderer, tmp_path: Path, how: str) -> None:
    make(tmp_path / "d")
    before, frames = tree(tmp_path / "d"), renderer.drawn
    shard = tmp_path / "d/data/chunk-000/file-001.parquet"
    rows = parquet.read_metadata(shard).num_rows
    if how == "removed":
        shard.unlink()
    else:
        shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    renderer.drawn = 0
    make(tmp_path / "d")
    assert tree(tmp_path / "d") == before
    assert renderer.drawn == rows < frames


def test_interrupted_repair_resumes(renderer: FakeRenderer, tmp_path: Path) -> None:
    make(tmp_path / "d")
    before = tree(tmp_path / "d")
    for number in (1, 3):
        (tmp_path / f"d/data/chunk-000/file-00{number}.parquet").write_bytes(b"")
    renderer.stop_after = 3
    with pytest.raises(KeyboardInterrupt):
        make(tmp_path / "d")
    renderer.stop_after = None
    make(tmp_path / "d")
    assert tree(tmp_path / "d") == before


def test_damaged_metadata_is_rewritten_without_rendering(renderer: FakeRenderer, tmp_path: Path) -> None:
    make(tmp_path / "d")
    before, drawn = tree(tmp_path / "d"), renderer.drawn
    (tmp_path / "d/meta/stats.json").unlink()
    (tmp_path / "d/meta/info.json").write_text("{}")
    make(tmp_path / "d")
    assert tree(tmp_path / "d") == before
    assert renderer.drawn == drawn


def test_repair_modifies_no_file_outside_the_data_set(renderer: FakeRenderer, tmp_path: Path) -> None:
    make(tmp_path / "d")
    (tmp_path / "thesis.tex").write_text("years of work")
    where = tmp_path / "d/meta/ropes.json"
    content = json.loads(where.read_text())
    content["files"]["../thesis.tex"] = {"sha256": "0"}
    where.write_text(json.dumps(content))
    (tmp_path / "d/data/chunk-000/file-001.parquet").unlink()
    make(tmp_path / "d")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    assert "../thesis.tex" not in where.read_text()


def test_a_record_without_checksums_is_refused(renderer: FakeRenderer, tmp_path: Path) -> None:
    make(tmp_path / "d")
    where = tmp_path / "d/meta/ropes.json"
    where.write_text(json.dumps({**json.loads(where.read_text()), "files": None}))
    with pytest.raises(UserError, match=r"ropes.json is damaged; choose an empty or new folder"):
        make(tmp_path / "d")


def test_stripped_copy_is_not_resumed_and_records_no_seed(renderer: FakeRenderer, tmp_path: Path) -> None:
    whole = make(tmp_path / "whole")
    stripped = copy_without_labels(whole.path, tmp_path / "stripped")
    before = tree(stripped.path)
    record = json.loads((stripped.path / "meta/ropes.json").read_text())
    assert (record["state"], record["seed"]) == (False, None)
    assert record["setting"] == json.loads((whole.path / "meta/ropes.json").read_text())["setting"]
    assert stripped.checksum == whole.checksum
    assert validate(stripped.path, progress=False).endswith("without angles; every checksum agrees")
    with pytest.raises(UserError, match="a data set with state False, not True"):
        make(stripped.path)
    with pytest.raises(UserError, match="a data set with no seed recorded"):
        make(stripped.path, state=False)
    assert tree(stripped.path) == before
    twice = copy_without_labels(stripped.path, tmp_path / "twice")
    assert tree(twice.path) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 2}, "seed 1, not 2;"),
        ({"anchors": 8}, "anchors 7, not 8;"),
        ({"mesh": "full"}, "mesh simplified, not full;"),
        ({"state": False}, "state True, not False;"),
        ({"setting": dataclasses.replace(SMALL, image_size=16)}, r"another setting \(image_size 8, not 16\);"),
    ],
)
def test_different_request_for_the_same_folder_is_refused(
    renderer: FakeRenderer, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    make(tmp_path / "d")
    before = tree(tmp_path / "d")
    with pytest.raises(UserError, match=f"holds something else, a data set with {message}"):
        make(tmp_path / "d", **change)
    assert tree(tmp_path / "d") == before


def test_folder_with_other_content_is_not_modified(renderer: FakeRenderer, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UserError, match="holds something else"):
        make(tmp_path)
    assert tree(tmp_path) == {"thesis.tex": b"years of work"}


def test_undrawable_pose_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise UserError("joint 4 is beyond its limits")

    monkeypatch.setattr(generate, "render_poses", refuse)
    with pytest.raises(UserError, match="beyond its limits"):
        make(tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_data_without_angles_has_the_same_training_input(renderer: FakeRenderer, tmp_path: Path) -> None:
    known, unknown = make(tmp_path / "known"), make(tmp_path / "unknown", state=False)
    assert unknown.checksum == known.checksum
    assert unknown.state_names is None
    stripped = copy_without_labels(known.path, tmp_path / "stripped")
    for name in ("data/chunk-000/file-000.parquet", "meta/info.json", "meta/stats.json"):
        assert (stripped.path / name).read_bytes() == (unknown.path / name).read_bytes(), name


def test_test_splits_can_be_left_out(renderer: FakeRenderer, tmp_path: Path) -> None:
    assert make(tmp_path / "d", test_anchors=0).splits == {"train": range(7)}
    with pytest.raises(UserError, match="0 anchors"):
        make(tmp_path / "e", anchors=0)


def test_unknown_camera_level_leaves_no_folder(renderer: FakeRenderer, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="webcan"):
        make(tmp_path / "d", dataclasses.replace(SMALL, camera_level="webcan"))
    assert not (tmp_path / "d").exists()


@pytest.mark.slow
def test_data_set_with_camera_faults_is_repaired_byte_by_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "IMAGES_PER_SHARD", 14)
    setting = dataclasses.replace(setting_named("panda-1c-independent"), image_size=24, camera_level="webcam")
    dataset = make(tmp_path / "d", setting, anchors=4, test_anchors=5, workers=1)
    whole = tree(dataset.path)
    assert dataset.provenance is not None
    assert dataset.provenance["setting"]["camera_level"] == "webcam"
    assert dataset.states("train").shape == (4 * 7, 3)
    clean = make(tmp_path / "clean", dataclasses.replace(setting, camera_level="clean"), anchors=4, test_anchors=5)
    rows = dataset.frames("test-id").index
    assert (dataset.read_images(rows) != clean.read_images(rows)).any((1, 2, 3)).all()
    (dataset.path / "data/chunk-000/file-001.parquet").unlink()
    make(tmp_path / "d", setting, anchors=4, test_anchors=5, workers=1)
    assert tree(dataset.path) == whole


@pytest.mark.slow
def test_one_and_two_workers_write_the_same_bytes(tmp_path: Path) -> None:
    setting = dataclasses.replace(setting_named("panda-1c-independent"), image_size=24, camera_level="harsh")
    for workers in (1, 2):
        make(tmp_path / str(workers), setting, anchors=5, test_anchors=30, workers=workers)
    assert tree(tmp_path / "1") == tree(tmp_path / "2")
    assert f"{5 * 7 + 30} images" in validate(tmp_path / "1", progress=False)

"""Logs beside videos and folders of frames: gaps, ends, columns, numbers of frames and episodes."""

import datetime
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ropes.data.recordings import logs
from ropes.data.recordings.source import Options
from ropes.data.recordings.tables import Table, read_table
from ropes.errors import UserError
from tests.data.recordings.conftest import ImportOne
from tests.data.recordings.test_videos import (
    NAMES,
    RATE,
    angles,
    dense_log,
    picture,
    positions,
    write_csv,
    write_frames,
    write_video,
)

Rows = Sequence[Sequence[object]]


def write_film(folder: Path, rows: Rows, header: Sequence[str] = ("time", "policy", "elbow")) -> Path:
    """Three anchors on video, with a log."""
    path = write_video(folder / "front.mp4", [picture(angle) for angle in positions(3)])
    write_csv(path.with_suffix(".csv"), header, rows)
    return path


def test_samples_are_undefined_in_gaps_and_after_the_last_one(import_one: ImportOne, tmp_path: Path) -> None:
    # Rests of 1 s begin at .5 s, 2 s, 3.5 s, ...; the log lacks the second one's end and the move after it.
    kept = [row for row in dense_log(3) if not 2.45 < row[0] < 3.6 and row[0] < 12]
    imported = import_one(write_film(tmp_path, kept))
    poses = imported.plan.poses
    assert poses.positions is not None
    assert np.array_equal(poses.positions[:, 0], angles(3)[: len(poses)])
    assert np.allclose(poses.times[:3], [0.75, 2.2, 4.05], atol=0.06)  # the middles of what the log has of each rest
    assert poses.times.max() < 12
    assert imported.plan.dropped["no joint position within 0.02 s"] == 22 + round((13.5 - 12) * RATE)


def test_joint_positions_may_have_a_lower_rate_than_frames(import_one: ImportOne, tmp_path: Path) -> None:
    fast, rows = 6 * RATE, dense_log(3)[::3]  # frames at 120 Hz, of which few have a joint position, at 6.7 Hz
    frames = [picture(angle) for angle in positions(3).repeat(6)]
    path = write_video(tmp_path / "front.mp4", frames, rate=fast)
    write_csv(path.with_suffix(".csv"), ("time", "policy", "elbow"), rows)
    imported = import_one(path)
    assert imported.plan.poses.policies == NAMES * 3
    assert np.allclose(imported.dataset.states("train")[:, 0], angles(3))


def test_sampled_policies_end_with_their_samples() -> None:
    times = np.array([0.0, 0.1, 0.2, 0.3, 2.0, 2.1, 2.2])
    columns = {"time": times.tolist(), "policy": ["observational"] * 2 + ["elbow/1"] * 5}
    with_gap = pa.table(columns)
    table = Path("log.parquet")
    stated = logs.policies(_table(with_gap, table), times, Options())
    assert stated is not None
    assert stated.names == ("observational", "elbow/1", "", "elbow/1", "")
    assert np.allclose(stated.times, [0.0, 0.2, 0.4, 2.0, 2.3])
    commands = logs.policies(_table(with_gap, table), times * 10, Options())
    assert commands is not None
    assert commands.names == tuple(columns["policy"])  # each row holds until the next


def _table(content: pa.Table, path: Path) -> Table:
    columns = {name: content[name].to_pylist() for name in content.column_names}
    return Table(path, columns, range(content.num_rows))


def test_clock_set_back_within_one_policy_is_detected(import_one: ImportOne, tmp_path: Path) -> None:
    rows = [(time - (2.5 if time > 5.2 else 0), name) for time, name, _ in dense_log(3)]
    path = write_film(tmp_path, rows, ("time", "policy"))
    with pytest.raises(UserError, match=r"front\.csv: time stamps of the policies run back, from 5\.200 s to 2\.750 s"):
        import_one(path, frames="stretch")


def test_policy_announced_before_the_move_keeps_the_earlier_rest_pose(import_one: ImportOne, tmp_path: Path) -> None:
    names = [name for _, name, _ in dense_log(3)]
    early = round(0.4 * RATE)  # each policy is named 0.4 s before its move, while the arm rests under the one before
    rows = [(time, names[min(k + early, len(names) - 1)], angle) for k, (time, _, angle) in enumerate(dense_log(3))]
    imported = import_one(write_film(tmp_path, rows))
    dataset = imported.dataset
    assert imported.plan.poses.policies == NAMES * 3
    assert np.allclose(dataset.states("train")[:, 0], angles(3))
    assert np.allclose(imported.plan.poses.times[1:8], 0.8 + 1.5 * np.arange(1, 8), atol=0.06)
    assert "the next policy is named during 8 dwells, which count as of the policy before" in str(imported)
    assert [clip[3] for clip in imported.plan.clips] == list((NAMES * 3)[1:])


def test_policy_announced_after_arrival_is_refused(import_one: ImportOne, tmp_path: Path) -> None:
    names = [name for _, name, _ in dense_log(3)]
    late = round(0.6 * RATE)  # 0.1 s after the arm comes to rest
    rows = [(time, names[max(k - late, 0)], angle) for k, (time, _, angle) in enumerate(dense_log(3))]
    line = (
        r"\(found: 1 observational; 8 left out: the next policy is named less than 0\.3 s after the arm comes to rest"
    )
    with pytest.raises(UserError, match=f"no pose under elbow/1 is left {line}"):
        import_one(write_film(tmp_path, rows))


def test_policy_table_beside_videos_is_not_read_as_their_log(import_one: ImportOne, tmp_path: Path) -> None:
    folder = tmp_path / "videos"
    folder.mkdir()
    write_film(folder, []).with_suffix(".csv").unlink()
    table = write_csv(folder / "policies.csv", ("time", "policy"), [(1.5 * k, NAMES[k % 3]) for k in range(9)])
    imported = import_one(folder, policies=table, frames="stretch")
    assert "9 poses in 3 anchors" in str(imported)
    write_csv(folder / "positions.csv", ("time", "elbow"), [(time, angle) for time, _, angle in dense_log(3)])
    again = import_one(folder, "with positions", policies=table)
    assert np.allclose(again.dataset.states("train")[:, 0], angles(3))


def frames_of(folder: Path, names: Sequence[str], header: Sequence[str], rows: Rows) -> Path:
    write_frames(folder, angles(1), "left")
    for k, name in enumerate(names):
        (folder / "left" / f"{k:04d}.png").rename(folder / "left" / name)
    write_csv(folder / "log.csv", header, rows)
    return folder


@pytest.mark.parametrize("form", ["{:d}", "{:03d}", "{:.1f}", "{:d}.png"])
def test_frame_number_formats_are_recognised(form: str, import_one: ImportOne, tmp_path: Path) -> None:
    rows = [(form.format(k), NAMES[k]) for k in range(3)]
    folder = frames_of(tmp_path / "frames", ["0.png", "1.png", "2.png"], ("frame", "policy"), rows)
    (folder / "left" / "._1.png").write_bytes(b"written by another system")
    images = import_one(folder).dataset.read_images([0, 1, 2])[:, 0]
    assert np.array_equal(images, [picture(angle) for angle in angles(1)])


def test_index_and_policy_columns_are_not_joints(import_one: ImportOne, tmp_path: Path) -> None:
    header = ("", "frame", "Unnamed: 0", "command", "elbow")
    table = write_csv(tmp_path / "p.csv", ("task", "policy"), list(enumerate(NAMES)))
    folder = frames_of(tmp_path / "frames", [], header, [(k, k, k, k, 0.5 * k) for k in range(3)])
    dataset = import_one(folder, policies=table, streams=Options(policy_column="command")).dataset
    assert dataset.state_names == ("elbow",)


def test_numbered_policies_may_be_empty(import_one: ImportOne, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "p.csv", ("task", "policy"), list(enumerate(NAMES)))
    rows = [*((k, k, 0.5 * k) for k in range(3)), (3, "", 0.0)]  # the arm is moved by hand in the last one
    folder = frames_of(tmp_path / "frames", [], ("frame", "policy", "elbow"), rows)
    shutil.copyfile(folder / "left" / "0000.png", folder / "left" / "0003.png")
    dataset = import_one(folder, policies=table).dataset
    assert dataset.states("train")[:, 0].tolist() == [0.0, 0.5, 1.0]


def test_joint_columns_can_be_chosen(import_one: ImportOne, tmp_path: Path) -> None:
    header = ("frame", "policy", "temperature", "elbow")
    folder = frames_of(tmp_path / "frames", [], header, [(k, NAMES[k], 40 + k, 0.5 * k) for k in range(3)])
    with pytest.raises(UserError, match=r"joint temperature reaches 42\.0, which is no likely angle in radians"):
        import_one(folder)
    dataset = import_one(folder, streams=Options(joint_columns=("elbow",))).dataset
    assert dataset.state_names == ("elbow",)
    assert dataset.states("train")[:, 0].tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(UserError, match="has no column 'elbw'; it has frame, policy, temperature, elbow"):
        import_one(folder, "other", streams=Options(joint_columns=("elbw",)))


def test_policy_tables_refer_to_the_episode_numbers_of_the_log(import_one: ImportOne, tmp_path: Path) -> None:
    rows = [(1.7e9 + k, k, 1) for k in range(3)]
    folder = frames_of(tmp_path / "frames", [], ("time", "frame", "episode"), rows)
    table = write_csv(tmp_path / "p.csv", ("episode", "time", "policy"), [(1, k, NAMES[k]) for k in range(3)])
    imported = import_one(folder, policies=table)
    assert imported.plan.poses.policies == NAMES
    origin = pq.read_table(imported.dataset.path / "meta/origin.parquet")
    assert origin["time"].to_pylist() == [0.0, 1.0, 2.0]
    write_csv(table, ("episode", "policy"), [(0, "observational")])
    with pytest.raises(UserError, match=r"p\.csv, row 2: no episode 0; the recording has 1, from 1 on"):
        import_one(folder, "other", policies=table)
    write_csv(table, ("episode", "policy"), [(1, "observational"), (1, "elbow/1")])
    with pytest.raises(UserError, match=r"p\.csv, row 3: does not come after the row before it; sort the table"):
        import_one(folder, "other", policies=table)


def test_image_in_two_rows_must_have_one_policy(import_one: ImportOne, tmp_path: Path) -> None:
    rows = [(k % 3, NAMES[k % 3]) for k in range(6)]
    folder = frames_of(tmp_path / "frames", [], ("frame", "policy"), rows)
    dataset = import_one(folder).dataset
    assert dataset.provenance is not None
    assert dataset.provenance["source"]["images_without_a_row"] == 0
    write_csv(folder / "log.csv", ("frame", "policy"), [*rows, (1, "elbow/2")])
    with pytest.raises(UserError, match=r"row 8: 0001\.png is of policy elbow/2, and of elbow/1 in a row before"):
        import_one(folder, "other")


@pytest.mark.parametrize("column", ["time", "elbow"])
def test_parquet_dates_are_refused_as_times_and_list_columns_ignored(
    column: str, import_one: ImportOne, tmp_path: Path
) -> None:
    folder = frames_of(tmp_path / "frames", [], ("frame", "policy"), [(0, "observational")])
    (folder / "log.csv").unlink()
    cells = {"time": [datetime.datetime(2026, 1, 1, 0, 0, k) for k in range(3)], "elbow": [[0.1, 0.2]] * 3}
    pq.write_table(pa.table({"frame": [0, 1, 2], "policy": NAMES, column: cells[column]}), folder / "log.parquet")
    if column == "time":
        with pytest.raises(UserError, match=r"log\.parquet, row 0: time datetime.* is not a finite number of seconds"):
            import_one(folder)
    else:
        assert import_one(folder).dataset.state_names is None  # a column of lists is no joint


def test_row_numbers_count_empty_rows(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("frame,policy\n\n\n0,observational\n1,elbow/1,\n")
    with pytest.raises(UserError, match=r"log\.csv, row 5 has 3 columns, and the header 2"):
        read_table(path)
    path.write_text("frame,policy\n\n\n0,observational\nx,elbow/1\n")
    with pytest.raises(UserError, match=r"log\.csv, row 5: frame 'x' is not a finite number"):
        read_table(path).numbers("frame")

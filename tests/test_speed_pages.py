"""Tables of live angles, import and export: what they say, and that pages have the stored figures."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks import export_latency, live, processors, rendering, spinning, video_import
from ropes.common.files import read_json

RESULTS = Path(__file__).parents[1] / "results"
OF = {"device": "a processor", "processor": "avx2", "version": "0.1.0", "seconds": 12}


def test_live_tables_name_filters_and_latencies() -> None:
    rows: list[dict[str, Any]] = [
        {"density": None, "mse": 0.0004, "jitter": 1.0},
        {"density": 3.0, "mse": 0.0001, "jitter": 0.25},
    ]
    lines = live.filter_table(rows).splitlines()
    assert lines[2:] == ["| none | 1.15 | 1.00 |", "| `--acceleration 3`, the default | 0.57 | 0.25 |"]
    speeds = {"pairs_per_second": 30.0, "dropped": 2, "latency_ms_median": 24.2, "latency_ms_95": 35.4}
    memory = {"processor_ms_per_pair": 20.0, "memory_mib_after_a_tenth": 529.0, "memory_mib_at_the_end": 532.0}
    columns = [{"watched": name, **speeds, **memory} for name in ("panda-2c", "page in a browser")]
    text = live.speed_table({**OF, "speed": columns, "watched": 600.0})
    assert text.startswith("| measured | panda-2c | page in a browser |\n")
    assert "| latency, 95th percentile | 35 ms | 35 ms |" in text
    assert "| memory after 60 s | 529 MiB | 529 MiB |" in text
    assert text.endswith("a processor (avx2), ropes 0.1.0, 12 s.\n")


def test_import_is_compared_with_real_time() -> None:
    seconds = {"video_seconds": 42.0, "clock_seconds": 5.0, "processor_seconds": 8.4}
    row = {"codec": "H.264", **seconds, "memory_mb": 347.0}
    assert "| 42 s, H.264 | 5.0 s | 8.4 | 5.0 | 347 MB |" in video_import.written({**OF, "rows": [row]})


def test_both_runtimes_are_in_the_table() -> None:
    text = export_latency.written({**OF, "torch_ms": 41.1, "onnx_ms": 22.4, "difference": 5e-7, "turns": 48})
    assert "| onnxruntime | 22.4 ms |" in text
    assert "Greatest difference of an angle: 5e-07 rad." in text


def test_steps_beside_other_work_are_compared() -> None:
    row = {"method": "anchored", "beside": "alone", "libgomp's default": 900.0, "commands of ropes": 300.0}
    lines = spinning.written({**OF, "rows": [row]}).splitlines()
    assert lines[0] == "| step of | libgomp's default (300,000), ms | commands of ropes (10,000), ms | ratio |"
    assert lines[2:] == ["| anchored, alone | 900 | 300 | 3.00 |", "", "a processor (avx2), ropes 0.1.0, 12 s."]


@pytest.mark.parametrize(
    ("name", "marker", "page", "write"),
    [
        ("live", "live", live.PAGE, live.speed_table),
        ("live", "live-filter", live.PAGE, lambda found: live.filter_table(found["filter"])),
        ("video-import", "video-import", video_import.PAGE, video_import.written),
        ("export-latency", "export-latency", export_latency.PAGE, export_latency.written),
        ("rendering", "rendering", rendering.PAGE, rendering.written),
        ("processors/spinning", "spinning", processors.PAGE, spinning.written),
    ],
)
def test_pages_have_the_stored_figures(
    name: str, marker: str, page: Path, write: Callable[[Mapping[str, Any]], str]
) -> None:
    shown = re.search(rf"<!-- figures:{marker} -->\n(.*?)<!-- /figures -->", page.read_text("utf-8"), re.DOTALL)
    assert shown
    assert " ".join(shown[1].split()) == " ".join(write(read_json(RESULTS / f"{name}.json")).split())

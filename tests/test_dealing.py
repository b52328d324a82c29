"""The simulation of docs/scale.md."""

from dataclasses import replace

import pytest

from benchmarks import dealing
from benchmarks.dealing import Deal, epoch

BUILD = Deal(workers=20, shards=100, seconds=10.0, bytes=1e6, at_once=1, copies=False, lease=60.0)


@pytest.mark.parametrize("copies", [False, True])
def test_every_shard_is_stored_although_workers_die(copies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "LIFE", 60.0)
    found = replace(BUILD, copies=copies, stored=set()).run(1)
    assert found.stored == set(range(100))
    assert found.deaths > 0
    assert found.rendered >= 100
    assert found.ended > found.ideal
    assert replace(BUILD, copies=copies, stored=set()).run(1).figures() == found.figures()


def test_workers_that_live_render_each_shard_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "LIFE", 1e9)
    monkeypatch.setattr(dealing, "SLOW", 0.0)
    found = replace(BUILD, stored=set()).run()
    assert (found.rendered, found.deaths) == (100, 0)
    assert found.ended < 2 * found.ideal


def test_copies_end_a_build_with_slow_workers_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dealing, "LIFE", 1e9)
    monkeypatch.setattr(dealing, "SLOW", 0.2)
    monkeypatch.setattr(dealing, "SLOWNESS", 20.0)
    alone, copied = (replace(BUILD, copies=copies, lease=300.0, stored=set()).run() for copies in (False, True))
    assert copied.ended < alone.ended / 2


def test_gpus_wait_for_what_a_slow_store_sends() -> None:
    # 8 windows of 200 shards: 1 s each to fetch from 0.2 GB/s, 1 s each to train, decoding aside.
    decoding = 25 * 2_000 * dealing.DECODE_SECONDS / dealing.CORES
    found, fast = (epoch(8 * 200 * 2_000, 1e6, 50_000, 200, store) for store in (0.2e9, 1e12))
    assert found["seconds"] == pytest.approx(8 * (1 + decoding) + 1)
    assert fast["seconds"] < found["seconds"]
    assert 0 < fast["waiting"] < found["waiting"] < 1

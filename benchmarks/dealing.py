"""Simulates a data set of 10 million images: 1,000 workers render its shards, and 64 GPUs read them.

    python -m benchmarks.dealing [--workers 1000] [--images 10000000] [--out FILE] [--page docs/scale.md]

Nothing is rendered or trained: this is a discrete-event simulation with times and sizes that were measured on small
data sets. A worker asks for shards, renders them one by one and stores each as one object. Some workers are slow, some
die. A shard that is not stored when its lease ends is dealt to another worker; with "copies", one that takes half as
long again as usual is dealt twice as soon as no other is left. The 64 GPUs, on 8 machines, read each
epoch from the store in windows of shards: while the GPUs train on a window, the next one is fetched and decoded.
"""

import heapq
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import filled, options, table
from ropes.common.files import write_json, write_text
from ropes.common.seeds import generator

#: Measured on settings of two cameras and 128x128 grey images; docs/scale.md says where.
IMAGES_PER_SHARD = 2_000
SHARD_BYTES = {"clean": 2.1e6, "noisy": 33e6}
RENDER_SECONDS = {"simplified": 1 / 255, "full": 16 * 315 / 80_000}
DECODE_SECONDS, READ_BACK_SECONDS = 100e-6, 0.013
DECODED_BYTES = 128 * 128
#: Assumed: seconds in which a worker starts; its mean life, and that until it is back; share of slow ones, and speed.
START, LIFE, BACK, SLOW, SLOWNESS = 5.0, 3_600.0, 120.0, 0.03, 5.0
#: Assumed: seconds of a request for shards, and bytes a second of the store.
REQUEST, STORE = 0.01, 5e9
#: Assumed: machines with GPUs, cores that decode on each, bytes a second of its network.
MACHINES, CORES, LINK = 8, 16, 1.25e9


@dataclass
class Deal:
    """How shards are dealt, and what came of it; times in seconds."""

    workers: int
    shards: int
    seconds: float
    bytes: float
    at_once: int
    copies: bool
    lease: float
    ended: float = 0.0
    requests: int = 0
    rendered: int = 0
    deaths: int = 0
    stored: set[int] = field(default_factory=set)

    def run(self, seed: int = 0) -> "Deal":
        """Simulate until every shard is stored."""
        rng = generator(seed, "dealing")
        pace = rng.lognormal(0, 0.15, self.workers) * np.where(rng.random(self.workers) < SLOW, SLOWNESS, 1)
        dies = START + rng.exponential(LIFE, self.workers)
        waiting, leases = deque(range(self.shards)), list[tuple[float, int]]()
        mine = [deque[int]() for _ in range(self.workers)]
        events = [(START * rng.uniform(0.5, 1.5), worker) for worker in range(self.workers)]
        heapq.heapify(events)
        dealer = store = 0.0
        while len(self.stored) < self.shards:
            now, worker = heapq.heappop(events)
            if mine[worker]:  # one more is rendered
                self.rendered += 1
                now = store = max(now, store) + self.bytes / STORE
                self.stored.add(mine[worker].popleft())
                self.ended = now
            if not mine[worker]:
                now = dealer = max(now, dealer) + REQUEST
                self.requests += 1
                late = self.lease - 1.5 * self.seconds * self.at_once if self.copies and not waiting else 0.0
                while leases and (leases[0][1] in self.stored or leases[0][0] - late <= now):
                    if (shard := heapq.heappop(leases)[1]) not in self.stored:
                        waiting.append(shard)
                        break
                mine[worker].extend(waiting.popleft() for _ in range(min(self.at_once, len(waiting))))
                for shard in mine[worker]:
                    heapq.heappush(leases, (now + self.lease, shard))
            # Without a shard it asks again later.
            after = now + (self.seconds * pace[worker] if mine[worker] else self.lease / 10)
            if after > dies[worker]:
                mine[worker].clear()
                after, self.deaths = dies[worker] + BACK, self.deaths + 1
                dies[worker] = after + rng.exponential(LIFE)
            heapq.heappush(events, (after, worker))
        return self

    @property
    def ideal(self) -> float:
        """Seconds if all workers were equal, lived, and never waited."""
        return START + self.shards * self.seconds / self.workers

    def figures(self) -> dict[str, Any]:
        """What it came to."""
        found = {name: value for name, value in asdict(self).items() if name != "stored"}
        twice = self.rendered / self.shards - 1
        return {**found, "ideal": self.ideal, "twice": twice, "dealer_busy": self.requests * REQUEST / self.ended}


def epoch(images: int, shard_bytes: float, rate: float, window: int, store: float = STORE) -> dict[str, float]:
    """An epoch of all GPUs from windows of shards: its seconds, and the share of them in which GPUs wait.

    Args:
        images: images of the data set.
        shard_bytes: bytes of a shard.
        rate: images a second of a machine's GPUs together.
        window: shards of a window, over all machines.
        store: bytes a second of the store.
    """
    windows = images // (window * IMAGES_PER_SHARD)
    part = window / MACHINES
    computing = part * IMAGES_PER_SHARD / rate
    began = ended = 0.0
    for _ in range(windows):
        # All machines ask when the last window begins, and share the store; each waits for the slowest.
        fetched = began + max(window * shard_bytes / store, part * shard_bytes / LINK)
        ready = fetched + part * IMAGES_PER_SHARD * DECODE_SECONDS / CORES
        began = max(ready, ended)
        ended = began + computing
    return {"seconds": ended, "waiting": 1 - windows * computing / ended}


def measure(workers: int, images: int) -> dict[str, Any]:
    """Every figure by its name."""
    shards, deals = images // IMAGES_PER_SHARD, []
    for mesh, seconds in RENDER_SECONDS.items():
        shard = seconds * IMAGES_PER_SHARD
        for at_once, copies in ((1, False), (1, True), (4, True)):
            size, lease = SHARD_BYTES["clean"], 6 * at_once * shard
            deal = Deal(workers, shards, shard, size, at_once, copies, lease).run()
            deals.append({"mesh": mesh, **deal.figures()})
    epochs = [
        {"images": kind, "rate": rate, "store": store, **epoch(images, size, 8 * rate, 200, store)}
        for kind, size in SHARD_BYTES.items()
        for rate in (1_500, 5_000, 20_000)
        for store in (1e9, 5e9)
    ]
    sizes = {
        kind: {
            "stored": shards * size,
            "sent_once": shards * size * MACHINES,
            "decoded": images * DECODED_BYTES,
            "decode_seconds": images * DECODE_SECONDS / CORES,
            "read_back_seconds": shards * (READ_BACK_SECONDS + size / LINK),
        }
        for kind, size in SHARD_BYTES.items()
    }
    return {"workers": workers, "images": images, "shards": shards, "deals": deals, "epochs": epochs, "sizes": sizes}


def tables(found: dict[str, Any], name: str) -> str:
    """A table of the page by its name."""
    if name == "sizes":
        heads = ["", *found["sizes"]]
        rows = {
            "stored, GB": [f"{each['stored'] / 1e9:.1f}" for each in found["sizes"].values()],
            "sent to 8 machines once, GB": [f"{each['sent_once'] / 1e9:.0f}" for each in found["sizes"].values()],
            "decoded, on the disk of each machine, GB": [f"{e['decoded'] / 1e9:.0f}" for e in found["sizes"].values()],
            "decoding once on 16 cores, s": [f"{each['decode_seconds']:.0f}" for each in found["sizes"].values()],
            "reading all shards back at the end, s": [
                f"{each['read_back_seconds']:.0f}" for each in found["sizes"].values()
            ],
        }
        return table(heads, [[key, *cells] for key, cells in rows.items()])
    if name == "deals":
        heads = [
            "meshes",
            "shards a request",
            "copies at the end",
            "s",
            "ideal, s",
            "rendered twice",
            "deaths",
            "dealer busy",
        ]
        return table(
            heads,
            [
                [
                    each["mesh"],
                    f"{each['at_once']}",
                    "yes" if each["copies"] else "no",
                    f"{each['ended']:.0f}",
                    f"{each['ideal']:.0f}",
                    f"{each['twice']:.1%}",
                    f"{each['deaths']}",
                    f"{each['dealer_busy']:.0%}",
                ]
                for each in found["deals"]
            ],
        )
    heads = ["images", "images a second and GPU", "store, GB/s", "epoch, s", "GPUs wait"]
    return table(
        heads,
        [
            [
                each["images"],
                f"{each['rate']:,}",
                f"{each['store'] / 1e9:.0f}",
                f"{each['seconds']:.0f}",
                f"{each['waiting']:.0%}",
            ]
            for each in found["epochs"]
        ],
    )


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--images", type=int, default=10_000_000)
    parser.add_argument("--page", type=Path, help="write the tables between the markers of this page")
    arguments = parser.parse_args()
    found = measure(arguments.workers, arguments.images)
    for name in ("sizes", "deals", "epochs"):
        print(tables(found, name))
    if arguments.out:
        write_json(arguments.out, found)
    if arguments.page:
        write_text(arguments.page, filled(arguments.page.read_text(encoding="utf-8"), lambda name: tables(found, name)))


if __name__ == "__main__":
    main()

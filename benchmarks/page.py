"""How quickly the page answers: each setting that can be changed, beside ranking the same scores once.

    python benchmarks/page.py                       # 5,000 queries x 1,000 targets, a bank of 5,000 queries and targets
    python benchmarks/page.py --experiment my.toml  # a set of one's own

The server runs as a program of its own, on loopback; a request is timed from its start to the last byte of its answer.
Every change is one that was not asked for before, so that nothing comes from what the server remembers. What is
printed are milliseconds and multiples of one pass that ranks the same scores, top 10, in NumPy, in the same run. The
last lines are what others cost a visitor: 150 requests whose clients have left, and 1,005 half-sent heads.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np

from unhub.core.topk import top_k

CLIENTS = 100
ABANDONED, HALF_SENT = 150, 1005
PANELS = {"hub card": "/api/hub/3", "comparison": "/api/compare/5", "losses": "/api/changes", "targets": "/api/targets"}


def written(folder: Path, queries: int, targets: int, bank: int, dim: int = 256) -> Path:
    """An experiment with hubs, in a folder."""
    rng = np.random.default_rng(0)
    common = rng.standard_normal(dim)

    def pair(count: int, of: np.ndarray | None = None) -> list[np.ndarray]:
        gallery = rng.standard_normal((count, dim)) + rng.gamma(1, 0.5, (count, 1)) * common if of is None else of
        rows = rng.integers(0, len(gallery), count if of is None else queries)
        asked = gallery[rows] + 1.4 * rng.standard_normal((len(rows), dim)) + 0.4 * common
        if of is not None:
            np.save(folder / "relevant.npy", rows)
        return [each / np.linalg.norm(each, axis=1, keepdims=True) for each in (asked, gallery)]

    gallery = rng.standard_normal((targets, dim)) + rng.gamma(1, 0.5, (targets, 1)) * common
    arrays = dict(zip(("queries", "targets"), pair(targets, gallery), strict=True))
    arrays |= dict(zip(("bank_queries", "bank_targets"), pair(bank), strict=True))
    for name, rows in arrays.items():
        np.save(folder / f"{name}.npy", rows.astype(np.float32))
    path = folder / "page.toml"
    path.write_text(
        '[dataset]\nname = "Made up"\nmodel = "none"\n[test]\nqueries = "queries.npy"\ntargets = "targets.npy"\n'
        'relevant = "relevant.npy"\n[banks.val]\nqueries = "bank_queries.npy"\ntargets = "bank_targets.npy"\n'
        '[settings]\ntau = "auto"\n'
    )
    return path


def timed(client: httpx.Client, path: str, **values: object) -> float:
    began = time.perf_counter()
    answer = client.get(path, params=values)
    spent = time.perf_counter() - began
    assert answer.status_code == 200, answer.text
    return spent


def changes(client: httpx.Client, rounds: int) -> dict[str, list[float]]:
    """Seconds of each kind of change, none of which was asked for before."""
    tau = client.get("/api/view", params={"method": "sn"}).json()["tau"]
    spent: dict[str, list[float]] = {}
    for at in range(rounds):
        for method in ("is", "sn", "dbsn"):
            other = tau * (0.5 + 0.07 * at + 0.01 * len(method))
            spent.setdefault(f"temperature of {method}", []).append(
                timed(client, "/api/view", method=method, tau=other)
            )
        spent.setdefault("strength", []).append(timed(client, "/api/view", method="dbsn", strength=0.2 + 0.05 * at))
        spent.setdefault("k", []).append(timed(client, "/api/view", method="dbsn", k=(1, 3, 5, 10, 20)[at % 5]))
        for name, path in PANELS.items():
            values = {} if name == "targets" else {"method": "sn", "strength": 0.3 + 0.05 * at}
            timed(client, "/api/view", method="sn", strength=0.3 + 0.05 * at)
            spent.setdefault(name, []).append(timed(client, path, **values))
    return spent


def crowd(address: str, clients: int) -> dict[str, float]:
    """So many clients at once, each with a setting of its own; seconds until all are served, and errors."""
    start = threading.Barrier(clients)

    def visit(number: int) -> int:
        with httpx.Client(base_url=address, timeout=300) as client:
            start.wait()
            asked = [client.get("/api/view", params={"method": "sn", "strength": 1 + number / 1000})]
            asked += [
                client.get(path, params={"method": "sn"} if path != "/api/targets" else {}) for path in PANELS.values()
            ]
        return sum(each.status_code != 200 for each in asked)

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        errors = sum(pool.map(visit, range(clients)))
    return {"clients": clients, "seconds": time.perf_counter() - began, "errors": errors}


def beside_abandoned(address: str, rounds: int) -> dict[str, float]:
    """Seconds that a new setting takes alone, after requests whose clients have left, and beside half-sent heads."""
    port = urlsplit(address).port

    def left(path: str) -> socket.socket:
        raw = socket.create_connection(("127.0.0.1", port))
        raw.sendall(path.encode())
        return raw

    spent: dict[str, list[float]] = {"alone": [], "abandoned": [], "half-sent": []}
    with httpx.Client(base_url=address, timeout=600) as client:
        tau = client.get("/api/view", params={"method": "dbsn"}).json()["tau"]
        for at in range(rounds):
            fresh = [tau * (1.5 + 0.01 * at + 0.002 * kind) for kind in range(3)]
            spent["alone"].append(timed(client, "/api/view", method="dbsn", tau=fresh[0]))
            for number in range(ABANDONED):
                other = tau * (2 + at + number / ABANDONED)
                left(f"GET /api/view?method=dbsn&tau={other} HTTP/1.1\r\nHost: localhost\r\n\r\n").close()
            spent["abandoned"].append(timed(client, "/api/view", method="dbsn", tau=fresh[1]))
            half = [left("GET / HTTP/1.1\r\nHost: loc") for _ in range(HALF_SENT)]
            spent["half-sent"].append(timed(client, "/api/view", method="dbsn", tau=fresh[2]))
            for each in half:
                each.close()
    return {name: statistics.median(seconds) for name, seconds in spent.items()}


def ranking_once(queries: int, targets: int) -> float:
    """Seconds to rank as many scores once: the best of three."""
    scores = np.random.default_rng(1).standard_normal((queries, targets)).astype(np.float32)
    spent = []
    for _ in range(3):
        began = time.perf_counter()
        for start in range(0, queries, 512):
            top_k(scores[start : start + 512], 10)
        spent.append(time.perf_counter() - began)
    return min(spent)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--experiment", type=Path)
    asked.add_argument("--small", action="store_true")
    asked.add_argument("--rounds", type=int, default=8)
    asked.add_argument("-o", "--output", type=Path)
    given = asked.parse_args()
    rounds, clients = (1, 5) if given.small else (given.rounds, CLIENTS)
    with tempfile.TemporaryDirectory() as folder:
        sizes = (200, 60, 80) if given.small else (5000, 1000, 5000)
        path = given.experiment or written(Path(folder), *sizes)
        server = subprocess.Popen(
            [Path(sys.executable).with_name("unhub"), "serve", path, "--port", "0"],
            stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1", "XDG_CACHE_HOME": folder},
        )  # fmt: skip
        try:
            assert server.stdout is not None
            address = "http://" + server.stdout.readline().split("http://")[1].split()[0]
            with httpx.Client(base_url=address, timeout=300) as client:
                about = client.get("/api/about").json()["directions"][0]
                changes(client, 1)  # what is compiled, or loaded, at the first call
                spent = changes(client, rounds)
            served = crowd(address, clients)
            waits = beside_abandoned(address, min(rounds, 3))
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
    once = ranking_once(about["queries"], about["targets"])
    print(f"{about['queries']:,} queries x {about['targets']:,} targets; ranking them once: {1000 * once:.0f} ms\n")
    print(f"{'':24}{'median ms':>10}{'slowest':>10}{'x one ranking':>16}")
    for name, seconds in spent.items():
        middle = statistics.median(seconds)
        print(f"{name:24}{1000 * middle:>10.0f}{1000 * max(seconds):>10.0f}{middle / once:>16.1f}")
    told = f"{served['seconds']:.1f} s, {served['errors']} errors"
    print(f"\n{served['clients']} clients at once, five requests each: {told}")
    print(f"a new temperature of dbsn alone: {1000 * waits['alone']:.0f} ms")
    print(f"after {ABANDONED} abandoned requests: {waits['abandoned'] / waits['alone']:.1f} times as long")
    print(f"beside {HALF_SENT:,} half-sent heads: {waits['half-sent'] / waits['alone']:.1f} times as long")
    if given.output is not None:
        told = {"sizes": about, "ranking_once": once, "seconds": spent, "crowd": served, "waits": waits}
        given.output.write_text(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()

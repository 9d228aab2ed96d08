"""A million vectors fitted from a store and exported to it, within a bound of memory.

    python benchmarks/million.py                     # faiss and LanceDB, 1,000,000 x 128
    python benchmarks/million.py --count 50000 --only lancedb

Each store in a process of its own, so that the largest resident size is that of this work alone. The vectors are made
and loaded by another process before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from measuring import peak_memory
from running import versions, write_json

BANK = 2000
BLOCK = 50_000
BOUND = 4e9


def vectors(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    """Unit vectors, some of them nearer to what all queries have in common."""
    rows = rng.standard_normal((count, dim), dtype=np.float32)
    rows += rng.gamma(1.0, 0.3, size=(count, 1)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def load_faiss(folder: Path, count: int, dim: int) -> str:
    """A flat index in a file."""
    import faiss

    rng = np.random.default_rng(0)
    index = faiss.index_factory(dim, "Flat", faiss.METRIC_INNER_PRODUCT)
    for start in range(0, count, BLOCK):
        index.add(vectors(rng, min(BLOCK, count - start), dim))
    faiss.write_index(index, str(folder / "items.faiss"))
    return f"faiss://{folder}/items.faiss"


def load_lancedb(folder: Path, count: int, dim: int) -> str:
    """A table without an index."""
    import lancedb
    import pyarrow as arrow

    rng = np.random.default_rng(0)
    database, table = lancedb.connect(str(folder)), None
    for start in range(0, count, BLOCK):
        rows = vectors(rng, min(BLOCK, count - start), dim)
        column = arrow.FixedSizeListArray.from_arrays(arrow.array(rows.ravel()), dim)
        part = arrow.table({"id": np.arange(start, start + len(rows)), "vector": column})
        table = database.create_table("items", part) if table is None else table
        if start:
            table.add(part)
    return f"lancedb://{folder}/items?metric=cosine"


STORES = {"faiss": load_faiss, "lancedb": load_lancedb}


def work(url: str, folder: Path, dim: int) -> dict[str, float]:
    """Seconds of each step, and the largest resident size of this process."""
    import unhub

    bank = vectors(np.random.default_rng(1), BANK, dim)
    steps = {}
    began = time.perf_counter()
    correction = unhub.fit("sn", targets=url, query_bank=bank, tau="auto", memory="1GB")
    steps["fit"] = time.perf_counter() - began
    correction.save(folder / "items.unhub")
    del correction
    began = time.perf_counter()
    done = unhub.export(folder / "items.unhub", url)
    steps["export"] = time.perf_counter() - began
    assert done.record.state == "serving", done.self_test
    return {**steps, "written": done.written, "peak_bytes": peak_memory()}


def measured(store: str, count: int, dim: int) -> dict[str, float]:
    """What one store took, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        script = [
            sys.executable,
            __file__,
            "--store",
            store,
            "--folder",
            folder,
            "--dim",
            str(dim),
            "--count",
            str(count),
        ]
        subprocess.run([*script, "--step", "load"], check=True)
        done = subprocess.run([*script, "--step", "work"], check=True, capture_output=True, text=True)
        return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--only", choices=tuple(STORES))
    parser.add_argument("--small", action="store_true", help="5,000 x 32, to see that it works")
    parser.add_argument("--store", choices=tuple(STORES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", choices=("load", "work"), help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/million.json"))
    options = parser.parse_args()
    count, dim = (5000, 32) if options.small else (options.count, options.dim)
    if options.step == "load":
        url = STORES[options.store](options.folder, count, dim)
        (options.folder / "url").write_text(url)
        return
    if options.step == "work":
        print(json.dumps(work((options.folder / "url").read_text(), options.folder, dim)))
        return
    rows = {store: measured(store, count, dim) for store in STORES if options.only in (None, store)}
    print(f"{count:,} x {dim}, bank of {BANK:,}\n\n{'':12}{'fit s':>8}{'export s':>10}{'items/s':>10}{'peak':>10}")
    for store, row in rows.items():
        peak = row["peak_bytes"]
        rate = row["written"] / row["export"]
        within = "" if peak <= BOUND else "   over 4 GB"
        print(f"{store:12}{row['fit']:8.1f}{row['export']:10.1f}{rate:10,.0f}{peak / 1e9:8.2f}GB{within}")
    write_json(options.output, {"count": count, "dim": dim, "rows": rows, "versions": versions()})


if __name__ == "__main__":
    main()

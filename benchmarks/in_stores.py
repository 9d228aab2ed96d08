"""Corrected search in each store beside the same store's raw search, and an export beside the store's own bulk write.

    python benchmarks/in_stores.py                       # 20,000 x 128
    python benchmarks/in_stores.py --small
    python benchmarks/in_stores.py --only 'faiss;lancedb none'
    python benchmarks/in_stores.py --hubs strong         # a gallery that a few hubs rule

One row per store and kind of index, everything in one run on the same machine: p50 of a single query, corrected over
raw, the two taking turns; recall@10 of both against exact search; the speed of the export beside that of the store's
own client writing as many vectors and building its index: of its writing alone, and with its checks and its self-test.
An export has searches of an approximate index look at more, if otherwise it would miss more than the raw one ("looks");
the columns "same" are what the same index does when it looks at no more than the raw one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from running import versions, write_json
from store_loading import LOADERS, Loader

import unhub

K = 10
ASKED = 500
"""queries that are asked; as many as there are vectors are the bank"""


@dataclass(frozen=True)
class Kind:
    """How a made gallery is made: how fast its spectrum falls, how popular hubs are, how far away queries stand."""

    decay: float
    popular: float
    gap: float
    noise: float


HUBS = {"usual": Kind(0.4, 0.05, 0.1, 1.0), "strong": Kind(0.6, 0.35, 0.5, 0.6)}
"""Of the ten that corrected search finds, the usual gallery has half among its raw best 10 and .96 among its raw best
100, as real sets of some thousand targets do (``forms.py --data``); the strong one .18 and .43."""


def gallery(count: int, dim: int, queries: int, hubs: str = "usual", seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors whose spectrum falls as that of real embeddings does, with hubs; queries from across a gap."""
    rng, kind = np.random.default_rng(seed), HUBS[hubs]
    spread = (1 + np.arange(dim)) ** -kind.decay
    mixing = np.linalg.qr(rng.standard_normal((dim, dim)))[0]
    common = rng.standard_normal(dim) * spread
    popular = rng.gamma(1.0, kind.popular, size=(count, 1))
    vectors = (rng.standard_normal((count, dim)) * spread + popular * common) @ mixing
    chosen = rng.integers(0, count, queries)
    away = kind.gap * common + kind.noise * rng.standard_normal((queries, dim)) * spread
    return _unit(vectors), _unit(vectors[chosen] + away @ mixing)


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def latencies(retriever: Any, queries: np.ndarray, looks: int) -> tuple[list[float], list[float]]:
    """Seconds of single queries, raw and corrected, taking turns in being first."""
    seconds: tuple[list[float], list[float]] = [], []
    for look in range(looks):
        query = queries[look % len(queries)][None]
        for corrected in ((False, True), (True, False))[look % 2]:
            began = time.perf_counter()
            retriever.search(query, K, corrected=corrected)
            seconds[corrected].append(time.perf_counter() - began)
    return seconds


def recall(found: np.ndarray, exact: np.ndarray) -> float:
    """The share of the exact lists that was found."""
    pairs = zip(found.tolist(), exact.tolist(), strict=True)
    return float(np.mean([len({str(each) for each in a} & {str(each) for each in b}) / K for a, b in pairs]))


def row(loader: Loader, vectors: np.ndarray, bank: np.ndarray, queries: np.ndarray, looks: int) -> dict[str, Any]:
    """Everything that is measured of one kind of index."""
    with tempfile.TemporaryDirectory() as folder:
        engine = loader.start(Path(folder))
        try:
            return _measured(loader, engine, Path(folder), vectors, bank, queries, looks)
        finally:
            engine.stop()


def _measured(
    loader: Loader, engine: Any, folder: Path, vectors: np.ndarray, bank: np.ndarray, queries: np.ndarray, looks: int
) -> dict[str, Any]:
    loader.load(engine, "warm", vectors[:500])
    began = time.perf_counter()
    url = loader.load(engine, "items", vectors)
    own = time.perf_counter() - began
    file = folder / "items.unhub"
    fitted = unhub.fit("sn", targets=url, query_bank=bank, tau="auto")
    fitted.save(file)
    phases: dict[str, float] = {}
    began = time.perf_counter()
    done = unhub.export(file, url, progress=lambda phase, *_: phases.setdefault(phase, time.perf_counter()))
    export = time.perf_counter() - began
    writing = phases["testing"] - phases["writing"]
    scores = queries @ vectors.T
    rows = np.argsort([int(each) for each in fitted.ids or range(len(vectors))])
    raw, corrected = _best(scores), _best(scores + fitted.bias[rows])

    def searched() -> dict[str, float]:
        with unhub.connect(url, file) as retriever:
            found = retriever.search(queries, K)
            before = retriever.search(queries, K, corrected=False)
            latencies(retriever, queries, max(10, looks // 10))
            seconds = latencies(retriever, queries, looks)
        return {
            "raw_ms": 1e3 * float(np.median(seconds[0])),
            "corrected_ms": 1e3 * float(np.median(seconds[1])),
            "latency_ratio": float(np.median(seconds[1]) / np.median(seconds[0])),
            "raw_recall": recall(before.ids, raw),
            "recall": recall(found.ids, corrected),
        }

    measured = searched()
    if done.self_test.effort > 1:  # the same index, told to look at no more than the raw one
        unhub.export(file, url, effort=1)
        measured |= {f"{name}_same_effort": value for name, value in searched().items()}
    unhub.rollback(file, to=url)
    return measured | {
        "store": loader.store,
        "index": loader.index,
        "strategy": done.plan.strategy,
        "effort": done.self_test.effort,
        "own_seconds": own,
        "writing_seconds": writing,
        "writing_speed": own / writing,
        "export_seconds": export,
        "export_speed": own / export,
    }


def _best(scores: np.ndarray) -> np.ndarray:
    """The K best columns of each row; which come first does not matter here."""
    best: np.ndarray = np.argpartition(-scores, K, axis=1)[:, :K]
    return best


COLUMNS = {
    "strategy": "strategy:>15",
    "raw ms": "raw_ms:>9.3f",
    "corrected": "corrected_ms:>11.3f",
    "ratio": "latency_ratio:>7.2f",
    "same": "latency_ratio_same_effort:>7.2f",
    "raw recall": "raw_recall:>12.4f",
    "recall": "recall:>8.4f",
    "same ": "recall_same_effort:>8.4f",
    "looks": "effort:>7.2f",
    "own s": "own_seconds:>8.2f",
    "write s": "writing_seconds:>9.2f",
    "speed": "writing_speed:>7.2f",
    "export s": "export_seconds:>10.2f",
    "speed ": "export_speed:>7.2f",
}


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text."""
    widths = {name: int(form.partition(":>")[2].partition(".")[0]) for name, form in COLUMNS.items()}
    lines = [" " * 28 + "".join(f"{name.strip():>{width}}" for name, width in widths.items())]
    for each in rows:
        same = {f"{name}_same_effort": each[name] for name in ("latency_ratio", "recall")}
        cells = "".join(f"{{{form}}}" for form in COLUMNS.values()).format(**(same | each))
        lines.append(f"{each['store'] + ' ' + each['index']:28}{cells}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--looks", type=int, default=1000, help="single queries, raw and corrected each")
    parser.add_argument("--only", help="stores or 'store index', with semicolons")
    parser.add_argument("--hubs", choices=sorted(HUBS), default="usual", help="how much hubs rule the gallery")
    parser.add_argument("--small", action="store_true", help="2,000 x 32, to see that it works")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/in_stores.json"))
    options = parser.parse_args()
    count, dim, looks = (2000, 32, 40) if options.small else (options.count, options.dim, options.looks)
    vectors, asked = gallery(count, dim, count + ASKED, options.hubs)
    wanted = None if options.only is None else {each.strip() for each in options.only.split(";")}
    rows = []
    for loader in LOADERS:
        if wanted is None or str(loader) in wanted or loader.store in wanted:
            rows.append(row(loader, vectors, asked[ASKED:], asked[:ASKED], looks))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
    print(f"\n{count:,} x {dim}, {options.hubs} hubs, k = {K}\n\n{table(rows)}")
    write_json(options.output, {"count": count, "dim": dim, "hubs": options.hubs, "rows": rows, "versions": versions()})


if __name__ == "__main__":
    main()

"""What strategies, scales, padding and fetching do to faiss indexes: the figures behind the plan of an export.

    python benchmarks/strategies.py                 # 20,000 x 128
    python benchmarks/strategies.py --hubs strong   # a gallery that a few hubs rule
    python benchmarks/strategies.py --data ../shared/data   # only what fetching finds, on real sets
    python benchmarks/strategies.py --small

Recall@10 of each strategy and scale in a graph and in inverted lists, with the distances a query computes; how many
distances graphs take to come within .005 of the raw recall, however they are built; recall of reranking by how many are
fetched; and a query of 8-bit codes by the width of the vectors, beside the raw width.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from in_stores import ASKED, HUBS, K, _best, _unit, gallery, recall
from measuring import best_of
from running import versions, write_json

import unhub
from unhub.stores import make_encoding

SCALES = (0.5, 1.0, 2.0, 3.0, 4.0)
FETCHED = (10, 50, 100, 200, 500)


def approximate(kind: str, vectors: np.ndarray, queries: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Recall@10 of a faiss index of that kind, and the distances that it computed for a query."""
    import faiss

    index = faiss.index_factory(vectors.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    if kind.startswith("HNSW"):
        index.hnsw.efSearch, counted = 64, faiss.cvar.hnsw_stats
    else:
        index.nprobe, counted = 16, faiss.cvar.indexIVF_stats
    counted.reset()
    found = index.search(queries, K)[1]
    return recall(found, wanted), counted.ndis / len(queries)


def strategies(kind: str, vectors: np.ndarray, bias: np.ndarray, queries: np.ndarray) -> list[dict[str, object]]:
    """A row for the raw index, and one for each strategy and scale."""
    scores = queries @ vectors.T
    rows: list[dict[str, object]] = []

    def row(strategy: str, scale: float, found: tuple[float, float]) -> None:
        rows.append({"index": kind, "strategy": strategy, "scale": scale, "recall": found[0], "distances": found[1]})
        print(f"{kind:12}{strategy:>16}{scale:7.1f}{found[0]:9.4f}{found[1]:9.0f}", flush=True)

    row("raw", 1.0, approximate(kind, vectors, queries, _best(scores)))
    for strategy in ("augment", "constant_norm"):
        for scale in SCALES:
            made = make_encoding(strategy, "ip", vectors.shape[1], bias, scale=scale)  # type: ignore[arg-type]
            found = approximate(kind, made.targets(vectors, bias), made.queries(queries), _best(scores + bias))
            row(strategy, scale, found)
    return rows


def even(vectors: np.ndarray, bias: np.ndarray, queries: np.ndarray) -> dict[str, float]:
    """Distances that a corrected graph takes to come within .005 of the raw recall, over those of the raw search.

    By strategy, scale and how carefully it is built; and with the links of the raw graph, which only faiss could serve.
    """
    import faiss

    def graph(rows: np.ndarray, effort: int = 40) -> faiss.IndexHNSWFlat:
        index = faiss.IndexHNSWFlat(rows.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = effort
        index.add(rows)
        return index

    def looks(index: faiss.IndexHNSWFlat, asked: np.ndarray, wanted: np.ndarray, effort: int) -> tuple[float, float]:
        index.hnsw.efSearch = effort
        faiss.cvar.hnsw_stats.reset()
        found = recall(index.search(asked, K)[1], wanted)
        return found, faiss.cvar.hnsw_stats.ndis / len(asked)

    scores = queries @ vectors.T
    plain = graph(vectors)
    enough, few = looks(plain, queries, _best(scores), 64)
    wanted = _best(scores + bias)
    ratios: dict[str, float] = {}

    def row(name: str, index: faiss.IndexHNSWFlat, asked: np.ndarray) -> None:
        for effort in range(40, 260, 4):
            found, many = looks(index, asked, wanted, effort)
            if found >= enough - 0.005:
                ratios[name] = many / few
                print(f"{name:40}{effort:5}{found:9.4f}{many / few:9.2f}", flush=True)
                return
        print(f"{name:40}  never", flush=True)

    for strategy in ("augment", "constant_norm"):
        for scale in SCALES[1:]:
            made = make_encoding(strategy, "ip", vectors.shape[1], bias, scale=scale)  # type: ignore[arg-type]
            rows, asked = made.targets(vectors, bias), made.queries(queries)
            for effort in (40, 160) if scale in (1.0, 4.0) else (40,):
                row(f"{strategy}, scale {scale:.0f}, built with {effort}", graph(rows, effort), asked)
    made = make_encoding("augment", "ip", vectors.shape[1], bias, scale=1.0)
    rows = made.targets(vectors, bias)
    store = faiss.IndexFlat(rows.shape[1], faiss.METRIC_INNER_PRODUCT)
    store.add(rows)
    store.this.disown()  # the graph owns it
    plain.storage, plain.d = store, rows.shape[1]
    row("links of the raw graph", plain, made.queries(queries))
    return ratios


def reranking(vectors: np.ndarray, bias: np.ndarray, queries: np.ndarray) -> dict[int, float]:
    """Recall@10 by how many are fetched by score and ranked again."""
    scores = queries @ vectors.T
    order = np.argsort(-scores, axis=1, kind="stable")
    found = {}
    for fetched in FETCHED:
        few = order[:, :fetched]
        again = np.argsort(-np.take_along_axis(scores + bias, few, 1), axis=1, kind="stable")[:, :K]
        found[fetched] = recall(np.take_along_axis(few, again, 1), _best(scores + bias))
        print(f"fetch {fetched:5}{found[fetched]:9.4f}", flush=True)
    return found


def real_sets(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """The name, targets, bank and test queries of each real set; all of its targets together are the gallery."""
    for name in ("flickr8k/flickr8k_dual", "flickr8k/flickr8k_ridge_t2i"):
        parts = np.load(folder / f"{name}.npz")
        images = np.concatenate([parts[f"{split}_image"] for split in ("test", "dev", "train")])
        yield name, images, parts["train_text"], parts["test_text"]
        texts = np.concatenate([parts[f"{split}_text"] for split in ("test", "dev", "train")])
        yield f"{name}, reverse", texts, np.concatenate((parts["train_image"], parts["dev_image"])), parts["test_image"]
    parts = np.load(folder / "multi30k_cs_en/cs-en.npz")
    targets = np.concatenate([parts[name] for name in ("test_t", "val_t", "bank_t")])
    yield "multi30k_cs_en", targets, parts["bank_q"], parts["test_q"]


def on_real_sets(folder: Path) -> None:
    """What reranking finds on each real set, by how many are fetched."""
    for name, *sets in real_sets(folder):
        vectors, bank, queries = (_unit(each.astype(np.float32)) for each in sets)
        print(f"{name}: {len(vectors):,} targets, {len(bank):,} queries in the bank")
        bias = unhub.fit("sn", targets=vectors, query_bank=bank, tau="auto").bias
        reranking(vectors, bias, queries[:ASKED])


def widths(vectors: np.ndarray, bias: np.ndarray, queries: np.ndarray) -> dict[int, float]:
    """Seconds of a query of 8-bit codes at the raw width, one more, and padded to eight, over the raw ones."""
    import faiss

    faiss.omp_set_num_threads(1)
    dim = vectors.shape[1]
    seconds = {}
    for pad_to in (0, 1, 8):
        made = make_encoding("augment", "ip", dim, bias, pad_to=max(1, pad_to))
        rows, asked = (vectors, queries) if not pad_to else (made.targets(vectors, bias), made.queries(queries))
        index = faiss.index_factory(rows.shape[1], "SQ8", faiss.METRIC_INNER_PRODUCT)
        index.train(rows)
        index.add(rows)
        seconds[rows.shape[1]] = best_of(5, lambda index=index, asked=asked: index.search(asked[:50], K))
    for width, each in seconds.items():
        print(f"SQ8 at {width:4} numbers: {each / seconds[dim]:.2f} of the raw time", flush=True)
    return {width: each / seconds[dim] for width, each in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hubs", choices=sorted(HUBS), default="usual", help="how much hubs rule the gallery")
    parser.add_argument("--small", action="store_true", help="2,000 x 32, to see that it works")
    parser.add_argument("-o", "--output", type=Path, default=Path("benchmarks/results/strategies.json"))
    parser.add_argument("--data", type=Path, help="a folder with flickr8k and multi30k_cs_en")
    options = parser.parse_args()
    if options.data is not None:
        on_real_sets(options.data)
        return
    count, dim = (2000, 32) if options.small else (20_000, 128)
    vectors, asked = gallery(count, dim, count + ASKED, options.hubs)
    bank, queries = asked[ASKED:], asked[:ASKED]
    bias = unhub.fit("sn", targets=vectors, query_bank=bank, tau="auto").bias
    print(f"{count:,} x {dim}, bias {bias.min():+.2f} to {bias.max():+.2f}, spread {bias.std():.3f}\n")
    print(f"{'index':12}{'strategy':>16}{'scale':>7}{'recall':>9}{'looks at':>9}")
    kinds = ("HNSW16", "HNSW32", f"IVF{128 if count > 5000 else 16},Flat")
    rows = [row for kind in kinds for row in strategies(kind, vectors, bias, queries)]
    print(f"\n{'within .005 of the raw recall':40}{'ef':>5}{'recall':>9}{'looks':>9}")
    ratios = even(vectors, bias, queries)
    fetched, coded = reranking(vectors, bias, queries), widths(vectors, bias, queries)
    result = {"rows": rows, "distances_at_even_recall": ratios, "reranking": fetched, "sq8_widths": coded}
    write_json(options.output, {**result, "versions": versions()})


if __name__ == "__main__":
    main()

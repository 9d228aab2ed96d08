"""Each store filled by its own client, as fast as that client can: what an export is set beside.

The servers are those that the tests start. Index parameters are the stores' defaults, or what their documentation
recommends for some ten thousand vectors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from stores.engines import ENGINES


@dataclass(frozen=True)
class Loader:
    """One kind of index in one store: ``load(engine, name, vectors)`` fills it and gives back its address."""

    store: str
    index: str
    load: Callable[[Any, str, np.ndarray], str]

    def __str__(self) -> str:
        return f"{self.store} {self.index}"

    def start(self, folder: Path) -> Any:
        """The running store."""
        return ENGINES[self.store](folder)


def _faiss(factory: str, *, ef: int = 64, nprobe: int = 16) -> Callable[[Any, str, np.ndarray], str]:
    def load(engine: Any, name: str, vectors: np.ndarray) -> str:
        import faiss

        faiss.omp_set_num_threads(2)
        own_ids = "" if factory.startswith("IVF") else "IDMap2,"
        index = faiss.index_factory(vectors.shape[1], own_ids + factory, faiss.METRIC_INNER_PRODUCT)
        inner = faiss.downcast_index(index.index) if own_ids else index
        if hasattr(inner, "hnsw"):
            inner.hnsw.efSearch = ef
        if hasattr(inner, "nprobe"):
            inner.nprobe = nprobe
        index.train(vectors)
        index.add_with_ids(vectors, np.arange(len(vectors)))
        path = engine.folder / f"{name}.faiss"
        faiss.write_index(index, str(path))
        return f"faiss://{path}"

    return load


def _pgvector(index: str | None) -> Callable[[Any, str, np.ndarray], str]:
    def load(engine: Any, name: str, vectors: np.ndarray) -> str:
        from pgvector import Vector
        from pgvector.psycopg import register_vector

        with engine.connect() as live:
            register_vector(live)
            live.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, embedding vector({vectors.shape[1]}))")
            with live.cursor().copy(f"COPY {name} FROM STDIN WITH (FORMAT BINARY)") as copy:
                copy.set_types(["int8", "vector"])
                for row, vector in enumerate(vectors):
                    copy.write_row((row, Vector(vector)))
            if index is not None:
                live.execute(f"CREATE INDEX ON {name} USING {index}")
            live.execute(f"ANALYZE {name}")
        return engine.url(name) if index is not None else engine.url(name, metric="cosine")

    return load


def _qdrant_edge(kind: str) -> Callable[[Any, str, np.ndarray], str]:
    def load(engine: Any, name: str, vectors: np.ndarray) -> str:
        import qdrant_edge as edge

        settings = {}
        if kind == "hnsw":
            settings["hnsw_config"] = edge.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=1000)
            settings["optimizers"] = edge.EdgeOptimizersConfig(indexing_threshold=1000)
        params = edge.EdgeVectorParams(size=vectors.shape[1], distance=edge.Distance.Cosine)
        folder = engine.root / name
        folder.mkdir(exist_ok=True)
        shard = edge.EdgeShard.create(str(folder), edge.EdgeConfig(vectors=params, **settings))
        for start in range(0, len(vectors), 4096):
            some = vectors[start : start + 4096]
            points = [edge.Point(start + at, row) for at, row in enumerate(some)]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.optimize()
        shard.flush()
        shard.close()
        return f"qdrant-edge://{folder}"

    return load


def _milvus(index: str, params: dict[str, int], options: str) -> Callable[[Any, str, np.ndarray], str]:
    def load(engine: Any, name: str, vectors: np.ndarray) -> str:
        from pymilvus import DataType

        client = engine.client
        schema = client.create_schema()
        schema.add_field("pk", DataType.INT64, is_primary=True)
        schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=vectors.shape[1])
        made = client.prepare_index_params()
        made.add_index("embedding", index_type=index, metric_type="COSINE", params=params)
        client.create_collection(name, schema=schema, index_params=made)
        for start in range(0, len(vectors), 8192):
            some = vectors[start : start + 8192]
            client.insert(name, [{"pk": start + at, "embedding": row} for at, row in enumerate(some)])
        client.flush(name)
        while client.describe_index(name, "embedding").get("pending_index_rows"):
            time.sleep(0.1)
        client.load_collection(name)
        return engine.url(name, *([options] if options else []))

    return load


def _lancedb(kind: str | None) -> Callable[[Any, str, np.ndarray], str]:
    def load(engine: Any, name: str, vectors: np.ndarray) -> str:
        import pyarrow as arrow
        from lancedb import index as kinds

        width = vectors.shape[1]
        column = arrow.FixedSizeListArray.from_arrays(arrow.array(vectors.ravel()), width)
        table = engine.database.create_table(name, arrow.table({"id": np.arange(len(vectors)), "vector": column}))
        if kind is not None:
            settings: dict[str, Any] = {"distance_type": "cosine", "num_partitions": max(1, len(vectors) // 4096)}
            made = {"IVF_PQ": kinds.IvfPq, "IVF_HNSW_SQ": kinds.HnswSq, "IVF_FLAT": kinds.IvfFlat}[kind](**settings)
            table.create_index("vector", config=made)
        return f"lancedb://{engine.folder}/{name}" + ("?metric=cosine" if kind is None else "?refine_factor=5")

    return load


def _chroma(engine: Any, name: str, vectors: np.ndarray) -> str:
    made = engine.client.create_collection(name, configuration={"hnsw": {"space": "cosine"}}, embedding_function=None)
    size = min(5000, engine.client.get_max_batch_size())
    for start in range(0, len(vectors), size):
        some = vectors[start : start + size]
        made.add([str(start + at) for at in range(len(some))], some)
    return str(engine.url(name))


LOADERS = [
    Loader("faiss", "Flat", _faiss("Flat")),
    Loader("faiss", "HNSW32", _faiss("HNSW32")),
    Loader("faiss", "IVF128,Flat", _faiss("IVF128,Flat")),
    Loader("faiss", "SQ8", _faiss("SQ8")),
    Loader("pgvector", "none", _pgvector(None)),
    Loader("pgvector", "hnsw", _pgvector("hnsw (embedding vector_cosine_ops)")),
    Loader("qdrant_edge", "flat", _qdrant_edge("flat")),
    Loader("qdrant_edge", "hnsw", _qdrant_edge("hnsw")),
    Loader("milvus_server", "FLAT", _milvus("FLAT", {}, "")),
    Loader("milvus_server", "HNSW", _milvus("HNSW", {"M": 16, "efConstruction": 200}, "ef=64")),
    Loader("lancedb", "none", _lancedb(None)),
    Loader("lancedb", "IVF_PQ", _lancedb("IVF_PQ")),
    Loader("lancedb", "IVF_HNSW_SQ", _lancedb("IVF_HNSW_SQ")),
    Loader("chroma", "hnsw", _chroma),
]

"""Qdrant in the client's local mode, and Qdrant Edge: the engine itself, in this process. No server is started."""

import shutil
import tempfile
import time
from pathlib import Path

from stores.engines.engine import Variant

DISTANCES = {"ip": "Dot", "cosine": "Cosine", "l2": "Euclid"}
FETCH = 1000
"""more than any collection here has, so that sorting again is exact"""
_IN_MEMORY = Path("/dev/shm")


def fast_folder():
    """A new folder, in memory if there is such a place: local mode waits for the disk after each single item."""
    return Path(tempfile.mkdtemp(dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None))


def remove(folder):
    """Removes a folder, also while an engine that was just closed finishes its last file in it."""
    for _ in range(50):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)
    shutil.rmtree(folder)


def local(home, vectors, *, name="photos", ids=None, payload=None, distance="Dot"):
    """The address of a collection of local mode that the client alone has made."""
    from qdrant_client import QdrantClient, models

    client = QdrantClient(path=str(home / "store"))
    client.create_collection(name, vectors_config=models.VectorParams(size=vectors.shape[1], distance=distance))
    ids = list(range(len(vectors))) if ids is None else ids
    client.upload_collection(name, vectors=vectors, ids=ids, payload=payload)
    client.close()
    return f"qdrant://{home}/store/{name}"


def shard(home, vectors, *, name="photos", ids=None, payload=None, distance="Dot", params=None, fields=(), **settings):
    """The address of a shard of Qdrant Edge that the package alone has made."""
    import qdrant_edge as edge

    (home / name).mkdir(parents=True)
    params = params or edge.EdgeVectorParams(size=vectors.shape[1], distance=getattr(edge.Distance, distance))
    made = edge.EdgeShard.create(str(home / name), edge.EdgeConfig(vectors=params, **settings))
    for field, schema in fields:
        made.update(edge.UpdateOperation.create_field_index(field, schema))
    ids = list(range(len(vectors))) if ids is None else ids
    payload = [{}] * len(ids) if payload is None else payload
    points = [edge.Point(*each) for each in zip(ids, vectors, payload, strict=True)]
    made.update(edge.UpdateOperation.upsert_points(points))
    made.optimize()
    made.close()
    return f"qdrant-edge://{home}/{name}"


def _into(index):
    return f"?fetch={FETCH}{'&into=vector' if index.endswith('+vector') else ''}"


class Local:
    """A new folder for each collection: it can be opened once only."""

    def __init__(self, folder):
        self.root = fast_folder()

    def fill(self, name, ids, vectors, groups, *, metric, index):
        url = local(
            self.root / f"{name}_home",
            vectors,
            name=name,
            ids=[int(each) for each in ids],
            payload=[{"group": int(each)} for each in groups],
            distance=DISTANCES[metric],
        )
        return f"{url}{_into(index)}"

    def filter(self, group):
        from qdrant_client import models

        return models.Filter(must=[models.FieldCondition(key="group", match=models.MatchValue(value=int(group)))])

    def stop(self):
        remove(self.root)


class Edge:
    """Shards in a folder, each with the index that its name says."""

    def __init__(self, folder):
        self.root = Path(tempfile.mkdtemp(dir=folder))

    def fill(self, name, ids, vectors, groups, *, metric, index):
        import qdrant_edge as edge

        kind = index.partition("+")[0]
        settings, rows = self.settings(kind), list(vectors)
        datatype = edge.VectorStorageDatatype.Float16 if kind == "float16" else None
        distance = getattr(edge.Distance, DISTANCES[metric])
        params = edge.EdgeVectorParams(size=vectors.shape[1], distance=distance, datatype=datatype)
        if kind == "named":
            params = {"image": params, "other": edge.EdgeVectorParams(size=2, distance=edge.Distance.Manhattan)}
            rows = [{"image": row, "other": [1.0, 2.0]} for row in rows]
        url = shard(
            self.root,
            rows,
            name=name,
            ids=[int(each) for each in ids],
            payload=[{"group": int(each)} for each in groups],
            params=params,
            fields=[("group", edge.PayloadSchemaType.Integer)],
            **settings,
        )
        return f"{url}{_into(index)}{'&vector=image' if kind == 'named' else ''}"

    def settings(self, kind):
        import qdrant_edge as edge

        if kind not in ("hnsw", "int8"):
            return {}
        return {
            "hnsw_config": edge.HnswIndexConfig(m=8, ef_construct=64, full_scan_threshold=1),
            # Qdrant clears a graph of deleted items from 1,000 on; until then it may not find its way through them.
            "optimizers": edge.EdgeOptimizersConfig(indexing_threshold=1, vacuum_min_vector_number=100),
            "quantization_config": edge.ScalarQuantizationConfig(edge.ScalarType.Int8) if kind == "int8" else None,
        }

    def filter(self, group):
        import qdrant_edge as edge

        return edge.Filter(must=[edge.FieldCondition("group", match=edge.MatchValue(int(group)))])

    def stop(self):
        remove(self.root)


ENGINES = {"qdrant": Local, "qdrant_edge": Edge}
FORMS = ("augment", "constant_norm", "payload")
VARIANTS = [
    Variant("qdrant", "local", exact=True, strategies=FORMS),
    Variant("qdrant", "local+vector", exact=True, metrics=("l2",), strategies=("payload",)),
    Variant("qdrant_edge", "flat", exact=True, strategies=FORMS),
    Variant("qdrant_edge", "flat+vector", exact=True, strategies=("payload",)),
    Variant("qdrant_edge", "named", exact=True, metrics=("cosine",), strategies=FORMS),
    Variant("qdrant_edge", "named+vector", exact=True, metrics=("l2",), strategies=("payload",)),
    Variant("qdrant_edge", "float16", exact=True, metrics=("ip",), strategies=("augment", "payload"), tolerance=2e-3),
    Variant("qdrant_edge", "hnsw", exact=False, strategies=FORMS),
    Variant("qdrant_edge", "hnsw+vector", exact=False, metrics=("ip",), strategies=("payload",)),
    Variant("qdrant_edge", "int8", exact=False, strategies=FORMS, tolerance=1e-2),
]

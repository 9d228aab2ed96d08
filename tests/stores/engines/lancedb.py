"""LanceDB in a folder: no server, the tables are files."""

import numpy as np

from stores.engines.engine import Variant

_DISTANCES = {"ip": "dot", "cosine": "cosine", "l2": "l2"}


class LanceDB:
    """A database in a folder of its own."""

    def __init__(self, folder):
        import lancedb

        self.folder = folder
        self.database = lancedb.connect(str(folder))

    def fill(self, name, ids, vectors, groups, *, metric, index):
        import pyarrow as arrow

        numbers = vectors.astype(np.float16 if index == "half" else np.float32)
        rows = arrow.table(
            {
                "id": ids,
                "vector": arrow.FixedSizeListArray.from_arrays(arrow.array(numbers.ravel()), vectors.shape[1]),
                "group": groups,
            }
        )
        table = self.database.create_table(name, rows)
        config = _config(index, _DISTANCES[metric])
        if config is not None:
            table.create_index("vector", config=config)
        options = {"none": f"?metric={metric}", "half": f"?metric={metric}"}.get(index, "?nprobes=4&refine_factor=10")
        return f"lancedb://{self.folder}/{name}{options}"

    def filter(self, group):
        return f"`group` = {group}"

    def stop(self):
        self.database = None


def _config(index, distance):
    from lancedb import index as kinds

    common = {"distance_type": distance, "num_partitions": 2}
    return {
        "ivf_flat": lambda: kinds.IvfFlat(**common),
        "ivf_pq": lambda: kinds.IvfPq(**common, num_sub_vectors=6),
        "ivf_hnsw_sq": lambda: kinds.HnswSq(**common, m=12, ef_construction=100),
        "ivf_hnsw_pq": lambda: kinds.HnswPq(**common, num_sub_vectors=6),
    }.get(index, lambda: None)()


_FORMS = ("augment", "constant_norm")
ENGINES = {"lancedb": LanceDB}
VARIANTS = [
    Variant("lancedb", "none", exact=True, strategies=_FORMS),
    Variant("lancedb", "half", exact=True, strategies=_FORMS, tolerance=1e-3),
    Variant("lancedb", "ivf_flat", exact=False, strategies=_FORMS),
    Variant("lancedb", "ivf_pq", exact=False, strategies=_FORMS),
    Variant("lancedb", "ivf_hnsw_sq", exact=False, strategies=_FORMS),
    Variant("lancedb", "ivf_hnsw_pq", exact=False, strategies=_FORMS),
]

"""faiss index files: flat, graph, inverted lists, quantised."""

import numpy as np

from stores.engines.engine import Variant

FACTORIES = {
    "flat": "Flat",
    "hnsw": "HNSW32",
    "ivf": "IVF8,Flat",
    "sq8": "SQ8",
    "ivfpq": "IVF4,PQ12x4",
    "ivfsq": "IVF8,SQ8",
}


class Faiss:
    """A folder of index files."""

    def __init__(self, folder):
        import faiss

        faiss.omp_set_num_threads(1)  # its many short parallel parts crawl where other tests use the cores too
        self.folder = folder
        self.groups = {}

    def fill(self, name, ids, vectors, groups, *, metric, index):
        import faiss

        ranks_by = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
        kind = faiss.index_factory(vectors.shape[1], f"IDMap2,{FACTORIES[index]}", ranks_by)
        kind.train(vectors)
        if index.startswith("ivf"):
            faiss.downcast_index(kind.index).nprobe = 4
        numbers = np.array(ids, dtype=np.int64)
        kind.add_with_ids(vectors, numbers)
        path = self.folder / f"{name}.faiss"
        faiss.write_index(kind, str(path))
        self.groups = {group: numbers[groups == group].tolist() for group in set(groups.tolist())}
        return f"faiss://{path}"

    def filter(self, group):
        return self.groups[group]

    def stop(self):
        pass


ENGINES = {"faiss": Faiss}

_BOTH = {"metrics": ("ip", "l2"), "strategies": ("augment", "constant_norm")}

VARIANTS = [
    Variant("faiss", "flat", exact=True, **_BOTH),
    Variant("faiss", "hnsw", exact=False, **_BOTH),
    Variant("faiss", "ivf", exact=False, **_BOTH),
    Variant("faiss", "sq8", exact=False, tolerance=0.02, **_BOTH),
    Variant("faiss", "ivfpq", exact=False, tolerance=0.8, metrics=("ip", "l2")),
    Variant("faiss", "ivfsq", exact=False, tolerance=0.02, **_BOTH),
]

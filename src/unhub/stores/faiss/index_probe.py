"""What a child process does with an index file of unknown origin; run by its path, see ``foundation.probing``."""

from __future__ import annotations

import contextlib


def probe(path: str) -> list[int]:
    """Dimension and number of vectors, after all that an open index is asked for: its ids, some vectors, a search."""
    import faiss
    import numpy as np

    from unhub.stores.faiss.index import all_ids, make_reconstructible, reconstruct

    index = faiss.read_index(path)
    ids = all_ids(index)
    make_reconstructible(index, ids)
    with contextlib.suppress(Exception):  # an index may refuse these in words; it must not crash or hang
        reconstruct(index, ids, 0, min(1024, len(ids)))
    with contextlib.suppress(Exception):
        index.search(np.ones((1, index.d), dtype=np.float32), 1)
    return [int(index.d), len(ids)]

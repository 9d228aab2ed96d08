"""Reading a faiss index apart and making another of the same kind."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores.protocol import BLOCK, Metric, Quantiser

if TYPE_CHECKING:
    from unhub.stores.faiss.spool import Spool

FEW = 50_000
"""allowed items up to which a filtered search looks at every one of them"""

TRAINING = 1 << 18
"""vectors that a quantiser is trained on at the most, spread over all"""


@dataclass(frozen=True)
class Spec:
    """The kind of an index: faiss's factory string, its size, and what a search of it was set to."""

    factory: str
    dim: int
    metric: Metric
    ef_search: int | None = None
    ef_construction: int | None = None
    nprobe: int | None = None
    ranges: list[float] | None = None
    """of a scalar quantiser: where each dimension begins and how far it reaches, so that codes stay what they were"""

    def resized(self, dim: int, metric: Metric) -> Spec:
        """The same kind for vectors of another dimension; product quantisers keep the length of their parts."""
        if dim == self.dim:
            return replace(self, metric=metric)
        return replace(self, factory=_requantised(self.factory, self.dim, dim), dim=dim, metric=metric)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, read: dict[str, Any]) -> Spec:
        """The spec of such fields; a TypeError or a ValueError if they are others."""
        spec = cls(**read)
        numbers = [spec.dim, *(n for n in (spec.ef_search, spec.ef_construction, spec.nprobe) if n is not None)]
        if not isinstance(spec.factory, str) or spec.metric not in ("ip", "l2"):
            raise ValueError("no index is of this kind")
        if not spec.dim or not all(type(each) is int and 0 <= each < 2**31 for each in numbers):
            raise ValueError("no index has these numbers")
        if spec.ranges is not None and not all(type(each) is float for each in spec.ranges):
            raise ValueError("no index has these ranges")
        return spec


def _requantised(factory: str, old: int, new: int) -> str:
    """The factory string with as many sub-quantisers as keep the length of a part.

    >>> _requantised("IVF64,PQ16x8", 128, 136), _requantised("HNSW32", 128, 136)
    ('IVF64,PQ17x8', 'HNSW32')
    """

    def parts(match: re.Match[str]) -> str:
        wanted = round(new * int(match[2]) / old)
        count = next((each for each in range(wanted, 0, -1) if new % each == 0), 1)
        return f"{match[1]}{count}"

    return re.sub(r"\b(PQ)(\d+)(?=x|,|$|\+|fs)", parts, factory)


def kind_of(index: Any) -> str:
    """What to call this kind of index: faiss's factory string without the ids, or the name of its class."""
    try:
        factory: str = require("faiss.contrib.factory_tools", extra="faiss").reverse_index_factory(index)
    except (NotImplementedError, KeyError, AssertionError):
        return type(inner(index)).__name__
    return re.sub(r"^IDMap2?,", "", factory)


def spec_of(index: Any, *, factory: str | None = None) -> Spec:
    """What kind of index this is; ``factory`` is said by the user, where faiss cannot tell it."""
    tools = require("faiss.contrib.factory_tools", extra="faiss")
    try:
        known = factory or tools.reverse_index_factory(index)
    except (NotImplementedError, KeyError, AssertionError):
        raise InputError(
            f"faiss cannot tell how this {type(index).__name__} was made; add ?index=FACTORY to its address, such as "
            f"?index=OPQ16,IVF64,PQ16."
        ) from None
    core = inner(index)
    graph = getattr(core, "hnsw", None)
    return Spec(
        factory=known,
        dim=int(index.d),
        metric=metric_of(index),
        ef_search=None if graph is None else int(graph.efSearch),
        ef_construction=None if graph is None else int(graph.efConstruction),
        nprobe=int(core.nprobe) if hasattr(core, "nprobe") else None,
        ranges=_ranges(core),
    )


def _ranges(core: Any) -> list[float] | None:
    faiss = require("faiss", extra="faiss")
    if not isinstance(core, faiss.IndexScalarQuantizer):
        return None
    trained = faiss.vector_to_array(core.sq.trained)
    return [float(each) for each in trained] if trained.size == 2 * core.d else None


def _keep_ranges(index: Any, ranges: list[float]) -> None:
    """Gives the first dimensions the ranges they had: vectors that were decoded are then encoded without a loss."""
    faiss = require("faiss", extra="faiss")
    core = inner(index)
    trained, old = faiss.vector_to_array(core.sq.trained).reshape(2, -1), np.array(ranges).reshape(2, -1)
    shared = min(trained.shape[1], old.shape[1])
    trained[:, :shared] = old[:, :shared]
    faiss.copy_array_to_vector(np.ascontiguousarray(trained.ravel(), dtype=np.float32), core.sq.trained)


def metric_of(index: Any) -> Metric:
    """ip or l2; faiss has no other that a bias could be added to."""
    faiss = require("faiss", extra="faiss")
    if index.metric_type == faiss.METRIC_INNER_PRODUCT:
        return "ip"
    if index.metric_type == faiss.METRIC_L2:
        return "l2"
    raise InputError("this faiss index ranks neither by inner product nor by L2; build one that does.")


def quantiser_of(index: Any) -> Quantiser | None:
    """How the index shortens vectors, by faiss's own classes; None if it keeps them whole."""
    faiss = require("faiss", extra="faiss")
    outer, core = faiss.downcast_index(index), inner(index)
    while isinstance(outer, faiss.IndexIDMap):
        outer = faiss.downcast_index(outer.index)
    if isinstance(core, faiss.IndexHNSW):
        core = faiss.downcast_index(core.storage)
    if isinstance(core, faiss.IndexFlat | faiss.IndexIVFFlat):
        return None
    chain = outer.chain if isinstance(outer, faiss.IndexPreTransform) else None
    steps = [faiss.downcast_VectorTransform(chain.at(at)) for at in range(chain.size())] if chain else []
    rotations = faiss.OPQMatrix | faiss.ITQTransform | faiss.RandomRotationMatrix
    if "RaBitQ" in type(core).__name__ or any(isinstance(each, rotations) for each in steps):
        return "rotated"
    bits = [getattr(faiss.ScalarQuantizer, f"QT_{each}bit") for each in (4, 6, 8)]
    if isinstance(core, faiss.IndexScalarQuantizer | faiss.IndexIVFScalarQuantizer) and core.sq.qtype in bits:
        return "own_ranges"
    coded = isinstance(core, faiss.IndexFlatCodes | faiss.IndexFastScan | faiss.IndexIVF)
    return "codes" if coded else None


def inner(index: Any) -> Any:
    """The index within IDMap and pre-transforms, as its own class."""
    faiss = require("faiss", extra="faiss")
    core = faiss.downcast_index(index)
    while isinstance(core, faiss.IndexIDMap | faiss.IndexPreTransform):
        core = faiss.downcast_index(core.index)
    return core


def all_ids(index: Any) -> IntArray:
    """The ids in the order of a scan: as added, or for an IVF that keeps them itself, sorted."""
    faiss = require("faiss", extra="faiss")
    index = faiss.downcast_index(index)
    if isinstance(index, faiss.IndexIDMap):
        return np.array(faiss.vector_to_array(index.id_map), dtype=np.int64)
    core = inner(index)
    if not isinstance(core, faiss.IndexIVF):
        return np.arange(index.ntotal, dtype=np.int64)
    lists = core.invlists
    sizes = [lists.list_size(each) for each in range(core.nlist)]
    kept = [
        np.array(faiss.rev_swig_ptr(lists.get_ids(each), size), dtype=np.int64)
        for each, size in enumerate(sizes)
        if size
    ]
    return np.sort(np.concatenate(kept)) if kept else np.empty(0, dtype=np.int64)


def make_reconstructible(index: Any, ids: IntArray) -> None:
    """Has inverted lists know where each id is; done once, before threads share the index."""
    faiss = require("faiss", extra="faiss")
    core = inner(index)
    if isinstance(core, faiss.IndexIVF) and core.direct_map.type == faiss.DirectMap.NoMap:
        mapped = isinstance(faiss.downcast_index(index), faiss.IndexIDMap)
        rows = mapped or bool((ids == np.arange(len(ids))).all())
        core.set_direct_map_type(faiss.DirectMap.Array if rows else faiss.DirectMap.Hashtable)


def reconstruct_some(index: Any, ids: IntArray, rows: IntArray) -> FloatArray:
    """The vectors at any places of ``all_ids``."""
    faiss = require("faiss", extra="faiss")
    index = faiss.downcast_index(index)
    mapped = isinstance(index, faiss.IndexIDMap)
    source = faiss.downcast_index(index.index) if mapped else index
    by_row = mapped or not isinstance(inner(index), faiss.IndexIVF)
    keys = np.ascontiguousarray(rows if by_row else ids[rows], dtype=np.int64)
    return np.asarray(source.reconstruct_batch(keys), dtype=np.float32)


def reconstruct(index: Any, ids: IntArray, start: int, stop: int) -> FloatArray:
    """The vectors at these places of ``all_ids``, as exactly as the index keeps them."""
    faiss = require("faiss", extra="faiss")
    index = faiss.downcast_index(index)
    if stop <= start:
        return np.empty((0, index.d), dtype=np.float32)
    mapped = isinstance(index, faiss.IndexIDMap)
    core = inner(index)
    source = faiss.downcast_index(index.index) if mapped else index
    if not isinstance(core, faiss.IndexIVF):
        return np.asarray(source.reconstruct_n(start, stop - start), dtype=np.float32)
    keys = np.arange(start, stop, dtype=np.int64) if mapped else ids[start:stop]
    return np.asarray(source.reconstruct_batch(keys), dtype=np.float32)


def search_within(index: Any, ids: IntArray, queries: FloatArray, k: int, allowed: Any) -> tuple[FloatArray, IntArray]:
    """Scores and ids of the k best among the allowed ones.

    A graph or a few inverted lists may not come by the allowed items at all if they are few: those are all looked at.
    """
    faiss = require("faiss", extra="faiss")
    exhaustive = isinstance(inner(index), faiss.IndexFlatCodes)
    if exhaustive or isinstance(allowed, faiss.IDSelector) or len(allowed) > FEW:
        found: tuple[FloatArray, IntArray] = index.search(queries, k, params=parameters(index, allowed))
        return found
    rows = np.flatnonzero(np.isin(ids, allowed))
    flat = faiss.IndexFlat(index.d, index.metric_type)
    if rows.size:
        flat.add(reconstruct_some(index, ids, rows))
    scores, places = flat.search(queries, k)
    return scores, np.where(places >= 0, ids[rows[places]] if rows.size else -1, -1)


def parameters(index: Any, allowed: Any) -> Any:
    """Search parameters that let only these ids come up, with everything else as the index is set."""
    faiss = require("faiss", extra="faiss")
    selector = allowed if isinstance(allowed, faiss.IDSelector) else faiss.IDSelectorBatch(allowed)
    index = faiss.downcast_index(index)
    core = index if isinstance(index, faiss.IndexPreTransform) else inner(index)
    if isinstance(core, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(sel=selector, efSearch=core.hnsw.efSearch)
    if isinstance(core, faiss.IndexIVF):
        return faiss.SearchParametersIVF(sel=selector, nprobe=core.nprobe)
    if isinstance(core, faiss.IndexPreTransform):
        return faiss.SearchParametersPreTransform(index_params=parameters(core.index, selector))
    return faiss.SearchParameters(sel=selector)


def raise_effort(index: Any, factor: float) -> bool:
    """Has searches look at more lists, or keep more candidates; False if the index looks at everything anyway."""
    core = inner(index)
    if hasattr(core, "nprobe"):
        if core.nprobe >= core.nlist:
            return False
        core.nprobe = min(core.nlist, _turned(core.nprobe, factor))
    elif hasattr(core, "hnsw"):
        core.hnsw.efSearch = _turned(core.hnsw.efSearch, factor)
    else:
        return False
    return True


def _turned(now: int, factor: float) -> int:
    """So many times as much, and at least one more or one in all."""
    return math.ceil(now * factor) if factor > 1 else max(1, round(now * factor))


def build(spec: Spec, spool: Spool, *, without: IntArray, into: Any = None) -> Any:
    """An index of that kind with the newest vector of every id that is spooled, but for some."""
    index = _empty(spec) if into is None else into
    ids, rows = spool.latest()
    staying = ~np.isin(ids, without)
    ids, rows = ids[staying], rows[staying]
    vectors = spool.vectors()
    if not index.is_trained:
        step = max(1, len(rows) // TRAINING)
        index.train(np.ascontiguousarray(vectors[rows[::step]], dtype=np.float32))
        if spec.ranges is not None:
            _keep_ranges(index, spec.ranges)
    for start in range(0, len(rows), 16 * BLOCK):
        some = rows[start : start + 16 * BLOCK]
        index.add_with_ids(np.ascontiguousarray(vectors[some], dtype=np.float32), ids[start : start + 16 * BLOCK])
    return index


def removed(index: Any, ids: IntArray, leaving: IntArray, spool: Spool | None, path: Path, *, without: IntArray) -> Any:
    """The index of the file without some ids and with what the spool holds; graphs cannot forget, and an IDMap
    around inverted lists mixes its ids up when it does: those are built again."""
    faiss = require("faiss", extra="faiss")
    if not isinstance(faiss.downcast_index(index), faiss.IndexIDMap | faiss.IndexIVF):
        raise InputError(
            "the ids of this faiss index are its row numbers, so single ones cannot be changed; use IDMap2."
        )
    mapped = isinstance(faiss.downcast_index(index), faiss.IndexIDMap)
    if leaving.size and (
        isinstance(inner(index), faiss.IndexHNSW) or (mapped and isinstance(inner(index), faiss.IndexIVF))
    ):
        made = _without(index, ids, leaving)
    else:
        made = faiss.read_index(str(path))
        if leaving.size:
            made.remove_ids(_selector(inner(made), leaving))
    return made if spool is None else build(spec_of(made), spool, without=without, into=made)


def _selector(core: Any, leaving: IntArray) -> Any:
    """The ids to remove, as the index takes them: inverted lists that know where each id is take a plain list only."""
    faiss = require("faiss", extra="faiss")
    hashed = isinstance(core, faiss.IndexIVF) and core.direct_map.type == faiss.DirectMap.Hashtable
    return faiss.IDSelectorArray(leaving) if hashed else faiss.IDSelectorBatch(leaving)


def _without(index: Any, ids: IntArray, leaving: IntArray) -> Any:
    """A new index of the same kind with the vectors that stay."""
    made = _empty(spec_of(index))
    if not made.is_trained:
        made.train(reconstruct(index, ids, 0, min(TRAINING, len(ids))))
    for start in range(0, len(ids), BLOCK):
        some = ids[start : start + BLOCK]
        staying = ~np.isin(some, leaving)
        made.add_with_ids(reconstruct(index, ids, start, start + len(some))[staying], some[staying])
    return made


def _empty(spec: Spec) -> Any:
    """A new index of that kind, with ids of its own."""
    faiss = require("faiss", extra="faiss")
    kind = re.sub(r"^IDMap2?,", "", spec.factory)
    if "IVF" not in kind:  # inverted lists keep ids themselves
        kind = f"IDMap2,{kind}"
    metric = faiss.METRIC_INNER_PRODUCT if spec.metric == "ip" else faiss.METRIC_L2
    index = faiss.index_factory(spec.dim, kind, metric)
    core = inner(index)
    if spec.ef_search is not None:
        core.hnsw.efSearch = spec.ef_search
        core.hnsw.efConstruction = spec.ef_construction
    if spec.nprobe is not None:
        core.nprobe = spec.nprobe
    return index

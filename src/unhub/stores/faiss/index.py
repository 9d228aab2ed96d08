"""Taking a faiss index apart, and making another of the same kind."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray
from unhub.stores.adapter import LazyModule
from unhub.stores.interface import BLOCK, Metric, Quantiser

if TYPE_CHECKING:
    from unhub.stores.faiss.spool import Spool

faiss = LazyModule("faiss", extra="faiss")
factory_tools = LazyModule("faiss.contrib.factory_tools", extra="faiss")
FEW = 50_000  # a filter that allows at most this many items is searched item by item
TRAINING = 1 << 18  # vectors that a quantiser is trained on at most, spread over all
_RABITQ = ("IndexRaBitQ", "IndexIVFRaBitQ", "IndexRaBitQFastScan", "IndexIVFRaBitQFastScan")  # not in every release


@dataclass(frozen=True)
class Spec:
    """The kind of an index: faiss's factory string, its size, and its search settings."""

    factory: str
    dim: int
    metric: Metric
    ef_search: int | None = None
    ef_construction: int | None = None
    nprobe: int | None = None
    ranges: list[float] | None = None  # of a scalar quantiser: where each dimension begins, and how far it reaches

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
        """The spec that ``to_dict`` wrote; a TypeError or a ValueError if the fields are others."""
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
    """The factory string with the number of sub-quantisers that keeps the length of a part.

    >>> _requantised("IVF64,PQ16x8", 128, 136), _requantised("HNSW32", 128, 136)
    ('IVF64,PQ17x8', 'HNSW32')
    """

    def parts(match: re.Match[str]) -> str:
        most = round(new * int(match[2]) / old)
        count = next((each for each in range(most, 0, -1) if new % each == 0), 1)
        return f"{match[1]}{count}"

    return re.sub(r"\b(PQ)(\d+)(?=x|,|$|\+|fs)", parts, factory)


def kind_of(index: Any) -> str:
    """A name for this kind of index: faiss's factory string without the ids, or the name of its class."""
    try:
        factory: str = factory_tools.reverse_index_factory(index)
    except (NotImplementedError, KeyError, AssertionError):
        return type(inner(index)).__name__
    return re.sub(r"^IDMap2?,", "", factory)


def spec_of(index: Any, *, factory: str | None = None) -> Spec:
    """What kind of index this is; ``factory`` comes from the user, where faiss cannot tell it."""
    try:
        known = factory or factory_tools.reverse_index_factory(index)
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
    if not isinstance(core, faiss.IndexScalarQuantizer):
        return None
    trained = faiss.vector_to_array(core.sq.trained)
    return [float(each) for each in trained] if trained.size == 2 * core.d else None


def _keep_ranges(index: Any, ranges: list[float]) -> None:
    """Gives the first dimensions the ranges they had: decoded vectors are then encoded again without a loss."""
    core = inner(index)
    trained, old = faiss.vector_to_array(core.sq.trained).reshape(2, -1), np.array(ranges).reshape(2, -1)
    shared = min(trained.shape[1], old.shape[1])
    trained[:, :shared] = old[:, :shared]
    faiss.copy_array_to_vector(np.ascontiguousarray(trained.ravel(), dtype=np.float32), core.sq.trained)


def metric_of(index: Any) -> Metric:
    """ip or l2; a bias can be added to no other metric of faiss."""
    if index.metric_type == faiss.METRIC_INNER_PRODUCT:
        return "ip"
    if index.metric_type == faiss.METRIC_L2:
        return "l2"
    raise InputError("this faiss index ranks neither by inner product nor by L2; build one that does.")


@dataclass(frozen=True)
class Facts:
    """What an export has to know of an index, by faiss's own classes."""

    exact: bool
    graph: bool
    dtype: str  # float32 or float16, or what its codes are called
    quantiser: Quantiser | None


def facts_of(index: Any) -> Facts:
    """How the index searches, and how it shortens vectors."""
    core, outer = inner(index), _outer(index)
    graph = isinstance(core, faiss.IndexHNSW)
    stored = faiss.downcast_index(core.storage) if graph else core
    exact = isinstance(core, faiss.IndexFlat)
    coded = isinstance(stored, faiss.IndexFlatCodes | faiss.IndexFastScan | faiss.IndexIVF)
    if not coded or isinstance(stored, faiss.IndexFlat | faiss.IndexIVFFlat):
        return Facts(exact, graph, "float32", None)
    quantiser: Quantiser = "codes"
    dtype = type(stored).__name__.removeprefix("Index").removeprefix("IVF")
    chain = outer.chain if isinstance(outer, faiss.IndexPreTransform) else None
    steps = [faiss.downcast_VectorTransform(chain.at(at)) for at in range(chain.size())] if chain else []
    rotations = faiss.OPQMatrix | faiss.ITQTransform | faiss.RandomRotationMatrix
    rabitq = tuple(getattr(faiss, name) for name in _RABITQ if hasattr(faiss, name))
    if isinstance(stored, rabitq) or any(isinstance(each, rotations) for each in steps):
        quantiser = "rotated"
    elif isinstance(stored, faiss.IndexScalarQuantizer | faiss.IndexIVFScalarQuantizer):
        kinds = faiss.ScalarQuantizer
        ranges = {kinds.QT_4bit: "SQ4", kinds.QT_6bit: "SQ6", kinds.QT_8bit: "SQ8"}
        quantiser = "own_ranges" if stored.sq.qtype in ranges else "codes"
        dtype = "float16" if stored.sq.qtype == kinds.QT_fp16 else ranges.get(stored.sq.qtype, dtype)
    return Facts(exact, graph, dtype, quantiser)


def _outer(index: Any) -> Any:
    """The index within its IDMap, if it has one."""
    outer = faiss.downcast_index(index)
    while isinstance(outer, faiss.IndexIDMap):
        outer = faiss.downcast_index(outer.index)
    return outer


def _is_mapped(index: Any) -> bool:
    """Whether an IDMap holds its ids."""
    return isinstance(faiss.downcast_index(index), faiss.IndexIDMap)


def inner(index: Any) -> Any:
    """The index within IDMap and pre-transforms, as its own class."""
    core = faiss.downcast_index(index)
    while isinstance(core, faiss.IndexIDMap | faiss.IndexPreTransform):
        core = faiss.downcast_index(core.index)
    return core


def all_ids(index: Any) -> IntArray:
    """The ids in the order of a scan: as added, or for an IVF that keeps them itself, sorted."""
    index = faiss.downcast_index(index)
    if isinstance(index, faiss.IndexIDMap):
        return np.array(faiss.vector_to_array(index.id_map), dtype=np.int64)
    core = inner(index)
    if not isinstance(core, faiss.IndexIVF):
        return np.arange(index.ntotal, dtype=np.int64)
    lists = core.invlists
    sizes = {each: lists.list_size(each) for each in range(core.nlist)}
    ids = [faiss.rev_swig_ptr(lists.get_ids(each), size).copy() for each, size in sizes.items() if size]
    return np.sort(np.concatenate(ids)).astype(np.int64) if ids else np.empty(0, dtype=np.int64)


def make_reconstructible(index: Any, ids: IntArray) -> None:
    """Makes inverted lists know where each id is; done once, before threads share the index."""
    core = inner(index)
    if isinstance(core, faiss.IndexIVF) and core.direct_map.type == faiss.DirectMap.NoMap:
        rows = _is_mapped(index) or bool((ids == np.arange(len(ids))).all())
        core.set_direct_map_type(faiss.DirectMap.Array if rows else faiss.DirectMap.Hashtable)


def reconstruct_some(index: Any, ids: IntArray, rows: IntArray) -> FloatArray:
    """The vectors at any positions of ``all_ids``."""
    by_row = _is_mapped(index) or not isinstance(inner(index), faiss.IndexIVF)
    keys = np.ascontiguousarray(rows if by_row else ids[rows], dtype=np.int64)
    return np.asarray(_outer(index).reconstruct_batch(keys), dtype=np.float32)


def reconstruct(index: Any, ids: IntArray, start: int, stop: int) -> FloatArray:
    """The vectors at these positions of ``all_ids``, as exactly as the index keeps them."""
    if stop <= start:
        return np.empty((0, index.d), dtype=np.float32)
    if isinstance(inner(index), faiss.IndexIVF):
        return reconstruct_some(index, ids, np.arange(start, stop))
    return np.asarray(_outer(index).reconstruct_n(start, stop - start), dtype=np.float32)


def search_within(index: Any, ids: IntArray, queries: FloatArray, k: int, allowed: Any) -> tuple[FloatArray, IntArray]:
    """Scores and ids of the k best among the allowed ones.

    A graph or a few inverted lists may never reach the allowed items if they are few: then every one is scored.
    """
    exhaustive = isinstance(inner(index), faiss.IndexFlatCodes)
    if exhaustive or isinstance(allowed, faiss.IDSelector) or len(allowed) > FEW:
        best: tuple[FloatArray, IntArray] = index.search(queries, k, params=parameters(index, allowed))
        return best
    rows = np.flatnonzero(np.isin(ids, allowed))
    flat = faiss.IndexFlat(index.d, index.metric_type)
    if rows.size:
        flat.add(reconstruct_some(index, ids, rows))
    scores, places = flat.search(queries, k)
    return scores, np.where(places >= 0, ids[rows[places]] if rows.size else -1, -1)


def parameters(index: Any, allowed: Any) -> Any:
    """Search parameters that allow only these ids, with the index's other settings."""
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
    """Makes searches look at more lists, or keep more candidates; False if the index looks at everything anyway."""
    core = inner(index)
    if hasattr(core, "nprobe"):
        if core.nprobe >= core.nlist:
            return False
        core.nprobe = min(core.nlist, _scaled(core.nprobe, factor))
    elif hasattr(core, "hnsw"):
        core.hnsw.efSearch = _scaled(core.hnsw.efSearch, factor)
    else:
        return False
    return True


def _scaled(now: int, factor: float) -> int:
    """This many times as much: at least one more, or at least one in all."""
    return math.ceil(now * factor) if factor > 1 else max(1, round(now * factor))


def build(spec: Spec, spool: Spool, *, without: IntArray, into: Any = None) -> Any:
    """An index of that kind with the newest spooled vector of every id, except for the ids in ``without``."""
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
    """The index of the file without the ids that leave and with what the spool holds.

    Graphs cannot remove, and an IDMap around inverted lists mixes up its ids when it does: those are built again.
    """
    mapped, core = _is_mapped(index), inner(index)
    if not (mapped or isinstance(faiss.downcast_index(index), faiss.IndexIVF)):
        raise InputError("the ids of this faiss index are row numbers, so single items cannot be changed; use IDMap2.")
    if leaving.size and (isinstance(core, faiss.IndexHNSW) or (mapped and isinstance(core, faiss.IndexIVF))):
        new = _without(index, ids, leaving)
    else:
        new = faiss.read_index(str(path))
        if leaving.size:
            core = inner(new)  # inverted lists that know where each id is accept only a plain list of ids
            hashed = isinstance(core, faiss.IndexIVF) and core.direct_map.type == faiss.DirectMap.Hashtable
            new.remove_ids(faiss.IDSelectorArray(leaving) if hashed else faiss.IDSelectorBatch(leaving))
    return new if spool is None else build(spec_of(new), spool, without=without, into=new)


def _without(index: Any, ids: IntArray, leaving: IntArray) -> Any:
    """A new index of the same kind with the vectors that stay."""
    new = _empty(spec_of(index))
    if not new.is_trained:
        new.train(reconstruct(index, ids, 0, min(TRAINING, len(ids))))
    for start in range(0, len(ids), BLOCK):
        some = ids[start : start + BLOCK]
        staying = ~np.isin(some, leaving)
        new.add_with_ids(reconstruct(index, ids, start, start + len(some))[staying], some[staying])
    return new


def _empty(spec: Spec) -> Any:
    """A new index of that kind, with ids of its own."""
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

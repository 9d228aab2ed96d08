"""``connect``: corrected search through a store, by what was exported there or by reranking more than k."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from unhub.api.artefact import load
from unhub.api.correction import Correction
from unhub.api.fitted_vectors import noted_store
from unhub.api.hits import Hits
from unhub.core.parameters import count
from unhub.dataset.galleries import unnamed_store
from unhub.deploy.destinations import exported_index, refuse_other_kind, serving_export
from unhub.deploy.item_biases import Biases
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores import Block, Collection, CorrectedIndex, Export, Metric, SearchResults, open_store
from unhub.stores.adapter import unit_rows
from unhub.stores.protocol import BLOCK

FETCH = 200
"""how many are fetched for ten; what that finds depends on how strong the hubs are (``benchmarks/strategies.py``)"""


def connect(url: str | None, correction: Correction | str | os.PathLike[str], *, fetch: int | None = None) -> Retriever:
    """A retriever: corrected search in the store at an address.

    url: the address of the raw collection. The address in a correction file is never connected to, since such a file
        can be forged.
    correction: a correction, or the path of one. What was exported of it serves; without an export, more than k are
        fetched by score and ranked again.
    fetch: how many a reranking search fetches by score; 200 for the best ten by default.
    """
    known = correction if isinstance(correction, Correction) else load(correction)
    fetch = None if fetch is None else count("fetch", fetch)
    if not url:
        if (noted := noted_store(known)) is not None:
            raise unnamed_store(noted, "pass its address, {}")
        raise InputError("url", "is empty", "give the address of a store, such as qdrant://localhost/photos")
    collection = open_store(url)
    try:
        return Retriever(collection, known, serving_export(known, collection.url), fetch)
    except BaseException:
        collection.close()
        raise


class Retriever:
    """A store's collection, searched by score + bias. Made by ``unhub.connect``; close it, or use it in ``with``."""

    def __init__(
        self, collection: Collection, correction: Correction, export: Export | None, fetch: int | None
    ) -> None:
        self._collection = collection
        self._biases = Biases(correction)
        self._unit = correction.metric == "cosine"
        self._row: dict[Any, int] = {None: -1}
        """row of the correction by the store's own id, of those that a search has met"""
        self.strategy = "rerank" if export is None else export.encoding.strategy
        """how the store serves corrected results"""
        self._index: CorrectedIndex = (
            reranked(collection, self._biases, fetch)
            if export is None or export.destination is None
            else exported_index(collection, export)
        )

    def search(self, queries: Any, k: int = 10, *, filter: Any = None, corrected: bool = True) -> Hits:
        """The k best of each query by score + bias, as ``Correction.search`` gives them.

        queries: (query, dim), or one vector (dim,), whose hits then are 1-D arrays.
        k: how many of each query.
        filter: whatever the store's own client takes.
        corrected: False ranks by score alone.

        Hits: ids of the store's own type, scores, scores without the bias, and rows of the correction.
        """
        k = k if type(k) is int and k > 0 else count("k", k)
        vectors, single = self._vectors(queries)
        results = (self._index if corrected else self._collection).search(vectors, k, filter=filter)
        ids, scores, rows = results.ids, results.scores, self._rows(results.ids)
        raw = scores - self._biases.of_rows(rows) if corrected else scores
        missing = int(np.count_nonzero((rows < 0) & (ids != None)))  # noqa: E711
        if single:
            ids, scores, rows, raw = ids[0], scores[0], rows[0], raw[0]
        return Hits(ids=ids, scores=scores, rows=rows, raw_scores=raw, missing=missing)

    async def search_async(self, queries: Any, k: int = 10, *, filter: Any = None, corrected: bool = True) -> Hits:
        """As ``search``, in a thread, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.search, queries, k, filter=filter, corrected=corrected)

    def close(self) -> None:
        """Lets go of the store."""
        self._index.close()
        self._collection.close()

    def __enter__(self) -> Retriever:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Retriever:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    def _vectors(self, queries: Any) -> tuple[FloatArray, bool]:
        """The queries as float32 rows, and whether they came as one vector."""
        try:
            rows = np.asarray(queries, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError("queries", f"are {type(queries).__name__}", "give numbers, (query, dim)") from None
        single = rows.ndim == 1
        rows = rows[None] if single else rows
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise InputError(
                "queries", f"have shape {rows.shape}", "give finite numbers, (query, dim) or one vector (dim,)"
            )
        return unit_rows(rows) if self._unit else rows, single

    def _rows(self, ids: Any) -> Any:
        """The row of each id, -1 where the correction does not know it."""
        each_id = ids.ravel().tolist()
        try:
            rows = [self._row[each] for each in each_id]
        except KeyError:
            for each in each_id:
                if each not in self._row:
                    self._row[each] = self._biases.row.get(str(each), -1)
            rows = [self._row[each] for each in each_id]
        return np.array(rows, dtype=np.int64).reshape(ids.shape)


@dataclass(frozen=True)
class Reranked:
    """A collection that is searched as it is; what comes back is ranked by score + bias."""

    collection: Collection
    biases: Biases
    metric: Metric
    fetch: int | None = None
    products: bool = False
    """whether the bias was fitted on inner products of queries of any length"""

    def exists(self) -> bool:
        """Nothing is written, so there is never anything."""
        return False

    def made_by_unhub(self) -> bool:
        """Nothing is written, so there is never anything."""
        return False

    def create(self) -> None:
        """Nothing to make."""

    def ids(self, block: int = BLOCK) -> Iterator[list[str]]:
        """Nothing has been written."""
        return iter(())

    def write(self, block: Block, bias: FloatArray) -> None:
        """Nothing is written."""

    def delete(self, ids: Sequence[str]) -> None:
        """Nothing is written."""

    def finish(self) -> None:
        """Nothing to build."""

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias of those that were fetched by score."""
        wanted = max(k, self.fetch or max(FETCH, (FETCH // 10) * k))
        results = self.collection.search(queries, wanted, filter=filter, exact=exact)
        scores = similarities(results.scores, queries, self.metric, products=self.products)
        corrected = scores + self._bias(results)
        order = np.argsort(-corrected, axis=1, kind="stable")[:, :k]
        return SearchResults(np.take_along_axis(results.ids, order, 1), np.take_along_axis(corrected, order, 1))

    def close(self) -> None:
        """Nothing of its own to let go of."""

    def drop(self) -> None:
        """Nothing to remove."""

    def _bias(self, results: SearchResults) -> FloatArray:
        names = [None if each is None else str(each) for each in results.ids.ravel().tolist()]
        return self.biases.of_rows(self.biases.rows(names)).reshape(results.ids.shape)


def reranked(collection: Collection, biases: Biases, fetch: int | None = None) -> Reranked:
    """The collection, to be searched as it is; refused if what it ranks by is not what the bias was fitted on."""
    origin = collection.describe()
    products = biases.correction.metric == "ip"
    refuse_other_kind(biases.correction, origin)
    if not products and origin.metric == "ip" and origin.unit is False:
        raise InputError(
            f"the correction was fitted on cosines but {origin.url} ranks by inner product and its vectors are not of "
            f"unit length, so that its best cannot be ranked again; export the correction there first."
        )
    return Reranked(collection, biases, origin.metric, fetch, products)


def similarities(scores: FloatArray, queries: FloatArray, metric: Metric, *, products: bool) -> FloatArray:
    """Inner products with unit targets from what a store ranks by: 2 q.t = |q|^2 + 1 - d^2 under L2.

    Cosines of unit queries are inner products already; of others (``products``) they are so many times |q|.
    """
    if metric == "ip" or (metric == "cosine" and not products):
        return scores
    if metric == "cosine":
        grown: FloatArray = scores * np.linalg.norm(queries, axis=1, keepdims=True).astype(np.float32)
        return grown
    square = np.einsum("ij,ij->i", queries, queries, dtype=np.float64)[:, None]
    inner: FloatArray = ((scores.astype(np.float64) + square + 1) / 2).astype(np.float32)
    return inner

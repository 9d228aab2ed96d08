"""``connect``: corrected search through a store, by an export there or by reranking more than k."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.api.artefact import loaded
from unhub.api.correction import Correction
from unhub.api.facade import facade
from unhub.api.fitted_vectors import noted_store
from unhub.api.guard import require_served
from unhub.api.hits import Hits
from unhub.core.parameters import count
from unhub.dataset.galleries import unnamed_store
from unhub.deploy.destinations import exported_index, refuse_other_kind, serving_export
from unhub.deploy.item_biases import Biases
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.stores import Collection, Export, Metric, SearchResults, open_store
from unhub.stores.adapter import unit_rows
from unhub.stores.interface import Searchable

FETCH = 200  # fetched for ten; what that finds depends on how strong the hubs are (``benchmarks/strategies.py``)


@facade
def connect(
    url: str | None,
    correction: Correction | str | os.PathLike[str],
    *,
    fetch: int | None = None,
    force: bool = False,
) -> Retriever:
    """A retriever: corrected search in the store at an address.

    url: the address of the raw collection. The address in a correction file is never connected to, since files can be
        forged.
    correction: a correction, or the path of one. Its export serves; without one, more than k items are fetched by score
        and ranked again.
    fetch: how many items a reranking search fetches by score; by default 200 for the best ten.
    force: serve a correction whose verdict is to refuse it, at full strength.

    Returns a Retriever; close it, or use it in ``with``.
    """
    known = require_served(loaded(correction), force=force)
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
        self._row: dict[Any, int] = {None: -1}  # the store's own id -> row of the correction, of ids returned so far
        self.strategy = "rerank" if export is None else export.encoding.strategy
        """how the store serves corrected results"""
        self._index: Searchable = (
            reranked(collection, self._biases, fetch)
            if export is None or export.destination is None
            else exported_index(collection, export)
        )

    @facade
    def search(self, queries: Any, k: int = 10, *, filter: Any = None, corrected: bool = True) -> Hits:
        """The k best of each query by score + bias, like ``Correction.search``.

        queries: (query, dim), or one vector (dim,), whose hits are then 1-D arrays.
        k: how many hits of each query.
        filter: whatever the store's own client takes.
        corrected: False ranks by score alone.

        Returns Hits: ids of the store's own type, scores, scores without the bias, and rows of the correction.
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
        """Like ``search``, in a thread, so that the event loop is not blocked."""
        return await asyncio.to_thread(self.search, queries, k, filter=filter, corrected=corrected)

    def close(self) -> None:
        """Closes the store."""
        self._index.close()
        self._collection.close()

    def __enter__(self) -> Retriever:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Retriever:
        return self

    async def __aexit__(self, *error: object) -> None:
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
    """A collection that is searched as it is; its results are ranked again by score + bias."""

    collection: Collection
    biases: Biases
    metric: Metric
    fetch: int | None = None
    products: bool = False  # whether the bias was fitted on inner products of queries of any length

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> SearchResults:
        """The k best by score + bias among those fetched by score."""
        fetch = max(k, self.fetch or max(FETCH, (FETCH // 10) * k))
        results = self.collection.search(queries, fetch, filter=filter, exact=exact)
        scores = similarities(results.scores, queries, self.metric, products=self.products)
        names = [None if each is None else str(each) for each in results.ids.ravel().tolist()]
        corrected = scores + self.biases.of_rows(self.biases.rows(names)).reshape(scores.shape)
        order = np.argsort(-corrected, axis=1, kind="stable")[:, :k]
        return SearchResults(np.take_along_axis(results.ids, order, 1), np.take_along_axis(corrected, order, 1))

    def raise_effort(self, factor: float) -> bool:
        """False: the raw index stays as it is."""
        return False

    def finish(self) -> None:
        """Does nothing: nothing is written."""

    def close(self) -> None:
        """Does nothing: the connection is the collection's."""


def reranked(collection: Collection, biases: Biases, fetch: int | None = None) -> Reranked:
    """The collection, searched as it is; refused if it ranks by another similarity than the bias was fitted on."""
    origin = collection.describe()
    products = biases.correction.metric == "ip"
    refuse_other_kind(biases.correction, origin)
    if not products and origin.metric == "ip" and origin.unit is False:
        raise InputError(
            f"the correction was fitted on cosines but {origin.url} ranks by inner product and its vectors are not of "
            f"unit length, so its results cannot be ranked again; export the correction there first."
        )
    return Reranked(collection, biases, origin.metric, fetch, products)


def similarities(scores: FloatArray, queries: FloatArray, metric: Metric, *, products: bool) -> FloatArray:
    """Inner products with unit targets from a store's scores: 2 q.t = |q|^2 + 1 - d^2 under L2.

    Cosines of unit queries are inner products already; those of others (``products``) are multiplied by |q|.
    """
    if metric == "ip" or (metric == "cosine" and not products):
        return scores
    if metric == "cosine":
        grown: FloatArray = scores * np.linalg.norm(queries, axis=1, keepdims=True).astype(np.float32)
        return grown
    square = np.einsum("ij,ij->i", queries, queries, dtype=np.float64)[:, None]
    inner: FloatArray = ((scores.astype(np.float64) + square + 1) / 2).astype(np.float32)
    return inner

"""``connect``: corrected search through the store, for a program that keeps running."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from unhub.api.artefact import load
from unhub.api.correction import Correction
from unhub.api.galleries import unnamed_store
from unhub.core.parameters import count
from unhub.foundation.errors import InputError
from unhub.foundation.types import AnyArray, FloatArray
from unhub.serving.biases import Biases
from unhub.serving.places import exported_place, serving_export
from unhub.serving.rerank import reranked
from unhub.stores import Collection, Corrected, Export, Found, open_store
from unhub.stores.lengths import unit_rows


@dataclass(frozen=True, eq=False)
class Retrieved:
    """The best items of each query: ids of the store's own type, corrected scores, and raw scores: (query, k).

    Where a query has fewer than k (within a filter, say) the rest of its row is None and minus infinity. ``missing``
    counts the hits that the correction does not know; their bias is 0.
    """

    ids: AnyArray
    scores: FloatArray
    raw_scores: FloatArray
    missing: int = 0

    def __len__(self) -> int:
        return int(self.ids.shape[0])


class Retriever:
    """A store's collection, searched by score + bias. Made by ``unhub.connect``; close it, or use it in ``with``."""

    def __init__(
        self, collection: Collection, correction: Correction, export: Export | None, fetch: int | None
    ) -> None:
        self._collection = collection
        self._biases = Biases(correction)
        self._correction = correction
        self._seen: dict[Any, float] = {None: 0.0}
        self._unknown: set[Any] = set()
        self.form = "rerank" if export is None else export.layout.form
        """how the store serves corrected results"""
        self._place: Corrected = (
            reranked(collection, self._biases, fetch)
            if export is None or export.place is None
            else exported_place(collection, export)
        )

    def search(self, queries: Any, k: int = 10, *, filter: Any = None, corrected: bool = True) -> Retrieved:
        """The k best of each query by score + bias, within the filter; corrected=False ranks by score alone.

        queries: (query, dim), or one vector (dim,). filter: whatever the store's own client takes.
        """
        k = k if type(k) is int and k > 0 else count("k", k)
        asked = self._asked(queries)
        if not corrected:
            found = self._collection.search(asked, k, filter=filter)
            return Retrieved(found.ids, found.scores, found.scores)
        return self._with_raw(self._place.search(asked, k, filter=filter))

    async def search_async(self, queries: Any, k: int = 10, *, filter: Any = None, corrected: bool = True) -> Retrieved:
        """As ``search``, in a thread, so that an event loop goes on meanwhile."""
        return await asyncio.to_thread(self.search, queries, k, filter=filter, corrected=corrected)

    def close(self) -> None:
        """Lets go of the store."""
        self._place.close()
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

    def _asked(self, queries: Any) -> FloatArray:
        try:
            asked = np.asarray(queries, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError(f"queries are {type(queries).__name__}; give vectors of numbers, (query, dim).") from None
        asked = asked[None] if asked.ndim == 1 else asked
        if asked.ndim != 2 or not np.isfinite(asked).all():
            raise InputError(
                f"queries have shape {asked.shape}; give finite numbers, (query, dim) or one vector (dim,)."
            )
        return unit_rows(asked) if self._correction.reader.metric == "cosine" else asked

    def _with_raw(self, found: Found) -> Retrieved:
        """The hits with their raw scores: the corrected ones without the bias."""
        ids = found.ids.ravel().tolist()
        try:
            values = [self._seen[each] for each in ids]
        except KeyError:
            for each in ids:
                if each not in self._seen:
                    self._look_up(each)
            values = [self._seen[each] for each in ids]
        missing = sum(each in self._unknown for each in ids) if self._unknown else 0
        raw = found.scores - np.array(values, dtype=np.float32).reshape(found.scores.shape)
        return Retrieved(found.ids, found.scores, raw, missing)

    def _look_up(self, each: Any) -> None:
        """Notes the bias of an id as the store writes it; 0 if the correction does not know it."""
        row = self._biases.row.get(str(each), -1)
        self._seen[each] = float(self._correction.bias[row]) if row >= 0 else 0.0
        if row < 0:
            self._unknown.add(each)


def connect(url: str | None, correction: Correction | str | os.PathLike[str], *, fetch: int | None = None) -> Retriever:
    """Corrected search in the store at an address: through what was exported there, else by reranking more than k.

    url: the raw collection. The address that a correction notes is not connected to: its file may be somebody else's.
    fetch: how many a reranking search fetches by score; 200 for the best ten unless given.
    """
    known = correction if isinstance(correction, Correction) else load(correction)
    fetch = None if fetch is None else count("fetch", fetch)
    if not url:
        if known.noted_store is not None:
            raise unnamed_store(known.noted_store, "pass its address, {}")
        raise InputError("the correction knows no store; give the address of one, such as qdrant://localhost/photos.")
    collection = open_store(url)
    try:
        return Retriever(collection, known, serving_export(known, collection.url), fetch)
    except BaseException:
        collection.close()
        raise

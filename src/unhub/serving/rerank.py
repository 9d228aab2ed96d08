"""Corrected search without touching the index: fetch more by score, and rank again with the bias."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
from unhub.serving.biases import Biases
from unhub.serving.places import refuse_other_kind
from unhub.stores import Block, Collection, Found, Metric
from unhub.stores.protocol import BLOCK

FETCH = 200
"""how many are fetched for ten; what that finds depends on how strong the hubs are (``benchmarks/forms.py``)"""


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

    def search(self, queries: FloatArray, k: int, *, filter: Any = None, exact: bool = False) -> Found:
        """The k best by score + bias of those that were fetched by score."""
        wanted = max(k, self.fetch or max(FETCH, (FETCH // 10) * k))
        found = self.collection.search(queries, wanted, filter=filter, exact=exact)
        scores = similarities(found.scores, queries, self.metric, products=self.products)
        corrected = scores + self._bias(found)
        order = np.argsort(-corrected, axis=1, kind="stable")[:, :k]
        return Found(np.take_along_axis(found.ids, order, 1), np.take_along_axis(corrected, order, 1))

    def close(self) -> None:
        """Nothing of its own to let go of."""

    def drop(self) -> None:
        """Nothing to remove."""

    def _bias(self, found: Found) -> FloatArray:
        names = [None if each is None else str(each) for each in found.ids.ravel().tolist()]
        return self.biases.of_rows(self.biases.rows(names)).reshape(found.ids.shape)


def reranked(collection: Collection, biases: Biases, fetch: int | None = None) -> Reranked:
    """The collection, to be searched as it is; refused if what it ranks by is not what the bias was fitted on."""
    origin = collection.describe()
    products = biases.correction.reader.metric == "ip"
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

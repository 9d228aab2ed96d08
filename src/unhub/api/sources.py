"""From what a caller passes to banks: opened, checked at the door, bounded in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from unhub.banks import Bank, CachedBank, EmbeddingBank, MatrixBank
from unhub.core.blocks import block_rows, divided, memory_bytes
from unhub.core.checks import check_dimension, check_marginal, check_scores, check_vectors
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, Sliceable
from unhub.io import Rows, open_rows, read_ids, read_numbers, with_ids

Metric = Literal["cosine", "ip"]


@dataclass(frozen=True)
class Reader:
    """How vectors and scores are read: the similarity, whether rows are scaled to unit length, and the memory."""

    metric: Metric = "cosine"
    normalize: bool = False
    memory: str | int | None = None

    def __post_init__(self) -> None:
        if self.metric not in ("cosine", "ip"):
            raise InputError(f"metric is {self.metric!r}; use 'cosine' or 'ip' (inner product).")
        memory_bytes(self.memory)

    def vectors(self, source: Any, name: str, *, ids: Any = None, like: Rows | None = None) -> Rows:
        """Embeddings, opened and checked; ``like`` is the side whose dimension they must share."""
        rows = named(open_rows(source, name=name), ids)
        if like is not None:
            check_dimension(rows, name, like, like.name)
        check_vectors(rows, name, unit=self.metric == "cosine" and not self.normalize, ids=rows.ids)
        return rows

    def scores(self, source: Any, name: str, *, ids: Any = None) -> Rows:
        """A score matrix, opened and checked; ``ids`` name its columns and are checked for their number."""
        rows = open_rows(source, name=name)
        check_scores(rows, name)
        return rows

    def products(self, queries: Rows, targets: Rows, *, keep: float = 1.0) -> Bank:
        """Inner products, computed in blocks; those that fit in the share ``keep`` of memory are computed once."""
        working, kept = divided(memory_bytes(self.memory))
        normalize = self.normalize and self.metric == "cosine"
        rows = block_rows(targets.shape[0], working)
        bank = EmbeddingBank(plain(queries), plain(targets), rows, normalize)
        return CachedBank(bank, int(kept * keep)) if keep > 0 else bank

    def matrix(self, scores: Sliceable) -> Bank:
        """Scores that exist already, read in blocks."""
        working, _ = divided(memory_bytes(self.memory))
        return MatrixBank(scores, block_rows(scores.shape[1], working))


def named(rows: Rows, ids: Any) -> Rows:
    """The rows with the ids given beside them, if any."""
    return rows if ids is None else with_ids(rows, read_ids(ids))


def column_ids(ids: Any, columns: int, name: str) -> tuple[str, ...] | None:
    """Ids of a matrix's columns, checked for their number and for repeats."""
    if ids is None:
        return None
    placeholder = Rows(np.empty((columns, 1), dtype=np.float32), name=f"the gallery of {name}")
    return with_ids(placeholder, read_ids(ids)).ids


def plain(rows: Rows) -> Sliceable:
    """The array itself when it is in memory, so that it is used as it is; otherwise the rows."""
    return rows.data if type(rows.data) is np.ndarray and rows.data.dtype == np.float32 else rows


def marginal(values: Any, name: str, size: int, of: str) -> FloatArray | None:
    """Weights as float64, one positive number for each item, or None."""
    if values is None:
        return None
    array = read_numbers(values, name=name)
    check_marginal(array, name, size, of)
    return array.astype(np.float64)


def same_rows(rows: Sliceable, name: str, other: Sliceable, other_name: str, axis: Sequence[int] = (0, 0)) -> None:
    """Refuses two matrices that should share an axis and do not."""
    left, right = rows.shape[axis[0]], other.shape[axis[1]]
    if left != right:
        side = ("rows", "columns")
        raise InputError(
            f"{name} has {left:,} {side[axis[0]]} but {other_name} has {right:,} {side[axis[1]]}; they must be the "
            f"same items in the same order."
        )

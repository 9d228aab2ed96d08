"""Results of a search, in memory or in a store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from unhub.foundation.types import AnyArray, FloatArray, IntArray
from unhub.foundation.wording import counted

SHOWN = 3
"""hits of the first query that a repr shows"""


@dataclass(frozen=True, eq=False, repr=False)
class Hits:
    """The best targets of every query, best first; of a single query given as one vector, 1-D arrays.

    ids: (query, k) ids of the targets, or their rows if they have no ids.
    scores: (query, k) score + bias.
    rows: (query, k) rows of the gallery; -1 where a store has an item that the correction does not know.
    raw_scores: (query, k) scores without the bias, of a search through a store.
    missing: hits of a store that the correction does not know; their bias is 0.

    Where a query has fewer than k hits, within a filter say, its row ends in None and minus infinity.
    """

    ids: AnyArray
    scores: FloatArray
    rows: Any = None
    raw_scores: FloatArray | None = None
    missing: int = 0

    def __len__(self) -> int:
        return int(self.ids.shape[0])

    def __repr__(self) -> str:
        many = self.ids.ndim == 2
        size = f"{counted(self.ids.shape[0], 'query')} x {self.ids.shape[1]}" if many else counted(len(self), "hit")
        if 0 in self.ids.shape:
            return f"Hits({size})"
        first = zip(self.ids[0] if many else self.ids, self.scores[0] if many else self.scores, strict=True)
        shown = [f"{name} ({float(score):.3f})" for name, score in first]
        more = ", …" if len(shown) > SHOWN or (many and len(self) > 1) else ""
        return f"Hits({size}: {', '.join(shown[:SHOWN])}{more})"

    @property
    def one(self) -> Hits:
        """The hits of the first query alone, as 1-D arrays."""
        rows, raw = (None if each is None else each[0] for each in (self.rows, self.raw_scores))
        return Hits(self.ids[0], self.scores[0], rows, raw, self.missing)

    def to_dict(self) -> dict[str, Any]:
        """Plain data: ids and scores as nested lists; ids that are numbers stay numbers."""
        return {"ids": self.ids.tolist(), "scores": self.scores.tolist()}

    def to_json(self, *, indent: int | None = None) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)


def hits(rows: IntArray, scores: FloatArray, ids: Sequence[Any] | None) -> Hits:
    """Hits whose ids are looked up by row."""
    return Hits(rows if ids is None else np.asarray(ids, dtype=object)[rows], scores, rows)

"""The hits of an index beside those of exact search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from unhub.foundation.types import BoolArray
from unhub.foundation.wording import counted


@dataclass(frozen=True, eq=False)
class IndexComparison:
    """The lists of an index beside those of exact search. Made by ``Certificate.compare``.

    same: (query,) whether the index has the k best targets, in whatever order.
    missed: (query,) whether it has others although no score error within the certificate could put them there: then
        the index did not look at a target of the exact list, or its scores are further off.
    k: how many of the best count.
    """

    same: BoolArray
    missed: BoolArray
    k: int

    @property
    def sentence(self) -> str:
        """The comparison in one sentence."""
        best = "best target" if self.k == 1 else f"{self.k} best targets"
        start = (
            f"The index has the {best} of exact search for {self.same.sum():,} of {counted(len(self.same), 'query')}"
        )
        others = int((~self.same).sum())
        if not others:
            return f"{start}."
        return (
            f"{start}; of the other {others:,}, score errors cannot explain {self.missed.sum():,}, where it missed "
            f"targets or its scores are further off."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"same": self.same.tolist(), "missed": self.missed.tolist(), "sentence": self.sentence}

"""A correction on the gallery as it is now: what is new, gone and changed since the fit, and the bias of all of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.api.fitted_vectors import changed_vectors
from unhub.core.fingerprint import row_digests
from unhub.dataset.galleries import Permuted, some_rows
from unhub.foundation.types import IntArray
from unhub.io import Rows

if TYPE_CHECKING:
    from unhub.api.correction import Correction


@dataclass(frozen=True, eq=False)
class GalleryChange:
    """Which targets are new since the fit, as rows of the gallery now, and how many are gone and changed."""

    new_rows: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    gone: int = 0
    changed: int = 0

    @property
    def new(self) -> int:
        """How many are new."""
        return len(self.new_rows)

    def __bool__(self) -> bool:
        return bool(self.new or self.gone or self.changed)


def current_correction(correction: Correction, targets: Any = None) -> tuple[Correction, GalleryChange]:
    """The correction of the gallery as it is now, and what changed; new and changed targets get their exact bias.

    correction: fitted on embeddings. targets: the gallery now; by default the one it was fitted on, where it is noted.

    Without a bank that can be read, new and changed targets have a bias of zero.
    """
    rows = correction._gallery_now(targets)
    size = correction.bias.size
    fitted = _fitted_rows(correction, rows)
    known = np.flatnonzero(fitted >= 0)
    different = changed_vectors(correction, fitted[known], Permuted(rows, known))
    change = GalleryChange(np.flatnonzero(fitted < 0), size - len(known), int(different.sum()))
    if not change and np.array_equal(fitted, np.arange(size)):
        return replace(correction, targets=rows), change
    outdated = np.union1d(change.new_rows, known[different])
    bias = correction.bias[fitted]
    if outdated.size:
        some = some_rows(rows, outdated)
        bias[outdated] = 0 if correction.query_bank is None else correction.extend(some)
    more: dict[str, Any] = {
        "_digests": row_digests(rows),
        "_sketches": None,
        "_linear": correction._linear_of(bias, len(known)),
    }
    ids = rows.ids if correction.ids is None or rows.ids is not None else _names(correction.ids, fitted)
    return replace(correction, bias=bias, ids=ids, targets=rows, source=None, exports=(), **more), change


def _names(ids: tuple[str, ...], fitted: IntArray) -> tuple[str, ...]:
    """The names of targets that come without ids: those they had at the fit, or their row."""
    return tuple(ids[place] if place >= 0 else f"row {row}" for row, place in enumerate(fitted.tolist()))


def _fitted_rows(correction: Correction, rows: Rows) -> IntArray:
    """(gallery now,) which fitted target each one is: by its id, else by its row or its vector; -1 for a new one."""
    size = correction.bias.size
    if correction.ids is not None and rows.ids is not None:
        by_id = {each: row for row, each in enumerate(correction.ids)}
        return np.fromiter((by_id.get(each, -1) for each in rows.ids), dtype=np.int64, count=len(rows))
    if len(rows) == size or correction._digests is None:
        return np.arange(size)
    places: dict[int, list[int]] = {}
    for row in reversed(range(size)):
        places.setdefault(int(correction._digests[row]), []).append(row)
    equal = (places.get(each) for each in row_digests(rows).tolist())
    return np.fromiter((same.pop() if same else -1 for same in equal), dtype=np.int64, count=len(rows))

"""A Correction: the bias of a gallery and all that is needed to serve, extend and keep it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from unhub.api.galleries import in_order, open_noted, open_source, unnamed_store
from unhub.api.hits import Hits, hits
from unhub.api.problem import check_needs, extended_banks, from_scores, relative_prior
from unhub.api.progress import Progress, watched
from unhub.api.sources import Reader
from unhub.api.unchanged import refuse_change
from unhub.banks import Bank, Banks, search
from unhub.core.arrays import host, is_tensor
from unhub.core.augmentation import augment_queries, augment_targets
from unhub.core.bias import Status
from unhub.core.fingerprint import fingerprint, row_digests, row_sketches, same_but_for_rounding
from unhub.core.parameters import count
from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.optional import require
from unhub.foundation.types import BoolArray, FloatArray, IntArray, Sliceable
from unhub.io import Rows, TensorRows, read_ids
from unhub.methods import AdditiveMethod, settings
from unhub.stores import Export, is_address


@dataclass(frozen=True, eq=False)
class Correction:
    """One number per target, ranked by score + bias. Made by ``unhub.fit`` or ``unhub.load``.

    bias: (gallery,) float32, mean zero, strength included. status, iterations and marginal_error tell how the solver
    ended; marginal_error is None for a closed form. error_bound bounds what rounding, and a kernel kept in 16 bits, may
    have done to a bias before it was centred; plan says what was kept of the scores between the rounds.
    """

    method: AdditiveMethod
    bias: FloatArray
    status: Status
    iterations: int
    marginal_error: float | None
    offset: float
    reader: Reader
    error_bound: float | None = None
    plan: str | None = None
    potentials: FloatArray | None = None
    bank_size: int = 0
    target_bank_size: int = 0
    query_weight: FloatArray | None = None
    prior_mean: float = 1.0
    ids: tuple[str, ...] | None = None
    digests: IntArray | None = None
    bank_fingerprints: Mapping[str, str] = field(default_factory=dict)
    """of the banks as the fit read them, by name; a bank that is not that any more is neither saved nor used"""
    sketches: FloatArray | None = None
    """of a gallery in a store: what tells a vector that was rounded again from another one"""
    targets: Rows | None = None
    query_bank: Rows | None = None
    target_bank: Rows | None = None
    source: str | None = None
    """where the gallery was when the correction was saved, as its file says: a path is followed, an address never"""
    warnings: tuple[str, ...] = ()
    exports: tuple[Export, ...] = ()
    """where it was written to, the newest last"""

    @property
    def hubness(self) -> FloatArray:
        """-bias: a hub is positive."""
        return -self.bias

    @property
    def strength(self) -> float:
        """What the bias was multiplied by."""
        return self.method.strength

    @property
    def settings(self) -> dict[str, Any]:
        """The method's hyper-parameters as they were used."""
        return settings(self.method)

    @property
    def fingerprint(self) -> str | None:
        """A short name for the gallery it was fitted on; None when it was fitted on scores."""
        return None if self.digests is None else fingerprint(self.digests)

    def __repr__(self) -> str:
        error = "" if self.marginal_error is None else f", marginal error {self.marginal_error:.2g}"
        return f"Correction({self.method!r}, {self.bias.size:,} targets, {self.status}{error})"

    def search(
        self,
        queries: Any,
        k: int = 10,
        *,
        targets: Any = None,
        corrected: bool = True,
        output: Literal["numpy", "torch"] = "numpy",
        progress: Progress | None = None,
    ) -> Hits:
        """The k best targets of each query by score + bias, exact, in blocks; corrected=False ranks by score alone.

        queries: (query, dim). targets: the gallery, when the correction does not know where it is. A gallery that is a
        torch tensor is searched on its device. output="torch" gives tensors: the ids are then the rows of the gallery.
        """
        k = count("k", k)
        if output not in ("numpy", "torch"):
            raise InputError(f"output is {output!r}; use 'numpy' or 'torch'.")
        gallery = self._gallery(targets)
        rows = self.reader.vectors(queries, "queries", like=gallery)
        bias = self.bias if corrected else np.zeros_like(self.bias)
        bank = watched(Banks(self.reader.products(rows, gallery)), "search", progress).queries
        scores, columns = search(bank, bias, k)
        if output == "torch":
            return Hits(columns, columns, scores) if is_tensor(columns) else _as_tensors(columns, scores)
        return hits(host(columns), host(scores), self.ids)

    def bias_tensor(self, device: Any = None) -> Any:
        """The bias as a torch tensor, on the gallery's device unless another is named."""
        torch = require("torch", extra="torch")
        gallery = None if self.targets is None else self.targets.data
        here = gallery.tensor.device if isinstance(gallery, TensorRows) else "cpu"
        try:
            return torch.as_tensor(self.bias, device=here if device is None else device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError(f"device {device!r} cannot be used: {reason}.") from error

    def apply(self, scores: Any) -> FloatArray:
        """Scores + bias: (query, gallery), for scores that exist already."""
        rows = self.reader.scores(scores, "scores")
        if rows.shape[1] != self.bias.size:
            raise InputError(
                f"scores has {rows.shape[1]:,} columns but this correction is of {self.bias.size:,} targets."
            )
        block = np.asarray(rows[0 : rows.shape[0]])
        fixed: FloatArray = block + self.bias.astype(np.result_type(block.dtype, np.float32))
        return fixed

    def extend(
        self,
        new_targets: Any = None,
        *,
        scores: Any = None,
        target_bank_scores: Any = None,
        target_prior: Any = None,
        progress: Progress | None = None,
    ) -> FloatArray:
        """The exact bias of unseen targets, no refit: (new,) float32, on the footing of ``bias``.

        new_targets: (new, dim) embeddings; or scores: (bank, new), in the order of the bank that was fitted on, for
        dualis with target_bank_scores (target bank, new). target_prior: (new,), in the unit of the prior that was
        fitted with; without it a new target is an average one.
        """
        if new_targets is not None and scores is not None:
            raise InputError("new_targets and scores came together; give the new targets one way or the other.")
        banks = self._bank_before(new_targets) if scores is None else self._scores_before(scores, target_bank_scores)
        prior, _ = relative_prior(target_prior, banks.queries.shape[1], self.prior_mean)
        banks = watched(replace(banks, target_prior=prior), "extend", progress)
        raw = self.method.columns(banks, self.potentials)
        return (self.strength * (raw - self.offset)).astype(np.float32)

    def extended(self, new_targets: Any, *, ids: Any = None) -> Correction:
        """A correction of the gallery with the new targets at its end.

        What was there keeps its bias, so that the mean over the longer gallery is no longer exactly zero.
        """
        new = self.reader.vectors(new_targets, "new_targets", ids=ids)
        names = _joined_ids(self.ids, self.bias.size, new)
        digests = None if self.digests is None else np.concatenate((self.digests, row_digests(new)))
        bias = np.concatenate((self.bias, self.extend(new)))
        return replace(
            self, bias=bias, ids=names, digests=digests, sketches=None, targets=None, source=None, exports=()
        )

    def ends_with(self, targets: Sliceable, ids: Sequence[str]) -> bool:
        """Whether its last targets are these, each id and each vector: they were appended to it already."""
        count = targets.shape[0]
        if self.ids is None or self.digests is None or self.ids[-count:] != tuple(ids):
            return False
        return np.array_equal(self.digests[-count:], row_digests(targets))

    def augment(self, targets: Any = None) -> FloatArray:
        """[t; bias]: (gallery, dim + 1), for any inner-product index; pass the gallery it was fitted on."""
        gallery = self._gallery(targets)
        return augment_targets(self._unit(gallery), self.bias)

    def augment_queries(self, queries: Any) -> FloatArray:
        """[q; 1]: (query, dim + 1), to search an index of augmented targets."""
        return augment_queries(self._unit(self.reader.vectors(queries, "queries", like=self.query_bank)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one file, complete or not at all; ``unhub.load`` reads it. The gallery itself is not copied.

        It is an error if the bank, a file or an array, is not what it was during the fit.
        """
        from unhub.api.artefact import save

        save(self, path)

    @property
    def noted_store(self) -> str | None:
        """The store that this was last exported to or fitted from, to be shown; nothing connects to it by itself."""
        noted = self.exports[-1].origin if self.exports else self.source
        return noted if is_address(noted) else None

    @cached_property
    def _noted_gallery(self) -> Rows:
        """The gallery at the place that was noted, if it is still there and still the same; looked up once."""
        if self.digests is None:
            raise InputError("this correction was fitted on scores, so it has no vectors to search; use apply(scores).")
        if self.source is None:
            raise InputError("this correction does not hold its gallery; pass targets=... (--targets).")
        if is_address(self.source):
            raise unnamed_store(self.source, "pass targets=... (--targets {})")
        try:
            rows = in_order(self.reader.kept(open_noted(self.source, name="targets")), self.ids)
            self.check_gallery(rows)
        except UnhubError as error:
            raise InputError(
                f"the gallery is not where it was when this was fitted ({error}) Pass targets=... (--targets)."
            ) from error
        return rows

    def _gallery(self, targets: Any) -> Rows:
        if targets is None:
            return self._noted_gallery if self.targets is None else self.targets
        rows = in_order(self.reader.vectors(targets, "targets"), self.ids)
        self.check_gallery(rows)
        return rows

    def check_gallery(self, rows: Rows) -> None:
        """Refuses a gallery that is not the one this correction was fitted on, with the counts."""
        if rows.shape[0] != self.bias.size:
            raise InputError(
                f"this correction is of {self.bias.size:,} targets but targets has {rows.shape[0]:,}; use the gallery "
                f"it was fitted on, or extend it to the new one."
            )
        if self.digests is None:
            return
        different = np.flatnonzero(self.changed(np.arange(self.bias.size), rows))
        if different.size:
            first = ", ".join(str(row) for row in different[:5])
            raise InputError(
                f"this correction was fitted on another gallery: {different.size:,} of {self.bias.size:,} vectors "
                f"differ (first rows: {first}); use the same vectors in the same order, or fit again."
            )

    def changed(self, places: IntArray, vectors: Sliceable) -> BoolArray:
        """(item,): whether the vectors (item, dim) are others than those fitted at these places of the gallery."""
        if self.digests is None:
            return np.zeros(len(places), dtype=bool)
        different: BoolArray = row_digests(vectors) != self.digests[places]
        if self.sketches is not None and different.any():
            at = np.flatnonzero(different)
            now = row_sketches(np.concatenate([np.asarray(vectors[row : row + 1]) for row in at.tolist()]))
            different[at] = ~same_but_for_rounding(self.sketches[places[at]], now)
        return different

    def _scores_before(self, scores: Any, target_bank_scores: Any) -> Banks:
        second = target_bank_scores if "targets" in self.method.needs else None
        banks = from_scores(self.reader, self.reader.scores(scores, "scores"), None, second).banks
        if "targets" in self.method.needs:
            check_needs(self.method, banks)
        self._check_bank("scores", banks.queries, self.bank_size)
        self._check_bank("target_bank_scores", banks.targets, self.target_bank_size)
        return replace(banks, query_weight=self.query_weight)

    def _check_bank(self, name: str, bank: Bank | None, wanted: int) -> None:
        if bank is not None and bank.shape[0] != wanted:
            raise InputError(
                f"{name} has {bank.shape[0]:,} rows but the bank has {wanted:,} items; give bank x new targets, "
                f"with the bank in the order that was fitted on."
            )

    def _bank_before(self, new_targets: Any) -> Banks:
        if self.query_bank is None:
            raise InputError(
                "this correction was fitted on scores and holds no bank embeddings; pass scores=... (bank x new "
                "targets) to extend it."
            )
        if new_targets is None:
            raise InputError("extend needs new_targets, the embeddings of the unseen targets.")
        refuse_change(self.bank_fingerprints, self.query_bank, self.target_bank, when="since")
        new = self.reader.vectors(new_targets, "new_targets", like=self.query_bank)
        return extended_banks(self.reader, new, self.query_bank, self.target_bank, self.query_weight)

    def _unit(self, rows: Rows) -> FloatArray:
        from unhub.banks.embedding import vectors

        unit: FloatArray = vectors(rows, 0, rows.shape[0], normalize=self.reader.scaled)
        return unit


def _as_tensors(columns: IntArray, scores: FloatArray) -> Hits:
    torch = require("torch", extra="torch")
    rows = torch.as_tensor(columns)
    return Hits(rows, rows, torch.as_tensor(scores))


def attach(correction: Correction, targets: Any) -> Correction:
    """The correction with its gallery at hand, checked against the fingerprint."""
    rows = in_order(correction.reader.kept(open_source(targets, name="targets")), correction.ids)
    correction.check_gallery(rows)
    return replace(correction, targets=rows, ids=correction.ids or rows.ids)


def _joined_ids(old: tuple[str, ...] | None, count: int, new: Rows) -> tuple[str, ...] | None:
    """Ids of the old and the new targets; rows count as ids where only one side has them."""
    if old is None and new.ids is None:
        return None
    first = old if old is not None else tuple(str(row) for row in range(count))
    second = new.ids if new.ids is not None else tuple(str(count + row) for row in range(new.shape[0]))
    repeated = sorted(set(first) & set(second))
    if repeated:
        shown = ", ".join(repr(name) for name in repeated[:5])
        raise InputError(f"{len(repeated):,} ids of new_targets are in the gallery already ({shown}); rename them.")
    return read_ids(list(first + second))

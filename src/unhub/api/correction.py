"""A Correction: the bias of a gallery, with all that is needed to search, extend and save it."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from unhub.api import notebook
from unhub.api.certificate import Certificate, certify
from unhub.api.fitted_vectors import check_gallery, refuse_change
from unhub.api.hits import Hits, hits
from unhub.api.verdict import Verdict, given_verdict
from unhub.core.arrays import host, is_tensor
from unhub.core.bias import Status, augment_queries, augment_targets, scaled_bias
from unhub.core.fingerprint import fingerprint, row_digests
from unhub.core.parameters import count, strength_number
from unhub.dataset.galleries import in_order, open_noted, open_source, unnamed_store
from unhub.dataset.reader import Reader, relative_prior
from unhub.dataset.task import check_needs, extended_banks, score_banks
from unhub.foundation.errors import InputError, UnhubError
from unhub.foundation.optional import require
from unhub.foundation.types import FloatArray, IntArray, Progress, Similarity
from unhub.foundation.wording import argument, in_python, setting, spoken
from unhub.io import Rows, TensorRows, read_ids
from unhub.methods import AdditiveMethod, settings
from unhub.scores import Banks, ScoreSource, search, with_progress
from unhub.stores import Export, is_address


@dataclass(frozen=True, eq=False, repr=False)
class Correction:
    """One number per target, ranked by score + strength * bias. Made by ``unhub.fit`` or ``unhub.load``.

    bias: (gallery,) float32, mean zero, at strength 1. verdict: whether to serve it, at which strength, and why.
    status, iterations and marginal_error say how the solver ended; marginal_error is None for a closed form.
    error_bound bounds the rounding error of a bias, kernels kept in 16 bits included; plan says which scores were kept
    between rounds.
    """

    method: AdditiveMethod
    bias: FloatArray
    status: Status
    iterations: int
    marginal_error: float | None
    verdict: Verdict = field(default_factory=lambda: given_verdict(1.0))
    error_bound: float | None = None
    plan: str | None = None
    bank_size: int = 0
    target_bank_size: int = 0
    ids: tuple[str, ...] | None = None
    targets: Rows | None = None
    query_bank: Rows | None = None
    target_bank: Rows | None = None
    source: str | None = None
    """where the gallery was, as the file says: a path is opened when needed, the address of a store never"""
    notes: tuple[str, ...] = ()
    """what to know besides the bias; names of arguments are marks"""
    exports: tuple[Export, ...] = ()
    """where it was exported to, the newest last"""
    _reader: Reader = field(default_factory=Reader)
    _offset: float = 0.0
    _potentials: FloatArray | None = None
    _query_weight: FloatArray | None = None
    _prior_mean: float = 1.0
    _linear: float = 0.0
    """sum_j b_j bias_j: zero unless there was a target prior"""
    _digests: IntArray | None = None
    _bank_fingerprints: Mapping[str, str] = field(default_factory=dict)
    """of the banks as the fit read them, by name; a bank that has changed is neither saved nor used"""
    _sketches: FloatArray | None = None
    """of a gallery in a store, to tell rounding from another vector"""

    @property
    def metric(self) -> Similarity:
        """The similarity: "cosine" or "ip"."""
        return self._reader.metric

    @property
    def normalize(self) -> bool:
        """Whether vectors are scaled to unit length."""
        return self._reader.normalize

    @property
    def memory(self) -> str | int | None:
        """The bound on the scores held at once."""
        return self._reader.memory

    @property
    def weights(self) -> FloatArray | None:
        """(bank,) how much each bank query counted; None: all the same."""
        return self._query_weight

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes with the names of arguments as Python has them."""
        return tuple(spoken(note, in_python) for note in self.notes)

    @property
    def hubness(self) -> FloatArray:
        """-bias: a hub is positive."""
        return -self.bias

    @property
    def strength(self) -> float:
        """What the bias is multiplied by where it is served; 0 where the verdict is to refuse it."""
        return self.verdict.strength

    @cached_property
    def served_bias(self) -> FloatArray:
        """strength * bias: what is added to the scores of every target, (gallery,) float32."""
        return scaled_bias(self.bias, self.strength)

    def at(self, strength: float) -> Correction:
        """The same correction at a strength of your own, whatever the verdict was."""
        its = self.verdict
        facts: Any = {"bank_size": its.bank_size, "duplicates": its.duplicates, "own_log": its.own_log, "tau": its.tau}
        return self.with_verdict(given_verdict(strength_number("strength", strength), **facts))

    def with_verdict(self, verdict: Verdict) -> Correction:
        """The same correction under another verdict, as ``unhub.guard`` gives it."""
        if not isinstance(verdict, Verdict):
            raise InputError("verdict", f"is a {type(verdict).__name__}", "pass what unhub.guard returns")
        its, came = self.verdict, ""
        if verdict.bank_size not in (0, self.bank_size):
            came = f"is on a bank of {verdict.bank_size:,} queries, but this correction's has {self.bank_size:,}"
        elif its.tau is not None and verdict.tau is not None and not math.isclose(its.tau, verdict.tau):
            came = f"was judged at tau {verdict.tau:g}, but this correction is judged at {its.tau:g}"
        elif its.of_bank is not None and verdict.reason == "judged" and verdict.of_bank != its.of_bank:
            came = "is on another correction: its bank queries say something else"
        if came:
            raise InputError("verdict", came, "pass what unhub.guard returns for this correction")
        return replace(self, verdict=verdict)

    @property
    def settings(self) -> dict[str, Any]:
        """The method's hyper-parameters as they were used."""
        return settings(self.method)

    @property
    def fingerprint(self) -> str | None:
        """A short name for the gallery it was fitted on; None when it was fitted on scores."""
        return None if self._digests is None else fingerprint(self._digests)

    def __repr__(self) -> str:
        error = "" if self.marginal_error is None else f", marginal error {self.marginal_error:.2g}"
        ending = f"{self.status}{error}; {self.verdict.headline}"
        return f"Correction({self.method!r}, {self.bias.size:,} targets, {ending})"

    def __str__(self) -> str:
        return f"{self!r}\n{self.verdict.sentence}"

    def _repr_html_(self) -> str:
        error = "-" if self.marginal_error is None else f"{self.marginal_error:.2g}"
        rows = [
            ["method", repr(self.method)],
            ["targets", f"{self.bias.size:,}"],
            ["bank", f"{self.bank_size:,} queries"],
            ["verdict", self.verdict.sentence],
            ["status", f"{self.status}, {self.iterations} rounds"],
            ["marginal error", error],
            ["bias", f"{self.bias.min():.4g} to {self.bias.max():.4g}"],
        ]
        picture = notebook.histogram(self.bias, "targets by their bias")
        return notebook.html_table(notebook.plain_table("Correction", ["", ""], rows, self.warnings), picture)

    def plot(self) -> Any:
        """How many targets have which bias: a matplotlib figure in the style of the report."""
        return notebook.figures().correction(self)

    def to_frame(self) -> Any:
        """One row for each target as a pandas DataFrame: bias and hubness, by id or by row."""
        names = self.ids or range(self.bias.size)
        pairs = zip(names, self.bias.tolist(), self.hubness.tolist(), strict=True)
        return notebook.frame({name: {"bias": bias, "hubness": hub} for name, bias, hub in pairs}, "target")

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
        """The k best targets of each query by score + strength * bias: exact, in blocks.

        queries: (query, dim), or one query (dim,), whose hits are then 1-D.
        k: how many hits for each query.
        targets: the gallery, when the correction does not know where it is. A torch tensor is searched on its device.
        corrected: False ranks by score alone.
        output: "torch" gives tensors; the ids are then the rows of the gallery.
        progress: called with the name of the work, rows read and rows to read.

        Returns Hits: ids, scores, rows, each (query, k).
        """
        k = count("k", k)
        if output not in ("numpy", "torch"):
            raise InputError("output", f"is {output!r}", "use 'numpy' or 'torch'")
        gallery = self.gallery(targets)
        queries, single = _as_rows(queries)
        rows = self._reader.vectors(queries, "queries", like=gallery)
        bias = self.served_bias if corrected else np.zeros_like(self.bias)
        bank = self._reader.products(rows, gallery)
        source = bank if progress is None else with_progress(Banks(bank), "search", progress).queries
        scores, columns = search(source, bias, k, self._reader.execution(bank))
        if output == "torch":
            best = Hits(columns, scores, columns) if is_tensor(columns) else _as_tensors(columns, scores)
        else:
            best = hits(host(columns), host(scores), self.ids)
        return best.one if single else best

    def certify(
        self,
        queries: Any,
        k: int = 10,
        *,
        error: float | str,
        targets: Any = None,
        progress: Progress | None = None,
    ) -> Certificate:
        """Which of the k best targets of each query cannot change when scores are a little off.

        queries: (query, dim), or one query (dim,).
        k: how many hits for each query.
        error: how far a score may be off from that of ``search``, in the unit of the scores. Or how an index keeps the
            vectors, from which a bound follows: "float32", "float16", or "int8" with one symmetric step.
        targets: the gallery, when the correction does not know where it is.
        progress: called with the name of the work, rows read and rows to read.

        Returns a Certificate: ``set_share``, ``first_share``, ``set_certain`` (query,), ``sentence``.
        """
        k = count("k", k)
        gallery = self.gallery(targets)
        queries, _ = _as_rows(queries)
        rows = self._reader.vectors(queries, "queries", like=gallery)
        bias, bias_error = self.served_bias, self.strength * (self.error_bound or 0.0)
        return certify(self._reader, rows, gallery, bias, bias_error, k=k, error=error, progress=progress)

    def bias_tensor(self, device: Any = None) -> Any:
        """What ``search`` adds, strength * bias, as a torch tensor; on the gallery's device unless another is named."""
        torch = require("torch", extra="torch")
        gallery = None if self.targets is None else self.targets.data
        here = gallery.tensor.device if isinstance(gallery, TensorRows) else "cpu"
        try:
            return torch.as_tensor(self.served_bias, device=here if device is None else device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise InputError("device", f"is {device!r}, which cannot be used: {reason}", "name another one") from error

    def apply(self, scores: Any) -> FloatArray:
        """Scores + strength * bias: (query, gallery), for scores that exist already."""
        rows = self._reader.scores(scores, "scores")
        if rows.shape[1] != self.bias.size:
            raise InputError(
                "scores",
                f"has {rows.shape[1]:,} columns but this correction is of {self.bias.size:,} targets",
                "give scores with its own gallery",
            )
        block = np.asarray(rows[0 : rows.shape[0]])
        corrected: FloatArray = block + self.served_bias.astype(np.result_type(block.dtype, np.float32))
        return corrected

    def extend(
        self,
        new_targets: Any = None,
        *,
        scores: Any = None,
        target_bank_scores: Any = None,
        target_prior: Any = None,
        progress: Progress | None = None,
    ) -> FloatArray:
        """The exact bias of unseen targets, no refit: (new,) float32, at strength 1 as ``bias`` is.

        new_targets: (new, dim) embeddings.
        scores: (bank, new) instead, in the order of the bank that was fitted on.
        target_bank_scores: (target bank, new), for dualis beside scores.
        target_prior: (new,), in the unit of the prior that was fitted with; without it a new target is an average one.
        progress: called with the name of the work, rows read and rows to read.

        Returns an array (new,).
        """
        if new_targets is not None and scores is not None:
            raise InputError(
                "new_targets", f"and {argument('scores')} came together", "give the new targets one way or the other"
            )
        banks = self._vector_banks(new_targets) if scores is None else self._matrix_banks(scores, target_bank_scores)
        prior, _ = relative_prior(target_prior, banks.queries.shape[1], self._prior_mean)
        banks = with_progress(replace(banks, target_prior=prior), "extend", progress)
        raw = self.method.bias_of(banks, self._potentials)
        return (raw - self._offset).astype(np.float32)

    def extended(self, new_targets: Any, *, ids: Any = None) -> Correction:
        """A correction of the gallery with the new targets at its end.

        Old targets keep their bias, so the mean over the longer gallery is no longer exactly zero.
        """
        new = self._reader.vectors(new_targets, "new_targets", ids=ids)
        names = _joined_ids(self.ids, self.bias.size, new)
        digests = None if self._digests is None else np.concatenate((self._digests, row_digests(new)))
        bias = np.concatenate((self.bias, self.extend(new)))
        more: dict[str, Any] = {
            "_digests": digests,
            "_sketches": None,
            "_linear": self._linear_of(bias, self.bias.size),
        }
        return replace(self, bias=bias, ids=names, targets=None, source=None, exports=(), **more)

    def _linear_of(self, bias: FloatArray, known: int) -> float:
        """sum_j b_j g_j of a gallery that has changed: new targets are average ones, and so are those that are gone.

        bias: (gallery now,). known: how many of its targets it had before.
        """
        uneven = self._linear - float(self.bias.mean(dtype=np.float64))  # zero unless there was a target prior
        linear = float(bias.mean(dtype=np.float64)) + uneven * known / bias.size
        return float(np.clip(linear, bias.min(), bias.max()))

    def augment(self, targets: Any = None) -> FloatArray:
        """[t; strength * bias]: (gallery, dim + 1), for any inner-product index; pass the gallery it was fitted on."""
        gallery = self.gallery(targets)
        return augment_targets(self._unit(gallery), self.served_bias)

    def augment_queries(self, queries: Any) -> FloatArray:
        """[q; 1]: (query, dim + 1), to search an index of augmented targets; one query (dim,) gives (dim + 1,)."""
        queries, single = _as_rows(queries)
        rows = augment_queries(self._unit(self._reader.vectors(queries, "queries", like=self.query_bank)))
        return rows[0] if single else rows

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes one file, complete or not at all; ``unhub.load`` reads it. The gallery itself is not copied.

        It is an error if the bank, a file or an array, has changed since the fit.
        """
        from unhub.api.artefact import save

        save(self, path)

    @cached_property
    def _noted_gallery(self) -> Rows:
        """The gallery at the noted path, if it is still there and unchanged; looked up once."""
        if self._digests is None:
            raise InputError(
                f"this correction was fitted on scores, so it has no vectors to search; evaluate takes "
                f"{argument('scores')}, and Correction.apply corrects them."
            )
        try:
            rows = self._gallery_now()
            check_gallery(self, rows)
        except UnhubError as error:
            if self.source is None or is_address(self.source):
                raise
            raise InputError(
                f"the gallery is not where it was when this was fitted ({error}) Pass {setting('targets', '...')}."
            ) from error
        return rows

    def _gallery_now(self, targets: Any = None) -> Rows:
        """The gallery as it is now, ``targets`` or what is at the noted path, in the fitted order if it has the ids.

        Whether its vectors are still those of the fit is not checked; ``gallery`` does that.
        """
        if targets is not None:
            return in_order(self._reader.vectors(targets, "targets"), self.ids)
        if self.targets is not None:
            return self.targets
        if self.source is None:
            raise InputError(f"this correction does not hold its gallery; pass {setting('targets', '...')}.")
        if is_address(self.source):
            raise unnamed_store(self.source, f"pass {setting('targets', '{}')}")
        return in_order(self._reader.kept(open_noted(self.source, name="targets")), self.ids)

    def gallery(self, targets: Any = None) -> Rows:
        """The vectors that it was fitted on: ``targets``, checked, or those at the noted path."""
        if targets is None:
            return self._noted_gallery if self.targets is None else self.targets
        rows = self._gallery_now(targets)
        check_gallery(self, rows)
        return rows

    def _matrix_banks(self, scores: Any, target_bank_scores: Any) -> Banks:
        second = target_bank_scores if "targets" in self.method.requires else None
        by_target = None if second is None else self._reader.scores(second, "target_bank_scores")
        banks = score_banks(self._reader, self._reader.scores(scores, "scores"), None, by_target)
        if "targets" in self.method.requires:
            check_needs(self.method, banks)
        self._check_bank("scores", banks.queries, self.bank_size)
        self._check_bank("target_bank_scores", banks.targets, self.target_bank_size)
        return replace(banks, query_weight=self._query_weight)

    def _check_bank(self, name: str, bank: ScoreSource | None, wanted: int) -> None:
        if bank is not None and bank.shape[0] != wanted:
            raise InputError(
                name,
                f"has {bank.shape[0]:,} rows but the bank has {wanted:,} items",
                "give bank x new targets, with the bank in the order that was fitted on",
            )

    def _vector_banks(self, new_targets: Any) -> Banks:
        if self.query_bank is None:
            raise InputError(
                f"this correction was fitted on scores and holds no bank embeddings; pass {setting('scores', '...')} "
                "(bank x new targets) to extend it."
            )
        if new_targets is None:
            raise InputError("new_targets", "is missing", "give the embeddings of the unseen targets")
        refuse_change(self._bank_fingerprints, self.query_bank, self.target_bank, when="since")
        new = self._reader.vectors(new_targets, "new_targets", like=self.query_bank)
        return extended_banks(self._reader, new, self.query_bank, self.target_bank, self._query_weight)

    def _unit(self, rows: Rows) -> FloatArray:
        from unhub.scores.embedding import vectors

        unit: FloatArray = vectors(rows, 0, rows.shape[0], normalize=self._reader.scaled)
        return unit


def _as_rows(queries: Any) -> tuple[Any, bool]:
    """The queries as a matrix, and whether it was a single vector."""
    single = len(getattr(queries, "shape", ())) == 1
    if type(queries) in (list, tuple) and queries and all(isinstance(each, int | float) for each in queries):
        queries, single = np.asarray(queries, dtype=np.float32), True
    return (queries[None, :] if single else queries), single


def _as_tensors(columns: IntArray, scores: FloatArray) -> Hits:
    torch = require("torch", extra="torch")
    rows = torch.as_tensor(columns)
    return Hits(rows, torch.as_tensor(scores), rows)


def attach(correction: Correction, targets: Any) -> Correction:
    """The correction with its gallery at hand, checked against the fingerprint."""
    rows = in_order(correction._reader.kept(open_source(targets, name="targets")), correction.ids)
    check_gallery(correction, rows)
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

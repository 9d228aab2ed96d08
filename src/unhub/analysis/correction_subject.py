"""A correction as something to explore: with queries to try it on, or with those of its own bank."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from unhub.analysis.assembling import assembled
from unhub.analysis.beside import Beside, beside_own
from unhub.analysis.commands import correction_command
from unhub.analysis.given import Given, GivenBank, no_relevance, unit
from unhub.analysis.material import SAVED, TEST, Material
from unhub.analysis.samples import BANK_CELLS, TEST_CELLS
from unhub.api.correction import Correction
from unhub.core.bias import Bias
from unhub.core.fingerprint import shared_rows
from unhub.dataset import Items, Media
from unhub.dataset.items import media_below, media_of, read_captions
from unhub.foundation.errors import InputError
from unhub.foundation.safe_text import printable
from unhub.foundation.types import FloatArray
from unhub.io import Rows, read_relevance
from unhub.methods import Method
from unhub.metrics import Relevance

BANK = "query bank"
FORWARD = "search"
KINDS = {"captions": "queries", "target_captions": "targets"}


@dataclass(frozen=True, eq=False)
class CorrectionSubject:
    """A correction, the gallery it was fitted on, and queries."""

    correction: Correction
    path: str
    beside: Beside = field(default_factory=Beside)
    cells: tuple[int, int] = (TEST_CELLS, BANK_CELLS)
    directions: tuple[str, ...] = (FORWARD,)
    _made: dict[str, Material] = field(default_factory=dict, repr=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def title(self) -> str:
        """The name of its file."""
        return printable(Path(self.path).stem)

    def material(self, direction: str = FORWARD) -> Material:
        """The one direction that a correction has, assembled once, whichever threads ask."""
        if direction != FORWARD:
            raise InputError(f"there is no direction {direction!r}; there is {FORWARD}.")
        with self._lock:
            if direction not in self._made:
                self._made[direction] = assembled(self.given())
            return self._made[direction]

    def command(self, direction: str, bank: str, method: Method, *, saved: bool = False) -> str:
        """The evaluation of a method where it is known what is right, otherwise a diagnosis."""
        its = self.material(direction)
        return correction_command(
            self.correction,
            self.path,
            self.beside,
            bank,
            method,
            saved=saved,
            overlap=its.banks[bank].shared > 0,
            empty=not its.relevance.judged().all(),
        )

    def given(self) -> Given:
        """The whole of it."""
        its, beside = self.correction, self.beside
        gallery = None if beside.scores is not None else self.gallery
        targets = None if gallery is None else self._plain(gallery)
        ids = list(its.ids or map(str, range(its.bias.size)))
        queries, scores, names, notes = self._asked(gallery)
        count = len(queries) if queries is not None else len(scores if scores is not None else ())
        asked_ids = [str(row) for row in range(count)]
        relevance = self._relevance(count, ids)
        banks = self._banks(queries, gallery)
        own = its.method
        raw = its.bias.astype(np.float64) / (its.strength or 1.0)

        def as_used(name: str, banked: bool) -> Method:
            return own if name == SAVED else beside_own(own, name)

        return Given(
            direction=FORWARD,
            queries=queries,
            targets=targets,
            scores=scores,
            relevance=relevance or no_relevance(count, its.bias.size),
            judged=relevance is not None,
            sides=(
                Items(asked_ids, self._captions("captions", beside.captions, names, count), [None] * count),
                Items(ids, self._captions("target_captions", beside.target_captions, ids, len(ids)), self._media(ids)),
            ),
            ids=(asked_ids, ids),
            banks=banks,
            method=as_used,
            notes=notes,
            bias=Bias(raw, its._offset, its.status, its.iterations, its.marginal_error, its._potentials),
            fitted_on=None if targets is None or its.query_bank is None else banks[0].name,
            media_folder=None if beside.media is None else Path(beside.media),
            cells=self.cells,
            scaled=its.metric == "cosine",
        )

    @cached_property
    def gallery(self) -> Rows:
        """The targets as they were fitted, opened once: they may be in a store."""
        its = self.correction
        if its.fingerprint is None:
            raise InputError(
                "this correction was fitted on scores, so it has no vectors to show; pass --scores, those of test "
                "queries with its targets."
            )
        return its.gallery(self.beside.targets)

    def _asked(
        self, gallery: Rows | None
    ) -> tuple[FloatArray | None, FloatArray | None, Sequence[str], tuple[str, ...]]:
        """The queries as vectors or as scores, their names, and what is to be said about them."""
        its, beside = self.correction, self.beside
        if beside.scores is not None:
            rows = its._reader.scores(beside.scores, "scores")
            if rows.shape[1] != its.bias.size:
                raise InputError(
                    f"scores has {rows.shape[1]:,} columns but this correction is of {its.bias.size:,} targets."
                )
            scores: FloatArray = np.asarray(rows[0 : rows.shape[0]], dtype=np.float32)
            return None, scores, [f"query {row}" for row in range(len(scores))], ()
        if beside.queries is not None:
            asked = its._reader.vectors(beside.queries, "queries", like=gallery)
            names = asked.ids or [f"query {row}" for row in range(asked.shape[0])]
            return self._plain(asked), None, list(names), ()
        if its.query_bank is None:
            raise InputError("this correction holds no bank of queries; pass --queries to ask some.")
        names = [f"bank query {row}" for row in range(its.query_bank.shape[0])]
        names = list(self._captions("bank_captions", beside.bank_captions, names, len(names)))
        note = "No queries were given, so those of the bank are asked; pass --queries for others, and --relevant."
        return self._plain(its.query_bank), None, names, (note,)

    def _banks(self, queries: FloatArray | None, gallery: Rows | None) -> list[GivenBank]:
        its, beside = self.correction, self.beside
        if its.query_bank is None or gallery is None or (beside.queries is None and beside.scores is None):
            return [GivenBank(TEST)]
        bank = self._plain(its.query_bank)
        second = its.target_bank
        if beside.target_bank is not None:
            second = its._reader.vectors(beside.target_bank, "target_bank", like=gallery)
        given = beside.bank_captions
        names = None if given is None else self._captions("bank_captions", given, (), len(bank))
        shared = 0 if queries is None else len(shared_rows(queries, bank))
        others = None if second is None else self._plain(second)
        weight = its.weights
        return [GivenBank(BANK, bank, others, names=names, shared=shared, weight=weight), GivenBank(TEST)]

    def _relevance(self, count: int, ids: Sequence[str]) -> Relevance | None:
        if self.beside.relevant is None:
            return None
        sizes = {"queries": count, "targets": len(ids)}
        names = (
            None if self.beside.queries is None else self.correction._reader.vectors(self.beside.queries, "queries").ids
        )
        return read_relevance(self.beside.relevant, **sizes, query_ids=names, target_ids=tuple(ids), allow_empty=True)

    def _plain(self, rows: Rows) -> FloatArray:
        found: FloatArray = np.asarray(rows[0 : rows.shape[0]], dtype=np.float32)
        return unit(found) if self.correction._reader.scaled else found

    def _captions(self, what: str, source: str | None, names: Sequence[str], count: int) -> Sequence[str]:
        if source is None:
            return names
        ids = names or [f"bank query {row}" for row in range(count)]
        return read_captions(source, what, ids, "bank queries" if what == "bank_captions" else KINDS[what])

    def _media(self, ids: Sequence[str]) -> list[Media | None]:
        if self.beside.media is None:
            return [None] * len(ids)
        folder = Path(self.beside.media)
        if not folder.is_dir():
            raise InputError(f"media, {folder}, is no folder; name one with a picture, sound or video per target.")
        found = media_below(folder)
        return [media_of(found, each) for each in ids]

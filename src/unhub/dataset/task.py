"""A task: what a method runs on. Test scores, what is right, and the banks it may learn from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unhub.core.execution import Execution, Executor
from unhub.core.fingerprint import distinct_rows, row_digests, row_sketches
from unhub.core.near_copies import first_copies, shared_rows
from unhub.dataset.evidence import NONE as NO_FRESH_QUERIES
from unhub.dataset.evidence import FreshQueries, fresh_queries
from unhub.dataset.galleries import chosen_rows
from unhub.dataset.reader import Reader, same_rows
from unhub.dataset.sources import Bank, is_clicks
from unhub.executors import processors
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray, IntArray, Progress
from unhub.foundation.wording import argument, setting
from unhub.io import Rows
from unhub.methods import Method, ResolvedMethod, is_additive, resolve
from unhub.metrics import Relevance
from unhub.scores import Banks, Budget, MaskedScores, ScoreSource, Spread, select_banks, spread

if TYPE_CHECKING:
    from unhub.dataset.dataset import Dataset

NEEDS = {
    "cross": (
        f"pass {argument('target_bank')} beside embeddings, or {argument('cross_bank_scores')} (query bank x target "
        "bank) beside scores; without one, use sn"
    ),
    "targets": (
        f"pass {argument('target_bank')} beside embeddings, or {argument('target_bank_scores')} (target bank x "
        "gallery) beside scores; without one, use is"
    ),
}


@dataclass(frozen=True, eq=False)
class Task:
    """What a method runs on: one direction of a dataset with one bank.

    scores: test queries x gallery, read in blocks; None for a fit, which needs no test queries. banks: what methods
    read. transductive: whether test queries are in the bank; shared: how many, where the bank is another one. masked:
    whether query i is target i and does not count for itself. queries, targets, query_bank, target_bank: the vectors
    behind it, where there are any; matrices: the matrices otherwise. prior_mean: what target_prior was divided by.
    fresh: queries that a correction is judged by. clicks: (gallery,) how often each target was clicked, where that is
    to be its prior. own_log: whether the bank is this gallery's own traffic. weigh_duplicates: whether duplicates in
    the bank count as often as they come. unit: whether vectors are scaled to unit length. duplicate_share: share of the
    bank that was left out because it repeats another query; bank_rows: the rows that were not, None for all of them.
    spread: of the bank's scores, where it was measured.
    """

    direction: str
    bank: str | None
    banks: Banks
    scores: ScoreSource | None = None
    relevance: Relevance | None = None
    transductive: bool = False
    masked: bool = False
    shared: int = 0
    queries: Rows | None = None
    targets: Rows | None = None
    query_bank: Rows | None = None
    target_bank: Rows | None = None
    matrices: tuple[Rows, ...] = ()
    prior_mean: float = 1.0
    fresh: FreshQueries = NO_FRESH_QUERIES
    clicks: FloatArray | None = None
    own_log: bool = False
    weigh_duplicates: bool = False
    unit: bool = False
    duplicate_share: float = 0.0
    bank_rows: IntArray | None = None
    spread: Spread | None = None

    @property
    def own_bank(self) -> bool:
        """Whether the test queries are the bank, so that none is left to judge a correction by."""
        return self.transductive and not self.shared

    @cached_property
    def deduplicated(self) -> Task:
        """The task with each different bank query once, so that no copy of a held-out query is learned from.

        Copies that were encoded again, rounded or moved a little are copies too; the first one stays. Weights that were
        given are added up; so are the copies where duplicates weigh.
        """
        if isinstance(self.banks.queries, MaskedScores):  # an item of the gallery is its own query
            return self
        bank = self.query_bank if self.query_bank is not None else self.matrices[0]
        unit = self.unit and self.query_bank is not None
        rows, place = distinct_rows(row_digests(bank, unit=unit, threads=processors()))
        first = first_copies(bank if len(rows) == len(place) else chosen_rows(bank, rows), unit=unit)
        if (copied := first != np.arange(len(first))).any():
            number = np.cumsum(~copied) - 1
            rows, place = rows[~copied], number[first[place]]
        if len(rows) == len(place):
            return self
        weight = self.banks.query_weight
        if weight is not None or self.weigh_duplicates:
            weight = np.bincount(place, weights=weight).astype(np.float64)
        banks = replace(select_banks(self.banks, rows), query_weight=weight)
        own = None if self.query_bank is None else chosen_rows(self.query_bank, rows)
        share = 1 - len(rows) / len(place)
        return replace(self, banks=banks, query_bank=own, duplicate_share=share, bank_rows=rows, spread=None)

    @property
    def draws(self) -> FloatArray:
        """(bank,) a number for each bank query, by which parts of the bank are drawn.

        Of vectors it is a sum of the vector's numbers with fixed signs: the order of the bank changes nothing, and
        rounding hardly anything. Of scores it depends on the place, so that a constant in a query's scores changes
        nothing.
        """
        if self.query_bank is not None:
            return row_sketches(self.query_bank)[:, 0]
        return np.random.default_rng(0).permutation(self.banks.queries.shape[0]).astype(np.float32)

    @cached_property
    def measured(self) -> Task:
        """The task with the spread of its bank's scores."""
        if self.spread is not None:
            return self
        scale = spread(self.banks.queries)
        return replace(self, banks=replace(self.banks, largest=scale.largest), spread=scale)

    def learned_by(self, method: Method) -> Task:
        """The task that a method takes its temperature and its bias from, wherever it runs.

        Each different bank query counts once where the guard chooses the strength; the spread is there if it is needed.
        """
        guarded = is_additive(method) and method.strength == "auto" and not self.own_bank
        task = self.deduplicated if guarded else self
        return task.measured if guarded or method.temperature is not None else task

    def resolve(self, method: Method) -> ResolvedMethod:
        """The method with the temperature that suits the scores it learns from."""
        learned = self.learned_by(method)
        return resolve(method, learned.banks.queries, learned.spread)


def vector_task(
    data: Dataset,
    name: str | None,
    bank: Bank,
    executor: Execution | Executor | None,
    *,
    back: bool,
    fit: bool,
    progress: Progress | None,
) -> Task:
    """A task of embeddings; in reverse, queries and targets change places, and so do the sides of the bank."""
    advice = "give the embeddings of the gallery, or a matrix of scores" if fit else ""
    if not fit and data._sources["queries"] is None and data.task_type != "self-retrieval":
        data._required("queries")
    if data._sources["targets"] is None:
        data._required("targets", advice)
    targets = data._vectors("targets", progress=progress)
    has_own = (bank.targets if back else bank.queries) is not None
    queries = None if fit and has_own and not back else data._vectors("queries", progress=progress)
    first = None if bank.queries is None else data._vectors("queries", name, shard=not back)
    second = None if bank.targets is None else data._vectors("targets", name, shard=back)
    if back:
        queries, targets, first, second = targets, queries, second, first
    if targets is None or (first is None and queries is None):
        raise InputError("query_bank", "is missing", "give embeddings of past queries, or a matrix of scores")
    asked = first
    if asked is None:
        assert queries is not None
        asked = queries if data._shard == (0, 1) else data._part(queries)
    weight, prior, mean = data._marginals(name, len(asked), len(targets), back=back)
    way = "reverse" if back else "forward"
    sides: dict[str, Any] = {"targets": targets, "query_bank": asked, "target_bank": second, "prior_mean": mean}
    if fit:
        reader = replace(data._reader, tensors=True, executor=executor)
        banks = vector_banks(reader, targets, asked, second, weight=weight, prior=prior)
        sides["fresh"] = NO_FRESH_QUERIES if back else fresh_queries(data, reader, len(targets), asked)
        return _of_traffic(data, Task(way, name, banks, transductive=first is None, **sides))
    assert queries is not None
    unit, allowed = data._reader.scaled, data.allow_overlap
    shared = 0 if first is None else count_shared(queries, first, unit=unit, allowed=allowed)
    reader = replace(data._reader, executor=executor).beside(queries, targets, first, second)
    budget = reader.budget()
    rows = reader.rows_at_once(len(targets), 0 if second is None else len(second))
    test = reader.products(queries, targets, rows=rows, budget=budget)
    own = test if first is None and data._shard == (0, 1) else None
    banks = vector_banks(reader, targets, asked, second, weight=weight, prior=prior, budget=budget, queries=own)
    sides["queries"] = queries
    sides["fresh"] = NO_FRESH_QUERIES if back else fresh_queries(data, reader, len(targets), asked)
    return _tested(data, Task(way, name, banks, test, shared=shared, **sides), own_bank=first is None)


def score_task(
    data: Dataset,
    name: str | None,
    bank: Bank,
    executor: Execution | Executor | None,
    *,
    back: bool,
    fit: bool,
    progress: Progress | None,
) -> Task:
    """A task of matrices, transposed in reverse; bank matrices hold one direction only."""
    if fit and not bank.own_queries and data._sources["scores"] is None:
        raise InputError("scores", "is missing", "give the matrix of bank queries x gallery")
    test = None if fit and bank.own_queries else data.scores_rows()
    if back and (bank.own_queries or bank.has_targets or bank.target_scores is not None):
        raise InputError(
            "the reverse direction with a bank needs embeddings (queries, targets, query_bank, target_bank); "
            "bank matrices hold one direction only."
        )
    if back:
        assert test is not None
        test = Rows(np.asarray(test[0 : len(test)]).T, name="scores")
    own = data._matrix("scores", name, shard=True) if bank.scores is not None else None
    asked, shared = own, 0
    if asked is None:
        assert test is not None
        asked = test if data._shard == (0, 1) else data._part(test)
    elif test is not None:
        same_rows(asked, "query_bank_scores", test, "scores", axis=(1, 1))
        shared = count_shared(test, asked, unit=False, allowed=data.allow_overlap)
    cross = None if bank.cross_scores is None else data._matrix("cross_scores", name, shard=True)
    by_target = None if bank.target_scores is None else data._matrix("target_scores", name)
    weight, prior, mean = data._marginals(name, *asked.shape, back=back)
    reader = replace(data._reader, tensors=fit, executor=executor)
    banks = score_banks(reader, asked, cross, by_target, weight=weight, prior=prior)
    matrices = tuple(each for each in (asked, cross, by_target) if each is not None)
    fresh = (
        NO_FRESH_QUERIES
        if back
        else fresh_queries(data, reader, asked.shape[1], asked, tested=not fit or own is not None)
    )
    task = Task(
        "reverse" if back else "forward", name, banks, shared=shared, prior_mean=mean, matrices=matrices, fresh=fresh
    )
    if fit:
        return _of_traffic(data, replace(task, transductive=own is None))
    assert test is not None
    rows = banks.queries.block_rows
    return _tested(data, replace(task, scores=reader.matrix(test, rows=rows)), own_bank=own is None)


def _tested(data: Dataset, task: Task, *, own_bank: bool) -> Task:
    """The task with its relevance; where the test queries are the bank, their diagonal is masked if so agreed."""
    task = _of_traffic(data, task, clicked=not own_bank)
    assert task.scores is not None
    banks: Banks = task.banks
    if data.ignore_self:
        refuse_gallery_of_one(task.scores.shape[1])
    if own_bank:
        first = data._bounds(task.scores.shape[0]).start
        rows = task.scores if data._shard == (0, 1) else banks.queries
        banks = replace(banks, queries=MaskedScores(rows, first) if data.ignore_self else rows)
    return replace(
        task,
        banks=banks,
        relevance=data.relevance(task.direction),
        transductive=own_bank or task.shared > 0,
        masked=data.ignore_self,
    )


def _of_traffic(data: Dataset, task: Task, *, clicked: bool = True) -> Task:
    """The task with what is known of the traffic that its bank comes from; clicked: whether clicks are of that bank."""
    clicks = (
        None
        if task.direction == "reverse" or not clicked
        else data.click_counts(task.bank, task.banks.queries.shape[0])
    )
    unit = data._reader.scaled
    if clicked and data.source("clicks") is not None and not is_clicks(data.source("target_prior")):
        unused = f"{argument('clicks')} was not used: {setting('target_prior', 'clicks')} would use it."
        task = replace(task, fresh=replace(task.fresh, notes=(*task.fresh.notes, unused)))
    return replace(task, clicks=clicks, own_log=data.own_log, weigh_duplicates=data.duplicates == "weigh", unit=unit)


def vector_banks(
    reader: Reader,
    targets: Rows,
    query_bank: Rows,
    target_bank: Rows | None = None,
    *,
    weight: FloatArray | None = None,
    prior: FloatArray | None = None,
    budget: Budget | None = None,
    queries: ScoreSource | None = None,
) -> Banks:
    """The banks of embeddings: inner products, computed when they are read.

    With a budget, scores are kept for those who read them again. The two sides that dbsn reads together share one block
    height. queries: query bank x gallery, where that is there already.
    """
    reader = reader.beside(targets, query_bank, target_bank)
    rows = reader.rows_at_once(len(targets), 0 if target_bank is None else len(target_bank))
    source = reader.products(query_bank, targets, rows=rows, budget=budget) if queries is None else queries
    cross = by_gallery = None
    if target_bank is not None:
        cross = reader.products(query_bank, target_bank, rows=rows, budget=budget)
        by_gallery = reader.products(target_bank, targets, budget=budget) if len(target_bank) else None
    execution = reader.execution(source)
    if budget is not None:
        execution = replace(execution, memory=reader.budget().left)
    return Banks(source, cross, by_gallery, weight, prior, execution)


def score_banks(
    reader: Reader,
    scores: Rows,
    cross: Rows | None = None,
    by_target: Rows | None = None,
    *,
    weight: FloatArray | None = None,
    prior: FloatArray | None = None,
) -> Banks:
    """The banks of matrices: bank x gallery, bank x target bank, target bank x gallery."""
    if cross is not None:
        same_rows(cross, "cross_bank_scores", scores, scores.name)
    if by_target is not None:
        same_rows(by_target, "target_bank_scores", scores, scores.name, axis=(1, 1))
    rows = reader.rows_at_once(scores.shape[1], 0 if cross is None else cross.shape[1])
    source = reader.matrix(scores, rows=rows)
    second = None if cross is None else reader.matrix(cross, rows=rows)
    third = None if by_target is None else reader.matrix(by_target)
    return Banks(source, second, third, weight, prior, reader.execution(source))


def extended_banks(
    reader: Reader, new_targets: Rows, query_bank: Rows, target_bank: Rows | None, query_weight: Any
) -> Banks:
    """The same bank rows before unseen targets."""
    reader = reader.beside(new_targets, query_bank, target_bank)
    queries = reader.products(query_bank, new_targets)
    by_gallery = None if target_bank is None else reader.products(target_bank, new_targets)
    return Banks(queries, None, by_gallery, query_weight, execution=reader.execution(queries))


def without_self(banks: Banks, *, same: bool) -> Banks:
    """The banks of a gallery that is its own bank, the diagonal masked; same: whether it is."""
    rows, columns = banks.queries.shape
    if not same and rows == columns:
        raise InputError(
            "ignore_self",
            f"needs the gallery as its own bank, but {argument('query_bank')} holds other vectors",
            "leave it out",
        )
    refuse_gallery_of_one(columns)
    if rows != columns:
        raise InputError(
            "ignore_self",
            f"needs the gallery as its own bank, but {rows:,} bank rows meet {columns:,} targets",
            "leave it out",
        )
    return replace(banks, queries=MaskedScores(banks.queries))


def refuse_gallery_of_one(columns: int) -> None:
    """Stops a task that would leave a target out of a gallery that has no other."""
    if columns < 2:
        raise InputError("ignore_self", "leaves nothing of a gallery of one", "give at least two targets")


def count_shared(queries: Rows, bank: Rows, *, unit: bool, allowed: bool) -> int:
    """How many test queries are in the bank; an error unless that is allowed."""
    rows = shared_rows(queries, bank, unit=unit)
    if rows.size and not allowed:
        first = ", ".join(str(row) for row in rows[:5])
        raise InputError(
            f"{rows.size:,} of {queries.shape[0]:,} test queries are also in {argument(bank.name)} (first rows: "
            f"{first}); take them out, or allow it with {setting('allow_overlap', True)}."
        )
    return int(rows.size)


def missing(method: Method, banks: Banks) -> str | None:
    """Why the method cannot run on these banks, as a sentence, or None."""
    for need in sorted(method.requires):
        if getattr(banks, need) is None:
            return f"{method.name} needs a target bank: {NEEDS[need]}."
    for name in ("query_weight", "target_prior"):
        if getattr(banks, name) is not None and name not in method.marginals:
            return f"{argument(name)} means nothing to {method.name}; leave it out, or use is, dualis, sn or dbsn."
    return None


def check_needs(method: Method, banks: Banks) -> None:
    """Refuses a method whose banks are not all there, or that has no use for the weights it was given."""
    lacking = missing(method, banks)
    if lacking is not None:
        raise InputError(lacking)

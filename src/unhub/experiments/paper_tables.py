"""The paper's tables: what each needs, and its values for a dataset under a protocol."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from unhub.api.evaluation import strength_notes
from unhub.api.normalize import normalize
from unhub.dataset import Dataset
from unhub.experiments.result import QUERY_AWARE, SPARSITY, Block, ResultTable, Row, block
from unhub.experiments.run import ONE_BANK, RANK, SKEWNESS, TWO_BANKS, Run
from unhub.foundation import VERSION
from unhub.foundation.errors import InputError
from unhub.foundation.wording import argument, no_such, spoken
from unhub.methods import Method, NoCorrection, SparseK, settings
from unhub.metrics import sparsity
from unhub.scores import whole_matrix

PLANS = ("otn", "l2n", "hn")
FEW = (1, 5)
"""queries for each target in the sparsest plans"""
OF_PLANS = "average"
"""how ties rank where most of a matrix is tied: counted as hits, they would make every plan look perfect"""
LARGEST_PLAN = 25_000_000
"""entries of the largest matrix whose transport plans are computed: they take minutes and gigabytes beyond it"""


def query_aware(run: Run) -> ResultTable:
    """The test queries as their own bank, in both directions: no correction, IS, DIS and SN."""
    rows = block(QUERY_AWARE, run.evaluations(("none", *ONE_BANK), run.metrics))
    return _table(run, "query-aware", "The test queries as the bank", run.metrics, [rows])


def banks(run: Run) -> ResultTable:
    """Each bank by its queries alone (IS, DIS, SN), and with its targets (DualIS, DualDIS, DBSN)."""
    blocks: list[Block] = []
    for name in run.data.banks:
        evaluations = run.evaluations(("none", *ONE_BANK, *TWO_BANKS), run.metrics, name)
        blocks += _split(name, block(f"{name} & -", evaluations))
    return _table(run, "banks", "Banks of other queries, and of other targets", run.metrics, blocks)


def skewness(run: Run) -> ResultTable:
    """The skewness of the k-occurrence at every k, before and after; the paper prints k = 1."""
    note = "lower skewness does not mean higher recall: compare R@1"
    rows = block(QUERY_AWARE, run.evaluations(("none", "is", "sn"), SKEWNESS))
    return _table(run, "skewness", "Skewness of the k-occurrence", SKEWNESS, [rows], note)


def variants(run: Run, *, largest_plan: int = LARGEST_PLAN) -> ResultTable:
    """Ways to normalise a whole matrix: SN and transport plans, with the share of zeros each leaves."""
    data, metrics = run.data, tuple(dict.fromkeys((*run.metrics, RANK)))
    queries, gallery = data.shape
    chosen = run.methods(("none", "is", "sn"), "forward", banked=False)
    evaluation = run.evaluate(chosen, "forward", metrics, ties=OF_PLANS, progress=run.progress)
    results, zeros = dict(evaluation.rows), dict.fromkeys(evaluation.rows, 0.0)
    ties = data.settings.get("ties", OF_PLANS)
    notes = [f"ties: {ties}; what a plan leaves out is tied, so that all but its R@1 follows from that"]
    if queries * gallery > largest_plan:
        notes.append(f"plans were left out: {queries * gallery:,} entries are more than {largest_plan:,}")
        plans: list[Method] = []
    else:
        matrix = whole_matrix(data.test_scores())
        left = " and ".join(f"M{k}N" for k in FEW if k * gallery < queries)
        if left:
            notes.append(
                f"{left} left out: so few queries for each of {gallery:,} targets leave some of {queries:,} out"
            )
        few = [SparseK(k=k) for k in FEW if k * gallery >= queries]
        plans = [*run.methods(PLANS, "forward", banked=False), *few]
    for at, each in enumerate(plans):
        if run.progress is not None:
            run.progress(f"plan {each.name}", at, len(plans))
        plan = normalize(each, scores=matrix)
        label = f"{each.name}(k={each.k})" if isinstance(each, SparseK) else each.name
        other = data.with_scores(plan)
        ranked = run.evaluate([NoCorrection()], "forward", metrics, ties=OF_PLANS, data=other)["none"]
        row = replace(ranked, label=label, method=each.name, settings=settings(each), transductive=True)
        results[label], zeros[label] = row, sparsity(plan)
    way = data.directions[0]
    rows = block(QUERY_AWARE, {way: replace(evaluation, rows=results)})
    with_zeros = [replace(row, values={way: {**row.values[way], SPARSITY: zeros[row.label]}}) for row in rows.rows]
    blocks = [replace(rows, rows=tuple(with_zeros))]
    return _table(run, "variants", "Variants of the normalisation", (*run.metrics, SPARSITY), blocks, *notes)


def _table(run: Run, name: str, title: str, metrics: tuple[str, ...], blocks: list[Block], *notes: str) -> ResultTable:
    """A table of these blocks, median ranks as the protocol has them."""
    if run.preset.floored:
        blocks = [replace(each, rows=tuple(_floored(row) for row in each.rows)) for each in blocks]
    return ResultTable(name, title, *run.names, run.preset.name, metrics, tuple(blocks), notes)


def _floored(row: Row) -> Row:
    """The row with median ranks rounded down."""
    values = {
        way: {name: math.floor(value) if name == "MdR" else value for name, value in each.items()}
        for way, each in row.values.items()
    }
    return replace(row, values=values)


def _split(name: str, whole: Block) -> list[Block]:
    """The rows of one bank, no correction first, and those of both, if it has both."""
    single = tuple(row for row in whole.rows if row.method not in TWO_BANKS)
    bank = f"{name} & {name}"
    both = tuple(replace(row, bank=bank) for row in whole.rows if row.method in TWO_BANKS)
    blocks = [replace(whole, rows=single), Block(bank, both, whole.evaluations)]
    return blocks if both else blocks[:1]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: its name, the paper's numbers for it, and what a dataset lacks for it, if anything."""

    name: str
    numbers: tuple[str, ...]
    description: str
    make: Callable[[Run], ResultTable]
    task: str | None = "retrieval"
    """the only task that it is for; None: a table of banks"""

    def lacks(self, data: Dataset) -> str | None:
        """What a dataset lacks for it; None if it can be computed."""
        if self.task is not None:
            wrong = f"{argument('task_type')} is {data.task_type}, not {self.task}"
            return None if data.task_type == self.task else spoken(wrong, data.door())
        if data.task_type == "self-retrieval":
            return spoken(f"{argument('task_type')} is self-retrieval", data.door())
        if data.banks:
            return None
        file = f"{argument('query_bank')}, an embedding file"
        if data.kind == "scores":
            file = f"{argument('query_bank_scores')}, a matrix of bank x test targets"
        return spoken(f"there is no bank; name {file}", data.door("val"))


TABLES = {
    each.name: each
    for each in (
        PaperTable("query-aware", ("1", "2", "3", "A1", "A2", "A3", "A4"),
                   "the test queries as the bank: no correction, IS, DIS, SN", query_aware),
        PaperTable("banks", ("4", "A7", "A8", "A9", "A10"), "every bank, with and without its targets", banks, None),
        PaperTable("skewness", ("5",), "skewness of the k-occurrence, all k", skewness),
        PaperTable("variants", ("6",), "SN beside transport plans", variants),
        PaperTable("self-retrieval", ("A5",), "items among themselves, self-pairs masked", query_aware,
                   "self-retrieval"),
        PaperTable("classification", ("A6",), "class embeddings as targets", query_aware, "classification"),
    )
}  # fmt: skip
"""by name; the paper's own numbers are other names for them"""


def paper_table(name: str) -> PaperTable:
    """The table of a name or of a number of the paper."""
    for each in TABLES.values():
        if name == each.name or name.upper() in each.numbers:
            return each
    listed = "; ".join(f"{each.name} ({', '.join(each.numbers)})" for each in TABLES.values())
    raise InputError(no_such("table", name, TABLES, listed))


def possible(data: Dataset) -> dict[str, str | None]:
    """For every table what a dataset lacks for it, or None if it can be computed."""
    return {name: each.lacks(data) for name, each in TABLES.items()}


def result_table(name: str, run: Run) -> ResultTable:
    """One table of a dataset, with the notes of its evaluations; an error says which part is missing."""
    chosen = paper_table(name)
    lacking = chosen.lacks(run.data)
    if lacking is not None:
        raise InputError(f"{run.data.prefix}the table {chosen.name} cannot be made: {lacking}.")
    run.refuse_scores()
    facts = {"unhub": VERSION, "files": run.contents["files"], "settings": dict(run.data.settings)}
    table = chosen.make(run)
    evaluations = (each for block in table.blocks for each in block.evaluations.values())
    notes = dict.fromkeys(note for each in evaluations for note in each.notes)
    return replace(table, name=chosen.name, notes=(*table.notes, *notes), strengths=_strengths(run, table), facts=facts)


def _strengths(run: Run, table: ResultTable) -> tuple[str, ...]:
    """At which strength the rows were served: as the guard has it, or 1 in the paper's protocols."""
    rows: dict[str, list[str]] = {}
    evaluations = [(each.bank, way, one) for each in table.blocks for way, one in each.evaluations.items()]
    for bank, way, evaluation in evaluations:
        for note in strength_notes(evaluation):
            rows.setdefault(note, []).append(f"{bank.partition(' & ')[0]} {way}")
    whole = len({(bank.partition(" & ")[0], way) for bank, way, _ in evaluations})
    if rows:
        return tuple(
            note if len(set(at)) == whole else f"{', '.join(dict.fromkeys(at))}: {note}" for note, at in rows.items()
        )
    given = run.data.settings.get("strength")
    return (f"strength 1: that of the protocol {run.preset.name}" if given is None else f"strength {given}, as given",)

"""The paper's tables: which there are, what each needs, and making them from an experiment under a protocol."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from unhub.api.evaluation import Evaluation
from unhub.api.normalize import normalize
from unhub.dataset import Dataset
from unhub.experiments.hashes import hashes
from unhub.experiments.result import QUERY_AWARE, SPARSITY, Block, ResultTable, Row, block
from unhub.experiments.run import ONE_BANK, RANK, SKEWNESS, TWO_BANKS, Run
from unhub.foundation import VERSION
from unhub.foundation.errors import InputError
from unhub.foundation.types import FloatArray
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
    """The test queries as their own bank, in both directions: nothing, IS, DIS and SN."""
    made = block(QUERY_AWARE, run.evaluations(("none", *ONE_BANK), run.metrics))
    return _table(run, "query-aware", "The test queries as the bank", run.metrics, [made])


def banks(run: Run) -> ResultTable:
    """Each bank by its queries alone (IS, DIS, SN), and with its targets (DualIS, DualDIS, DBSN)."""
    made: list[Block] = []
    for name in run.data.banks:
        done = run.evaluations(("none", *ONE_BANK, *TWO_BANKS), run.metrics, name)
        made += _split(name, block(f"{name} & -", done))
    return _table(run, "banks", "Banks of other queries, and of other targets", run.metrics, made)


def skewness(run: Run) -> ResultTable:
    """The skewness of the k-occurrence at every k, before and after; the paper prints k = 1."""
    note = "skewness falling does not mean that recall rises: R@1 stands beside it"
    made = block(QUERY_AWARE, run.evaluations(("none", "is", "sn"), SKEWNESS))
    return _table(run, "skewness", "Skewness of the k-occurrence", SKEWNESS, [made], note)


def variants(run: Run, *, largest_plan: int = LARGEST_PLAN) -> ResultTable:
    """Ways to normalise a whole matrix: SN beside transport plans, with the share of zeros each leaves."""
    data, metrics = run.data, run.metrics
    ranked = tuple(dict.fromkeys((*metrics, RANK)))
    queries, gallery = data.shape
    chosen = run.methods(("none", "is", "sn"), "forward", banked=False)
    done = run.evaluate(chosen, "forward", ranked, ties=OF_PLANS, progress=run.progress)
    zeros = dict.fromkeys(done.rows, 0.0)
    ties = data.settings.get("ties", OF_PLANS)
    notes = [f"ties: {ties}; what a plan leaves out is tied, so that all but its R@1 follows from that"]
    if queries * gallery > largest_plan:
        notes.append(f"plans were left out: {queries * gallery:,} entries are more than {largest_plan:,}")
    else:
        matrix = whole_matrix(data.test_scores())
        few = [SparseK(k=k) for k in FEW if k * gallery >= queries]
        if len(few) < len(FEW):
            left = " and ".join(f"M{k}N" for k in FEW if k * gallery < queries)
            notes.append(
                f"{left} left out: so few queries for each of {gallery:,} targets leave some of {queries:,} out"
            )
        plans = (*run.methods(PLANS, "forward", banked=False), *few)
        for at, each in enumerate(plans):
            if run.progress is not None:
                run.progress(f"plan {each.name}", at, len(plans))
            plan = normalize(each, scores=matrix)
            label = f"{each.name}(k={each.k})" if isinstance(each, SparseK) else each.name
            done = _with_row(done, run, label, each, plan, ranked)
            zeros[label] = sparsity(plan)
    way = data.directions[0]
    made = block(QUERY_AWARE, {way: done})
    rows = tuple(
        replace(row, values={way: {**row.values[way], SPARSITY: share}})
        for row, share in zip(made.rows, zeros.values(), strict=True)
    )
    table = [replace(made, rows=rows)]
    return _table(run, "variants", "Variants of the normalisation", (*metrics, SPARSITY), table, *notes)


def _with_row(
    done: Evaluation, run: Run, label: str, method: Method, plan: FloatArray, metrics: tuple[str, ...]
) -> Evaluation:
    """The evaluation with a row for a plan, ranked as any matrix is."""
    ranked = run.evaluate([NoCorrection()], "forward", metrics, ties=OF_PLANS, data=run.data.with_scores(plan))
    row = replace(ranked["none"], label=label, method=method.name, settings=settings(method), transductive=True)
    return replace(done, rows={**done.rows, label: row})


def _table(run: Run, name: str, title: str, metrics: tuple[str, ...], blocks: list[Block], *notes: str) -> ResultTable:
    """A table of these blocks, median ranks as the preset has them."""
    its = run.data
    if run.preset.floored:
        blocks = [replace(each, rows=tuple(_floored(row) for row in each.rows)) for each in blocks]
    return ResultTable(name, title, its.name, its.model, run.preset.name, metrics, tuple(blocks), notes)


def _floored(row: Row) -> Row:
    """The row with median ranks rounded down."""
    values = {
        way: {name: math.floor(value) if name == "MdR" else value for name, value in each.items()}
        for way, each in row.values.items()
    }
    return replace(row, values=values)


def _split(name: str, made: Block) -> list[Block]:
    """The rows of one bank, nothing corrected first, and those of both, if it has both."""
    single = tuple(row for row in made.rows if row.method in ("none", *ONE_BANK))
    bank = f"{name} & {name}"
    both = tuple(replace(row, bank=bank) for row in made.rows if row.method in TWO_BANKS)
    blocks = [replace(made, rows=single), Block(bank, both, made.evaluations)]
    return blocks if both else blocks[:1]


@dataclass(frozen=True)
class PaperTable:
    """A table of the paper: its name, the paper's numbers for it, and what an experiment lacks for it, if anything."""

    name: str
    numbers: tuple[str, ...]
    description: str
    make: Callable[[Run], ResultTable]
    lacks: Callable[[Dataset], str | None]


def _needs_task(*tasks: str) -> Callable[[Dataset], str | None]:
    def lacks(data: Dataset) -> str | None:
        return None if data.task_type in tasks else f"dataset.task is {data.task_type}, not {' or '.join(tasks)}"

    return lacks


def _needs_banks(data: Dataset) -> str | None:
    if data.task_type == "self-retrieval":
        return "dataset.task is self-retrieval"
    if not data.banks:
        vectors = data.kind == "vectors"
        part = "queries, an embedding file" if vectors else "scores, a matrix of bank x test targets"
        return f"there is no bank; name banks.val.{part}, in the section [banks.val]"
    return None


TABLES = {
    each.name: each
    for each in (
        PaperTable(
            "query-aware",
            ("1", "2", "3", "A1", "A2", "A3", "A4"),
            "the test queries as the bank: none, IS, DIS, SN",
            query_aware,
            _needs_task("retrieval"),
        ),
        PaperTable(
            "banks", ("4", "A7", "A8", "A9", "A10"), "every bank, with and without its targets", banks,
            _needs_banks,
        ),
        PaperTable("skewness", ("5",), "skewness of the k-occurrence, all k", skewness, _needs_task("retrieval")),
        PaperTable("variants", ("6",), "SN beside transport plans", variants, _needs_task("retrieval")),
        PaperTable(
            "self-retrieval", ("A5",), "items among themselves, self-pairs masked", query_aware,
            _needs_task("self-retrieval"),
        ),
        PaperTable(
            "classification", ("A6",), "class embeddings as targets", query_aware,
            _needs_task("classification"),
        ),
    )
}  # fmt: skip
"""by name; the paper's own numbers are other names for them"""


def named(name: str) -> PaperTable:
    """The table of a name or of a number of the paper."""
    for each in TABLES.values():
        if name == each.name or name.upper() in each.numbers:
            return each
    near = difflib.get_close_matches(name, TABLES, 1)
    known = "; ".join(f"{each.name} ({', '.join(each.numbers)})" for each in TABLES.values())
    hint = f"did you mean {near[0]}? There" if near else "there"
    raise InputError(f"there is no table {name!r}; {hint} are {known}.")


def possible(data: Dataset) -> dict[str, str | None]:
    """For every table what a dataset lacks for it, or None if it can be made."""
    return {name: each.lacks(data) for name, each in TABLES.items()}


def result_table(name: str, run: Run) -> ResultTable:
    """One table of a dataset; an error says which part is missing. It has the notes of its evaluations too."""
    chosen, data = named(name), run.data
    lacking = chosen.lacks(data)
    if lacking is not None:
        raise InputError(f"{data.prefix}the table {chosen.name} cannot be made: {lacking}.")
    run.refuse_scores()
    facts = {"unhub": VERSION, "files": hashes(data), "settings": dict(data.settings)}
    table = chosen.make(run)
    evaluations = (each for block in table.blocks for each in block.evaluations.values())
    notes = dict.fromkeys(note for each in evaluations for note in each.notes)
    return replace(table, name=chosen.name, notes=(*table.notes, *notes), facts=facts)

"""The paper's tables as functions of an experiment and a preset."""

from __future__ import annotations

import math
from dataclasses import replace

from unhub.api.evaluation import Evaluation
from unhub.api.normalize import normalize
from unhub.experiments.result import QUERY_AWARE, SPARSITY, Block, ResultTable, Row, block
from unhub.experiments.run import ONE_BANK, RANK, SKEWNESS, TWO_BANKS, Run
from unhub.experiments.sources import evaluated, matrix_of, scores_of
from unhub.foundation.types import FloatArray
from unhub.methods import Method, NoCorrection, SparseK, settings
from unhub.metrics import sparsity

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
    for name in run.experiment.banks:
        done = run.evaluations(("none", *ONE_BANK, *TWO_BANKS), run.metrics, name)
        made += _split(name, block(f"{name} & -", done))
    return _table(run, "banks", "Banks of other queries, and of other targets", run.metrics, made)


def skewness(run: Run) -> ResultTable:
    """The skewness of the k-occurrence at every k, before and after; the paper prints k = 1."""
    note = "skewness falling does not mean that recall rises: R@1 stands beside it"
    made = block(QUERY_AWARE, run.evaluations(("none", "is", "sn"), SKEWNESS))
    return _table(run, "skewness", "Skewness of the k-occurrence", SKEWNESS, [made], note)


def variants(run: Run) -> ResultTable:
    """Ways to normalise a whole matrix: SN beside transport plans, with the share of zeros each leaves."""
    its, metrics = run.experiment, run.metrics
    ranked = tuple(dict.fromkeys((*metrics, RANK)))
    queries, gallery = scores_of(its).shape
    chosen = run.methods(("none", "is", "sn"), "forward", banked=False)
    done = evaluated(its, run.preset, chosen, direction="forward", metrics=ranked, ties=OF_PLANS, progress=run.progress)
    zeros = dict.fromkeys(done.rows, 0.0)
    ties = its.settings.get("ties", OF_PLANS)
    said = [f"ties: {ties}; what a plan leaves out is tied, so that all but its R@1 follows from that"]
    if queries * gallery > LARGEST_PLAN:
        said.append(f"plans were left out: {queries * gallery:,} entries are more than {LARGEST_PLAN:,}")
    else:
        matrix = matrix_of(its)
        few = [SparseK(k=k) for k in FEW if k * gallery >= queries]
        if len(few) < len(FEW):
            left = " and ".join(f"M{k}N" for k in FEW if k * gallery < queries)
            said.append(
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
    way = its.directions[0]
    made = block(QUERY_AWARE, {way: done})
    rows = tuple(
        replace(row, values={way: {**row.values[way], SPARSITY: share}})
        for row, share in zip(made.rows, zeros.values(), strict=True)
    )
    table = [replace(made, rows=rows)]
    return _table(run, "variants", "Variants of the normalisation", (*metrics, SPARSITY), table, *said)


def _with_row(
    done: Evaluation, run: Run, label: str, method: Method, plan: FloatArray, metrics: tuple[str, ...]
) -> Evaluation:
    """The evaluation with a row for a plan, ranked as any matrix is."""
    ranked = evaluated(
        run.experiment, run.preset, [NoCorrection()], direction="forward", metrics=metrics, plan=plan, ties=OF_PLANS
    )
    row = replace(ranked["none"], label=label, method=method.name, settings=settings(method), transductive=True)
    return replace(done, rows={**done.rows, label: row})


def _table(run: Run, name: str, title: str, metrics: tuple[str, ...], blocks: list[Block], *notes: str) -> ResultTable:
    """A table of these blocks, median ranks as the preset has them."""
    its = run.experiment
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

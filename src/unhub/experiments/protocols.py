"""The paper's tables as functions of an experiment and a preset."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from unhub.api.evaluation import Evaluation
from unhub.api.normalize import normalize
from unhub.api.progress import Progress
from unhub.experiments.experiment import Experiment
from unhub.experiments.presets import Preset
from unhub.experiments.result import QUERY_AWARE, SPARSITY, Block, ResultTable, Row, block
from unhub.experiments.sources import evaluated, matrix_of
from unhub.foundation.types import FloatArray
from unhub.methods import Method, NoCorrection, SparseK, settings
from unhub.metrics import sparsity

RETRIEVAL = ("R@1", "R@5", "R@10", "MdR", "MnR")
SELF_RETRIEVAL = ("R@1", "R@2", "R@4", "R@8")
CLASSIFICATION = ("R@1", "R@5", "R@10")
SKEWNESS = ("skew@1", "skew@5", "skew@10", "R@1")
ONE_BANK = ("is", "dis", "sn")
TWO_BANKS = ("dualis", "dualdis", "dbsn")
PLANS = ("otn", "l2n", "hn")
OF_PLANS = "average"
"""how ties rank where most of a matrix is tied: counted as hits, they would make every plan look perfect"""
LARGEST_PLAN = 25_000_000
"""entries of the largest matrix whose transport plans are computed: they take minutes and gigabytes beyond it"""


@dataclass(frozen=True)
class Run:
    """What every protocol works on."""

    experiment: Experiment
    preset: Preset
    progress: Progress | None = None

    def methods(self, names: tuple[str, ...], direction: str, *, banked: bool) -> list[Method]:
        """These methods, as the preset and the file have them."""
        its = self.experiment
        return [self.preset.method(name, its.modality, direction, banked=banked, given=its.settings) for name in names]

    def each_way(self, run: Callable[[str], Evaluation]) -> dict[str, Evaluation]:
        """What ``run`` gives for each direction, by the name that the file has for it."""
        ways = ("forward", "reverse") if self.experiment.both_ways else ("forward",)
        return {name: run(way) for name, way in zip(self.experiment.directions, ways, strict=False)}

    def table(self, name: str, title: str, metrics: tuple[str, ...], blocks: list[Block], *notes: str) -> ResultTable:
        """A table of these blocks, median ranks as the preset has them."""
        its = self.experiment
        if self.preset.floored:
            blocks = [replace(each, rows=tuple(_floored(row) for row in each.rows)) for each in blocks]
        return ResultTable(name, title, its.name, its.model, self.preset.name, metrics, tuple(blocks), notes)


def query_aware(run: Run) -> ResultTable:
    """The test queries as their own bank, in both directions: nothing, IS, DIS and SN."""
    metrics = run.experiment.metrics or _usual(run.experiment)

    def evaluation(way: str) -> Evaluation:
        chosen = run.methods(("none", *ONE_BANK), way, banked=False)
        return evaluated(run.experiment, run.preset, chosen, direction=way, metrics=metrics, progress=run.progress)

    made = block(QUERY_AWARE, run.each_way(evaluation))
    return run.table("query-aware", "The test queries as the bank", metrics, [made])


def banks(run: Run) -> ResultTable:
    """Each bank by its queries alone (IS, DIS, SN), and with its targets (DualIS, DualDIS, DBSN)."""
    its = run.experiment
    metrics = its.metrics or _usual(its)
    made: list[Block] = []
    for name, parts in its.banks.items():
        dual = bool({"targets", "cross"} & set(parts))
        names = ("none", *ONE_BANK, *(TWO_BANKS if dual else ()))
        ways = _ways(run, parts)

        def evaluation(way: str, name: str = name, names: tuple[str, ...] = names) -> Evaluation:
            chosen = run.methods(names, way, banked=True)
            return evaluated(its, run.preset, chosen, direction=way, metrics=metrics, bank=name, progress=run.progress)

        done = {title: evaluation(way) for title, way in ways.items()}
        made += _split(name, block(f"{name} & -", done), dual)
    return run.table("banks", "Banks of other queries, and of other targets", metrics, made)


def skewness(run: Run) -> ResultTable:
    """The skewness of the k-occurrence at every k, before and after; the paper prints k = 1."""

    def evaluation(way: str) -> Evaluation:
        chosen = run.methods(("none", "is", "sn"), way, banked=False)
        return evaluated(run.experiment, run.preset, chosen, direction=way, metrics=SKEWNESS, progress=run.progress)

    note = "skewness falling does not mean that recall rises: R@1 stands beside it"
    made = block(QUERY_AWARE, run.each_way(evaluation))
    return run.table("skewness", "Skewness of the k-occurrence", SKEWNESS, [made], note)


def variants(run: Run) -> ResultTable:
    """Ways to normalise a whole matrix: SN beside transport plans, with the share of zeros each leaves."""
    its = run.experiment
    metrics = its.metrics or _usual(its)
    matrix = matrix_of(its)
    chosen = run.methods(("none", "is", "sn"), "forward", banked=False)
    done = evaluated(
        its, run.preset, chosen, direction="forward", metrics=metrics, ties=OF_PLANS, progress=run.progress
    )
    zeros = dict.fromkeys(done.rows, 0.0)
    ties = its.settings.get("ties", OF_PLANS)
    said = [f"ties: {ties}; what a plan leaves out is tied, so that all but its R@1 follows from that"]
    if matrix.size > LARGEST_PLAN:
        said.append(f"plans were left out: {matrix.size:,} entries are more than {LARGEST_PLAN:,}")
    else:
        for at, each in enumerate((*run.methods(PLANS, "forward", banked=False), SparseK(k=1), SparseK(k=5))):
            if run.progress is not None:
                run.progress(f"plan {each.name}", at, len(PLANS) + 2)
            plan = normalize(each, scores=matrix)
            label = f"{each.name}(k={each.k})" if isinstance(each, SparseK) else each.name
            done = _with_row(done, run, label, each, plan, metrics)
            zeros[label] = 100 * sparsity(plan)
    way = its.directions[0]
    made = block(QUERY_AWARE, {way: done})
    rows = tuple(
        replace(row, values={way: {**row.values[way], SPARSITY: share}})
        for row, share in zip(made.rows, zeros.values(), strict=True)
    )
    table = [replace(made, rows=rows)]
    return run.table("variants", "Variants of the normalisation", (*metrics, SPARSITY), table, *said)


def _with_row(
    done: Evaluation, run: Run, label: str, method: Method, plan: FloatArray, metrics: tuple[str, ...]
) -> Evaluation:
    """The evaluation with a row for a plan, ranked as any matrix is."""
    ranked = evaluated(
        run.experiment, run.preset, [NoCorrection()], direction="forward", metrics=metrics, plan=plan, ties=OF_PLANS
    )
    row = replace(ranked["none"], label=label, method=method.name, settings=settings(method), transductive=True)
    return replace(done, rows={**done.rows, label: row})


def _floored(row: Row) -> Row:
    """The row with median ranks rounded down."""
    values = {
        way: {name: math.floor(value) if name == "MdR" else value for name, value in each.items()}
        for way, each in row.values.items()
    }
    return replace(row, values=values)


def _usual(experiment: Experiment) -> tuple[str, ...]:
    by_task = {"classification": CLASSIFICATION, "self-retrieval": SELF_RETRIEVAL}
    return by_task.get(experiment.task, RETRIEVAL)


def _ways(run: Run, parts: object) -> dict[str, str]:
    """The directions that a bank can serve: back only by embeddings, where its targets are the queries."""
    its = run.experiment
    ways = {its.directions[0]: "forward"}
    if its.both_ways and its.vectors and isinstance(parts, dict) and {"queries", "targets"} <= set(parts):
        ways[its.directions[1]] = "reverse"
    return ways


def _split(name: str, made: Block, dual: bool) -> list[Block]:
    """The rows of one bank, nothing corrected first, and those of both."""
    single = tuple(row for row in made.rows if row.method in ("none", *ONE_BANK))
    blocks = [replace(made, rows=single)]
    if dual:
        bank = f"{name} & {name}"
        both = tuple(replace(row, bank=bank) for row in made.rows if row.method in TWO_BANKS)
        blocks.append(Block(bank, both, made.evaluations))
    return blocks

"""The results table: every method with intervals, what it gains, and how many queries it moves."""

from __future__ import annotations

import math

from unhub.analysis.evaluated import EvaluatedDataset
from unhub.analysis.model import Estimate, ResultLine, ResultsTable
from unhub.api.evaluation import Evaluation, MethodResult
from unhub.dataset import TEST_QUERIES
from unhub.experiments.result import PairwiseTests, better, pairwise_tests
from unhub.experiments.run import RETRIEVAL
from unhub.methods import configure, method, title_of


def results_table(evaluated: EvaluatedDataset) -> ResultsTable:
    """The lines of the bank, then those of the test queries as the bank, which never count as best: upper bounds."""
    lines = own = _lines(evaluated.evaluation, evaluated.bank, evaluated)
    if evaluated.upper is not None:
        lines = own + [each for each in _lines(evaluated.upper, TEST_QUERIES, evaluated) if each.label != "none"]
    names = list(dict.fromkeys(name for each in lines for name in each.values))
    metrics = [name for name in RETRIEVAL if name in names] + [name for name in names if name not in RETRIEVAL]
    return ResultsTable(metrics, lines, {name: _best(own, name) for name in metrics})


def _lines(evaluation: Evaluation, bank: str, evaluated: EvaluatedDataset) -> list[ResultLine]:
    tests = pairwise_tests(evaluation)
    saved = evaluated.saved and evaluation is evaluated.evaluation
    return [
        _line(row, tests[label], "" if label == "none" else bank, saved=saved and label == evaluated.label)
        for label, row in evaluation.rows.items()
    ]


def _line(row: MethodResult, tests: PairwiseTests, bank: str, *, saved: bool) -> ResultLine:
    tau = configure(method(row.method), row.settings).temperature
    gain = None if tests.gain is None else Estimate(tests.gain.value, tests.gain.low, tests.gain.high)
    return ResultLine(
        label=row.label,
        name=title_of(row.method) + (" as saved" if saved else ""),
        tau=float(tau) if isinstance(tau, int | float) else None,
        transductive=row.transductive,
        values=dict(row.values),
        intervals=dict(row.intervals),
        gain=gain,
        better=tests.wins,
        same=tests.ties,
        worse=tests.losses,
        settings=dict(row.settings),
        status=row.status,
        seconds=round(row.seconds, 4),
        bank=bank,
    )


def _best(lines: list[ResultLine], name: str) -> list[int]:
    """The lines with the best value of a metric, transductive ones apart; none where all tie."""
    sign = better(name)
    values = {
        at: round(sign * line.values[name], 6)
        for at, line in enumerate(lines)
        if name in line.values and math.isfinite(line.values[name])
    }
    fair = {at: value for at, value in values.items() if not lines[at].transductive}
    values = fair if len(fair) > 1 else values
    if not sign or len(values) < 2:
        return []
    best = [at for at, value in values.items() if value == max(values.values())]
    return best if len(best) < len(values) else []

"""The results table: every method with intervals, what it gains, and how many queries it moves."""

from __future__ import annotations

import math

from unhub.analysis.material import TEST
from unhub.analysis.model import Line, Range
from unhub.analysis.names import shown_name
from unhub.analysis.story_model import ResultsTable
from unhub.analysis.whole import Whole
from unhub.api.evaluation import Evaluation, MethodResult
from unhub.experiments.pairwise_tests import PairwiseTests, pairwise_tests
from unhub.experiments.result import better
from unhub.methods import configure, method

FIRST = ("R@1", "R@5", "R@10", "MdR", "MnR")
"""metrics that come first, in this order; the others follow as they were asked for"""


def results_table(whole: Whole) -> ResultsTable:
    """The lines of the bank and, where they were tried, those of the test queries as the bank, which compete for
    nothing: no running system has them."""
    lines = own = _lines(whole.evaluation, whole.bank.name, whole)
    if whole.upper is not None:
        lines = own + [each for each in _lines(whole.upper, TEST, whole) if each.label != "none"]
    asked = list(dict.fromkeys(name for each in lines for name in each.values))
    metrics = [name for name in FIRST if name in asked] + [name for name in asked if name not in FIRST]
    return ResultsTable(metrics, lines, {name: _best(own, name) for name in metrics})


def _lines(evaluation: Evaluation, bank: str, whole: Whole) -> list[Line]:
    tests = pairwise_tests(evaluation)
    saved = whole.saved and evaluation is whole.evaluation
    return [
        _line(row, tests[label], "" if label == "none" else bank, saved=saved and label == whole.label)
        for label, row in evaluation.rows.items()
    ]


def _line(row: MethodResult, tests: PairwiseTests, bank: str, *, saved: bool) -> Line:
    tau = configure(method(row.method), row.settings).temperature
    gain = None if tests.gain is None else Range(tests.gain.value, tests.gain.low, tests.gain.high)
    return Line(
        label=row.label,
        name=shown_name(row.method) + (", as saved" if saved else ""),
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


def _best(lines: list[Line], name: str) -> list[int]:
    """The lines with the best value of a metric, of those that a running system could have; none where all tie."""
    sign = better(name)
    told = {
        at: round(sign * line.values[name], 6)
        for at, line in enumerate(lines)
        if name in line.values and math.isfinite(line.values[name])
    }
    fair = {at: value for at, value in told.items() if not lines[at].transductive}
    told = fair if len(fair) > 1 else told
    if not sign or len(told) < 2:
        return []
    best = [at for at, value in told.items() if value == max(told.values())]
    return best if len(best) < len(told) else []

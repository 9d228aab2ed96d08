"""Judges a correction twice: beforehand by the guard, on recent queries, and then on the test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from unhub.api.correction import Correction
from unhub.api.evaluation import Evaluation, MethodResult
from unhub.api.fit import fit
from unhub.api.running import Options, run
from unhub.api.verdict import Verdict
from unhub.dataset import Dataset
from unhub.demo.demo_data import DemoData
from unhub.methods import METHODS, Method, configure, is_matrix_only, method, method_class
from unhub.metrics import DEFAULT_METRICS, Interval

METHOD = "dbsn"
"""what ``unhub fit`` takes by default where there is a target bank"""
BANK_METHODS = tuple(
    name for name in METHODS if not method_class(name).audit and not is_matrix_only(method_class(name))
)
"""every method that can be fitted on a bank; the others need the test queries themselves"""


def guarded_fit(data: DemoData, target_ids: Sequence[str]) -> Correction:
    """The correction of the test part's targets, with the verdict of the recent queries; no test query is used."""
    past = data.past
    return fit(
        METHOD, targets=data.test.targets, query_bank=past.queries, target_bank=past.targets, recent=data.recent,
        target_ids=target_ids,
    )  # fmt: skip


def evaluate_on_test(data: DemoData) -> Evaluation:
    """Every method at its defaults on the test part, each at the strength that the recent queries support."""
    past = data.past
    return _evaluated(
        data, BANK_METHODS, query_bank=past.queries, target_bank=past.targets, recent=data.recent, allow_overlap=True
    )


def transductive(data: DemoData) -> Evaluation:
    """No correction, and SN with the test queries as the bank: an upper bound, at strength 1."""
    return _evaluated(data, ("none", "sn"))


def _evaluated(data: DemoData, names: Sequence[str], **banks: object) -> Evaluation:
    test = data.test
    dataset = Dataset(queries=test.queries, targets=test.targets, relevant=test.relevant, **banks)  # type: ignore[arg-type]
    options = Options(
        metrics=(*DEFAULT_METRICS, "mrr"), ties="average", group_targets=None, ignore_self=False, resamples=1000,
        seed=0, lenient=False, progress=None,
    )  # fmt: skip
    return run(dataset.task("forward", dataset.bank_name()), [method(name) for name in names], options)


def as_measured(row: MethodResult) -> Method:
    """The method with the temperature and the strength of a row."""
    return configure(method(row.method), row.settings)


def gains(result: Evaluation) -> dict[str, Interval]:
    """What each method adds to R@1, in points, with its paired 95% interval."""
    return {each.method: each.interval for each in result.compare("none", on="R@1")}


def advice(verdict: Verdict, gain: Interval) -> str:
    """What the test part says of the verdict, which did not know it. gain: in points of R@1, at the served strength.

    >>> advice(Verdict("apply", 1.0), Interval(6.5, 4.0, 9.0, 0.95, 1000, 0))
    'On the test queries, which the guard has not seen, R@1 changes by +6.5 points (95% interval +4.0 to +9.0).'
    """
    if not verdict.served:
        return "Nothing is served, so the test queries find what they found before."
    facts = f"R@1 changes by {gain.value:+.1f} points (95% interval {gain.low:+.1f} to {gain.high:+.1f})"
    words = f"On the test queries, which the guard has not seen, {facts}."
    if gain.low > 0:
        return words
    if gain.high < 0:
        return f"{words} The guard was wrong here."
    return f"{words} That may be chance: the guard looks for harm and does not promise a gain."


def verdicts(result: Evaluation) -> Mapping[str, Verdict]:
    """The verdict on each method that is a bias."""
    return {label: row.verdict for label, row in result.rows.items() if row.verdict is not None and label != "none"}

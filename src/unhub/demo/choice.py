"""Chooses a temperature and a method on the dev part, without the test part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unhub.api.evaluation import Evaluation
from unhub.api.running import Options, run
from unhub.dataset import Dataset
from unhub.demo.demo_data import DemoData, Part
from unhub.foundation.types import FloatArray
from unhub.methods import ADDITIVE, METHODS, Method, is_matrix_only, method, method_class
from unhub.metrics import DEFAULT_METRICS, Interval, bootstrap_difference
from unhub.scores import EmbeddingScores, spread
from unhub.scores.spread import TAU_PER_STD

TAU_GRID = (0.16, 0.2, 0.25, TAU_PER_STD, 0.45, 0.6, 0.8)
"""temperatures tried, as shares of the standard deviation of the bank's scores"""

BANK_METHODS = tuple(
    name for name in METHODS if not method_class(name).audit and not is_matrix_only(method_class(name))
)
"""every method that can be fitted on a bank; the others need the test queries themselves"""


@dataclass(frozen=True)
class Choice:
    """A method with the temperature that was best on dev, and how it did there."""

    method: Method
    dev: Mapping[str, float]
    gain: Interval

    @property
    def tau(self) -> float | None:
        """The temperature, where the method has one."""
        value = self.method.temperature
        return None if value is None else float(value)


def join_banks(first: Part, second: Part) -> tuple[FloatArray, FloatArray]:
    """Queries and targets of two parts, as one query bank and one target bank."""
    return np.concatenate((first.queries, second.queries)), np.concatenate((first.targets, second.targets))


def choose(data: DemoData) -> dict[str, Choice]:
    """For every method the temperature to use, chosen on dev with a fit on the bank.

    A third of the spread, unless another temperature has a better reciprocal rank on dev by more than one standard
    error of the paired difference: a few hundred queries cannot tell neighbouring temperatures apart.
    """
    taus = temperatures(data)
    tried = [each for name in BANK_METHODS for each in variants(name, taus)]
    result = evaluate_part(data.dev, data.bank.queries, data.bank.targets, tried)
    rows = dict(zip(result, tried, strict=True))
    choices: dict[str, Choice] = {}
    for name in BANK_METHODS:
        family = [label for label, each in rows.items() if each.name == name]
        usual = family[TAU_GRID.index(TAU_PER_STD)] if len(family) > 1 else family[0]
        label = _clearly_better(result, family, than=usual)
        against = (100 * result[each].per_query["R@1"] for each in (label, "none"))
        gain = bootstrap_difference(*against, clusters=result.clusters, level=0.9, rounds=1000)
        choices[name] = Choice(rows[label], dict(result[label].values), gain)
    return choices


def _clearly_better(result: Evaluation, family: Sequence[str], *, than: str) -> str:
    """The best of a family by reciprocal rank, if it beats ``than`` by more than a standard error; else ``than``."""
    best = max(family, key=lambda label: result[label]["mrr"])
    ahead = result[best].per_query["mrr"] - result[than].per_query["mrr"]
    return best if ahead.mean() > ahead.std() / np.sqrt(ahead.size) else than


def verdict(choices: dict[str, Choice]) -> tuple[str, str]:
    """The method to use, and why: the additive one that was best on dev, or "none" if its gain may be chance."""
    best = max((name for name in choices if name in ADDITIVE), key=lambda name: choices[name].dev["mrr"])
    gain = choices[best].gain
    if best == "none":
        return "none", "no method that can be deployed beats no correction on the dev part"
    if gain.low <= 0:
        return "none", (
            f"the best on dev, {best}, gains {gain.value:+.1f} points of R@1, but the 90% interval runs from "
            f"{gain.low:+.1f} to {gain.high:+.1f}: that may be chance, so use no correction"
        )
    return best, (
        f"best deployable method on the dev part: {gain.value:+.1f} points of R@1 there "
        f"(90% interval {gain.low:+.1f} to {gain.high:+.1f}); the test part was not used"
    )


def variants(name: str, taus: Sequence[float]) -> list[Method]:
    """The method at every temperature, or as it is when it has none."""
    plain = method(name)
    return [plain] if plain.temperature is None else [plain.at(tau) for tau in taus]


def evaluate_part(
    part: Part, query_bank: FloatArray | None, target_bank: FloatArray | None, methods: Sequence[Method]
) -> Evaluation:
    """An evaluation of one part; notes on temperatures stay on it, since a whole grid of them is tried."""
    data = Dataset(
        queries=part.queries, targets=part.targets, relevant=part.relevant, query_bank=query_bank,
        target_bank=target_bank, allow_overlap=True,
    )  # fmt: skip
    options = Options(
        metrics=(*DEFAULT_METRICS, "mrr"), ties="average", group_targets=None, ignore_self=False, resamples=1000,
        seed=0, lenient=False, progress=None,
    )  # fmt: skip
    return run(data.task("forward", data.bank_name()), methods, options)


def temperatures(data: DemoData) -> list[float]:
    """The grid in the unit of the scores, rounded to two digits."""
    std = spread(EmbeddingScores(data.bank.queries, data.dev.targets, block_rows=1024)).std
    return [float(f"{share * std:.2g}") for share in TAU_GRID]

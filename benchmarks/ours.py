"""unhub's rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from contenders import Contender, Outcome, Pair, Ready, bank_by_targets
from plain import sinkhorn_of_scores
from problems import CSLS_K, NNN_ALPHA, NNN_K, ROUNDS, TAU, Problem

SETTINGS: dict[str, dict[str, Any]] = {
    "sn": {"tau": TAU, "iterations": ROUNDS},
    "dbsn": {"tau": TAU, "iterations": ROUNDS},
    "is": {"tau": TAU},
    "nnn": {"k": NNN_K, "alpha": NNN_ALPHA},
    "csls": {"k": CSLS_K},
}

STREAMED = ("64MB", "256MB")
"""bounds within which no kernel of the tables' shapes is kept"""


def said(correction: Any) -> str:
    """The plan and the error bound of a correction, where it has them."""
    plan, bound = getattr(correction, "plan", None), getattr(correction, "error_bound", None)
    return " ".join(word for word in (plan and str(plan), bound is not None and f"[error <= {bound:.1e}]") if word)


def _fitted(problem: Problem, method: str, memory: str | None = None) -> Any:
    import unhub
    from unhub.core.execution import Execution

    compiled = Execution(compiled=True)  # so that a tiny warm-up call loads what the large one uses
    banks = {"target_bank": problem.target_bank} if method == "dbsn" else {}
    return unhub.fit(
        method,
        targets=problem.targets,
        query_bank=problem.bank,
        memory=memory,
        executor=compiled,
        **banks,
        **SETTINGS[method],
    )


def _fit(method: str, memory: str | None, problem: Problem) -> Ready:
    def work() -> Outcome:
        correction = _fitted(problem, method, memory)
        return Outcome(correction.bias, note=said(correction))

    return work


def _search(corrected: bool, problem: Problem) -> Ready:
    correction = _fitted(problem, "is")
    return lambda: Outcome(ids=correction.search(problem.queries, k=10, corrected=corrected).ids)


def _extend(problem: Problem) -> Ready:
    correction = _fitted(problem, "sn")
    return lambda: Outcome(np.concatenate((correction.bias, correction.extend(problem.new_targets))))


def _scores(problem: Problem) -> Ready:
    import unhub

    scores = problem.bank @ problem.targets.T

    def work() -> Outcome:
        correction = unhub.fit("sn", scores=scores, **SETTINGS["sn"])
        return Outcome(correction.bias, note=said(correction))

    return work


def _rounds_of_products(problem: Problem) -> Ready:
    def work() -> Outcome:
        for _ in range(ROUNDS):
            problem.bank @ problem.targets.T
        return Outcome()

    return work


def _joined(problem: Problem) -> Pair:
    return problem.bank, np.concatenate((problem.targets, problem.target_bank))


OTHERS: dict[str, Callable[[], Contender]] = {
    "search": lambda: Contender(
        "unhub search, top 10, corrected",
        partial(_search, True),
        ranking="is",
        product=lambda problem: (problem.queries, problem.targets),
        rival=partial(_search, False),
        remark="unit: the product of the queries and the targets; beside it: the same search, corrected=False",
    ),
    "extend": lambda: Contender(
        "unhub extend, 1,000 new targets",
        _extend,
        reference="extend",
        product=lambda problem: (problem.bank, problem.new_targets),
        remark="unit: the product of the bank and the new targets",
    ),
    "scores": lambda: Contender(
        "unhub fit sn, scores given",
        _scores,
        reference="sn",
        ranking="sn",
        rival=sinkhorn_of_scores,
        remark="beside it: ten rounds of plain NumPy on K = exp(S / tau), the scores also given",
    ),
}


def _streams(name: str, memory: str | None) -> bool:
    return name == "sn" and memory in STREAMED


def _remark(name: str, memory: str | None) -> str:
    if name == "dbsn":
        return "unit: the product of the bank with targets and target bank"
    return f"beside it: {ROUNDS} products, one after the other" if _streams(name, memory) else ""


def contender(name: str, memory: str | None) -> Contender:
    """unhub's row of a method, with or without a bound on memory, or of one of the others."""
    if name in OTHERS:
        return OTHERS[name]()
    return Contender(
        f"unhub fit {name}" + (f", memory {memory}" if memory else ""),
        partial(_fit, name, memory),
        reference=name,
        ranking=name,
        product=_joined if name == "dbsn" else bank_by_targets,
        rival=_rounds_of_products if _streams(name, memory) else None,
        remark=_remark(name, memory),
    )

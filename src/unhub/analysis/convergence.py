"""How fast Sinkhorn's alternation settles: the marginal error after each round.

After round t the columns are exact and the rows are off by sum_u |row sum of the plan - a_u|. The next round makes them
exact, so that the error is read off how far it moves:  a @ |expm1((f_t - f_{t+1}) / tau)|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unhub.analysis.model import Convergence
from unhub.analysis.names import shown_name
from unhub.analysis.whole import Whole
from unhub.foundation.types import FloatArray
from unhub.methods import Method, is_additive, method, method_class
from unhub.scores import Banks

SAME = 1e-3
"""of tau: a bias that comes out farther from the saved one was fitted with something that is not in the file"""


@dataclass
class ErrorJournal:
    """Follows a fit: the error of every round but the last, which the fit reports itself."""

    tau: float
    a: FloatArray
    errors: list[float] = field(default_factory=list)
    _last: FloatArray | None = None

    def advance(self, rows: int) -> None:
        """Rows were read; nothing is noted."""

    def load(self) -> None:
        """There is nothing to go on from."""

    def save(self, state: Callable[[], dict[str, FloatArray]], rounds: int) -> None:
        """A round is finished: the one before it gets its error."""
        f = np.asarray(state()["f"], dtype=np.float64)
        if rounds == 1:
            self.errors, self._last = [], None  # a fit may start again, in the log domain
        if self._last is not None:
            self.errors.append(float(self.a @ np.abs(np.expm1((self._last - f) / self.tau))))
        self._last = f


def errors_of(which: Method, banks: Banks) -> tuple[list[float], FloatArray]:
    """The error after each round, the last one as the fit reports it, and the bias that came of it."""
    assert is_additive(which)
    journal = ErrorJournal(float(which.temperature or 0), banks.query_marginal())
    bias = which.estimate(replace(banks, observer=journal))
    return [*journal.errors, float(bias.marginal_error or 0.0)], bias.values


def convergence(whole: Whole) -> tuple[list[Convergence], list[str]]:
    """A line for each Sinkhorn method of the table, and what is to be said where one cannot be run again."""
    found, notes = [], []
    rows = [row for row in whole.evaluation.rows.values() if method_class(row.method).potentials]
    banks = whole.trial().banks if rows else None
    for row in rows:
        assert banks is not None
        chosen = method(row.method, _own(row.settings))
        saved = whole.saved and row.label == whole.label
        if any(getattr(banks, need) is None for need in chosen.requires):
            notes.append(f"{chosen.title} cannot be run again: the target bank that it was fitted with is not here.")
            continue
        errors, bias = errors_of(chosen, banks)
        strength = float(row.settings.get("strength", 1.0))
        off = 0.0 if row.bias is None else float(np.abs(strength * bias - row.bias).max())
        if saved and off > SAME * float(chosen.temperature or 0):
            notes.append(
                f"{shown_name(row.method)} was fitted with more than is in its file, so that its rounds are not shown."
            )
            continue
        found.append(Convergence(row.label, shown_name(row.method), errors, row.settings.get("tol")))
    return found, notes


def _own(given: Any) -> Any:
    return {name: value for name, value in given.items() if value is not None}

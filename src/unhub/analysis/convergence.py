"""How fast Sinkhorn converges: the marginal error after each round.

After round t the columns are exact and the rows are off by sum_u |row sum of the plan - a_u|. The next round makes them
exact, so the error follows from how far it moves:  a @ |expm1((f_t - f_{t+1}) / tau)|.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unhub.analysis.evaluated import EvaluatedDataset
from unhub.analysis.model import Convergence
from unhub.foundation.types import FloatArray
from unhub.methods import Method, is_additive, method, method_class
from unhub.scores import Banks

SAME = 1e-3
"""of tau: a bias farther than this from the saved one was fitted with something that is not in the file"""


@dataclass
class ErrorObserver:
    """Observes a fit: the error of every round but the last, which the fit reports itself."""

    tau: float
    a: FloatArray
    errors: list[float] = field(default_factory=list)
    _last: FloatArray | None = None

    def advance(self, rows: int) -> None:
        """Rows were read."""

    def load(self) -> None:
        """A fit starts from the beginning."""

    def save(self, state: Callable[[], dict[str, FloatArray]], rounds: int) -> None:
        """A round is finished, so the error of the one before is known."""
        f = np.asarray(state()["f"], dtype=np.float64)
        if rounds == 1:
            self.errors, self._last = [], None  # a fit may start again, in the log domain
        if self._last is not None:
            self.errors.append(float(self.a @ np.abs(np.expm1((self._last - f) / self.tau))))
        self._last = f


def errors_of(which: Method, banks: Banks) -> tuple[list[float], FloatArray]:
    """The error after each round, the last one as the fit reports it, and the bias that came of it."""
    assert is_additive(which)
    observer = ErrorObserver(float(which.temperature or 0), banks.query_marginal())
    bias = which.estimate(replace(banks, observer=observer))
    return [*observer.errors, float(bias.marginal_error or 0.0)], bias.values


def convergence(evaluated: EvaluatedDataset) -> tuple[list[Convergence], list[str]]:
    """A line for each Sinkhorn method of the table, and notes on those that cannot be run again."""
    lines, notes = [], []
    rows = [row for row in evaluated.evaluation.rows.values() if method_class(row.method).potentials]
    for row in rows:
        judged = row.verdict is not None and row.verdict.reason == "judged"
        banks = (evaluated.task.deduplicated if judged else evaluated.task).banks
        settings: Any = {name: value for name, value in row.settings.items() if value is not None}
        chosen = method(row.method, settings)
        saved = evaluated.saved and row.label == evaluated.label
        if any(getattr(banks, need) is None for need in chosen.requires):
            notes.append(f"{chosen.title} cannot be run again: its target bank is not in the file of the correction.")
            continue
        errors, bias = errors_of(chosen, banks)
        correction = evaluated.session.data.correction
        if saved and float(np.abs(bias - correction.bias).max()) > SAME * float(chosen.temperature or 0):
            notes.append(f"{chosen.title} was fitted with more than its file holds, so its rounds are not shown.")
            continue
        lines.append(Convergence(row.label, chosen.title, errors, row.settings.get("tol")))
    return lines, notes

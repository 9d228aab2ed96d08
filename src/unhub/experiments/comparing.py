"""Our values beside the paper's, and the difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unhub.experiments.reference import Printed, printed
from unhub.experiments.result import QUERY_AWARE, ResultTable
from unhub.foundation.errors import InputError


@dataclass(frozen=True)
class Compared:
    """One value of ours beside the printed one."""

    bank: str
    method: str
    direction: str
    metric: str
    ours: float
    theirs: Printed

    @property
    def difference(self) -> float:
        """Ours minus theirs."""
        return self.ours - self.theirs.value


def compare(table: ResultTable, numbers: Sequence[str]) -> list[Compared]:
    """Every value of a table that the paper prints for the same dataset, model, direction, bank and method."""
    wanted = {_plain(table.dataset), _plain(table.model)}
    known = {
        (each.bank or QUERY_AWARE if each.method != "none" else "", each.method, each.direction, each.metric): each
        for each in printed()
        if each.table in numbers and {_plain(each.dataset), _plain(each.model)} == wanted
    }
    if not known:
        these = [each for each in printed() if each.table in numbers and not each.flag]
        have = sorted({f"{each.dataset} with {each.model}" for each in these})
        raise InputError(
            f"the paper's tables {', '.join(numbers)} have no {table.dataset} with {table.model}; they have "
            f"{'; '.join(have)}. Name one of them in dataset.name and dataset.model."
        )
    found = []
    for row in table.rows:
        for direction, values in row.values.items():
            for metric, value in values.items():
                key = ("" if row.method == "none" else row.bank, row.label, direction, metric)
                if key in known:
                    found.append(Compared(row.bank, row.label, direction, metric, value, known[key]))
    return found


def _plain(name: str) -> str:
    """A name without case, spaces and signs.

    >>> _plain("MSR-VTT") == _plain("msrvtt")
    True
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())

"""Our values beside the paper's, and the difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from unhub.experiments.reference import MISPRINT, Printed, printed
from unhub.experiments.result import QUERY_AWARE, ResultTable
from unhub.foundation.errors import InputError

ONE_WAY = {"classification": "cls", "self-retrieval": "i2i"}
"""tables with one direction, which the paper has a name for and a file may call otherwise"""


@dataclass(frozen=True)
class Comparison:
    """One value of ours beside the printed one."""

    bank: str
    method: str
    direction: str
    metric: str
    ours: float
    theirs: Printed

    @property
    def difference(self) -> float | None:
        """Ours minus theirs; None where theirs cannot be what was measured."""
        return None if self.theirs.flag == MISPRINT else self.ours - self.theirs.value


def has_values(dataset: str, model: str, numbers: Sequence[str]) -> bool:
    """Whether the paper's tables of these numbers have this dataset with this model."""
    return bool(_known(dataset, model, numbers))


def refuse_unknown(dataset: str, model: str, numbers: Sequence[str]) -> None:
    """An error that lists what these tables of the paper have, if it is not this dataset with this model."""
    if has_values(dataset, model, numbers):
        return
    these = [each for each in printed() if each.table in numbers and not each.flag]
    have = sorted({f"{each.dataset} with {each.model}" for each in these})
    raise InputError(
        f"the paper's tables {', '.join(numbers)} have no {dataset} with {model}; they have {'; '.join(have)}. "
        f"Give the dataset and the model these names."
    )


def compare(table: ResultTable, numbers: Sequence[str]) -> list[Comparison]:
    """Every value of a table that the paper prints for the same dataset, model, direction, bank and method."""
    known = _known(table.dataset, table.model, numbers)
    comparisons = []
    for row in table.rows:
        for direction, values in row.values.items():
            for metric, value in values.items():
                way, name = _printed_as(table, direction, metric)
                key = ("" if row.method == "none" else row.bank, row.label, way, name)
                if key in known:
                    comparisons.append(Comparison(row.bank, row.label, direction, metric, value, known[key]))
    return comparisons


def _printed_as(table: ResultTable, direction: str, metric: str) -> tuple[str, str]:
    """What the paper calls a direction and a metric."""
    if table.name in ONE_WAY:
        direction = ONE_WAY[table.name]
    if table.name == "classification":
        metric = metric.replace("R@", "acc@")
    return direction, metric


def _known(dataset: str, model: str, numbers: Sequence[str]) -> dict[tuple[str, str, str, str], Printed]:
    """The printed values of a dataset and a model, by bank, method, direction and metric."""
    return {
        (each.bank or QUERY_AWARE if each.method != "none" else "", each.method, each.direction, each.metric): each
        for each in printed()
        if each.table in numbers and (_plain(each.dataset), _plain(each.model)) == (_plain(dataset), _plain(model))
    }


def _plain(name: str) -> str:
    """A name without case, spaces and signs.

    >>> _plain("MSR-VTT") == _plain("msrvtt")
    True
    """
    return re.sub(r"[^a-z0-9]", "", name.lower())

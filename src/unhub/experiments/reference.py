"""The values that the paper prints (one line each in paper.csv, the doubtful ones flagged), and ours beside them."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from unhub.experiments.result import QUERY_AWARE, ResultTable, metric_title
from unhub.foundation.errors import InputError

MISPRINT = "misprint"
DOUBTED = {
    MISPRINT: "cannot be what was measured",
    "conflict": "the paper prints another value for the same elsewhere",
    "commented": "only in the source of the paper, not printed",
}
ONE_WAY = {"classification": "cls", "self-retrieval": "i2i"}
"""tables with one direction, which the paper has a name for and a file may call otherwise"""


@dataclass(frozen=True)
class Printed:
    """One printed value; ``flag`` says why it should not be judged by, or is empty."""

    table: str
    dataset: str
    model: str
    direction: str
    bank: str
    method: str
    metric: str
    value: float
    flag: str


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


@cache
def printed() -> tuple[Printed, ...]:
    """Every value of the paper's tables."""
    text = files("unhub.experiments").joinpath("paper.csv").read_text(encoding="utf-8")
    lines = list(csv.reader(text.splitlines()))[1:]
    return tuple(
        Printed(table, dataset, model, direction, bank, method, metric, float(value), flag)
        for table, dataset, model, direction, bank, method, metric, value, flag in lines
    )


def refuse_unknown(dataset: str, model: str, numbers: Sequence[str]) -> None:
    """An error that lists what these tables of the paper have, if it is not this dataset with this model."""
    if _values(dataset, model, numbers):
        return
    these = [each for each in printed() if each.table in numbers and not each.flag]
    have = sorted({f"{each.dataset} with {each.model}" for each in these})
    raise InputError(
        f"the paper's tables {', '.join(numbers)} have no {dataset} with {model}; they have {'; '.join(have)}. "
        f"Give the dataset and the model these names."
    )


def compare(table: ResultTable, numbers: Sequence[str]) -> list[Comparison]:
    """Every value of a table that the paper prints for the same dataset, model, direction, bank and method."""
    theirs = _values(table.dataset, table.model, numbers)
    comparisons = []
    for row in table.rows:
        for direction, values in row.values.items():
            for metric, value in values.items():
                way, name = ONE_WAY.get(table.name, direction), metric_title(table.name, metric)
                key = ("" if row.method == "none" else row.bank, row.label, way, name)
                if key in theirs:
                    comparisons.append(Comparison(row.bank, row.label, direction, metric, value, theirs[key]))
    return comparisons


def _values(dataset: str, model: str, numbers: Sequence[str]) -> dict[tuple[str, str, str, str], Printed]:
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

"""The values that the paper prints, as data: one line each in paper.csv, the doubtful ones flagged."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

MISPRINT = "misprint"
DOUBTED = {
    MISPRINT: "cannot be what was measured",
    "conflict": "the paper prints another value for the same elsewhere",
    "commented": "only in the source of the paper, not printed",
}


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


@cache
def printed() -> tuple[Printed, ...]:
    """Every value of the paper's tables."""
    text = files("unhub.experiments.reference").joinpath("paper.csv").read_text(encoding="utf-8")
    lines = list(csv.reader(text.splitlines()))[1:]
    found = []
    for table, dataset, model, direction, bank, method, metric, value, flag in lines:
        found.append(Printed(table, dataset, model, direction, bank, method, metric, float(value), flag))
    return tuple(found)


def tables() -> tuple[str, ...]:
    """The numbers of the paper's tables, in its order."""
    return tuple(dict.fromkeys(each.table for each in printed()))

"""The numbers behind the pictures, as rows of a table; and the lines of the results, bank by bank."""

from __future__ import annotations

from collections.abc import Sequence

from unhub.explore.model import Card, Convergence, Line, Sweep
from unhub.explore.story_model import Lorenz, Occurrence, ResultsTable
from unhub.report.html.words import DASH, MINUS, percent

ROWS = 40
"""of a table, at most"""


def blocks(table: ResultsTable) -> list[tuple[str, list[tuple[int, Line]]]]:
    """The lines with their places, those of each bank together; no correction stands with the first bank."""
    found: dict[str, list[tuple[int, Line]]] = {}
    for at, line in enumerate(table.lines):
        bank = line.bank or next(iter(found), next((each.bank for each in table.lines if each.bank), ""))
        found.setdefault(bank, []).append((at, line))
    return list(found.items())


def bars(found: Occurrence) -> list[list[str]]:
    """How many targets are retrieved by how many queries; a range of them in each row where there are many.

    >>> from unhub.explore.story_model import Spread
    >>> spread = Spread([(0, 3), (2, 1)], 0.0, 0.5, 2, 0.0)
    >>> bars(Occurrence(1, spread, spread))
    [['0', '3', '3'], ['2', '1', '1']]
    """
    before, after = dict(found.before.bars), dict(found.after.bars)
    counts = sorted({*before, *after})
    if len(counts) <= ROWS:
        return [[f"{each:,}", f"{before.get(each, 0):,}", f"{after.get(each, 0):,}"] for each in counts]
    wide = -(-(counts[-1] + 1) // ROWS)
    rows = []
    for low in range(0, counts[-1] + 1, wide):
        inside = [each for each in counts if low <= each < low + wide]
        if inside:
            told = (f"{sum(one.get(each, 0) for each in inside):,}" for one in (before, after))
            rows.append([f"{low:,} to {low + wide - 1:,}", *told])
    return rows


def sums(found: Occurrence) -> list[tuple[str, str, str]]:
    """Four numbers of the k-occurrence, before and after."""
    both = found.before, found.after
    told = {
        "queries of the most frequent": [f"{each.largest:,}" for each in both],
        "never retrieved": [percent(each.never) for each in both],
        "skewness": [f"{each.skewness:.2f}".replace("-", MINUS) for each in both],
        "Gini coefficient": [f"{each.gini:.2f}" for each in both],
    }
    return [(what, before, after) for what, (before, after) in told.items()]


def curve(found: Lorenz) -> list[list[str]]:
    """The Lorenz curve at every tenth of the targets."""
    step = max(1, (len(found.targets) - 1) // 10)
    chosen = range(0, len(found.targets), step)
    return [[percent(one[at]) for one in (found.targets, found.before, found.after)] for at in chosen]


def errors(found: Sequence[Convergence]) -> list[list[str]]:
    """The error of each method after each round; where there are many rounds, some of them, and the last."""
    most = max((len(each.errors) for each in found), default=0)
    step = -(-most // ROWS) or 1
    chosen = sorted({*range(0, most, step), most - 1}) if most else []
    return [
        [f"{at + 1:,}", *(f"{each.errors[at]:.3g}" if at < len(each.errors) else DASH for each in found)]
        for at in chosen
    ]


def places(found: Sweep) -> list[list[str]]:
    """R@1 of each method at each place of a sweep."""
    at = sorted({each for line in found.lines for each in line.at})
    rows = []
    for number, each in enumerate(at):
        name = found.labels[number] if number < len(found.labels) else f"{each:.4g}"
        values = (dict(zip(line.at, line.values, strict=True)).get(each) for line in found.lines)
        rows.append([name, *(DASH if value is None else f"{value:.1f}" for value in values)])
    return rows


def hashes(card: Card) -> list[tuple[str, list[str]]]:
    """Each hash once, with all that is in that file."""
    found: dict[str, list[str]] = {}
    for name, digest in card.files.items():
        found.setdefault(digest, []).append(name)
    return list(found.items())

"""Numbers of a report as people read them, and the tables behind its drawings."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unhub.analysis.model import Convergence, Lorenz, Occurrence, Provenance, ResultLine, ResultsTable, Sweep
from unhub.foundation.tables import percent as percent
from unhub.metrics import metric

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
ROWS = 40
"""of a table, at most"""
VERDICTS = {
    "use": ("use", "Use it"),
    "unclear": ("unclear", "Not significant"),
    "do not use": ("stop", "Do not use it"),
    "refused": ("stop", "Nothing is served"),
    "unknown": ("unknown", "Unknown"),
    "upper bound": ("unclear", "Upper bound"),
}
"""the CSS class and the words of each kind of verdict"""


def number(name: str, value: float | None) -> str:
    """A value with as many digits as its metric is read with.

    >>> number("R@1", 23.456), number("skew@10", -0.5), number("R@1", None)
    ('23.5', '−0.50', '–')
    """
    return DASH if value is None or not math.isfinite(value) else metric(name).shown(value).replace("-", MINUS)


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign.

    >>> signed(2.44), signed(-1.0)
    ('+2.4', '−1.0')
    """
    return f"{value:+.{digits}f}".replace("-", MINUS)


def place(rank: float) -> str:
    """A rank; the mean rank of tied targets can end in .5.

    >>> place(13.0), place(2.5)
    ('13', '2.5')
    """
    return DASH if not math.isfinite(rank) else f"{rank:,.0f}" if rank == int(rank) else f"{rank:,.1f}"


def called(name: str, kind: str) -> str:
    """A name; a bare number is preceded by its kind.

    >>> called("17", "query"), called("a red bus", "query")
    ('query 17', 'a red bus')
    """
    return f"{kind} {name}" if name.isdigit() else name


def one(noun: str) -> str:
    """The singular.

    >>> one("images"), one("emoji")
    ('image', 'emoji')
    """
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def setting(value: object) -> str:
    """A setting as text.

    >>> setting(0.046024917), setting(None), setting(True), setting(5000)
    ('0.046025', 'not set', 'yes', '5,000')
    """
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else f"{value:.5g}" if isinstance(value, float) else str(value)


def blocks(table: ResultsTable) -> list[tuple[str, list[tuple[int, ResultLine]]]]:
    """The lines with their places, grouped by bank; no correction comes with the first bank."""
    groups: dict[str, list[tuple[int, ResultLine]]] = {}
    for at, line in enumerate(table.lines):
        bank = line.bank or next(iter(groups), next((each.bank for each in table.lines if each.bank), ""))
        groups.setdefault(bank, []).append((at, line))
    return list(groups.items())


def bars(counts: Occurrence) -> list[list[str]]:
    """How many targets are retrieved by how many queries; ranges of queries where there are many.

    >>> from unhub.analysis.model import Spread
    >>> spread = Spread([(0, 3), (2, 1)], 0.0, 0.5, 2, 0.0)
    >>> bars(Occurrence(1, spread, spread))
    [['0', '3', '3'], ['2', '1', '1']]
    """
    before, after = dict(counts.before.bars), dict(counts.after.bars)
    queries = sorted({*before, *after})
    wide = 1 if len(queries) <= ROWS else -(-(queries[-1] + 1) // ROWS)
    rows = []
    for low in sorted({each // wide * wide for each in queries}):
        within = [each for each in queries if low <= each < low + wide]
        title = f"{low:,}" if wide == 1 else f"{low:,} to {low + wide - 1:,}"
        rows.append([title, *(f"{sum(side.get(each, 0) for each in within):,}" for side in (before, after))])
    return rows


def sums(counts: Occurrence) -> list[tuple[str, str, str]]:
    """Four numbers of the k-occurrence, with no correction and with one."""
    both = counts.before, counts.after
    numbers = {
        "queries of the largest hub": [f"{each.largest:,}" for each in both],
        "never retrieved": [percent(each.never) for each in both],
        "skewness": [f"{each.skewness:.2f}".replace("-", MINUS) for each in both],
        "Gini coefficient": [f"{each.gini:.2f}" for each in both],
    }
    return [(title, before, after) for title, (before, after) in numbers.items()]


def curve(data: Lorenz) -> list[list[str]]:
    """The Lorenz curve at every tenth of the targets."""
    chosen = range(0, len(data.targets), max(1, (len(data.targets) - 1) // 10))
    return [[percent(side[at]) for side in (data.targets, data.before, data.after)] for at in chosen]


def errors(methods: Sequence[Convergence]) -> list[list[str]]:
    """The error of each method after each round; of many rounds some, and the last."""
    most = max((len(each.errors) for each in methods), default=0)
    chosen = sorted({*range(0, most, -(-most // ROWS)), most - 1}) if most else []
    return [
        [f"{at + 1:,}", *(f"{each.errors[at]:.3g}" if at < len(each.errors) else DASH for each in methods)]
        for at in chosen
    ]


def places(data: Sweep) -> list[list[str]]:
    """R@1 of each method at each place of a sweep."""
    values = [dict(zip(line.at, line.values, strict=True)) for line in data.lines]
    rows = []
    for number, at in enumerate(sorted({each for line in values for each in line})):
        name = data.labels[number] if number < len(data.labels) else f"{at:.4g}"
        rows.append([name, *(f"{line[at]:.1f}" if at in line else DASH for line in values)])
    return rows


def hashes(card: Provenance) -> list[tuple[str, list[str]]]:
    """Each hash once, with everything that is in that file."""
    names: dict[str, list[str]] = {}
    for name, digest in card.files.items():
        names.setdefault(digest, []).append(name)
    return list(names.items())

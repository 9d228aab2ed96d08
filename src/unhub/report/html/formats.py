"""Numbers of a report as people read them, and those behind its pictures as rows of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from unhub.analysis.model import Convergence, Estimate, Lorenz, Occurrence, Provenance, ResultLine, ResultsTable, Sweep
from unhub.metrics import metric

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
ROWS = 40
"""of a table, at most"""
VERDICTS = {
    "use": ("use", "Use it"),
    "unclear": ("unclear", "May be chance"),
    "do not use": ("stop", "Do not use it"),
    "unknown": ("unknown", "Not known"),
    "upper bound": ("unclear", "Upper bound"),
}
"""the class and the words of each kind of verdict"""


def number(name: str, value: float | None) -> str:
    """A value with as many digits as its metric is read with.

    >>> number("R@1", 23.456), number("skew@10", -0.5), number("R@1", None)
    ('23.5', '−0.50', '–')
    """
    if value is None or not math.isfinite(value):
        return DASH
    return metric(name).shown(value).replace("-", MINUS)


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign.

    >>> signed(2.44), signed(-1.0)
    ('+2.4', '−1.0')
    """
    return f"{value:+.{digits}f}".replace("-", MINUS)


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.123), percent(0.034)
    ('12%', '3.4%')
    """
    return f"{share:.0%}" if share >= 0.095 or share == 0 else f"{share:.1%}"


def place(rank: float) -> str:
    """A rank; shared ones may lie between two.

    >>> place(13.0), place(2.5)
    ('13', '2.5')
    """
    return DASH if not math.isfinite(rank) else f"{rank:,.0f}" if rank == int(rank) else f"{rank:,.1f}"


def called(name: str, kind: str) -> str:
    """A name; where it is a bare number, with what it is the number of.

    >>> called("17", "query"), called("a red bus", "query")
    ('query 17', 'a red bus')
    """
    return f"{kind} {name}" if name.isdigit() else name


def one(noun: str) -> str:
    """One of them.

    >>> one("images"), one("emoji")
    ('image', 'emoji')
    """
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def interval(ends: Estimate, digits: int = 1) -> str:
    """A value with the ends of its interval."""
    return f"{ends.value:.{digits}f} ({ends.low:.{digits}f} to {ends.high:.{digits}f})".replace("-", MINUS)


def setting(value: object) -> str:
    """A setting as text.

    >>> setting(0.046024917), setting(None), setting(True), setting(5000)
    ('0.046025', 'not set', 'yes', '5,000')
    """
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def blocks(table: ResultsTable) -> list[tuple[str, list[tuple[int, ResultLine]]]]:
    """The lines with their places, those of each bank together; no correction stands with the first bank."""
    found: dict[str, list[tuple[int, ResultLine]]] = {}
    for at, line in enumerate(table.lines):
        bank = line.bank or next(iter(found), next((each.bank for each in table.lines if each.bank), ""))
        found.setdefault(bank, []).append((at, line))
    return list(found.items())


def bars(found: Occurrence) -> list[list[str]]:
    """How many targets are retrieved by how many queries; a range of them in each row where there are many.

    >>> from unhub.analysis.model import Spread
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


def hashes(card: Provenance) -> list[tuple[str, list[str]]]:
    """Each hash once, with all that is in that file."""
    found: dict[str, list[str]] = {}
    for name, digest in card.files.items():
        found.setdefault(digest, []).append(name)
    return list(found.items())

"""What the pictures show, in words, and numbers as people read them."""

from __future__ import annotations

import math

from unhub.explore.model import Convergence, Range, Sweep
from unhub.explore.story_model import HeatMap, Lorenz, Occurrence
from unhub.metrics import metric

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EN DASH}"
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
    digits = 1 if name in ("MdR", "MnR") or metric(name).percent else 2
    return f"{value:.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign.

    >>> signed(2.44), signed(-1.0)
    ('+2.4', '−1.0')
    """
    return f"{value:+.{digits}f}".replace("-", MINUS)


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.123), percent(0.034)
    ('12 %', '3.4 %')
    """
    return f"{100 * share:.0f} %" if share >= 0.095 or share == 0 else f"{100 * share:.1f} %"


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


def interval(ends: Range, digits: int = 1) -> str:
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


def of_occurrence(found: Occurrence, name: str) -> str:
    """The k-occurrence in a sentence."""
    told = []
    for who, spread in (("without a correction", found.before), (f"after {name}", found.after)):
        told.append(
            f"{who} the most frequent target has {spread.largest:,} queries, {percent(spread.never)} of the targets "
            f"have none, and the skewness is {spread.skewness:.2f}"
        )
    return f"Histogram, log scale, of how many queries have a target among their first {found.k}: {'; '.join(told)}."


def of_lorenz(found: Lorenz, name: str) -> str:
    """The Lorenz curve in a sentence."""
    half = min(range(len(found.targets)), key=lambda at: abs(found.targets[at] - 0.5))
    return (
        f"Lorenz curve: the less retrieved half of the targets has {percent(found.before[half])} of the first "
        f"{found.k} places without a correction and {percent(found.after[half])} after {name}; if all were retrieved "
        f"equally often it would have 50 %."
    )


def of_heat(found: HeatMap, name: str, *, after: bool) -> str:
    """The heat map in a sentence."""
    shown = "after the correction" if after else "without a correction"
    return (
        f"Heat map of the scores of {len(found.rows)} queries with {len(found.columns)} targets {shown} ({name}); "
        f"colours run from {found.low:.2f} to {found.high:.2f}."
    )


def of_rounds(found: list[Convergence]) -> str:
    """The rounds in a sentence."""
    told = [
        f"{each.name} from {each.errors[0]:.2g} after round 1 to {each.errors[-1]:.2g} after round {len(each.errors)}"
        for each in found
    ]
    return f"Marginal error after each round, log scale: {'; '.join(told)}."


def of_sweep(found: Sweep) -> str:
    """A sweep in a sentence."""
    told = []
    for line in found.lines:
        best = max(range(len(line.values)), key=lambda at: line.values[at])
        told.append(f"{line.name} is best at {line.at[best]:.3g} with R@1 {line.values[best]:.1f}")
    base = "" if found.base is None else f"; without a correction it is {found.base:.1f}"
    return f"R@1 over {found.over}: {'; '.join(told)}{base}."

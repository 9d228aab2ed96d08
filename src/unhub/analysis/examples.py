"""Queries that got better, and as many that got worse."""

from __future__ import annotations

import numpy as np

from unhub.analysis.changes import change, moved, ranks
from unhub.analysis.story_model import Examples
from unhub.analysis.whole import Whole

MOST = 6
"""examples of each kind"""


def examples(whole: Whole) -> Examples | None:
    """The most telling of both kinds, the same number of each where both exist; None where nothing is judged."""
    if not whole.given.judged:
        return None
    before, after = ranks(whole.before), ranks(whole.after)
    better, worse = moved(before, after, "better"), moved(before, after, "worse")
    both = min(len(better), len(worse), MOST)
    shown = both or MOST
    return Examples(
        better=[change(whole.reading, query) for query in better[:shown].tolist()],
        worse=[change(whole.reading, query) for query in worse[:shown].tolist()],
        better_total=len(better),
        same_total=int(np.sum(before == after)),
        worse_total=len(worse),
        note=_note(len(better), len(worse)),
    )


def _note(better: int, worse: int) -> str:
    """What to say where there are not examples enough of both kinds.

    >>> _note(40, 2)
    'Only 2 queries got worse, so that 2 of each kind are shown.'
    >>> _note(9, 0)
    'No query got worse, so that there is none to show.'
    >>> _note(40, 30)
    ''
    """
    fewer, kind = (worse, "worse") if worse <= better else (better, "better")
    if not better and not worse:
        return "No query moved."
    if not fewer:
        return f"No query got {kind}, so that there is none to show."
    if fewer < MOST:
        queries = "1 query" if fewer == 1 else f"{fewer} queries"
        return f"Only {queries} got {kind}, so that {fewer} of each kind {'is' if fewer == 1 else 'are'} shown."
    return ""
